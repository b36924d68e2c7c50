//! `lumi simulate`.

use std::path::PathBuf;

use clap::Args;
use command_host::{Failure, MessageOptions, check_distinct, write_file};
use lumi::Simulation;

use super::calibration::CalibrationOptions;

/// Writes simulated events, as .npz
///
/// The numbers of hits, clusters, tracks and vertices are realistic; there is no more physics in
/// them. The same seed gives the same events.
#[derive(Args)]
pub(super) struct Simulate {
    /// File to write
    #[arg(value_name = "EVENTS.npz")]
    output: PathBuf,
    #[command(flatten)]
    calibration: CalibrationOptions,
    #[command(flatten)]
    events: SimulationOptions,
}

#[derive(Args)]
pub(super) struct SimulationOptions {
    /// Number of events
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(super) events: usize,
    /// Fraction of events that a lumi line takes
    #[arg(long, default_value_t = 0.1, value_name = "0..1", value_parser = fraction)]
    pub(super) lumi_fraction: f64,
    /// Collisions of a crossing, on average
    #[arg(long, default_value_t = 5.3, value_name = "MU", value_parser = collisions)]
    pub(super) collisions: f64,
    /// Seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
}

fn between(text: &str, most: f64) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.0..=most).contains(&number) { Ok(number) } else { Err(format!("it is not from 0 to {most}")) }
}

pub(super) fn fraction(text: &str) -> Result<f64, String> {
    between(text, 1.0)
}

fn collisions(text: &str) -> Result<f64, String> {
    between(text, 200.0)
}

impl SimulationOptions {
    pub(super) fn simulation(&self) -> Simulation {
        let &Self { events, lumi_fraction, collisions, seed } = self;
        Simulation { events, lumi_fraction, collisions, seed }
    }
}

impl Simulate {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        check_distinct(self.calibration.files()?.iter().map(PathBuf::as_path), [&*self.output])?;
        let calorimeter = self.calibration.read()?;
        let bar = messages.progress(self.events.events as u64, "events");
        let batch = self.events.simulation().simulate_with(&calorimeter, |events| bar.set_position(events as u64))?;
        bar.finish_and_clear();
        write_file(&self.output, "lumi", |out| lumi::io::write_events(out, &batch))
    }
}
