//! Selects the engine of a system: a GPU, the CPU, or the reference.

use crate::adapter::AdapterChoice;
use crate::error::Error;
use crate::gpu::Gpu;
use crate::open::GpuOptions;

/// Engine that computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// A hardware GPU if there is one, else the CPU. Never a software adapter, unless
    /// `WGPU_ADAPTER_NAME` names it.
    #[default]
    Auto,
    /// A GPU through wgpu.
    Gpu(AdapterChoice),
    /// All cores.
    Cpu,
    /// Serial and plain, the reference for the other engines. A system without one refuses it.
    Reference,
}

/// The engine that [`Engine`] selects on this machine.
#[derive(Clone, Debug)]
pub enum Opened {
    /// A GPU, open.
    Gpu(Gpu),
    /// All cores.
    Cpu,
    /// The reference.
    Reference,
}

impl Engine {
    /// Opens the GPU if the engine is one. The engine determines the adapter, `options` the rest.
    ///
    /// # Errors
    /// As [`Gpu::new`]. [`Engine::Auto`] returns only errors that do not [leave the
    /// CPU](Error::leaves_the_cpu).
    pub fn open(self, options: GpuOptions) -> Result<Opened, Error> {
        let on = |adapter| Gpu::new(&GpuOptions { adapter, ..options }).map(Opened::Gpu);
        match self {
            Self::Cpu => Ok(Opened::Cpu),
            Self::Reference => Ok(Opened::Reference),
            Self::Gpu(adapter) => on(adapter),
            Self::Auto => {
                let gpu = pollster::block_on(Gpu::open_hardware_async(options))?;
                Ok(gpu.map_or(Opened::Cpu, Opened::Gpu))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_opened_or_an_error() {
        let open = |engine: Engine| engine.open(GpuOptions::default());
        assert!(matches!(open(Engine::Cpu), Ok(Opened::Cpu)));
        assert!(matches!(open(Engine::Reference), Ok(Opened::Reference)));
        let none = AdapterChoice::Name("no such adapter".to_owned());
        assert!(matches!(open(Engine::Gpu(none)), Err(Error::NoAdapter { .. })));
    }
}
