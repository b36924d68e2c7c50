//! Writes the results of `evaluate`: a table, JSON or CSV.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;
use zfinder::Config;
use zfinder_study::beam_spot::BeamSpot;
use zfinder_study::evaluate::{Bin, By, Figure, Figures, InBin, Options, Summary};
use zfinder_study::plot::{Plotted, PlottedVertices};

use super::super::output;
use command_host::table as plain;

const CSV_HEADER: [&str; 9] =
    ["configuration", "by", "low", "high", "rois", "figure", "value", "low_error", "high_error"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// To be read by people: a column for every configuration
    Table,
    /// configuration,by,low,high,rois,figure,value,low_error,high_error: a row for every figure in
    /// every bin
    Csv,
    /// One JSON document
    Json,
}

impl TryFrom<output::Format> for Format {
    type Error = ();

    fn try_from(format: output::Format) -> Result<Self, ()> {
        Ok(match format {
            output::Format::Table => Format::Table,
            output::Format::Csv => Format::Csv,
            output::Format::Json => Format::Json,
            output::Format::Jsonl | output::Format::Parquet => return Err(()),
        })
    }
}

/// Labels of the figures of the short table.
const SHORT: [&str; 9] = [
    "first vertex right",
    "any vertex right",
    "residual 68 % width, mm",
    "RoIs with a false vertex",
    "precision, all true vertices",
    "recall, all true vertices",
    "merged vertices",
    "split vertices",
    "fake vertices per RoI",
];

/// Results of all configurations.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detector: Option<String>,
    pub(super) truth: String,
    #[serde(flatten)]
    pub(super) options: Options,
    pub(super) by: Option<By>,
    /// Whether the table has all figures.
    #[serde(skip)]
    pub(super) is_full: bool,
    pub(super) configurations: Vec<Configuration>,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) name: String,
    /// The name in pictures.
    #[serde(skip)]
    pub(super) label: String,
    pub(super) engine: String,
    #[serde(flatten)]
    pub(super) summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<Config>,
    /// Keys of the configuration that differ from its preset.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changed_keys: Vec<&'static str>,
    /// The beam spot, if it was found from tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) beam_spot: Option<BeamSpot>,
    #[serde(skip)]
    pub(super) residuals_mm: Vec<f64>,
}

impl Configuration {
    pub(super) fn plotted(&self) -> Plotted<'_> {
        Plotted {
            name: &self.label,
            figures: &self.summary.figures,
            bins: &self.summary.bins,
            residuals_mm: &self.residuals_mm,
        }
    }

    pub(super) fn plotted_vertices(&self) -> PlottedVertices<'_> {
        PlottedVertices { name: &self.label, figures: &self.summary.figures, vertices: &self.summary.vertices }
    }
}

impl Report {
    pub(super) fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_table(out),
            Format::Csv => self.write_csv(out),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, self)?;
                writeln!(out)
            }
        }
    }

    fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(CSV_HEADER)?;
        for Configuration { name, summary, .. } in &self.configurations {
            let all = ("all", [String::new(), String::new()], &summary.figures);
            let by = self.by.map_or("", By::as_str);
            let bins = summary.bins.iter().map(|InBin { bin, figures, .. }| {
                let range = [bin.low, bin.high].map(|end| end.to_string());
                (by, range, figures)
            });
            for (by, [low, high], figures) in std::iter::once(all).chain(bins) {
                for figure in figures.named() {
                    let or_empty = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
                    let (low_error, high_error) = errors(&figure).unzip();
                    csv.write_record([
                        name,
                        by,
                        &low,
                        &high,
                        &figures.rois.to_string(),
                        figure.name,
                        &or_empty(figure.value),
                        &or_empty(low_error),
                        &or_empty(high_error),
                    ])?;
                }
            }
            let rois = summary.figures.rois.to_string();
            if let Some(fit) = summary.vertices.resolution {
                let (value, error) = (fit.distance_mm.to_string(), fit.distance_error_mm.to_string());
                csv.write_record([name, "all", "", "", &rois, "vertex_resolution_mm", &value, &error, &error])?;
            }
            for one in &summary.vertices.calibration {
                let above = one.above.to_string();
                for (figure, value) in [
                    ("vertices_above", one.vertices.to_string()),
                    ("false_vertices_above", one.false_vertices.to_string()),
                    ("false_vertices_expected_above", one.expected_false.to_string()),
                ] {
                    csv.write_record([name, "significance", &above, "", &rois, figure, &value, "", ""])?;
                }
            }
        }
        csv.flush()
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = || self.configurations.iter().map(|one| one.name.clone());
        let mut table = plain(std::iter::once(String::new()).chain(names()), 1);
        let mut row = |label: &str, text: &dyn Fn(&Summary) -> String| {
            let cells = self.configurations.iter().map(|one| text(&one.summary));
            table.add_row(std::iter::once(label.to_owned()).chain(cells));
        };
        row("RoIs with truth", &|summary| summary.figures.rois.to_string());
        if self.is_full {
            row("of them isolated", &|summary| summary.figures.isolated.first.of.to_string());
        }
        let statuses = self.configurations.iter().flat_map(|one| one.summary.statuses.keys());
        for &status in BTreeSet::from_iter(statuses) {
            row(&format!("status {status}"), &|summary| summary.statuses.get(status).unwrap_or(&0).to_string());
        }
        row("vertices", &|summary| summary.figures.vertices.to_string());
        let figures = Figures::default().named();
        let is_shown = |figure: &Figure| self.is_full || SHORT.contains(&figure.label);
        for (number, figure) in figures.iter().enumerate().filter(|(_, figure)| is_shown(figure)) {
            row(&label(figure), &|summary| cell(&summary.figures.named()[number]));
        }
        if !self.is_full {
            writeln!(out, "{}", table.trim_fmt())?;
            return self.write_short_bins(out);
        }
        let mut row = |label: &str, text: &dyn Fn(&Summary) -> String| {
            let cells = self.configurations.iter().map(|one| text(&one.summary));
            table.add_row(std::iter::once(label.to_owned()).chain(cells));
        };
        row("vertex-vertex resolution, mm", &|summary| {
            let fit = summary.vertices.resolution;
            fit.map_or("-".into(), |fit| format!("{:.2} +- {:.2}", fit.distance_mm, fit.distance_error_mm))
        });
        row("right vertex at position 1, 2, ...", &|summary| {
            let positions: Vec<String> = summary.vertices.positions.iter().map(u64::to_string).collect();
            if positions.is_empty() { "-".into() } else { positions.join(", ") }
        });
        writeln!(out, "{}", table.trim_fmt())?;
        self.write_calibration(out)?;

        let Some(by) = self.by else { return self.write_legend(out) };
        for (number, figure) in figures.iter().enumerate() {
            self.write_bins(out, by, (number, figure))?;
        }
        self.write_legend(out)
    }

    /// Writes a figure in bins, unless it is unknown in all of them.
    fn write_bins(&self, out: &mut dyn Write, by: By, (number, figure): (usize, &Figure)) -> io::Result<()> {
        let columns: Vec<Vec<Figure>> = self.configurations.iter().map(|one| in_bins(&one.summary, number)).collect();
        if columns.iter().flatten().all(|figure| figure.value.is_none()) {
            return Ok(());
        }
        let names = self.configurations.iter().map(|one| one.name.clone());
        let mut table = plain([by.label().to_owned(), "RoIs".to_owned()].into_iter().chain(names), 1);
        let bins = self.configurations.first().map_or(&[][..], |first| &first.summary.bins);
        for (at, InBin { bin: Bin { low, high }, figures, .. }) in bins.iter().enumerate() {
            let range = if low == high { low.to_string() } else { format!("{low} to {high}") };
            let cells = columns.iter().map(|column| cell(&column[at]));
            table.add_row([range, figures.rois.to_string()].into_iter().chain(cells));
        }
        writeln!(out, "\n{}\n{}", label(figure), table.trim_fmt())
    }

    /// Writes the efficiency of the first vertex in bins, and what is left out.
    fn write_short_bins(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(by) = self.by
            && let Some(first) =
                Figures::default().named().iter().enumerate().find(|(_, figure)| figure.label == SHORT[0])
        {
            self.write_bins(out, by, first)?;
        }
        let Options { within_mm, match_mm, .. } = self.options;
        writeln!(
            out,
            "\nright: within {within_mm} mm of the true primary; merged, split, fake: of all vertices, within {match_mm} mm; \
             --all: all figures"
        )
    }

    /// Writes the false vertices above each significance, found and expected.
    fn write_calibration(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = self.configurations.iter().map(|one| one.name.clone());
        let mut table = plain(std::iter::once("significance".to_owned()).chain(names), 1);
        let thresholds = self.configurations.iter().map(|one| one.summary.vertices.calibration.as_slice());
        let Some(thresholds) = thresholds.max_by_key(|calibration| calibration.len()).filter(|all| !all.is_empty())
        else {
            return Ok(());
        };
        for (number, one) in thresholds.iter().enumerate() {
            let cell = |configuration: &Configuration| match configuration.summary.vertices.calibration.get(number) {
                Some(one) => format!("{} of {}, {:.2}", one.false_vertices, one.vertices, one.expected_false),
                None => "-".into(),
            };
            table.add_row(std::iter::once(format!("above {}", one.above)).chain(self.configurations.iter().map(cell)));
        }
        writeln!(out, "\nfalse vertices of all above a significance, and false ones expected\n{}", table.trim_fmt())
    }

    fn write_legend(&self, out: &mut dyn Write) -> io::Result<()> {
        let Options { within_mm, isolation_mm, match_mm } = self.options;
        writeln!(
            out,
            "\nright: within {within_mm} mm of the true primary vertex; residuals and pulls: of right first vertices;\n\
             false: within {within_mm} mm of no true vertex; split: two or more within {within_mm} mm of the primary;\n\
             isolated: no other true vertex within {isolation_mm} mm of the primary, else close;\n\
             found, clean, merged, split, fake: true and found vertices matched one to one within {match_mm} mm; tracks:\n\
             charged, above 0.5 GeV, within |eta| < 2.5"
        )
    }
}

/// Returns the figure with this number in each bin.
fn in_bins(summary: &Summary, number: usize) -> Vec<Figure> {
    summary.bins.iter().map(|bin| bin.figures.named()[number]).collect()
}

/// Returns the lower and the upper error of a figure.
fn errors(figure: &Figure) -> Option<(f64, f64)> {
    figure.value.zip(figure.interval).map(|(value, (low, high))| (value - low, high - value))
}

fn label(figure: &Figure) -> String {
    format!("{}{}", figure.label, if figure.is_fraction { ", %" } else { "" })
}

fn cell(figure: &Figure) -> String {
    match (figure.value, errors(figure)) {
        (None, _) => "-".into(),
        (Some(value), None) => format!("{value:.3}"),
        (Some(value), Some((low, high))) => format!("{:.1} +{:.1} -{:.1}", 100.0 * value, 100.0 * high, 100.0 * low),
    }
}
