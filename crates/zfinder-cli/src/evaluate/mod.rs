//! `zfinder evaluate`: compares answers with truth.

mod answers;
mod report;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use zfinder::{Config, Detector, Preset, ZFinderBuilder};
use zfinder_io::{TruthTable, config_summary, is_stream};
use zfinder_study::beam_spot::BeamSpot;
use zfinder_study::evaluate::{Binning, By, Evaluation, Options, WITHIN_MM};
use zfinder_study::plot::{self, Plotted};

use super::beam_spot::{self, RoiSource};
use super::engine::EngineOptions;
use super::input::{self, EventSelection, InputOptions, OnErrorOptions, Skipped};
use super::options::{KeyOptions, words};
use super::output::{self, PROGRAM};
use super::search::{ProgressOptions, counted, headline, search};
use command_host::Failure;
use command_host::{Output, PictureOptions, note};
use report::{Configuration, Format, Report};

#[derive(Clone, Copy, ValueEnum)]
enum ByName {
    /// True vertices of the event, the primary among them
    PileUp,
    /// Spacepoints that took part in the search
    Spacepoints,
    /// Charged particles of the true primary (truth with n_charged_pt500_eta25)
    Tracks,
    /// Largest pT of these, in MeV (max_pt_GeV)
    LeadingPt,
    /// Root of their sum of pT^2, in MeV (sum_pt2_GeV2)
    SumPt,
    /// Distance from the true primary to the nearest true vertex, in um
    Distance,
    /// All RoIs only
    None,
}

/// Compares the vertices found in files of spacepoints with the true ones
///
/// Reports the efficiency of the first and of any vertex, resolution, pulls, false and split
/// vertices (for isolated and close primaries), precision and recall of all true vertices,
/// vertex-vertex resolution, and the calibration of the significance. Figures are binned in
/// pile-up, spacepoints or a property of the primary. Several configurations stand side by side.
/// docs/physics.md defines every figure. Input is that of `zfinder find`.
#[derive(Args)]
#[command(after_help = super::EXIT_CODES, after_long_help = AFTER_LONG_HELP)]
pub(super) struct Evaluate {
    /// Files of spacepoints, or folders of them, as of `zfinder find`; read once for each
    /// configuration, so that - does for one
    #[arg(required_unless_present = "answers", value_name = "FILE|FOLDER")]
    paths: Vec<PathBuf>,
    /// Compare the answers in this file, without a search: CSV or Parquet of `zfinder find` or of
    /// the Python package; may be repeated. --truth is needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "preset", "config"], help_heading = "Input")]
    answers: Vec<PathBuf>,

    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    on_error: OnErrorOptions,

    /// A vertex is correct if its distance from the true one is below this, in mm
    #[arg(long, value_name = "MM", default_value_t = WITHIN_MM, value_parser = length, help_heading = "Figures")]
    within_mm: f64,
    /// A primary is isolated if every other true vertex is further away than this, in mm
    #[arg(long, value_name = "MM", default_value = "10", value_parser = length, help_heading = "Figures")]
    isolation_mm: f64,
    /// Figures of all vertices match a vertex with a true one nearer than this, in mm
    #[arg(long, value_name = "MM", default_value = "0.2", value_parser = length, help_heading = "Figures")]
    match_mm: f64,
    /// Quantity of the bins [default: pile-up if truth lists it, else spacepoints]
    #[arg(long, value_enum, help_heading = "Figures")]
    by: Option<ByName>,
    /// Most bins, of about as many RoIs each [default: 5, but 10 RoIs or more in each]
    #[arg(long, value_name = "N", help_heading = "Figures")]
    bins: Option<NonZeroUsize>,

    /// Output format [default: by the ending of -o, .csv, .json or .txt; else table]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
    /// Write to this file, which appears when the run is complete
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Print all figures, in all bins; JSON and CSV always have them
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// Also draw efficiency and resolution in bins of pile-up or spacepoints, and the residuals
    #[arg(long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    plot: Option<PathBuf>,
    /// Also draw positions of correct vertices, distances of pairs of vertices, ROC curves and the
    /// calibration of the significance
    #[arg(long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    plot_vertices: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
    #[command(flatten)]
    progress: ProgressOptions,

    #[command(flatten)]
    engine: EngineOptions,

    /// A configuration to measure; may be repeated [default: auto, if there is no --config]
    #[arg(long, value_parser = words::<Preset>(Preset::WORDS), help_heading = "Configurations")]
    preset: Vec<Preset>,
    /// TOML file of another configuration, over its key `preset`, else over auto, as of `zfinder
    /// find`; may be repeated. The options below change every configuration
    #[arg(long, value_name = "FILE.toml", help_heading = "Configurations")]
    config: Vec<PathBuf>,
    #[command(flatten)]
    keys: KeyOptions,
}

const AFTER_LONG_HELP: &str = "Examples:
  zfinder evaluate data/zee7_mu2
  zfinder evaluate --preset default --preset jet --peaks 4 data/zee7_mu2 --format json
  zfinder evaluate --config mine.toml --truth truth.csv spacepoints.csv --by spacepoints --bins 3
  zfinder evaluate --preset auto data/zee7_mu2 -o figures.csv --plot figures.svg
  zfinder evaluate --answers vertices.parquet --truth truth.csv

Of a fraction the table has percent, and how far the interval of 68 % reaches up and down.

Exit codes:
  0  measured, however good the answers are
  1  input that cannot be read or is wrong, truth for none of it, output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad configuration or detector file, no truth
  3  no such adapter, or the GPU or another engine failed
  5  measured, and errors in the input were skipped (--on-error skip)
  130  interrupted (143 by TERM, 129 by HUP); no file is half-written";

fn length(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|length: &f64| length.is_finite() && *length > 0.0);
    parsed.ok_or_else(|| "a number of mm above 0 is expected".into())
}

/// Settings that all configurations share.
struct Measurement {
    files: Vec<PathBuf>,
    detector: Detector,
    selection: EventSelection,
    truth: TruthTable,
    builder: ZFinderBuilder,
    options: Options,
}

/// Results of one configuration.
struct ConfigurationResult {
    /// The engine as text.
    engine: String,
    /// The configuration with the beam spot that was found.
    config: Config,
    beam_spot: Option<BeamSpot>,
    evaluation: Evaluation,
}

impl Evaluate {
    pub(super) fn run(self) -> Result<(), Failure> {
        if !self.answers.is_empty() {
            return self.evaluate_answers();
        }
        let configs = self.configs()?;
        let format = output::format(self.format, self.output.as_deref())?;
        let on_error = self.on_error.on_error();
        let mut skipped = Skipped::new(on_error);
        let inputs = input::inputs(&self.paths, &mut skipped)?;
        if configs.len() > 1 && inputs.files.iter().any(|file| is_stream(file)) {
            return Err(Failure::usage(
                "standard input and pipes can be read for one configuration only",
                "save it in a file, or name one configuration",
            ));
        }
        let detector = self.input.detector(&inputs.files, on_error)?;
        let builder = self.engine.builder(detector.clone())?;
        let finds_beam_spot = self.keys.beam_spot_events().is_some();
        let selection = self.input.selection(configs.iter().map(|(_, config)| config), finds_beam_spot)?;
        let truth = self.input.truth(&self.paths, &inputs.files)?.ok_or_else(|| {
            Failure::usage(
                "there is no truth to compare with",
                "name the file of true vertices with --truth; truth_vertices.csv is found if it lies in the one folder \
                   of all inputs",
            )
        })?;
        let outputs = [&self.output, &self.plot, &self.plot_vertices].into_iter().filter_map(|path| path.as_deref());
        let configs_read = self.config.iter().map(PathBuf::as_path);
        self.input.check_outputs(&inputs, Some(&truth), configs_read, outputs)?;
        let by = self.by(&truth)?;
        let mut out = Output::open(self.output.as_deref(), PROGRAM)?;
        let open = |path: &PathBuf| self.picture.open(path, PROGRAM);
        self.picture.check(self.plot.is_some() || self.plot_vertices.is_some())?;
        let plot = self.plot.as_ref().map(open).transpose()?;
        let plot_vertices = self.plot_vertices.as_ref().map(open).transpose()?;

        let options = self.options();
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            detector: Some(detector.name().to_owned()),
            truth: truth.path().display().to_string(),
            options,
            by,
            is_full: self.all,
            configurations: Vec::new(),
        };
        let measurement = Measurement { files: inputs.files, detector, selection, truth, builder, options };
        let mut binning: Option<Binning> = None;
        for (name, config) in configs {
            // Each configuration meets the same errors, so they are reported and counted for the
            // first only.
            let is_first = report.configurations.is_empty();
            let mut again = Skipped::quiet(on_error);
            let told = if is_first { &mut skipped } else { &mut again };
            let ConfigurationResult { engine, config, beam_spot, evaluation } =
                self.measure(&name, config, &measurement, is_first, told)?;
            // All configurations use the bins of the first.
            binning = binning.or_else(|| by.map(|by| evaluation.binning(by, self.most_bins())));
            report.configurations.push(Configuration {
                label: label(&name, &config),
                changed_keys: config.changed_keys().map(|key| key.name).collect(),
                name,
                engine,
                summary: evaluation.summary(binning.as_ref()),
                config: Some(config),
                beam_spot,
                residuals_mm: evaluation.residuals().collect(),
            });
        }
        if let Some(plot) = plot {
            let plotted: Vec<Plotted> = report.configurations.iter().map(Configuration::plotted).collect();
            plot.draw(&plot::evaluation(&plotted, by, self.within_mm))?;
        }
        if let Some(plot) = plot_vertices {
            let plotted: Vec<_> = report.configurations.iter().map(Configuration::plotted_vertices).collect();
            plot.draw(&plot::vertices(&plotted))?;
        }
        out.write(|out| report.write(format, out))?;
        out.finish()?;
        skipped.finish()
    }

    fn options(&self) -> Options {
        Options { within_mm: self.within_mm, isolation_mm: self.isolation_mm, match_mm: self.match_mm }
    }

    fn most_bins(&self) -> Option<usize> {
        self.bins.map(NonZeroUsize::get)
    }

    /// Returns all configurations with their names, presets before files.
    fn configs(&self) -> Result<Vec<(String, Config)>, Failure> {
        let mut configs = Vec::new();
        for &preset in &self.preset {
            configs.push((preset.to_string(), self.keys.over(Some(preset), preset, None)?));
        }
        for path in &self.config {
            let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            configs.push((name, self.keys.over(None, Preset::Auto, Some(path))?));
        }
        if configs.is_empty() {
            configs.push((Preset::Auto.to_string(), self.keys.over(None, Preset::Auto, None)?));
        }
        for (number, (name, _)) in configs.iter().enumerate() {
            if configs[..number].iter().any(|(other, _)| other == name) {
                return Err(Failure::usage(
                    format!("two configurations are named `{name}`"),
                    "a configuration is named by its preset or, without the ending, by its file; each name once",
                ));
            }
        }
        Ok(configs)
    }

    fn by(&self, truth: &TruthTable) -> Result<Option<By>, Failure> {
        let by = match self.by {
            Some(ByName::PileUp) => By::PileUp,
            Some(ByName::Spacepoints) => By::Spacepoints,
            Some(ByName::Tracks) => By::Tracks,
            Some(ByName::LeadingPt) => By::LeadingPt,
            Some(ByName::SumPt) => By::SumPt,
            Some(ByName::Distance) => By::Distance,
            Some(ByName::None) => return Ok(None),
            None if truth.has_pile_up() => By::PileUp,
            None => By::Spacepoints,
        };
        let (is_known, what) = match by {
            By::PileUp | By::Distance => (truth.has_pile_up(), "pile-up"),
            By::Spacepoints => (true, ""),
            By::Tracks => (truth.knows(|vertex| vertex.tracks), "n_charged_pt500_eta25 of a hard scatter"),
            By::LeadingPt => (truth.knows(|vertex| vertex.leading_pt_gev), "max_pt_GeV of a hard scatter"),
            By::SumPt => (truth.knows(|vertex| vertex.sum_pt2_gev2), "sum_pt2_GeV2 of a hard scatter"),
        };
        if !is_known {
            let message = format!("{} lists no {what}", truth.path().display());
            return Err(Failure::usage(message, "--by spacepoints needs none"));
        }
        Ok(Some(by))
    }

    /// Measures one configuration. Warnings about the input are reported with the first.
    fn measure(
        &self,
        name: &str,
        mut config: Config,
        measurement: &Measurement,
        is_first: bool,
        skipped: &mut Skipped,
    ) -> Result<ConfigurationResult, Failure> {
        let start = Instant::now();
        let Measurement { files, detector, selection, truth, builder, options } = measurement;
        let read_options = self.input.read_options(self.on_error.on_error());
        let reader = selection.clone().reader(files.clone(), detector.clone(), &config)?.with_options(read_options);
        let mut rois = RoiSource::new(reader);
        let beam_events = self.keys.beam_spot_events();
        let beam_spot = beam_events.map(|events| rois.find_beam_spot(events, detector, &mut config)).transpose()?;
        let finder = builder.clone().config(config.clone()).build()?;
        if !is_first && !self.progress.quiet {
            note(&format!("{name}: {}", config_summary(finder.config())));
        }
        if is_first && !self.progress.quiet {
            note(&headline(&finder));
            self.input.found_truth(Some(truth)).iter().for_each(|truth| note(truth));
            beam_spot.iter().for_each(beam_spot::report);
        }
        let bar = self.progress.bar(&rois.reader);
        let mut evaluation = Evaluation::new(*options);
        let totals = search(&finder, &mut rois, skipped, &bar, |_, results| {
            results.iter().for_each(|result| evaluation.add(result, truth.vertices(result.id())));
            Ok(())
        })?;
        if evaluation.rois() == 0 {
            return Err(without_truth(truth.path(), totals.rois).into());
        }
        if is_first {
            let mut warnings = rois.reader.warnings();
            if evaluation.without_truth() > 0 {
                let number = counted(evaluation.without_truth() as usize, "RoI");
                warnings.push(format!("{number} without a primary vertex in {}: not counted", truth.path().display()));
            }
            warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
        }
        if !self.progress.quiet {
            note(&format!("{name}: {}", totals.describe(start)));
        }
        Ok(ConfigurationResult { engine: finder.description(), config, beam_spot, evaluation })
    }
}

/// Returns the name of a configuration in pictures: with preset and changed keys, unless it is a
/// preset.
fn label(name: &str, config: &Config) -> String {
    match config_summary(config) {
        summary if summary == format!("preset {name}") => name.to_owned(),
        summary => format!("{name}: {summary}"),
    }
}

fn without_truth(truth: &Path, rois: usize) -> zfinder_io::Error {
    let message = format!(
        "no primary vertex of any of the {} of the input; are the event numbers the same?",
        counted(rois, "RoI")
    );
    zfinder_io::Error::Input { path: truth.to_owned(), row: 0, column: None, message }
}
