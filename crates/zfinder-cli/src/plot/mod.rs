//! `zfinder plot`: pictures.

mod efficiency;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use zfinder::config::Tracklets;
use zfinder::{Engine, ZFinder};
use zfinder_study::inspect::Inspect;
use zfinder_study::plot;

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
