//! Compares answers in files with truth, without a search.

use std::path::{Path, PathBuf};

use command_host::{Failure, Output, check_distinct, note};
use zfinder_io::{TruthTable, read_answers};
use zfinder_study::evaluate::{Binning, By, Evaluation};
use zfinder_study::plot::{self, Plotted};

use super::report::{Configuration, Report};
use super::{Evaluate, without_truth};
use crate::output::{self, PROGRAM};
use crate::search::counted;

impl Evaluate {
    /// Compares each file of answers like a configuration.
    pub(super) fn evaluate_answers(&self) -> Result<(), Failure> {
        let format = output::format(self.format, self.output.as_deref())?;
        let Some(truth) = self.input.truth(&[], &[])? else {
            return Err(Failure::usage("--answers need the true vertices", "name their file with --truth"));
        };
        let outputs = [&self.output, &self.plot].into_iter().filter_map(|path| path.as_deref());
        let read = self.answers.iter().map(PathBuf::as_path).chain(truth.paths().iter().map(PathBuf::as_path));
        check_distinct(read, outputs)?;
        let by = self.by(&truth)?.filter(|by| *by == By::PileUp);
        let mut out = Output::open(self.output.as_deref(), PROGRAM)?;
        let plot = self.picture.open_optional(self.plot.as_deref(), PROGRAM)?;
        let options = self.options();
        let mut configurations = Vec::new();
        let mut binning: Option<Binning> = None;
        for path in &self.answers {
            let evaluation = self.compare(path, &truth, Evaluation::new(options))?;
            // All files use the bins of the first.
            binning = binning.or_else(|| by.map(|by| evaluation.binning(by, self.most_bins())));
            let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            configurations.push(Configuration {
                label: name.clone(),
                name,
                engine: format!("answers of {}", path.display()),
                summary: evaluation.summary(binning.as_ref()),
                config: None,
                changed_keys: Vec::new(),
                beam_spot: None,
                residuals_mm: evaluation.residuals().collect(),
            });
        }
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            detector: None,
            truth: truth.path().display().to_string(),
            options,
            by,
            is_full: self.all,
            configurations,
        };
        if let Some(plot) = plot {
            let plotted: Vec<Plotted> = report.configurations.iter().map(Configuration::plotted).collect();
            plot.draw(&plot::evaluation(&plotted, by, self.within_mm))?;
        }
        out.write(|out| report.write(format, out))?;
        out.finish()
    }

    fn compare(&self, path: &Path, truth: &TruthTable, mut evaluation: Evaluation) -> Result<Evaluation, Failure> {
        let answers = read_answers(path)?;
        let selected = answers.iter().filter(|answer| self.input.has_event(answer.id().event_id));
        selected.for_each(|answer| evaluation.add(answer, truth.vertices(answer.id())));
        if evaluation.rois() == 0 && evaluation.without_truth() == 0 && !answers.is_empty() {
            return Err(Failure::usage(
                format!("{} has none of the selected events", path.display()),
                "leave --events out for all of them",
            ));
        }
        if evaluation.rois() == 0 {
            return Err(without_truth(truth.path(), answers.len()).into());
        }
        if evaluation.without_truth() > 0 {
            let number = counted(evaluation.without_truth() as usize, "RoI");
            note(&format!("warning: {number} without a primary vertex in {}: not counted", truth.path().display()));
        }
        if !self.progress.quiet {
            note(&format!("{}: {} read", path.display(), counted(answers.len(), "RoI")));
        }
        Ok(evaluation)
    }
}
