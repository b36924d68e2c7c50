//! `zfinder-lab bench`: `zfinder bench` with the measurements of the laboratory.

mod accurate;
mod bus;
mod soak;
mod staircase;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use command_host::{Failure, PictureOptions};
use zfinder_cli::bench::Bench;

/// Measures as `zfinder bench` does, or soaks engines, measures the steps of the thesis, errors of
/// number types, or the bus
///
/// Without one of the options under "Laboratory", the command is `zfinder bench`.
#[derive(Args)]
#[command(after_long_help = AFTER_LONG_HELP)]
pub(super) struct LabBench {
    #[command(flatten)]
    bench: Bench,
    /// Instead of measuring, search random batches for this long on each engine, including invalid
    /// RoIs; check every answer, and that neither memory nor handles grow: 90s, 10m, 2h. Cases and
    /// adapters are those of the options above; the defaults are all cases but all-options, and
    /// --encoding lossless
    #[arg(
        long,
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        conflicts_with_all = [
            "sample", "input", "limit", "batch", "coordinates", "in_flight", "spin_us", "stream_rois", "quick", "rounds",
            "seconds", "check"
        ],
        help_heading = "Laboratory"
    )]
    soak: Option<Duration>,
    /// With --soak, also use options at the ends of their ranges
    #[arg(long, requires = "soak", conflicts_with = "case", help_heading = "Laboratory")]
    extremes: bool,
    /// With --soak, a new random configuration for each few batches, in place of the cases
    #[arg(long, requires = "soak", conflicts_with_all = ["case", "extremes"], help_heading = "Laboratory")]
    random_configurations: bool,
    /// Instead of measuring engines, measure the steps that lead to the thesis's design, one kernel
    /// variant each, on a GPU; answers are checked (docs/thesis.md)
    #[arg(long, conflicts_with_all = OTHER_MEASUREMENTS, help_heading = "Laboratory")]
    staircase: bool,
    /// With --staircase, draw the times
    #[arg(long, value_name = "FILE.png|.svg|.pdf", requires = "staircase", help_heading = "Output")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
    /// Instead of measuring times, compare the vertices of each engine in f64 and f32 with those of
    /// the reference engine with the accurate extrapolation: Table 5.1 of the thesis
    #[arg(long, value_enum, value_name = "EXTRAPOLATION", conflicts_with_all = OTHER_MEASUREMENTS, conflicts_with = "staircase", help_heading = "Laboratory")]
    against: Option<AgainstName>,
    /// With --against, shift the bins of z by half a bin, as in the thesis
    #[arg(long, requires = "against", help_heading = "Laboratory")]
    half_bin_offset: bool,
    /// Instead of measuring engines, measure the bandwidth of uploads to each GPU
    #[arg(long, conflicts_with_all = OTHER_MEASUREMENTS, conflicts_with_all = ["staircase", "against"], help_heading = "Laboratory")]
    bus: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AgainstName {
    /// Along the line through both spacepoints, to where it is nearest to the beam
    Accurate,
}

/// Options of other measurements that --staircase, --against and --bus refuse.
const OTHER_MEASUREMENTS: [&str; 12] = [
    "soak",
    "case",
    "engine",
    "encoding",
    "coordinates",
    "precision",
    "accumulate",
    "batch",
    "in_flight",
    "spin_us",
    "stream_rois",
    "seconds",
];

const AFTER_LONG_HELP: &str = "Examples:
  zfinder-lab bench --soak 10m --engine gpu --adapter llvmpipe
  zfinder-lab bench --staircase --sample highlum --plot staircase.svg
  zfinder-lab bench --against accurate --half-bin-offset --adapter llvmpipe --limit 100
  zfinder-lab bench --bus --adapter llvmpipe

Exit codes: as of `zfinder bench`; with --soak, 4 also when memory grows";

impl LabBench {
    pub(super) fn run(self) -> Result<(), Failure> {
        if let Some(duration) = self.soak {
            return self.soak_for(duration);
        }
        if self.staircase {
            return self.staircase();
        }
        if self.against.is_some() {
            return self.against_accurate();
        }
        if self.bus { self.measure_buses() } else { self.bench.run() }
    }
}
