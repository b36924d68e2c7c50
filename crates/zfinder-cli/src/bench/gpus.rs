//! The GPUs and engines that are measured.

use kernel_host::{Gpu, wgpu};
use zfinder::Error;

use super::Bench;
use super::group::AdapterGroup;
use super::report::{Adapter, NotMeasured};
use super::words::EngineName;
use command_host::{Failure, note};

impl Bench {
    /// Returns the GPUs to measure. GPUs of one group work together.
    pub fn gpus(&self, not_measured: &mut Vec<NotMeasured>) -> Result<Vec<Vec<Adapter>>, Failure> {
        if !self.wants(EngineName::Gpu) {
            return Ok(Vec::new());
        }
        // If the user names an adapter or the engine, a missing one is an error.
        let named = |variable| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
        let optional = self.adapter.is_empty() && self.engine.is_empty() && !named("WGPU_ADAPTER_NAME");
        let hardware = [AdapterGroup::hardware()];
        let choices = if self.adapter.is_empty() { &hardware[..] } else { &self.adapter };
        let mut all: Vec<Vec<Adapter>> = Vec::new();
        for group in choices {
            let gpus = match group.open() {
                Err(kernel_host::Error::NoAdapter { .. }) if optional => {
                    let reason = "there is no hardware GPU; --adapter takes a software adapter by name".to_owned();
                    if self.json {
                        note(&format!("gpu: not measured: {reason}"));
                    }
                    not_measured.push(NotMeasured { engine: EngineName::Gpu, reason });
                    break;
                }
                gpus => gpus.map_err(Error::from)?,
            };
            let together: Vec<Adapter> = gpus.iter().map(Adapter::new).collect();
            let indices = |adapters: &[Adapter]| adapters.iter().map(|adapter| adapter.index).collect::<Vec<_>>();
            if all.iter().all(|known| indices(known) != indices(&together)) {
                all.push(together);
            }
        }
        Ok(all)
    }

    /// Returns the named GPUs one by one; without a name, the hardware GPU.
    pub fn single_gpus(&self) -> Result<Vec<Gpu>, Failure> {
        let hardware = [AdapterGroup::hardware()];
        let groups = if self.adapter.is_empty() { &hardware[..] } else { &self.adapter };
        let features = wgpu::Features::SHADER_F64 | wgpu::Features::TIMESTAMP_QUERY;
        let open = |group: &AdapterGroup| group.open_with(features).map_err(|error| Error::from(error).into());
        let opened: Result<Vec<Vec<Gpu>>, Failure> = groups.iter().map(open).collect();
        Ok(opened?.concat())
    }

    /// Returns every engine, the GPU engine once for each of these groups.
    pub fn engines<'a>(&self, gpus: &'a [Vec<Adapter>]) -> Vec<(EngineName, &'a [Adapter])> {
        let each = |engine| match engine {
            EngineName::Gpu => gpus.iter().map(|together| (engine, together.as_slice())).collect(),
            _ => vec![(engine, [].as_slice())],
        };
        self.engine_names().into_iter().flat_map(each).collect()
    }
}
