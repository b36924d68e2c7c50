//! Options of several subcommands.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use command_host::{Engines, median};
use p2r::{Batch, Fitter, FitterBuilder, Formulas, IndexMap, Layout, MAX_LAYERS, Mode, Number, Simulation, Spread};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeName {
    /// Each layer continues from the one before: a track fit
    Sequential,
    /// Each layer begins with the input track, as in the published benchmarks
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
    /// One thread for a track
    V1,
    /// One workgroup for an event, or for as many events as it has rows
    V2,
    /// One workgroup for a group of --bsize tracks, or for as many groups as it has rows
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SpreadName {
    /// Copies of the mini-app's track, smeared
    Seed,
    /// Helices of many directions and momenta, with truth
    Helices,
}

impl From<SpreadName> for Spread {
    fn from(name: SpreadName) -> Self {
        match name {
            SpreadName::Seed => Self::Seed,
            SpreadName::Helices => Self::Helices,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormulasName {
    /// The helix in closed form, with its exact Jacobian
    Exact,
    /// The published formulas of the mini-app, whose Jacobian is approximate on cylinders
    P2r,
}

impl From<FormulasName> for Formulas {
    fn from(name: FormulasName) -> Self {
        match name {
            FormulasName::Exact => Self::Exact,
            FormulasName::P2r => Self::P2r,
        }
    }
}

#[derive(Args)]
pub(super) struct EngineOptions {
    /// Formulas of the propagation to cylinders [default: exact; p2r with --spread seed]
    #[arg(long, value_enum, value_name = "FORMULAS")]
    formulas: Option<FormulasName>,
    #[command(flatten)]
    asked: command_host::EngineOptions<Self>,
}

impl Engines for EngineOptions {
    const WHAT: &str = "What fits";
    const CPU: &str = "All cores, f32";
    const REFERENCE: Option<&str> = Some("One core, f64");
}

impl EngineOptions {
    /// Returns a builder for the fits of such tracks.
    pub(super) fn builder(&self, spread: SpreadName) -> FitterBuilder {
        let default = if spread == SpreadName::Seed { FormulasName::P2r } else { FormulasName::Exact };
        let formulas = self.formulas.unwrap_or(default);
        Fitter::builder().engine(self.asked.engine()).formulas(formulas.into())
    }
}

/// Parses the number of events or tracks of a bench, which needs at least one.
pub(super) fn count(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(0) => Err("it is not 1 or more".to_owned()),
        parsed => parsed.map_err(|error| format!("{error}")),
    }
}

/// Parses the number of layers of simulated hits.
fn layers(text: &str) -> Result<usize, String> {
    match count(text)? {
        layers if layers > MAX_LAYERS => Err(format!("there are {MAX_LAYERS} at most")),
        layers => Ok(layers),
    }
}

/// Parses a number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|error| format!("{error}"))?;
    if number > 0.0 && number.is_finite() { Ok(number) } else { Err("it is not above 0".to_owned()) }
}

/// Parses a relative standard deviation.
fn smear(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err("it is not from 0 to 1".to_owned()) }
}

/// A block shape: rows and columns of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) rows: u32,
    pub(super) columns: u32,
}

impl Shape {
    pub(super) fn threads(self) -> u32 {
        self.rows.saturating_mul(self.columns)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

/// Reads `128`, which has one row, or `2x64`.
impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rows, columns) = text.split_once(['x', 'X']).unwrap_or(("1", text));
        let number = |text: &str| text.trim().parse().ok().filter(|&number: &u32| number > 0);
        match (number(rows), number(columns)) {
            (Some(rows), Some(columns)) => Ok(Self { rows, columns }),
            _ => Err("a shape is a number of threads, or ROWSxCOLUMNS, as in 2x64".to_owned()),
        }
    }
}

/// Options of simulated tracks.
#[derive(Args)]
pub(super) struct SimulationOptions {
    /// Layers of simulated hits, 22 at most
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = layers, help_heading = "Input")]
    layers: usize,
    /// Of --spread seed: relative standard deviation of each number
    #[arg(long, default_value_t = 1e-5, value_name = "S", value_parser = smear, help_heading = "Input")]
    smear: f64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Input")]
    seed: u64,
}

impl SimulationOptions {
    pub(super) fn simulation(&self, spread: SpreadName, events: usize, tracks: usize, bsize: usize) -> Simulation {
        let layout = Layout { events, tracks, layers: self.layers, bsize };
        Simulation { layout, spread: spread.into(), smear: self.smear, seed: self.seed }
    }

    pub(super) fn layers(&self) -> usize {
        self.layers
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }
}

/// Tracks of benches: by default those of the published figures.
#[derive(Args)]
pub(super) struct BenchInput {
    /// Distribution of tracks
    #[arg(long, value_enum, default_value = "seed", value_name = "KIND", help_heading = "Input")]
    spread: SpreadName,
    #[command(flatten)]
    simulation: SimulationOptions,
}

impl BenchInput {
    pub(super) fn simulate<T: Number>(&self, events: usize, tracks: usize, bsize: usize) -> p2r::Result<Batch<T>> {
        self.simulation.simulation(self.spread, events, tracks, bsize).simulate()
    }

    pub(super) fn layers(&self) -> usize {
        self.simulation.layers()
    }

    pub(super) fn spread(&self) -> SpreadName {
        self.spread
    }
}

/// Returns the median time of a fit from host memory to host memory.
pub(super) fn from_host<T: Number>(fitter: &Fitter<T>, batch: &Batch<T>, rounds: usize) -> p2r::Result<Duration> {
    // Warm-up: it allocates the memory that later fits reuse.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_parsed() {
        let shape = |text: &str| text.parse::<Shape>().map(|shape| (shape.rows, shape.columns)).ok();
        assert_eq!([shape("128"), shape("2x64"), shape("16X2")], [Some((1, 128)), Some((2, 64)), Some((16, 2))]);
        for wrong in ["", "0", "0x4", "2x", "x", "2x3x4", "-1"] {
            assert_eq!(shape(wrong), None, "{wrong}");
        }
    }
}
