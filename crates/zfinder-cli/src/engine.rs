//! The options that say what computes, and how.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use zfinder::{AdapterChoice, Engine, ZFinder, ZFinderBuilder};

use super::options::{AccumulateName, PrecisionName, threads};
use command_host::Failure;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// A hardware GPU if there is one, else the CPU
    Auto,
    /// A GPU
    Gpu,
    /// All cores
    Cpu,
    /// Serial and in f64: slow, and what the others are checked against
    Reference,
}

/// The engine and its device.
#[derive(Args)]
pub(super) struct DeviceOptions {
    /// What computes
    #[arg(long, value_enum, default_value = "auto", help_heading = "Engine")]
    engine: EngineName,
    /// GPU to use, by index, part of its name, or PCI id, as `zfinder adapters` lists them, or all (hardware) GPUs; may be
    /// repeated; implies --engine gpu
    #[arg(long, value_name = "INDEX|NAME|PCI|all", help_heading = "Engine")]
    adapter: Vec<AdapterChoice>,
    /// Threads of the CPU engine [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "Engine")]
    threads: Option<NonZeroUsize>,
}

/// What computes.
#[derive(Args)]
pub(super) struct EngineOptions {
    #[command(flatten)]
    device: DeviceOptions,
    /// How z is summed on the GPU and the CPU
    #[arg(long, value_enum, default_value = "fixed", help_heading = "Engine")]
    accumulate: AccumulateName,
    /// Number type on the GPU and the CPU
    #[arg(long, value_enum, default_value = "f32", help_heading = "Engine")]
    precision: PrecisionName,
}

impl EngineOptions {
    /// A finder to be, without its configuration and detector.
    pub(super) fn builder(&self) -> Result<ZFinderBuilder, Failure> {
        let mut builder = ZFinder::builder().engine(self.device.engine()?);
        if let Some(threads) = self.device.threads()? {
            builder = builder.threads(threads);
        }
        Ok(builder.accumulate(self.accumulate.into()).precision(self.precision.into()))
    }
}

impl DeviceOptions {
    /// The number of threads, if it is given.
    pub(super) fn threads(&self) -> Result<Option<NonZeroUsize>, Failure> {
        let is_cpu = self.adapter.is_empty() && matches!(self.engine, EngineName::Auto | EngineName::Cpu);
        if self.threads.is_some() && !is_cpu {
            return Err(Failure::usage(
                "--threads is of the CPU engine, which is not asked for",
                "leave --threads out, or give --engine cpu",
            ));
        }
        Ok(self.threads)
    }

    pub(super) fn engine(&self) -> Result<Engine, Failure> {
        if self.adapter.is_empty() {
            return Ok(match self.engine {
                EngineName::Auto => Engine::Auto,
                EngineName::Gpu => Engine::Gpu(AdapterChoice::Hardware),
                EngineName::Cpu => Engine::Cpu,
                EngineName::Reference => Engine::Reference,
            });
        }
        if matches!(self.engine, EngineName::Cpu | EngineName::Reference) {
            return Err(Failure::usage(
                "--adapter names a GPU, and --engine cpu and reference use none",
                "leave one of the two out; --adapter alone means --engine gpu",
            ));
        }
        Ok(Engine::Gpus(self.adapter.clone()))
    }
}
