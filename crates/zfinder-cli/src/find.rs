//! `zfinder find`: finds vertices in files of spacepoints.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use zfinder::config::Tracklets;
use zfinder::{Results, RoiBatch, RoiId, RoiResult, ZFinder};
use zfinder_io::{AnswerDigest, Provenance, TruthTable, VertexColumns};
use zfinder_study::inspect::Inspect;
use zfinder_study::plot;

use super::beam_spot::{self, RoiSource};
use super::engine::EngineOptions;
use super::follow::follow;
use super::input::{self, InputOptions, OnErrorOptions, Skipped};
use super::options::ConfigOptions;
use super::output::{self, AnswerFile, Format};
use super::outside_range::RoisWithoutPeak;
use super::search::{ProgressOptions, counted, headline, search};
use super::shard::{ShardOption, shard};
use super::table::Score;
use super::tracklet_file::TrackletFile;
use command_host::Failure;
use command_host::{note, report_interrupt};

/// Finds the vertices of every RoI in files of spacepoints
///
/// Input is CSV, gzipped or not, with these columns in any order (mm, rad), or Parquet or ROOT with
/// the same columns:
///   own format    event_id,roi_id,x,y,z,layer  or  event_id,roi_id,rho,phi,z,layer
///   ACTS          measurement_id_1,...,geometry_id_1,...,x,y,z,...  (older: sp_x,sp_y,sp_z)
///   TrackML       hit_id,x,y,z,volume_id,layer_id,...
///   ColliderML    Parquet with lists x,y,z,volume_id,layer_id: a sample's folder, or
///                 colliderml:ttbar_pu200, a name in $COLLIDERML_DATA_DIR
///
/// event_id and roi_id may be absent: the event is then the number after `event` in the file's
/// name, else 0. Rows of an event must be consecutive, because files are read event by event.
#[derive(Args)]
#[command(verbatim_doc_comment, help_template = HELP, after_long_help = AFTER_LONG_HELP)]
pub(super) struct Find {
    /// Files of spacepoints, pipes, - for standard input, folders (every file of spacepoints
    /// inside), or colliderml:NAME
    #[arg(required_unless_present = "print_config", value_name = "FILE|FOLDER")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    on_error: OnErrorOptions,
    /// Search only the events whose number modulo N is I, from 0 to N - 1. auto/N takes I from the
    /// task of an array 0 to N - 1 of SLURM, PBS or HTCondor, and auto/1-N from an array 1 to N, as
    /// those of LSF and Grid Engine. auto takes N as well from SLURM, HTCondor or Grid Engine, in a
    /// whole array only: no batch system tells a part that is submitted again from an array, so
    /// submit tasks again with auto/N. The outputs of all shards can be concatenated, except
    /// JSON documents: in CSV only shard 0 has a header
    #[arg(long, value_name = "I/N|auto/N|auto", value_parser = shard, hide_short_help = true, help_heading = "Input")]
    shard: Option<ShardOption>,

    /// Answer while the input is still being written: a batch ends MS milliseconds after its first
    /// RoI was read, default 10. For standard input, named pipes and process substitutions. An
    /// event is complete when a row of the next one has arrived, or the input ends
    #[arg(long, value_name = "MS", num_args = 0..=1, default_missing_value = "10", require_equals = true, hide_short_help = true, help_heading = "Input")]
    follow: Option<u32>,

    /// Output format [default: by -o, else table]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
    /// Write to this file, .csv, .json, .jsonl, .parquet or .txt
    ///
    /// The file appears when the run is complete, or at an error with the answers before it.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write tracklets to this file, .csv or .parquet: a row for each, with the numbers of its
    /// spacepoints and of its vertex. Without --tracklets, those of the whole range of z
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Output")]
    tracklets_file: Option<PathBuf>,
    /// Write a table of the RoIs whose first vertex is wrong, and why
    ///
    /// Needs truth. The reason is in words: the range of z, the pairs that point at the true and at
    /// the first vertex, pile-up, the rank in the sum of pT^2.
    #[arg(long, help_heading = "Output")]
    wrong: bool,
    /// Draw the z histograms of the first RoIs below the table, default 5
    ///
    /// The height of a column is the largest sum of three of its bins. Found vertices, the true
    /// hard scatter and true pile-up are marked. The reference engine computes the histograms.
    #[arg(long, value_name = "ROIS", num_args = 0..=1, default_missing_value = "5", require_equals = true, help_heading = "Output")]
    show: Option<usize>,
    /// Finally print the SHA-256 of the answers on standard error, and write it at the end of JSON
    ///
    /// It is the same for the same answers, in any order, on any engine but the reference engine.
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    digest: bool,
    #[command(flatten)]
    progress: ProgressOptions,

    #[command(flatten)]
    engine: EngineOptions,

    #[command(flatten)]
    config: ConfigOptions,
}

/// Examples come first.
const HELP: &str = "Examples:
  zfinder find data/zee7_mu2                          a table on the terminal, with truth if there is
  zfinder find my.csv --detector my.toml -o out.csv   or .json, .jsonl, .parquet
  zfinder find data/zee7_mu2 --event 3 --show         one event, with its histogram

{about-with-newline}
{usage-heading} {usage}

{all-args}{after-help}";

const AFTER_LONG_HELP: &str = "More examples:
  zfinder find --peaks 5 data/tt14_mu46
  zfinder find --preset default data/zee7_mu2 --wrong
  zfinder find data/zee7_mu2 --events 3-7,12
  zfinder find --detector generic --rois data/rois/rois.csv data/rois/spacepoints.csv -o vertices.csv
  zfinder find --detector generic --objects electrons.csv events -o vertices.csv
  zfinder find --preset all-vertices data/tt14_mu46 --tracklets-file tracklets.parquet
  zfinder find --config my.toml --print-config
  zcat big.csv.gz | zfinder find - --format csv > vertices.csv
  zfinder find --follow --format csv - < pipe
  zfinder find --on-error skip night/*.csv -o vertices.csv
  zfinder find --shard 3/16 events -o vertices-3.csv

Each key of the configuration is an option; the order is --preset, then --config, then the options. --design thesis has
--preset thesis unless another is named.
[auto: ...] is the value of the preset auto; `zfinder find --preset jet --help` shows those of jet.

Exit codes:
  0  done; each RoI has its status
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad configuration or detector file
  3  no such adapter, or the GPU or another engine failed
  5  done, and errors in the input were skipped (--on-error skip)
  130  interrupted (143 by TERM, 129 by HUP); no file is half-written";

impl Find {
    pub(super) fn run(self) -> Result<(), Failure> {
        let start = Instant::now();
        let mut config = match self.engine.preset() {
            Some(preset) => self.config.config_or(preset)?,
            None => self.config.config()?,
        };
        if let Some(path) = &self.tracklets_file {
            TrackletFile::check_name(path)?;
            if config.tracklets == Tracklets::Off {
                config.tracklets = Tracklets::All;
            }
        }
        if self.config.print_config {
            self.input.check_detector()?;
            return self.config.print(&config);
        }
        let format = self.output_format()?;
        let on_error = self.on_error.on_error();
        let mut skipped = Skipped::new(on_error);
        let inputs = input::inputs(&self.paths, &mut skipped)?;
        let detector = self.input.detector(&inputs.files, on_error)?;
        let builder = self.engine.builder(detector.clone())?;
        let selection = self.input.selection([&config], self.config.beam_spot_events().is_some())?;
        let truth = self.input.optional_truth(&self.paths, &inputs.files)?;
        if self.wrong && truth.is_none() {
            return Err(Failure::usage(
                "--wrong compares with true vertices, and there are none",
                "name their file with --truth; truth_vertices.csv is found if it lies in the one folder of all inputs",
            ));
        }
        let provenance_file = output::provenance_file(self.output.as_deref(), format);
        let outputs = [self.output.as_deref(), provenance_file.as_deref(), self.tracklets_file.as_deref()];
        let outputs = outputs.into_iter().flatten();
        self.input.check_outputs(&inputs, truth.as_ref(), self.config.file(), outputs)?;
        let options = self.input.read_options(on_error);
        let shard = self.shard.as_ref().map(|option| option.shard).unwrap_or_default();
        let reader = selection.reader(inputs.files, detector.clone(), &config)?.with_options(options).with_shard(shard);
        let mut rois = RoiSource::new(reader);
        let beam_events = self.config.beam_spot_events();
        let beam = beam_events.map(|events| rois.find_beam_spot(events, &detector, &mut config)).transpose()?;
        let finder = builder.config(config).build()?;
        if !self.progress.quiet {
            note(&headline(&finder));
            self.input.found_truth(truth.as_ref()).iter().for_each(|truth| note(truth));
            beam.iter().for_each(beam_spot::report);
            self.shard.iter().filter_map(|option| option.note.as_deref()).for_each(note);
        }
        let mut provenance = Provenance::new(&finder);
        provenance.beam_spot = beam.and_then(|beam| serde_json::to_value(beam).ok());
        // Programs get columns that do not depend on the neighbours of the input.
        let is_shown = format == Format::Table || self.input.truth_file().is_some();
        let shown_truth = truth.as_ref().filter(|_| is_shown);
        let formatted =
            (format, VertexColumns::of_config(finder.config()).with_truth(shown_truth.map(|truth| truth as _)));
        let searched_rois = self.report_interrupt();
        let mut output = AnswerFile::open(self.output.as_deref(), formatted, shown_truth, &provenance)?;
        let mut tracklets =
            self.tracklets_file.as_deref().map(|path| TrackletFile::open(path, shard.index() == 0)).transpose()?;
        if shard.index() > 0 {
            output.continue_csv();
        }
        let bar = self.progress.bar(&rois.reader);
        let digest = self.digest.then(AnswerDigest::default);
        let mut summary = Summary { left_to_show: self.show.unwrap_or(0), digest, ..Summary::default() };
        let answer = |batch: &RoiBatch, results: &Results| {
            searched_rois.fetch_add(results.len(), Ordering::Relaxed);
            summary.add(&finder, truth.as_ref(), batch, results)?;
            tracklets.iter_mut().try_for_each(|tracklets| tracklets.results(results))?;
            match truth.as_ref().filter(|_| self.wrong) {
                None => output.results(results),
                Some(truth) => output.wrong_rows(&wrong_rows(&finder, truth, batch, results)?),
            }
        };
        let searched = match self.follow {
            None => search(&finder, &mut rois, &mut skipped, &bar, answer),
            Some(delay) => follow(&finder, &mut rois, &mut skipped, Duration::from_millis(delay.into()), answer),
        };
        let totals = match searched {
            Ok(totals) => totals,
            Err(failure) => {
                tracklets.map_or(Ok(()), TrackletFile::finish)?;
                output.finish_early()?;
                return Err(failure);
            }
        };
        let score = truth.as_ref().map(|_| summary.score.summary(finder.config()));
        // In a table the score is the last line of the output.
        let (closing, noted) = if format == Format::Table { (score, None) } else { (None, score) };
        summary.drawings.iter().chain(&closing).try_for_each(|text| output.closing(text))?;
        if let Some(digest) = &summary.digest {
            output.digest(digest)?;
        }
        output.finish()?;
        tracklets.map_or(Ok(()), TrackletFile::finish)?;
        if let Some(digest) = &summary.digest {
            note(&format!("{digest} of {} RoIs", digest.rois()));
        }
        for warning in rois.reader.warnings().into_iter().chain(summary.without_peak.warning(&finder)?) {
            note(&format!("warning: {warning}"));
        }
        if !self.progress.quiet {
            note(&totals.describe(start));
            summary.insignificant().iter().for_each(|text| note(text));
            noted.iter().for_each(|score| note(score));
        }
        skipped.finish()
    }

    /// Makes an interrupt say what was done. Returns the number of searched RoIs, to be counted.
    fn report_interrupt(&self) -> Arc<AtomicUsize> {
        let searched_rois = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&searched_rois);
        let unwritten = [self.output.clone(), self.tracklets_file.clone()].into_iter().flatten();
        let unwritten: Vec<String> = unwritten.map(|path| format!("; {} is not written", path.display())).collect();
        report_interrupt(move || {
            let rois = counted(count.load(Ordering::Relaxed), "RoI");
            format!("{rois} searched{}", unwritten.concat())
        });
        searched_rois
    }

    /// Returns the format of the output. --show and --wrong need a table.
    fn output_format(&self) -> Result<Format, Failure> {
        let format = output::format(self.format, self.output.as_deref())?;
        if self.show.is_some() && format != Format::Table {
            return Err(Failure::usage(
                "--show draws below the table, and there is no table in CSV, JSON or Parquet",
                "leave --format out or one of the two; `zfinder histogram` writes histograms as data",
            ));
        }
        if self.wrong && format != Format::Table {
            return Err(Failure::usage(
                "--wrong writes a table",
                "leave --format out; with --truth FILE, CSV, JSON and Parquet have true_z_mm and delta_mm of all RoIs",
            ));
        }
        Ok(format)
    }
}

/// Returns the rows of the RoIs whose first vertex is wrong: the RoI, and the reason.
fn wrong_rows<'a>(
    finder: &ZFinder,
    truth: &TruthTable,
    batch: &RoiBatch,
    results: &'a Results,
) -> Result<Vec<(RoiResult<'a>, String)>, Failure> {
    let mut rows = Vec::new();
    for (number, result) in results.iter().enumerate() {
        let vertices = truth.vertices(result.id());
        if let Some(reason) = zfinder_study::reason(&finder.inspect(batch.roi(number))?, result, vertices) {
            rows.push((result, reason));
        }
    }
    Ok(rows)
}

/// Figures and drawings that follow the answers.
#[derive(Default)]
struct Summary {
    score: Score,
    digest: Option<AnswerDigest>,
    /// Number of RoIs that are still to be drawn.
    left_to_show: usize,
    drawings: Vec<String>,
    without_peak: RoisWithoutPeak,
    /// RoIs whose vertices are all insignificant, and the first of them.
    insignificant: usize,
    first_insignificant: Option<RoiId>,
}

impl Summary {
    fn add(
        &mut self,
        finder: &ZFinder,
        truth: Option<&TruthTable>,
        batch: &RoiBatch,
        results: &Results,
    ) -> Result<(), Failure> {
        for (number, result) in results.iter().enumerate().take(self.left_to_show) {
            let vertices = truth.map_or(&[][..], |truth| truth.vertices(result.id()));
            self.drawings.push(plot::terminal(&finder.inspect(batch.roi(number))?, result, vertices));
        }
        self.left_to_show = self.left_to_show.saturating_sub(results.len());
        self.without_peak.add(batch, results);
        for result in results {
            if result.vertices().first().is_some_and(|vertex| !vertex.is_significant()) {
                self.insignificant += 1;
                self.first_insignificant.get_or_insert(result.id());
            }
            truth.iter().for_each(|truth| self.score.add(truth, result));
            self.digest.iter_mut().for_each(|digest| digest.add(result));
        }
        Ok(())
    }

    /// Returns the number of RoIs without a significant vertex as text, if there are any.
    fn insignificant(&self) -> Option<String> {
        let RoiId { event_id, roi_id } = self.first_insignificant?;
        Some(format!(
            "{} without a significant vertex: no peak stands above the background (significance 0). The first: event \
             {event_id}, RoI {roi_id}",
            counted(self.insignificant, "RoI"),
        ))
    }
}
