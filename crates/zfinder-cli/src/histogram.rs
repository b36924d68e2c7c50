//! `zfinder histogram`: writes the z histograms of RoIs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zfinder_study::histogram_writer::{HistogramFormat, HistogramWriter};
use zfinder_study::inspect::Inspect;

use super::output::PROGRAM;
use super::select::SelectOptions;
use command_host::Failure;
use command_host::{Output, ending, note};

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// event_id,roi_id,z_low_mm,z_high_mm,weight,z_sum_mm,pairs: a row for every bin
    Csv,
    /// UHI JSON, which hist and boost-histogram read: a histogram named event_3_roi_0 for every RoI
    Json,
}

impl From<Format> for HistogramFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Csv => HistogramFormat::Csv,
            Format::Json => HistogramFormat::Uhi,
        }
    }
}

/// Writes the z histograms of RoIs in files of spacepoints, for other programs
///
/// It is the histogram in which the search finds peaks, computed by the reference engine in f64: a
/// bin holds the weights of the pairs of spacepoints whose line meets the beam there. If the
/// configuration has a histogram for each charge or slice, their sum is written. `zfinder plot
/// histogram` draws one.
#[derive(Args)]
#[command(after_help = super::EXIT_CODES, after_long_help = AFTER_LONG_HELP)]
pub(super) struct Histogram {
    /// Output format [default: by the ending of -o, .csv or .json; else csv]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
    /// Write to this file, which appears when the run is complete
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    select: SelectOptions,
}

const AFTER_LONG_HELP: &str = "Examples:
  zfinder histogram data/zee7_mu2 --event 3
  zfinder histogram data/zee7_mu2 -o histograms.json

In Python:
  import json, hist, uhi.io.json
  with open(\"histograms.json\") as file:
      histograms = json.load(file, object_hook=uhi.io.json.object_hook)
  hist.Hist(histograms[\"event_3_roi_0\"]).plot()

Exit codes:
  0  done
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad configuration or detector file, no such RoI";

impl Histogram {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Some(config) = self.select.config()? else { return Ok(()) };
        let format = self.format()?;
        let mut selected = self.select.open(config, self.output.as_deref())?;
        let mut target = Output::open(self.output.as_deref(), PROGRAM)?;
        let mut writer = HistogramWriter::new(format.into());
        let mut is_any = false;
        while let Some(roi) = selected.next().transpose()? {
            is_any = true;
            let inspection = selected.finder.inspect(&roi)?;
            if inspection.histograms.is_empty() {
                let id = inspection.summary.id;
                let status = inspection.summary.status;
                note(&format!("warning: event {}, RoI {}: {status}, no histogram", id.event_id, id.roi_id));
            }
            target.write(|out| writer.write(out, &inspection))?;
        }
        if !is_any {
            return Err(selected.nothing());
        }
        target.write(|out| writer.finish(out))?;
        target.finish()
    }

    fn format(&self) -> Result<Format, Failure> {
        let Some(path) = self.output.as_deref().filter(|_| self.format.is_none()) else {
            return Ok(self.format.unwrap_or(Format::Csv));
        };
        Format::from_str(&ending(path), true).map_err(|_| {
            Failure::usage(
                format!("the ending of `{}` does not say how to write it", path.display()),
                "end it in .csv or .json, or give --format; `zfinder plot histogram` draws pictures",
            )
        })
    }
}
