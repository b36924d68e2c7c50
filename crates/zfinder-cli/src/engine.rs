//! Options of the engine.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use zfinder::gpu::AdapterChoice;
use zfinder::thesis::{Accumulate, ThesisOptions};
use zfinder::{Detector, Engine, Precision, Preset, ZFinder, ZFinderBuilder};

use super::options::{threads, words};
use command_host::Failure;

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
    pub fn accumulate(self, given: Option<Accumulate>) -> Accumulate {
        given.unwrap_or(match self {
            Self::Product => Accumulate::Fixed,
            Self::Thesis => Accumulate::CompareExchange,
        })
    }

    /// Sets design and sums of a builder.
    pub fn apply(self, builder: ZFinderBuilder, accumulate: Option<Accumulate>) -> ZFinderBuilder {
        let slices_per_histogram = (self == Self::Thesis).then_some(Self::SLICES);
        builder.thesis(ThesisOptions { accumulate: self.accumulate(accumulate), slices_per_histogram })
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
    #[arg(long, value_parser = words::<Engine>(Engine::WORDS), default_value = "auto", help_heading = "Engine")]
    engine: Engine,
    /// GPU to use, as `zfinder adapters` lists them; may be repeated
    ///
    /// By index, part of its name, or PCI id; all means all hardware GPUs. Implies --engine gpu.
    #[arg(long, value_name = "INDEX|NAME|PCI|all", help_heading = "Engine")]
    adapter: Vec<AdapterChoice>,
    /// Threads of the CPU engine [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads, hide_short_help = true, help_heading = "Engine")]
    threads: Option<NonZeroUsize>,
}

/// Options of the engine.
#[derive(Args)]
pub(super) struct EngineOptions {
    #[command(flatten)]
    device: DeviceOptions,
    /// Kernels on a GPU
    #[arg(long, value_enum, default_value = "product", hide_short_help = true, help_heading = "Engine")]
    design: DesignName,
    /// Arithmetic of the sums of z on the GPU and the CPU [default: fixed; with --design thesis
    /// compare-exchange]
    #[arg(long, value_parser = words::<Accumulate>(Accumulate::WORDS), hide_short_help = true, help_heading = "Engine")]
    accumulate: Option<Accumulate>,
    /// Number type on the GPU and the CPU
    #[arg(long, value_parser = words::<Precision>(Precision::WORDS), default_value = "f32", hide_short_help = true, help_heading = "Engine")]
    precision: Precision,
}

impl EngineOptions {
    /// Returns a builder without configuration.
    pub(super) fn builder(&self, detector: Detector) -> Result<ZFinderBuilder, Failure> {
        let engine = match (self.design, self.device.engine()?) {
            (DesignName::Thesis, Engine::Cpu | Engine::Reference) => return Err(DesignName::misfit()),
            (DesignName::Thesis, Engine::Auto) => Engine::Gpu(AdapterChoice::Hardware),
            (_, engine) => engine,
        };
        let mut builder = ZFinder::builder(detector).engine(engine);
        if let Some(threads) = self.device.threads()? {
            builder = builder.threads(threads);
        }
        Ok(self.design.apply(builder, self.accumulate).precision(self.precision))
    }

    /// Returns the preset of the design; None for the default design.
    pub(super) fn preset(&self) -> Option<Preset> {
        (self.design == DesignName::Thesis).then_some(Preset::Thesis)
    }
}

impl DeviceOptions {
    /// Returns the number of threads, if it is given.
    pub(super) fn threads(&self) -> Result<Option<NonZeroUsize>, Failure> {
        let is_cpu = self.adapter.is_empty() && matches!(self.engine, Engine::Auto | Engine::Cpu);
        if self.threads.is_some() && !is_cpu {
            return Err(Failure::usage(
                "--threads is of the CPU engine, which is not asked for",
                "leave --threads out, or give --engine cpu",
            ));
        }
        Ok(self.threads)
    }

    pub(super) fn engine(&self) -> Result<Engine, Failure> {
        Ok(self.engine.clone().on(self.adapter.clone())?)
    }
}
