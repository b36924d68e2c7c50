//! Options that say what is fitted, and how.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use p2r::{
    AdapterChoice, Batch, Engine, Fitter, FitterBuilder, IndexMap, Layout, Mode, Number, Result, Simulation, Spread,
};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// A hardware GPU if there is one, else the CPU
    Auto,
    /// A hardware GPU, or the one of --adapter
    Gpu,
    /// All cores, f32
    Cpu,
    /// One core, f64
    Reference,
}

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
    /// What fits
    #[arg(long, value_enum, default_value = "auto", value_name = "ENGINE", help_heading = "Engine")]
    engine: EngineName,
    /// GPU by index, part of its name, or PCI id
    #[arg(long, value_name = "INDEX|NAME|PCI", help_heading = "Engine")]
    adapter: Option<AdapterChoice>,
}

impl EngineOptions {
    pub(super) fn builder(&self) -> FitterBuilder {
        let engine = match (&self.adapter, self.engine) {
            (_, EngineName::Cpu) => Engine::Cpu,
            (_, EngineName::Reference) => Engine::Reference,
            (Some(adapter), _) => Engine::Gpu(adapter.clone()),
            (None, EngineName::Gpu) => Engine::Gpu(AdapterChoice::Hardware),
            (None, EngineName::Auto) => Engine::Auto,
        };
        Fitter::builder().engine(engine)
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

/// The median of some durations.
pub(super) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// How long a fit takes from host memory to host memory: the median.
pub(super) fn from_host<T: Number>(fitter: &Fitter<T>, batch: &Batch<T>, rounds: usize) -> Result<Duration> {
    // The first makes what is kept.
    fitter.fit(batch)?;
    let mut all = Vec::new();
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        black_box(fitter.fit(batch)?);
        all.push(start.elapsed());
    }
    Ok(median(all))
}

/// Tracks a second.
pub(super) fn rate(tracks: usize, time: Duration) -> f64 {
    tracks as f64 / time.max(Duration::from_nanos(1)).as_secs_f64()
}
