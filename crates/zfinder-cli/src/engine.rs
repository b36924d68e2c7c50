//! Options of the engine.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use zfinder::{Accumulate, AdapterChoice, Engine, Precision, ZFinder, ZFinderBuilder};

use super::options::{PresetName, threads};
use command_host::Failure;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// A hardware GPU if there is one, else the CPU
    Auto,
    /// A GPU
    Gpu,
    /// All cores
    Cpu,
    /// Serial and in f64: slow; the check of all other engines
    Reference,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum AccumulateName {
    /// Fixed-point integers: the same bits in any order
    Fixed,
    /// f32 by compare and retry, as in the thesis
    CompareExchange,
}

impl From<AccumulateName> for Accumulate {
    fn from(name: AccumulateName) -> Self {
        match name {
            AccumulateName::Fixed => Accumulate::Fixed,
            AccumulateName::CompareExchange => Accumulate::CompareExchange,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PrecisionName {
    /// 32 bits
    F32,
    /// 64 bits; on a GPU only if `zfinder adapters` says so
    F64,
}

impl From<PrecisionName> for Precision {
    fn from(name: PrecisionName) -> Self {
        match name {
            PrecisionName::F32 => Precision::F32,
            PrecisionName::F64 => Precision::F64,
        }
    }
}

/// Kernels of the GPU engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DesignName {
    /// Today's
    #[default]
    Product,
    /// The thesis's: a workgroup numbers the pairs of a slice and fills a histogram, f32 sums by
    /// compare and retry, sums of histograms in two stages. Slower, for comparisons; GPU only
    Thesis,
}

impl DesignName {
    /// Number of slices that share a histogram in the thesis's design.
    const SLICES: u32 = 1;

    /// Returns the sums of z for the given option, or the default of the design.
    pub fn accumulate(self, given: Option<AccumulateName>) -> AccumulateName {
        given.unwrap_or(match self {
            Self::Product => AccumulateName::Fixed,
            Self::Thesis => AccumulateName::CompareExchange,
        })
    }

    /// Sets design and sums of a builder.
    pub fn apply(self, builder: ZFinderBuilder, accumulate: Option<AccumulateName>) -> ZFinderBuilder {
        let builder = builder.accumulate(self.accumulate(accumulate).into());
        match self {
            Self::Product => builder,
            Self::Thesis => builder.slices_per_histogram(Self::SLICES),
        }
    }

    /// Returns the error for an engine without this design.
    pub(super) fn misfit() -> Failure {
        Failure::usage(
            "--design thesis is a design of the GPU engine, and --engine cpu and reference use no GPU",
            "leave one of the two out; --preset thesis alone is the thesis's physics on any engine",
        )
    }
}

/// The engine and its device.
#[derive(Args)]
pub(super) struct DeviceOptions {
    /// Engine that searches
    #[arg(long, value_enum, default_value = "auto", help_heading = "Engine")]
    engine: EngineName,
    /// GPU to use, by index, part of its name, or PCI id, as `zfinder adapters` lists them, or all
    /// (hardware) GPUs; may be repeated; implies --engine gpu
    #[arg(long, value_name = "INDEX|NAME|PCI|all", help_heading = "Engine")]
    adapter: Vec<AdapterChoice>,
    /// Threads of the CPU engine [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "Engine")]
    threads: Option<NonZeroUsize>,
}

/// Options of the engine.
#[derive(Args)]
pub(super) struct EngineOptions {
    #[command(flatten)]
    device: DeviceOptions,
    /// Kernels on a GPU
    #[arg(long, value_enum, default_value = "product", help_heading = "Engine")]
    design: DesignName,
    /// Arithmetic of the sums of z on the GPU and the CPU [default: fixed; with --design thesis
    /// compare-exchange]
    #[arg(long, value_enum, help_heading = "Engine")]
    accumulate: Option<AccumulateName>,
    /// Number type on the GPU and the CPU
    #[arg(long, value_enum, default_value = "f32", help_heading = "Engine")]
    precision: PrecisionName,
}

impl EngineOptions {
    /// Returns a builder without configuration and detector.
    pub(super) fn builder(&self) -> Result<ZFinderBuilder, Failure> {
        let engine = match (self.design, self.device.engine()?) {
            (DesignName::Thesis, Engine::Cpu | Engine::Reference) => return Err(DesignName::misfit()),
            (DesignName::Thesis, Engine::Auto) => Engine::Gpu(AdapterChoice::Hardware),
            (_, engine) => engine,
        };
        let mut builder = ZFinder::builder().engine(engine);
        if let Some(threads) = self.device.threads()? {
            builder = builder.threads(threads);
        }
        Ok(self.design.apply(builder, self.accumulate).precision(self.precision.into()))
    }

    /// Returns the preset of the design; None for the default design.
    pub(super) fn preset(&self) -> Option<PresetName> {
        (self.design == DesignName::Thesis).then_some(PresetName::Thesis)
    }
}

impl DeviceOptions {
    /// Returns the number of threads, if it is given.
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
