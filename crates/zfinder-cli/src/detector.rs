//! `zfinder detector`: checks, draws and prints the layers of a detector.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use zfinder::detector::LayerKind;
use zfinder::{Config, Detector as Layers};
use zfinder_io::ReadOptions;
use zfinder_study::plot;

use super::input;
use super::output::PROGRAM;
use command_host::{Failure, PictureOptions};

/// Checks, draws and prints the layers of a detector
#[derive(Args)]
#[command(after_help = CODES)]
pub(super) struct Detector {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Check(Check),
    Print(Print),
}

/// Reads a detector, prints a table of its layers, and what looks wrong
///
/// The table has the pixel layers that may follow each layer on a tracklet. With --output, the
/// pixel layers are drawn in r-z too, with lines to those that may follow.
#[derive(Args)]
#[command(after_help = CODES, after_long_help = CHECK_HELP)]
struct Check {
    #[command(flatten)]
    named: Named,
    /// Range of z of the beam that tracks come from [mm]; that of the preset auto if not given
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_negative_numbers = true)]
    z_range: Option<Vec<f64>>,
    /// Draw to this file, which appears when the run is complete
    #[arg(short, long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
}

/// Prints a detector as TOML, to copy and change
#[derive(Args)]
#[command(after_help = CODES, after_long_help = PRINT_HELP)]
struct Print {
    #[command(flatten)]
    named: Named,
}

#[derive(Args)]
struct Named {
    /// Built-in detector (atlas2010, generic, odd) or TOML file
    #[arg(value_name = "NAME|FILE.toml")]
    detector: String,
}

const CODES: &str = "Exit codes:
  0  done
  1  an output that cannot be written
  2  wrong usage: an unknown option, a bad detector file";

const CHECK_HELP: &str = "Examples:
  zfinder detector check generic
  zfinder detector check telescope.toml -o layers.svg

Exit codes:
  0  checked; what looks wrong is printed below the table
  1  an output that cannot be written
  2  wrong usage: an unknown option, a bad detector file";

const PRINT_HELP: &str = "Example:
  zfinder detector print generic > mine.toml

Exit codes:
  0  printed
  1  an output that cannot be written
  2  wrong usage: an unknown option, a bad detector file";

/// The radius of the outermost layer below which its unit is doubtful \[mm\].
const SMALL_MM: f64 = 30.0;
/// The radius above which its unit is doubtful \[mm\].
const LARGE_MM: f64 = 5000.0;

impl Detector {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Check(check) => check.run(),
            Action::Print(print) => print.run(),
        }
    }
}

impl Named {
    fn read(&self) -> Result<Layers, Failure> {
        input::detector(Some(&self.detector), &[], &ReadOptions::default())
    }
}

impl Print {
    fn run(self) -> Result<(), Failure> {
        write(&zfinder_io::detector_to_toml(&self.named.read()?))
    }
}

impl Check {
    fn run(self) -> Result<(), Failure> {
        command_host::check_distinct([Path::new(&self.named.detector)], self.output.as_deref())?;
        let detector = self.named.read()?;
        let config = Config::default();
        let z_range = match self.z_range.as_deref() {
            Some(&[low, high]) if low < high && low.is_finite() && high.is_finite() => [low, high],
            Some(_) => return Err(Failure::usage("--z-range is no range", "give two numbers, the lower one first")),
            None => [config.z_min_mm, config.z_max_mm],
        };
        let picture = self.output.map(|output| self.picture.open(&output, PROGRAM)).transpose()?;
        write(&format!("{}{}", table(&detector, z_range), doubts(&detector, z_range)))?;
        picture.map_or(Ok(()), |picture| picture.draw(&plot::detector(&detector, z_range)))
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|source| Failure::output("standard output", &source))
}

/// Returns the table of layers.
fn table(detector: &Layers, z_range: [f64; 2]) -> String {
    let graph = detector.layer_graph(z_range);
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let header =
        ["layer", "kind", "sensor", "radius [mm]", "|z| [mm]", "r max [mm]", "sigma z [mm]", "X/X0", "followed by"];
    let mut table = command_host::table(header, 3);
    for (index, layer) in (0_u32..).zip(detector.layers()) {
        let (kind, radius, z, r_max) = match layer.kind {
            LayerKind::Barrel { radius_mm } => ("barrel", Some(radius_mm), None, None),
            LayerKind::Endcap { z_mm, r_max_mm } => ("endcap", None, Some(z_mm), Some(r_max_mm)),
        };
        let outer: Vec<String> = graph.outer(index).iter().map(ToString::to_string).collect();
        table.add_row([
            index.to_string(),
            kind.to_owned(),
            layer.sensor.map_or_else(|| "-".to_owned(), |sensor| sensor.to_string()),
            number(radius),
            number(z),
            number(r_max),
            number(layer.z_resolution_mm),
            number(layer.radiation_lengths),
            if outer.is_empty() { "-".to_owned() } else { outer.join(", ") },
        ]);
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    format!("detector {}: {} layers\n{}", detector.name(), detector.layers().len(), lines.collect::<String>())
}

/// Returns what looks wrong, a line for each doubt.
fn doubts(detector: &Layers, z_range: [f64; 2]) -> String {
    let mut doubts = Vec::new();
    let radius = |kind: LayerKind| match kind {
        LayerKind::Barrel { radius_mm } => radius_mm,
        LayerKind::Endcap { r_max_mm, .. } => r_max_mm,
    };
    let outermost = detector.layers().iter().map(|layer| radius(layer.kind)).fold(0.0, f64::max);
    if !(SMALL_MM..=LARGE_MM).contains(&outermost) {
        doubts.push(format!("the outermost layer has a radius of {outermost} mm: are all sizes in mm?"));
    }
    let kinds: Vec<_> = detector.layers().iter().map(|layer| layer.kind).collect();
    for (index, kind) in kinds.iter().enumerate() {
        if let Some(first) = kinds[..index].iter().position(|other| other == kind) {
            doubts.push(format!("layer {index} has the same place as layer {first}"));
        }
    }
    let mut before = 0.0;
    for (index, kind) in kinds.iter().enumerate() {
        let LayerKind::Barrel { radius_mm } = *kind else { continue };
        if radius_mm < before {
            doubts.push(format!(
                "layer {index} lies inside of a barrel above it: list barrels from the beam outwards, because the \
                 inner spacepoint of a pair comes from the first layers"
            ));
        }
        before = radius_mm.max(before);
    }
    if detector.layer_graph(z_range).edges().next().is_none() {
        doubts.push(
            "no pixel layer follows another one, so there are no tracklets: give layers sensor = \"pixel\"".into(),
        );
    }
    doubts.iter().map(|doubt| format!("warning: {doubt}\n")).collect()
}
