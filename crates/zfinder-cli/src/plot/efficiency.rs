//! `zfinder plot efficiency`: draws the results of `zfinder evaluate`.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use zfinder_study::evaluate::{By, Figures, InBin};
use zfinder_study::plot::{self, Plotted};

use super::super::options::read_text;
use super::super::output::PROGRAM;
use command_host::{Failure, PictureOptions};

/// Draws efficiency and resolution in bins of pile-up, from `zfinder evaluate --format json`
///
/// Several files are drawn together; configurations of the same name are distinguished by their
/// file. All files must have the same binned quantity (pile-up or spacepoints) and the same
/// --within-mm. `zfinder evaluate --plot` draws the same directly, with the distribution of the
/// residuals.
#[derive(Args)]
#[command(after_help = super::super::EXIT_CODES, after_long_help = AFTER_LONG_HELP)]
pub(super) struct Efficiency {
    /// JSON documents that `zfinder evaluate` wrote
    #[arg(required = true, value_name = "FILE.json")]
    reports: Vec<PathBuf>,
    /// Write to this file, which appears when the run is complete
    #[arg(short, long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    output: PathBuf,
    #[command(flatten)]
    picture: PictureOptions,
}

const AFTER_LONG_HELP: &str = "Examples:
  zfinder evaluate --preset default --preset jet data/zee7_mu2 -o figures.json
  zfinder plot efficiency figures.json -o efficiency.svg

Exit codes:
  0  drawn
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage: an unknown option, files that do not go together";

/// The part of the document that is drawn.
#[derive(Deserialize)]
struct Report {
    within_mm: f64,
    by: Option<By>,
    configurations: Vec<Configuration>,
}

#[derive(Deserialize)]
struct Configuration {
    name: String,
    figures: Figures,
    bins: Vec<InBin>,
}

impl Efficiency {
    pub(super) fn run(self) -> Result<(), Failure> {
        command_host::check_distinct(self.reports.iter().map(PathBuf::as_path), [&*self.output])?;
        let mut reports = Vec::new();
        for path in &self.reports {
            let report: Report = serde_json::from_str(&read_text(path)?).map_err(|error| zfinder_io::Error::Input {
                path: path.clone(),
                row: error.line() as u64,
                column: None,
                message: format!("{error}; the JSON of `zfinder evaluate --format json` is expected"),
            })?;
            reports.push(report);
        }
        let (by, within_mm) = (reports[0].by, reports[0].within_mm);
        if by.is_none() {
            return Err(Failure::usage(
                "these figures are of all RoIs together, and there is nothing to draw them against",
                "let `zfinder evaluate` measure --by pile-up or --by spacepoints",
            ));
        }
        if reports.iter().any(|report| report.by != by || report.within_mm != within_mm) {
            return Err(Failure::usage(
                "the files are not against the same thing, or have another --within-mm",
                "draw them one by one, or measure them with the same --by and --within-mm",
            ));
        }
        let target = self.picture.open(&self.output, PROGRAM)?;
        self.name_apart(&mut reports);
        let configurations = reports.iter().flat_map(|report| &report.configurations);
        let plotted: Vec<Plotted> = configurations
            .map(|Configuration { name, figures, bins }| Plotted { name, figures, bins, residuals_mm: &[] })
            .collect();
        target.draw(&plot::evaluation(&plotted, by, within_mm))
    }

    /// Prefixes the names that occur in several files by the file's name.
    fn name_apart(&self, reports: &mut [Report]) {
        let names = reports.iter().flat_map(|report| report.configurations.iter().map(|one| one.name.clone()));
        let names: Vec<String> = names.collect();
        for (path, report) in self.reports.iter().zip(reports) {
            for one in &mut report.configurations {
                if names.iter().filter(|name| **name == one.name).count() > 1 {
                    let file = path.file_stem().unwrap_or_default().to_string_lossy();
                    one.name = format!("{file}: {}", one.name);
                }
            }
        }
    }
}
