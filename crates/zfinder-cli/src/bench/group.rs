//! GPUs that work together.

use std::convert::Infallible;
use std::str::FromStr;

use kernel_host::{AdapterChoice, Error, Gpu, GpuOptions, wgpu};

/// The adapters of one measurement.
#[derive(Clone, Debug)]
pub struct AdapterGroup(Vec<AdapterChoice>);

impl AdapterGroup {
    /// Returns the best hardware adapter.
    pub fn hardware() -> Self {
        Self(vec![AdapterChoice::Hardware])
    }

    /// Opens each GPU.
    pub fn open(&self) -> Result<Vec<Gpu>, Error> {
        self.open_with(wgpu::Features::empty())
    }

    /// Opens each GPU with the features of these that it has.
    pub fn open_with(&self, optional_features: wgpu::Features) -> Result<Vec<Gpu>, Error> {
        let open = |adapter: &AdapterChoice| {
            Gpu::open_all(&GpuOptions { adapter: adapter.clone(), optional_features, ..GpuOptions::default() })
        };
        Ok(self.0.iter().map(open).collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// Reads adapters joined by `+`.
impl FromStr for AdapterGroup {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        text.split('+').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}
