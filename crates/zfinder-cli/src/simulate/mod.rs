//! `zfinder simulate`: samples with truth.

mod knobs;
mod outputs;

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Instant;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use zfinder::Error;
use zfinder_study::simulate::{Geometry, SimulatedRoi, Simulation};

use super::options::threads;
use super::search::counted;
use command_host::Failure;
use command_host::{ending, file_of, note};
use knobs::Knobs;
use outputs::{Outputs, Sink};

#[derive(Clone, Copy, ValueEnum)]
enum PresetName {
    /// 650 RoIs, 341 spacepoints and 517 slices of 0.2 degrees on average, about 5 collisions at
    /// once
    Lowlum,
    /// 1177 RoIs, 7834 spacepoints and 542 slices, about 180 collisions
    Highlum,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DetectorName {
    /// The 19 layers of the 2010 ATLAS inner detector
    Atlas2010,
    /// The 29 layers of the ACTS generic detector, which is TrackML's
    Generic,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// event_id,roi_id,rho,phi,z,layer: the project's own, in one stream
    Csv,
    /// As Parquet: a row an RoI, with lists of rho, phi, z and layer
    Parquet,
    /// As a TTree of a ROOT file: an entry an RoI, with vectors of rho, phi, z and layer
    #[cfg(feature = "root")]
    Root,
    /// A folder with ACTS's event000000000-spacepoint.csv of each event, truth_vertices.csv and
    /// rois.csv
    Acts,
    /// A folder with TrackML's event000000000-hits.csv and -particles.csv of each event,
    /// truth_vertices.csv and rois.csv
    Trackml,
}

/// Simulates RoIs or whole events with truth, for `find`, `evaluate` and other programs
///
/// Helices in a solenoid's field through the layers of a detector, with pile-up, a beam spot,
/// resolution, inefficiency, multiple scattering and noise. The same options give the same bytes,
/// whatever the number of threads; a sample of any size takes little memory. Event N of a sample is
/// the same whatever --rois is.
#[derive(Args)]
#[command(after_help = EXIT_CODES, after_long_help = AFTER_LONG_HELP)]
pub(super) struct Simulate {
    /// Preset to start from, with the sizes of the thesis's samples; the options below change it
    #[arg(long, value_enum, default_value = "lowlum", help_heading = "Sample")]
    preset: PresetName,
    /// Number of RoIs, one an event [default: as many as the preset's]
    #[arg(long, visible_alias = "events", value_name = "N", help_heading = "Sample")]
    rois: Option<NonZeroUsize>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sample")]
    seed: u64,
    /// Layers; `find` must be told that a CSV is of generic
    /// [default: atlas2010; generic for --format acts and trackml, which need its ids]
    #[arg(long, value_enum, help_heading = "Sample")]
    detector: Option<DetectorName>,
    /// Whole events, not RoIs: the full circle, |eta| < 2.5 and no window; 17 tracks of the hard
    /// scatter a unit of eta
    #[arg(long, help_heading = "Sample")]
    full_scan: bool,

    /// Write to this file or folder, which appears when the run is complete; - is standard output
    #[arg(short, long, value_name = "FILE|FOLDER|-", default_value = "-", help_heading = "Output")]
    output: PathBuf,
    /// Output format [default: by the ending of -o, .csv, .parquet or .root; csv on standard
    /// output]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
    /// Write all true collisions to this CSV file, as `find --truth` reads it:
    /// event,vertex,vx_mm,vy_mm,vz_mm, their charged particles, and is_hard_scatter
    /// [default: truth_vertices.csv in a folder, else none]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    truth: Option<PathBuf>,
    /// Write the windows to this CSV file, as `find --rois` reads it:
    /// event_id,roi_id,phi_min,phi_max [default: rois.csv in a folder, else none]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    rois_file: Option<PathBuf>,
    /// Print only errors on standard error
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "Output")]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    knobs: Knobs,
}

const EXIT_CODES: &str = "Exit codes:
  0  done, or whoever read standard output has had enough
  1  output that cannot be written
  2  wrong usage: an unknown option, a value out of range, options that do not go together";

const AFTER_LONG_HELP: &str = "Examples:
  zfinder simulate -o lowlum.csv --truth truth.csv --rois-file rois.csv
  zfinder find lowlum.csv --rois rois.csv --truth truth.csv
  zfinder simulate --preset highlum --rois 100 --seed 7 --pile-up 60 > busy.csv
  zfinder simulate --full-scan --detector generic --format acts --events 20 --pile-up 40 -o events
  zfinder evaluate events
  zfinder simulate --hard-tracks-per-eta 60 --hard-pt-scale-gev 5 | zfinder find -

A value in brackets is that of the presets. Simulated are charged particles, flat in eta and phi, that leave one
spacepoint in each layer; not simulated are jets, decays, energy loss, modules and their overlaps.

Exit codes:
  0  done, or whoever read standard output has had enough
  1  output that cannot be written
  2  wrong usage: an unknown option, a value out of range, options that do not go together";

impl Simulate {
    pub(super) fn run(self) -> Result<(), Failure> {
        let start = Instant::now();
        let file = self.outputs_apart()?;
        let format = self.format(file)?;
        let simulation = self.simulation(format)?;
        command_host::start_threads(self.threads)?;
        let mut sink = Sink::open(file, format)?;
        let mut outputs = Outputs::open(&mut sink, &simulation, self.truth.as_deref(), self.rois_file.as_deref())?;
        let mut totals = Totals::default();
        let bar = self.bar(file, simulation.rois);
        stream(&simulation, |made| {
            totals.add(&made);
            outputs.write(&made)?;
            bar.inc(made.len() as u64);
            Ok(())
        })?;
        outputs.finish()?;
        bar.finish_and_clear();
        sink.finish()?;
        if !self.quiet {
            note(&totals.describe(&simulation, start));
        }
        Ok(())
    }

    /// Returns None if standard output goes to the same terminal.
    fn bar(&self, file: Option<&Path>, rois: usize) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() || (file.is_none() && io::stdout().is_terminal()) {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} RoIs, {elapsed}").expect("a fixed template");
        ProgressBar::new(rois as u64).with_style(style)
    }

    fn simulation(&self, format: Format) -> Result<Simulation, Failure> {
        let mut simulation = match self.preset {
            PresetName::Lowlum => Simulation::lowlum(),
            PresetName::Highlum => Simulation::highlum(),
        };
        if self.full_scan {
            simulation = simulation.whole_events();
        }
        simulation.seed = self.seed;
        simulation.rois = self.rois.map_or(simulation.rois, NonZeroUsize::get);
        simulation.geometry = match (self.detector, format) {
            (Some(DetectorName::Generic), _) | (None, Format::Acts | Format::Trackml) => Geometry::Generic,
            (Some(DetectorName::Atlas2010), Format::Acts | Format::Trackml) => {
                return Err(Failure::usage(
                    "--format acts and trackml name layers by ids, which --detector atlas2010 does not have",
                    "take --detector generic, or --format csv",
                ));
            }
            (None | Some(DetectorName::Atlas2010), _) => Geometry::Atlas2010,
        };
        self.knobs.turn(&mut simulation);
        simulation.validate().map_err(|error| match error {
            Error::Config { key, value, reason } => Failure::usage(
                format!("--{}: {value} {reason}", key.trim_end_matches("_mm").replace('_', "-")),
                "`zfinder simulate --help` says what each option means",
            ),
            other => other.into(),
        })?;
        if self.rois_file.is_some() && simulation.is_full_scan() {
            return Err(Failure::usage(
                "--rois-file: whole events have no windows",
                "leave --rois-file out, or give RoIs a window of at most 359 degrees",
            ));
        }
        Ok(simulation)
    }

    /// Returns the file or folder of spacepoints, or None for standard output. Two equal outputs
    /// are an error.
    fn outputs_apart(&self) -> Result<Option<&Path>, Failure> {
        let file = file_of(Some(&self.output));
        let tables = [&self.truth, &self.rois_file].into_iter().filter_map(|path| path.as_deref());
        command_host::check_distinct([], file.into_iter().chain(tables))?;
        Ok(file)
    }

    /// Returns the requested format, else that of the output's name.
    fn format(&self, file: Option<&Path>) -> Result<Format, Failure> {
        match (self.format, file) {
            (Some(format), _) => Ok(format),
            (None, None) => Ok(Format::Csv),
            (None, Some(path)) => match ending(path).as_str() {
                "csv" => Ok(Format::Csv),
                "parquet" => Ok(Format::Parquet),
                #[cfg(feature = "root")]
                "root" => Ok(Format::Root),
                _ => Err(Failure::usage(
                    format!("the ending of `{}` does not say how to write it", path.display()),
                    "end it in .csv, .parquet or .root, or give --format, as acts or trackml for a folder",
                )),
            },
        }
    }
}

/// Passes on the sample in order. Simulating and writing overlap.
fn stream(
    simulation: &Simulation,
    mut take: impl FnMut(Vec<SimulatedRoi>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        let chunks = simulation.chunks();
        scope.spawn(move || {
            for chunk in chunks {
                // After a failure the receiver is gone.
                if sender.send(chunk).is_err() {
                    return;
                }
            }
        });
        receiver.into_iter().try_for_each(&mut take)
    })
}

/// Totals of the sample.
#[derive(Default)]
struct Totals {
    rois: usize,
    spacepoints: usize,
    slices: f64,
}

/// Width of the counted slices \[degrees\]: that of the thesis.
const SLICE_DEG: f64 = 0.2;

impl Totals {
    fn add(&mut self, made: &[SimulatedRoi]) {
        self.rois += made.len();
        self.spacepoints += made.iter().map(|made| made.roi.spacepoints.len()).sum::<usize>();
        // Rounding must not add a slice to the full circle.
        let slices = |made: &SimulatedRoi| (made.window_width().to_degrees() / SLICE_DEG - 1e-9).ceil();
        self.slices += made.iter().map(slices).sum::<f64>();
    }

    fn describe(&self, simulation: &Simulation, start: Instant) -> String {
        let (rois, seconds) = (self.rois as f64, start.elapsed().as_secs_f64());
        format!(
            "{} in {}, seed {}: {}, mean {:.1}, and {:.1} slices of {SLICE_DEG} degrees; {seconds:.2} s, {:.0} RoIs a second",
            counted(self.rois, "RoI"),
            simulation.detector().name(),
            simulation.seed,
            counted(self.spacepoints, "spacepoint"),
            self.spacepoints as f64 / rois,
            self.slices / rois,
            rois / seconds,
        )
    }
}
