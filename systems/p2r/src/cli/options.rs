//! Options that say what is fitted, and how.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use command_host::{Engines, median};
use p2r::{Batch, Fitter, FitterBuilder, IndexMap, Layout, Mode, Number, Result, Simulation, Spread};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeName {
    /// Each layer goes on from the one before: a track fit
    Sequential,
    /// Each layer begins with the track as it came, as the published benchmarks do
    SeedState,
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Sequential => Self::Sequential,
            ModeName::SeedState => Self::SeedState,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MapName {
    /// A thread a track
    V1,
    /// A workgroup an event
    V2,
    /// A workgroup a group of --bsize tracks
    V3,
}

impl From<MapName> for IndexMap {
    fn from(name: MapName) -> Self {
        match name {
            MapName::V1 => Self::ByTrack,
            MapName::V2 => Self::ByEvent,
            MapName::V3 => Self::ByBatch,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SpreadName {
    /// One known track, smeared
    Seed,
    /// Helices of many directions and momenta
    Helices,
}

#[derive(Args)]
pub(super) struct EngineOptions {
    #[command(flatten)]
    asked: command_host::EngineOptions<Self>,
}

impl Engines for EngineOptions {
    const WHAT: &str = "What fits";
    const CPU: &str = "All cores, f32";
    const REFERENCE: Option<&str> = Some("One core, f64");
}

impl EngineOptions {
    pub(super) fn builder(&self) -> FitterBuilder {
        Fitter::builder().engine(self.asked.engine())
    }
}

#[derive(Args)]
pub(super) struct InputOptions {
    /// Layers of hits, 22 at most
    #[arg(long, default_value_t = 20, value_name = "N", help_heading = "Input")]
    layers: usize,
    /// What tracks are like
    #[arg(long, value_enum, default_value = "seed", value_name = "KIND", help_heading = "Input")]
    spread: SpreadName,
    /// Of --spread seed: relative standard deviation of each number
    #[arg(long, default_value_t = 1e-5, value_name = "S", help_heading = "Input")]
    smear: f64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Input")]
    seed: u64,
}

impl InputOptions {
    pub(super) fn simulate<T: Number>(&self, events: usize, tracks: usize, bsize: usize) -> Result<Batch<T>> {
        let layout = Layout { events, tracks, layers: self.layers, bsize };
        let spread = match self.spread {
            SpreadName::Seed => Spread::Seed,
            SpreadName::Helices => Spread::Helices,
        };
        Simulation { layout, spread, smear: self.smear, seed: self.seed }.simulate()
    }

    pub(super) fn layers(&self) -> usize {
        self.layers
    }
}

/// How long a fit takes from host memory to host memory: the median.
pub(super) fn from_host<T: Number>(fitter: &Fitter<T>, batch: &Batch<T>, rounds: usize) -> Result<Duration> {
    // The first makes what is kept.
    let mut fitted = fitter.fit(batch)?;
    let mut all = Vec::new();
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        fitter.fit_into(batch, &mut fitted)?;
        black_box(&fitted);
        all.push(start.elapsed());
    }
    Ok(median(all))
}
