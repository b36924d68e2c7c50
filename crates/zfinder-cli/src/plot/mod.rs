//! `zfinder plot`: pictures.

mod efficiency;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use zfinder::config::Tracklets;
use zfinder::{Config, Engine, ZFinder};
use zfinder_io::OnError;
use zfinder_study::inspect::Inspect;
use zfinder_study::plot;

use super::input;
use super::output::PROGRAM;
use super::select::SelectOptions;
use command_host::{Failure, PictureOptions};

/// Draws pictures, as PNG, SVG or PDF by the ending of the file's name
#[derive(Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Plot {
    #[command(subcommand)]
    picture: Picture,
}

#[derive(Subcommand)]
enum Picture {
    Histogram(Box<Histogram>),
    Event(Box<Event>),
    Detector(Detector),
    Efficiency(efficiency::Efficiency),
}

/// Draws the z histogram of an RoI with found and true vertices
///
/// Draws the first RoI of the input, or of those that --event and --roi name. The upper panel has
/// the whole range, each step as high as the highest of its bins. The lower panel has every bin
/// near the first vertex. Truth is that of `zfinder find`. Computed by the reference engine;
/// `zfinder histogram` writes the data.
#[derive(Args)]
#[command(after_help = super::EXIT_CODES, after_long_help = HISTOGRAM_HELP)]
struct Histogram {
    #[command(flatten)]
    roi: RoiPicture,
}

/// Draws an RoI in r-z: spacepoints, layers, the pairs of the first vertex, found and true vertices
///
/// Draws the first RoI of the input, or of those that --event and --roi name. Pairs are drawn to
/// the beam line, with their third spacepoints. The right panel enlarges the region where they
/// meet. With tracklets (`--preset all-vertices`, `--tracklets`), these and their vertices are
/// drawn in place of pairs. Truth is that of `zfinder find`. Computed by the reference engine;
/// tracklets by the CPU engine. PNG is smaller for thousands of spacepoints.
#[derive(Args)]
#[command(after_help = super::EXIT_CODES, after_long_help = EVENT_HELP)]
struct Event {
    #[command(flatten)]
    roi: RoiPicture,
}

/// Draws the pixel layers of a detector in r-z, with those that may follow each on a tracklet
///
/// Without --output, prints the numbers of the layers that may follow each layer.
#[derive(Args)]
#[command(after_help = super::EXIT_CODES, after_long_help = DETECTOR_HELP)]
struct Detector {
    /// Built-in detector (atlas2010, generic, odd) or TOML file
    #[arg(value_name = "NAME|FILE.toml")]
    detector: String,
    /// Range of z of the beam that tracks come from [mm]; that of the preset auto if not given
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_negative_numbers = true)]
    z_range: Option<Vec<f64>>,
    /// Write to this file, which appears when the run is complete
    #[arg(short, long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
}

const DETECTOR_HELP: &str = "Examples:
  zfinder plot detector generic
  zfinder plot detector telescope.toml -o layers.svg

Exit codes:
  0  drawn or printed
  1  an output that cannot be written
  2  wrong usage: an unknown option, a bad detector file";

const HISTOGRAM_HELP: &str = "Examples:
  zfinder plot histogram data/zee7_mu2 --event 3 -o histogram.svg
  zfinder plot histogram --preset hard-scatter data/tt14_mu46 -o histogram.png

Exit codes:
  0  drawn
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad configuration or detector file, no such RoI";

const EVENT_HELP: &str = "Examples:
  zfinder plot event data/zee7_mu2 --event 3 -o event.png
  zfinder plot event --preset hard-scatter data/tt14_mu46 -o event.png
  zfinder plot event --preset all-vertices --tracklets all data/tt14_mu46 -o tracklets.png

Exit codes:
  0  drawn
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad configuration or detector file, no such RoI";

/// Options that plots of an RoI share.
#[derive(Args)]
struct RoiPicture {
    /// Write to this file, which appears when the run is complete
    #[arg(
        short,
        long,
        required_unless_present = "print_config",
        value_name = "FILE.png|.svg|.pdf",
        help_heading = "Output"
    )]
    output: Option<PathBuf>,

    #[command(flatten)]
    picture: PictureOptions,

    #[command(flatten)]
    select: SelectOptions,
}

impl Plot {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.picture {
            Picture::Histogram(histogram) => histogram.run(),
            Picture::Event(event) => event.run(),
            Picture::Detector(detector) => detector.run(),
            Picture::Efficiency(efficiency) => efficiency.run(),
        }
    }
}

impl Histogram {
    fn run(self) -> Result<(), Failure> {
        let RoiPicture { output: Some(output), select, picture } = self.roi else {
            return self.roi.select.config().map(|_| ());
        };
        let Some(config) = select.config()? else { return Ok(()) };
        let mut selected = select.open(config, Some(&output))?;
        let target = picture.open(&output, PROGRAM)?;
        let roi = selected.first()?;
        let inspection = selected.finder.inspect(&roi)?;
        target.draw(&plot::histogram(&inspection, selected.vertices(roi.descriptor.id)))
    }
}

impl Detector {
    fn run(self) -> Result<(), Failure> {
        command_host::check_distinct([Path::new(&self.detector)], self.output.as_deref())?;
        let detector = input::detector(Some(&self.detector), &[], None, OnError::Stop)?;
        let config = Config::default();
        let z_range = match self.z_range.as_deref() {
            Some(&[low, high]) if low < high && low.is_finite() && high.is_finite() => [low, high],
            Some(_) => return Err(Failure::usage("--z-range is no range", "give two numbers, the lower one first")),
            None => [config.z_min_mm, config.z_max_mm],
        };
        let graph = detector.layer_graph(z_range);
        if graph.edges().next().is_none() {
            return Err(Failure::usage(
                format!("no pixel layer of detector {} follows another one", detector.name()),
                "give layers sensor = \"pixel\" for tracklets",
            ));
        }
        match self.output {
            Some(output) => self.picture.open(&output, PROGRAM)?.draw(&plot::detector(&detector, z_range)),
            None => {
                let written = io::stdout().lock().write_all(graph.to_string().as_bytes());
                written.map_err(|source| Failure::output("standard output", &source))
            }
        }
    }
}

impl Event {
    fn run(self) -> Result<(), Failure> {
        let RoiPicture { output: Some(output), select, picture } = self.roi else {
            return self.roi.select.config().map(|_| ());
        };
        let Some(config) = select.config()? else { return Ok(()) };
        let mut selected = select.open(config, Some(&output))?;
        let target = picture.open(&output, PROGRAM)?;
        let roi = selected.first()?;
        let finder = &selected.finder;
        let inspection = finder.inspect(&roi)?;
        let config = finder.config();
        if config.all_vertices || config.tracklets != Tracklets::Off {
            let with_all = ZFinder::builder(finder.detector().clone()).config(config.clone()).engine(Engine::Cpu);
            let answer = with_all.build()?.find(&roi)?;
            let truth = selected.vertices(roi.descriptor.id);
            return target.draw(&plot::event_with_tracklets(&inspection, &answer, selected.finder.detector(), truth));
        }
        let pairs = match inspection.peaks.first() {
            Some(peak) => finder.pairs(&roi, peak)?,
            None => Vec::new(),
        };
        let truth = selected.vertices(roi.descriptor.id);
        target.draw(&plot::event(&inspection, &pairs, finder.detector(), truth))
    }
}
