//! `zfinder find`: files of spacepoints in, vertices out.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use zfinder::io::{Inputs, RoiTable, SpacepointReader, TruthTable};
use zfinder::{AdapterChoice, Answered, Engine, RoiBatch, StreamOptions, ZFinder};

use super::failure::Failure;
use super::input;
use super::options::{AccumulateName, ConfigOptions, PrecisionName};
use super::output::{Format, Output, note};
use super::table::Score;

/// A batch is searched when it holds this many spacepoints, or RoIs.
const BATCH_SPACEPOINTS: usize = 1_000_000;
const BATCH_ROIS: usize = 4096;

/// Batches that are searched while the next is read; on several GPUs the stream has more.
const IN_FLIGHT: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// A hardware GPU if there is one, else the CPU
    Auto,
    /// A GPU
    Gpu,
    /// All cores
    Cpu,
    /// Serial and in f64: slow, and what the others are checked against
    Reference,
}

/// Finds the vertices of every RoI in files of spacepoints
///
/// Input is CSV, gzipped or not, with these columns in any order (mm, rad):
///   own format    event_id,roi_id,x,y,z,layer  or  event_id,roi_id,rho,phi,z,layer
///   ACTS          measurement_id_1,...,geometry_id_1,...,x,y,z,...  (older: sp_x,sp_y,sp_z)
/// event_id and roi_id may be absent: the event is then the number after `event` in the file's name, else 0.
#[derive(Args)]
#[command(verbatim_doc_comment, after_help = super::EXIT_CODES, after_long_help = AFTER_LONG_HELP)]
pub(super) struct Find {
    /// Files of spacepoints, or folders of them (every *spacepoint*.csv[.gz] and other CSV of spacepoints inside)
    #[arg(required_unless_present = "print_config", value_name = "FILE|FOLDER")]
    paths: Vec<PathBuf>,

    /// CSV of RoIs: event_id,roi_id,phi_min,phi_max [rad], optionally eta and z_min,z_max [mm]
    ///
    /// phi_min > phi_max is a window across +-pi. If the input has a roi_id column, a line gives the window of that
    /// (event, RoI), and an RoI without a line keeps the default window. If the input has none, each line selects from
    /// all spacepoints of its event, and an event without a line is not searched. An RoI without spacepoints has
    /// status `empty`. Warnings count all of these.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    rois: Option<PathBuf>,
    /// Layers: atlas2010, generic or a TOML file [default: generic for ACTS input, atlas2010 for the own format]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Input")]
    detector: Option<String>,
    /// CSV of true vertices: event,vz_mm,is_hard_scatter or event_id,roi_id,z [mm] [default: truth_vertices.csv beside
    /// the input, if there]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    truth: Option<PathBuf>,

    /// How to write [default: by the ending of -o, .csv, .json, .jsonl or .txt; else table]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
    /// Write to this file, which appears when all is done
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// No progress bar (there is none anyway if standard error is no terminal)
    #[arg(long, help_heading = "Output")]
    no_progress: bool,
    /// Nothing on standard error but warnings and errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// What computes
    #[arg(long, value_enum, default_value = "auto", help_heading = "Engine")]
    engine: EngineName,
    /// GPU to use, by index, part of its name, or PCI id, as `zfinder adapters` lists them, or all (hardware) GPUs; may be
    /// repeated; implies --engine gpu
    #[arg(long, value_name = "INDEX|NAME|PCI|all", help_heading = "Engine")]
    adapter: Vec<AdapterChoice>,
    /// How z is summed on the GPU and the CPU
    #[arg(long, value_enum, default_value = "fixed", help_heading = "Engine")]
    accumulate: AccumulateName,
    /// Number type on the GPU and the CPU
    #[arg(long, value_enum, default_value = "f32", help_heading = "Engine")]
    precision: PrecisionName,

    #[command(flatten)]
    config: ConfigOptions,
}

const AFTER_LONG_HELP: &str = "Examples:
  zfinder find data/zee7_mu2
  zfinder find --triplets any --peaks 5 data/tt14_mu46
  zfinder find --detector generic --rois data/rois/rois.csv data/rois/spacepoints.csv -o vertices.csv
  zfinder find --config my.toml --print-config

Each key of the configuration is an option; the order is --preset, then --config, then the options.
A [config: ...] is the value of the default preset.

Exit codes:
  0  done; what became of each RoI is its status
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad configuration or detector file
  3  no such adapter, or the GPU or another engine failed";

/// What a run took.
#[derive(Default)]
struct Totals {
    rois: usize,
    spacepoints: usize,
    /// For answers, beyond what reading took meanwhile.
    waiting: Duration,
}

impl Find {
    pub(super) fn run(self) -> Result<(), Failure> {
        let start = Instant::now();
        let config = self.config.config()?;
        if self.config.print_config {
            use io::Write;
            let mut out = io::stdout().lock();
            let written = out.write_all(config.to_toml().as_bytes());
            return written.map_err(|source| Failure::output("standard output", source));
        }
        let engine = self.engine()?;
        let format = self.format()?;
        let inputs = self.inputs()?;
        let detector = input::detector(self.detector.as_deref(), &inputs.files)?;
        let rois = self.rois.as_deref().map(RoiTable::read).transpose()?;
        if let Some(rois) = &rois {
            rois.validate(&config)?;
        }
        let truth = self.truth()?;
        let finder = ZFinder::builder()
            .config(config.clone())
            .detector(detector.clone())
            .engine(engine)
            .accumulate(self.accumulate.into())
            .precision(self.precision.into())
            .build()?;
        if !self.quiet {
            note(&format!("{}; detector {}", finder.description(), detector.name()));
        }
        let output = Output::open(self.output.as_deref(), format, truth.as_ref())?;
        let reader = SpacepointReader::new(inputs.files, detector, rois);
        let score = self.search(&finder, reader, output, truth.as_ref(), start)?;
        // In a table the score is the last line of the output itself.
        if let Some(score) = score.filter(|_| format != Format::Table && !self.quiet) {
            note(&score.summary(config.peaks));
        }
        Ok(())
    }

    fn search(
        &self,
        finder: &ZFinder,
        mut reader: SpacepointReader,
        mut output: Output<'_>,
        truth: Option<&TruthTable>,
        start: Instant,
    ) -> Result<Option<Score>, Failure> {
        let bar = self.bar(reader.files());
        let mut score = Score::default();
        let mut totals = Totals::default();
        let stream = finder.stream(StreamOptions { in_flight: IN_FLIGHT })?;
        let (mut reading, mut unread) = (Duration::ZERO, None);
        // Files are read while those read before are searched.
        let batches = std::iter::from_fn(|| {
            let begin = Instant::now();
            let batch = read_batch(&mut reader, &bar);
            reading += begin.elapsed();
            batch.unwrap_or_else(|error| {
                unread = Some(error);
                None
            })
        });
        let mut answers = stream.run(batches);
        loop {
            let begin = Instant::now();
            let Some(answered) = answers.next() else { break };
            totals.waiting += begin.elapsed();
            let Answered { batch, results } = answered?;
            totals.rois += batch.len();
            totals.spacepoints += batch.spacepoints();
            if let Some(truth) = truth {
                results.iter().for_each(|result| score.add(truth, result));
            }
            bar.suspend(|| output.results(&results))?;
        }
        drop(answers);
        // What came before it is told first.
        if let Some(error) = unread {
            return Err(error.into());
        }
        totals.waiting = totals.waiting.saturating_sub(reading);
        bar.finish_and_clear();
        if truth.is_some() && self.format()? == Format::Table {
            output.closing(&score.summary(finder.config().peaks))?;
        }
        output.finish()?;
        for warning in reader.warnings() {
            note(&format!("warning: {warning}"));
        }
        if !self.quiet {
            note(&format!(
                "{}, {}, {}: {:.3} s, of which waiting for answers {:.3} s",
                counted(reader.events(), "event"),
                counted(totals.rois, "RoI"),
                counted(totals.spacepoints, "spacepoint"),
                start.elapsed().as_secs_f64(),
                totals.waiting.as_secs_f64()
            ));
        }
        Ok(truth.map(|_| score))
    }

    fn engine(&self) -> Result<Engine, Failure> {
        if self.adapter.is_empty() {
            return Ok(match self.engine {
                EngineName::Auto => Engine::Auto,
                EngineName::Gpu => Engine::Gpu(AdapterChoice::Hardware),
                EngineName::Cpu => Engine::Cpu,
                EngineName::Reference => Engine::Reference,
            });
        }
        if matches!(self.engine, EngineName::Cpu | EngineName::Reference) {
            return Err(Failure::Usage {
                message: "--adapter names a GPU, and --engine cpu and reference use none".into(),
                help: "leave one of the two out; --adapter alone means --engine gpu",
            });
        }
        Ok(Engine::Gpus(self.adapter.clone()))
    }

    fn format(&self) -> Result<Format, Failure> {
        match (self.format, &self.output) {
            (Some(format), _) => Ok(format),
            (None, None) => Ok(Format::Table),
            (None, Some(path)) => Format::of_name(path).ok_or_else(|| Failure::Usage {
                message: format!("the ending of `{}` does not say how to write it", path.display()),
                help: "end it in .csv, .json, .jsonl or .txt, or give --format",
            }),
        }
    }

    fn inputs(&self) -> Result<Inputs, Failure> {
        let inputs = input::inputs(&self.paths)?;
        let own = self.output.as_ref().and_then(|output| fs::canonicalize(output).ok());
        if own.is_some() && inputs.files.iter().any(|file| fs::canonicalize(file).ok() == own) {
            return Err(Failure::Usage {
                message: "the output file is one of the inputs".into(),
                help: "give -o another name",
            });
        }
        Ok(inputs)
    }

    /// The truth that was named, else the one that lies in the only folder of the input.
    fn truth(&self) -> Result<Option<TruthTable>, Failure> {
        if let Some(path) = &self.truth {
            return Ok(Some(TruthTable::read(path)?));
        }
        let mut folders = self.paths.iter().map(|path| {
            if path.is_dir() { path.clone() } else { path.parent().map(Path::to_owned).unwrap_or_default() }
        });
        let Some(folder) = folders.next() else { return Ok(None) };
        let beside = folder.join("truth_vertices.csv");
        if folders.any(|other| other != folder) || !beside.is_file() {
            return Ok(None);
        }
        Ok(Some(TruthTable::read(&beside)?))
    }

    fn bar(&self, files: usize) -> ProgressBar {
        if self.quiet || self.no_progress || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style =
            ProgressStyle::with_template("{bar:40} {pos}/{len} files read, {elapsed}").expect("a fixed template");
        ProgressBar::new(files as u64).with_style(style)
    }
}

/// The next batch; None when all is read.
fn read_batch(reader: &mut SpacepointReader, bar: &ProgressBar) -> zfinder::Result<Option<RoiBatch>> {
    let mut batch = RoiBatch::new();
    while batch.len() < BATCH_ROIS && batch.spacepoints() < BATCH_SPACEPOINTS {
        let Some(roi) = reader.next().transpose()? else { break };
        batch.push(roi.descriptor, roi.spacepoints);
        bar.set_position(reader.files_read() as u64);
    }
    Ok(Some(batch).filter(|batch| !batch.is_empty()))
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
