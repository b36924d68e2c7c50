//! `zfinder bench`: measures the speed of every engine on this machine and checks its answers.
//!
//! The laboratory's command (`lab/src/bench`) has the same options and more measurements, so the
//! items of this module are public. They change with any release.
#![allow(
    missing_docs,
    clippy::len_without_is_empty,
    reason = "shared with the laboratory's command, and with no other program"
)]

mod callers;
pub mod check;
mod flow;
mod gpus;
mod group;
mod measure;
pub mod memory;
pub mod report;
pub mod sample;
mod self_check;
mod table;
mod timeline;
pub mod words;

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use zfinder::gpu::AdapterChoice;
use zfinder::thesis::Accumulate;
use zfinder::{Encoding, Engine, Precision, StreamOptions, ZFinder};

use super::engine::DesignName;
use super::options::{in_flight, threads, words};
use check::Expected;
use command_host::Failure;
use command_host::note;
use group::AdapterGroup;
use measure::MeasuredCase;
use report::{Adapter, Host, Report, SampleReport, Settings};
use sample::Sample;
pub use self_check::SelfCheck;
pub use words::{CaseName, or_all, word};
use words::{CoordinatesName, EngineName, SampleName};

/// Measures every engine on this machine and checks the answers that it times
///
/// Reports for each sample, case and engine: RoIs a second from host memory to vertices, as a
/// stream and batch by batch (median, slowest and fastest round), latency of one RoI, and time on
/// one core. A GPU also has RoIs a second with resident data, the time of each kernel, bytes
/// uploaded. A build without --release is marked.
#[derive(Args)]
#[command(after_help = EXIT_CODES, after_long_help = AFTER_LONG_HELP)]
pub struct Bench {
    /// Simulated sample of the size of the thesis's; may be repeated [default: all]
    #[arg(
        long,
        value_enum,
        value_name = "SAMPLE",
        value_delimiter = ',',
        conflicts_with = "input",
        help_heading = "Sample"
    )]
    pub sample: Vec<SampleName>,
    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sample")]
    pub seed: u64,
    /// Measure the RoIs of these files or folders, read as `zfinder find` reads them
    #[arg(long, num_args = 1.., value_name = "FILE|FOLDER", help_heading = "Sample")]
    pub input: Vec<PathBuf>,
    /// CSV of RoIs for --input, as of `zfinder find`
    #[arg(long, value_name = "FILE", requires = "input", help_heading = "Sample")]
    pub rois: Option<PathBuf>,
    /// Layers of --input: atlas2010, generic, odd or a TOML file [default: as of `zfinder find`]
    #[arg(long, value_name = "NAME|FILE.toml", requires = "input", help_heading = "Sample")]
    pub detector: Option<String>,
    /// Take no more than the first N RoIs of a sample
    /// [default: all; with --quick 256, of highlum 32]
    #[arg(long, value_name = "N", value_parser = rois, help_heading = "Sample")]
    pub limit: Option<NonZeroUsize>,
    /// RoIs of a batch; the sample repeats to fill it [default: lowlum 8192, highlum 512, of
    /// --input about 2,000,000 spacepoints, and fewer on a slow engine]
    #[arg(long, visible_alias = "rois-per-batch", value_name = "N", value_parser = rois, help_heading = "Sample")]
    pub batch: Option<NonZeroUsize>,

    /// Case to measure: configuration of the search; may be repeated [default: all]
    #[arg(long, value_enum, value_name = "CASE", value_delimiter = ',', help_heading = "What is measured")]
    pub case: Vec<CaseName>,
    /// Engine to measure; may be repeated [default: all, the GPU only if there is one or --adapter
    /// names it]
    #[arg(long, value_enum, value_name = "ENGINE", value_delimiter = ',', help_heading = "What is measured")]
    pub engine: Vec<EngineName>,
    /// GPU to measure, by index, part of its name, or PCI id, as `zfinder adapters` lists them; may
    /// be repeated, and each is measured. 0+1: GPUs that work together; all: every hardware GPU,
    /// which then work together
    #[arg(long, value_name = "INDEX|NAME|PCI|all", help_heading = "What is measured")]
    pub adapter: Vec<AdapterGroup>,
    /// Encoding of spacepoints for a GPU; the CPU engine computes with the same values [default:
    /// compact; lossless of --input]
    #[arg(long, value_parser = words::<Encoding>(Encoding::WORDS), value_name = "ENCODING", help_heading = "What is measured")]
    pub encoding: Option<Encoding>,
    /// Number type of coordinates in host memory [default: f32; f64 of --input]
    #[arg(long, value_enum, value_name = "TYPE", help_heading = "What is measured")]
    pub coordinates: Option<CoordinatesName>,
    /// Number type on the GPU and the CPU
    #[arg(long, value_parser = words::<Precision>(Precision::WORDS), default_value = "f32", help_heading = "What is measured")]
    pub precision: Precision,
    /// Kernels on a GPU; the thesis's need --engine gpu, which they imply
    #[arg(long, value_enum, default_value = "product", help_heading = "What is measured")]
    pub design: DesignName,
    /// Arithmetic of the sums of z on the GPU and the CPU [default: fixed; with --design thesis
    /// compare-exchange]
    #[arg(long, value_parser = words::<Accumulate>(Accumulate::WORDS), help_heading = "What is measured")]
    pub accumulate: Option<Accumulate>,
    /// Threads of the CPU engine [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "What is measured")]
    pub threads: Option<NonZeroUsize>,
    /// Batches in flight in a stream; the thesis's two streams are 2
    /// [default: twice as many as cores, 2 to 32]
    #[arg(long, value_name = "N", value_parser = in_flight, help_heading = "What is measured")]
    pub in_flight: Option<NonZeroUsize>,
    /// Microseconds that a blocking call polls the GPU before its thread parks; reduces the latency
    #[arg(long, value_name = "US", default_value_t = 0, help_heading = "What is measured")]
    pub spin_us: u64,
    /// Also time streams of this many RoIs and their memory; the sample repeats: 1000,10000,...
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "What is measured")]
    pub stream_rois: Vec<NonZeroUsize>,
    /// Also time the steps of a call, with one caller and with one a core
    #[arg(long, help_heading = "What is measured")]
    pub timeline: bool,

    /// Fewer RoIs and shorter rounds: about a minute without a GPU
    #[arg(long, help_heading = "How")]
    pub quick: bool,
    /// Rounds of each figure [default: 7, with --quick 3]
    #[arg(long, value_name = "N", help_heading = "How")]
    pub rounds: Option<NonZeroUsize>,
    /// Approximate seconds of a round: a slow engine gets a part of the sample, a fast one gets it
    /// repeatedly [default: 0.5, with --quick 0.1]
    #[arg(long, value_name = "S", value_parser = seconds, help_heading = "How")]
    pub seconds: Option<f64>,
    /// RoIs of each sample whose answers are checked against the reference engine [default: 64, of
    /// a sample with more than 2000 spacepoints an RoI 16; with --quick a quarter]; fewer if they
    /// take more than 10 s
    #[arg(long, value_name = "N", help_heading = "How")]
    pub check: Option<NonZeroUsize>,

    /// One JSON document on standard output instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress bar (there never is one if standard error is not a terminal)
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,
}

const EXIT_CODES: &str = "Exit codes: as of `zfinder find`, and 4 when an engine's answer is wrong";

const AFTER_LONG_HELP: &str = "Examples:
  zfinder bench --quick
  zfinder bench --sample highlum --case pairs,triplets --engine gpu --json > bench.json
  zfinder bench --engine gpu --adapter llvmpipe --limit 8 --check 4
  zfinder bench --sample lowlum --case pairs --engine gpu --stream-rois 1000,10000,100000,1000000
  zfinder bench --design thesis --case pairs --adapter llvmpipe --quick
  zfinder bench --input data/rois/spacepoints.csv --rois data/rois/rois.csv --detector generic

The keys of --json are explained in docs/reference/bench.md. All its keys are always there; values that could not be measured are null.

Exit codes:
  0  measured, and every answer that was checked is right
  1  input that cannot be read, is wrong or holds no RoI; output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad detector file
  3  no such adapter, or the GPU failed
  4  an engine's answer is not that of the reference engine";

/// Parses a number of RoIs that are in memory at once.
fn rois(text: &str) -> Result<NonZeroUsize, String> {
    const MOST: usize = 1 << 24;
    let rois: NonZeroUsize = text.parse().map_err(|error| format!("{error}"))?;
    if rois.get() > MOST {
        return Err(format!("{MOST} is the most, because all are in memory"));
    }
    Ok(rois)
}

/// Parses the seconds of a round: a positive number up to an hour.
fn seconds(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|seconds| (1e-3..=3600.0).contains(seconds));
    parsed.ok_or_else(|| "a number from 0.001 to 3600 is expected".into())
}

impl Bench {
    pub fn run(self) -> Result<(), Failure> {
        let mut report = self.report()?;
        let bar = self.bar();
        let gpus = self.gpus(&mut report.not_measured)?;
        for adapter in gpus.iter().flatten() {
            if report.adapters.iter().all(|known| known.index != adapter.index) {
                report.adapters.push(adapter.clone());
            }
        }
        for source in self.sources() {
            bar.set_message(source.map_or("reading the input".into(), |name| format!("simulating {}", word(name))));
            let sample = self.sample(source)?;
            let measured = self.measure(&sample, &gpus, &report.settings, &bar)?;
            report.samples.push(measured);
            if let Some(measured) = report.samples.last().filter(|_| !self.json) {
                let text = table::of_sample(measured, &report);
                bar.suspend(|| written(&text))?;
            }
        }
        bar.finish_and_clear();
        let text = if self.json {
            let json = serde_json::to_string_pretty(&report).map_err(io::Error::from);
            json.map_err(|source| Failure::output("standard output", &source))? + "\n"
        } else {
            table::closing(&report)
        };
        written(&text)
    }

    /// Returns a report without measurements.
    pub fn report(&self) -> Result<Report, Failure> {
        if self.design == DesignName::Thesis && self.engine_names() != [EngineName::Gpu] {
            return Err(DesignName::misfit());
        }
        if !self.adapter.is_empty() && !self.wants(EngineName::Gpu) {
            return Err(Failure::usage(
                "--adapter names a GPU, and --engine cpu and reference use none",
                "leave --adapter out, or add --engine gpu",
            ));
        }
        let debug_build = cfg!(debug_assertions);
        if debug_build {
            note("warning: this is a debug build, whose figures mean little: use `cargo run --release -- bench`");
        }
        Ok(Report {
            version: env!("CARGO_PKG_VERSION"),
            debug_build,
            host: Host {
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                threads: self.threads.map_or_else(rayon::current_num_threads, NonZeroUsize::get),
            },
            settings: Settings {
                quick: self.quick,
                rounds: self.rounds.map_or(if self.quick { 3 } else { 7 }, NonZeroUsize::get),
                seconds: self.seconds.unwrap_or(if self.quick { 0.1 } else { 0.5 }),
                in_flight: self.in_flight.map_or(StreamOptions::default().in_flight, NonZeroUsize::get),
                encoding: self.encoding.unwrap_or(if self.input.is_empty() {
                    Encoding::Compact
                } else {
                    Encoding::Lossless
                }),
                coordinates: self.coordinates(),
                spin_us: self.spin_us,
                precision: self.precision.to_string(),
                accumulate: self.accumulate().to_string(),
                design: self.design,
            },
            adapters: Vec::new(),
            not_measured: Vec::new(),
            samples: Vec::new(),
        })
    }

    pub fn coordinates(&self) -> CoordinatesName {
        self.coordinates.unwrap_or(if self.input.is_empty() { CoordinatesName::F32 } else { CoordinatesName::F64 })
    }

    pub fn accumulate(&self) -> Accumulate {
        self.design.accumulate(self.accumulate)
    }

    /// Returns the engines to measure: the named ones, else all that have the design.
    pub fn engine_names(&self) -> Vec<EngineName> {
        match (self.design, self.engine.as_slice()) {
            (DesignName::Thesis, []) => vec![EngineName::Gpu],
            _ => or_all(&self.engine),
        }
    }

    pub fn wants(&self, engine: EngineName) -> bool {
        self.engine_names().contains(&engine)
    }

    /// Returns the requested samples; None is the sample of the input.
    pub fn sources(&self) -> Vec<Option<SampleName>> {
        if self.input.is_empty() { or_all(&self.sample).into_iter().map(Some).collect() } else { vec![None] }
    }

    /// Returns a simulated sample, or that of the input.
    pub fn sample(&self, simulated: Option<SampleName>) -> Result<Sample, Failure> {
        self.sample_of(simulated, self.coordinates())
    }

    pub fn sample_of(&self, simulated: Option<SampleName>, coordinates: CoordinatesName) -> Result<Sample, Failure> {
        let batch = self.batch.map(NonZeroUsize::get);
        let few = if simulated == Some(SampleName::Highlum) { 32 } else { 256 };
        let limit = self.limit.map(NonZeroUsize::get).or(self.quick.then_some(few));
        match simulated {
            Some(name) => Ok(Sample::simulated(name, self.seed, coordinates, limit, batch)),
            None => {
                let (rois, detector) = (self.rois.as_deref(), self.detector.as_deref());
                Sample::read(&self.input, rois, detector, coordinates, limit, batch)
            }
        }
    }

    fn measure(
        &self,
        sample: &Sample,
        gpus: &[Vec<Adapter>],
        settings: &Settings,
        bar: &ProgressBar,
    ) -> Result<SampleReport, Failure> {
        let quarter = if self.quick { 4 } else { 1 };
        let check = self.check.map_or(if sample.is_busy() { 16 } else { 64 } / quarter, NonZeroUsize::get);
        let stream_rois: Vec<usize> = self.stream_rois.iter().copied().map(NonZeroUsize::get).collect();
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut results = Vec::new();
        for case in or_all(&self.case) {
            let config = case.config();
            let place = format!("{}, {}", sample.name(), word(case));
            bar.set_message(format!("{place}: reference engine"));
            let expected = Expected::new(sample, &config, settings.encoding, check)?;
            for (engine, adapters) in self.engines(gpus) {
                let name = table::name(engine, &adapters.iter().map(|adapter| adapter.index).collect::<Vec<_>>());
                let index = |adapter: &Adapter| AdapterChoice::Index(adapter.index);
                let builder = ZFinder::builder(sample.detector().clone())
                    .config(config.clone())
                    .engine(match engine {
                        EngineName::Gpu => Engine::Gpus(adapters.iter().map(index).collect()),
                        EngineName::Cpu => Engine::Cpu,
                        EngineName::Reference => Engine::Reference,
                    })
                    .encoding(settings.encoding)
                    .precision(self.precision)
                    .spin(Duration::from_micros(self.spin_us));
                let builder = self.design.apply(builder, self.accumulate);
                let builder = self.threads.map_or(builder.clone(), |threads| builder.threads(threads));
                bar.set_message(format!("{place}, {name}: building it"));
                let subject = MeasuredCase {
                    sample,
                    case,
                    engine,
                    adapters,
                    config: &config,
                    finder: &builder.clone().build()?,
                    builder: &builder,
                    expected: &expected,
                    rounds: settings.rounds,
                    seconds: settings.seconds,
                    in_flight: settings.in_flight,
                    stream_rois: &stream_rois,
                    times_steps: self.timeline,
                    cores,
                    exact: self.accumulate() == Accumulate::Fixed,
                    say: &|step| bar.set_message(format!("{place}, {name}: {step}")),
                };
                results.push(subject.measure()?);
            }
        }
        Ok(SampleReport {
            name: sample.name().to_owned(),
            seed: sample.seed(),
            files: sample.files().iter().map(|path| path.display().to_string()).collect(),
            detector: sample.detector().name().to_owned(),
            rois: sample.len(),
            spacepoints: sample.spacepoints(),
            batch_rois: sample.batch_rois(),
            results,
        })
    }

    pub fn bar(&self) -> ProgressBar {
        if self.no_progress || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {msg}").expect("a fixed template");
        let bar = ProgressBar::new_spinner().with_style(style);
        // A thread draws the bar, rarely enough not to disturb the timing.
        bar.enable_steady_tick(Duration::from_millis(500));
        bar
    }
}

pub fn written(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|source| Failure::output("standard output", &source))
}
