//! `lumi average`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use command_host::figure::Point as Mark;
use command_host::{Code, Failure, PictureOptions, check_distinct, note, table, write_file, write_json};
use lumi::{Averages, LogZero, Point, Sample};
use serde::Serialize;

use super::banks::samples;
use super::draw::Points;

/// Averages a counter and estimates the number of visible collisions (log-zero method), for all
/// events, each bunch or intervals
#[derive(Args)]
pub(super) struct Average {
    /// Banks, as `lumi count --output` writes them
    #[arg(value_name = "BANKS.npz")]
    input: PathBuf,
    /// The counter
    #[arg(long, default_value = "VeloTracks", value_name = "NAME")]
    counter: String,
    /// An event is empty if its counter is below this
    #[arg(long, default_value_t = 1.0, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    empty_below: f64,
    /// Subtract beam gas and noise by types of crossings: bb - be - eb + ee, where b is a filled
    /// bunch and e is an empty one
    #[arg(long)]
    subtract_background: bool,
    /// Group of events to average
    #[arg(long, value_enum, default_value = "all")]
    by: By,
    /// Of --by time: equal intervals
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    intervals: u32,
    /// Cross section of visible collisions in mb: adds the luminosity of a bunch crossing, mu f /
    /// sigma with f = 11,245 Hz
    #[arg(long, value_name = "MB", value_parser = positive)]
    cross_section: Option<f64>,
    /// Write the table as CSV
    #[arg(long, short, value_name = "FILE.csv", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Draw mu, or the luminosity, against time or bunches
    #[arg(long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
    /// JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// All events
    All,
    /// Events of each bunch and type of crossing
    Bunch,
    /// Events of equal intervals of time
    Time,
}

/// Revolutions of the LHC a second.
const REVOLUTIONS_HZ: f64 = 11_245.0;
/// cm^2 in a mb.
const CM2_PER_MB: f64 = 1e-27;

#[derive(Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    bunch: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crossing_type: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    begin_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_s: Option<f64>,
    #[serde(flatten)]
    averages: Averages,
    /// Of a bunch crossing.
    #[serde(skip_serializing_if = "Option::is_none")]
    luminosity_per_cm2_s: Option<f64>,
}

pub(super) fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if number.is_finite() { Ok(number) } else { Err("it is not finite".to_owned()) }
}

fn positive(text: &str) -> Result<f64, String> {
    number(text).and_then(|number| if number > 0.0 { Ok(number) } else { Err("it is not above 0".to_owned()) })
}

impl Average {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let outputs = [self.output.as_deref(), self.plot.as_deref()];
        check_distinct([&*self.input], outputs.into_iter().flatten())?;
        if self.plot.is_some() && self.by == By::All {
            return Err(Failure::usage("--plot has nothing to draw", "add --by time or --by bunch"));
        }
        let picture = self.picture.open_optional(self.plot.as_deref(), "lumi")?;
        let (samples, _) = samples(&self.input, &self.counter)?;
        if self.subtract_background {
            self.check_types(&samples)?;
        }
        let rows = self.rows(&samples);
        if self.subtract_background && self.by == By::Time {
            self.check_intervals(&samples, rows.len())?;
        }
        if let Some(path) = &self.output {
            write_file(path, "lumi", |out| write_csv(out, &rows))?;
        }
        if let Some(picture) = picture {
            picture.draw(&self.points(&rows).figure())?;
        }
        let mut out = io::stdout().lock();
        if self.json {
            return Ok(write_json(&mut out, &rows)?);
        }
        writeln!(out, "{}: an event is empty below {}{}", self.counter, self.empty_below, self.method())?;
        print(&mut out, &rows)?;
        Ok(())
    }

    /// Checks that each type of crossing has a sample.
    fn check_types(&self, samples: &[Sample]) -> Result<(), Failure> {
        let is_missing = |kind: &u32| samples.iter().all(|sample| sample.crossing_type != *kind);
        let Some(missing) = (0..4).find(is_missing) else { return Ok(()) };
        let what = format!("{}: no event of crossing type {missing}", self.input.display());
        let help = "--subtract-background needs types 0 (no beam), 1 and 2 (one beam) and 3 (both beams)";
        Err(Failure::new(Code::Data, what).with_help(help))
    }

    /// Reports the intervals that lack a type of crossing.
    fn check_intervals(&self, samples: &[Sample], complete: usize) -> Result<(), Failure> {
        if complete == 0 {
            let what = format!("{}: no interval has events of all types of crossings", self.input.display());
            return Err(Failure::new(Code::Data, what).with_help("take fewer --intervals"));
        }
        let all = Point::by_time(samples, self.intervals as usize, |samples| Averages::of(samples, self.empty_below));
        if complete < all.len() {
            note(&format!("{} of {} intervals lack a type of crossing", all.len() - complete, all.len()));
        }
        Ok(())
    }

    fn method(&self) -> &'static str {
        if self.subtract_background { ", background subtracted" } else { "" }
    }

    fn rows(&self, samples: &[Sample]) -> Vec<Row> {
        let luminosity = |averages: &Averages| {
            let log_zero = averages.log_zero?;
            Some(log_zero.mu * REVOLUTIONS_HZ / (self.cross_section? * CM2_PER_MB))
        };
        let row = |averages: Averages| Row {
            bunch: None,
            crossing_type: None,
            begin_s: None,
            end_s: None,
            averages,
            luminosity_per_cm2_s: luminosity(&averages),
        };
        type Average<T> = fn(&[Sample], f64) -> T;
        let (average, by_bunch): (Average<Option<Averages>>, Average<Vec<_>>) = if self.subtract_background {
            (Averages::less_background, Averages::by_bunch_less_background)
        } else {
            (Averages::of, Averages::by_bunch)
        };
        match self.by {
            By::All => average(samples, self.empty_below).into_iter().map(row).collect(),
            By::Bunch => by_bunch(samples, self.empty_below)
                .into_iter()
                .map(|((bunch, kind), averages)| Row { bunch: Some(bunch), crossing_type: Some(kind), ..row(averages) })
                .collect(),
            By::Time => Point::by_time(samples, self.intervals as usize, |samples| average(samples, self.empty_below))
                .into_iter()
                .map(|Point { interval, averages }| Row {
                    begin_s: Some(interval.begin_s),
                    end_s: Some(interval.end_s),
                    ..row(averages)
                })
                .collect(),
        }
    }

    fn points(&self, rows: &[Row]) -> Points {
        let first = rows.first().and_then(|row| row.begin_s).unwrap_or(0.0);
        let scale = self.cross_section.map_or(1.0, |sigma| REVOLUTIONS_HZ / (sigma * CM2_PER_MB));
        let mark = |row: &Row| {
            let log_zero = row.averages.log_zero?;
            let bin = match (row.begin_s, row.end_s) {
                (Some(begin), Some(end)) => (begin - first, end - first),
                _ => (f64::from(row.bunch?), f64::from(row.bunch?)),
            };
            let (y, error) = (log_zero.mu * scale, log_zero.error * scale);
            Some(Mark { x: (bin.0 + bin.1) / 2.0, bin, y, interval: (y - error, y + error) })
        };
        let quantity = if self.cross_section.is_some() {
            "luminosity of a crossing [cm^{−2} s^{−1}]"
        } else {
            "visible collisions of a crossing"
        };
        let x = if self.by == By::Time { format!("time after {first:.0} s [s]") } else { "bunch".to_owned() };
        Points {
            caption: format!("{}, log-zero method{}", self.counter, self.method()),
            x,
            y: quantity.to_owned(),
            points: rows.iter().filter_map(mark).collect(),
        }
    }
}

/// A row as text, in the order of the headings. `missing` stands for mu without an estimate.
fn cells(row: &Row, missing: &str) -> Vec<String> {
    let Averages { events, mean, mean_error, empty, log_zero } = row.averages;
    let mut cells = Vec::new();
    cells.extend(row.bunch.map(|bunch| bunch.to_string()));
    cells.extend(row.crossing_type.map(|kind| kind.to_string()));
    cells.extend([row.begin_s, row.end_s].into_iter().flatten().map(|time| format!("{time:.3}")));
    cells.extend([events.to_string(), format!("{mean:.5}"), format!("{mean_error:.5}"), empty.to_string()]);
    cells.extend(match log_zero {
        Some(LogZero { mu, error }) => [format!("{mu:.5}"), format!("{error:.5}")],
        None => [missing.to_owned(), String::new()],
    });
    cells.extend(row.luminosity_per_cm2_s.map(|luminosity| format!("{luminosity:.4e}")));
    cells
}

fn header(rows: &[Row]) -> Vec<&'static str> {
    let Some(row) = rows.first() else { return Vec::new() };
    let mut header = Vec::new();
    if row.bunch.is_some() {
        header.extend(["bunch", "crossing_type"]);
    }
    if row.begin_s.is_some() {
        header.extend(["begin_s", "end_s"]);
    }
    header.extend(["events", "mean", "mean_error", "empty", "mu", "mu_error"]);
    if rows.iter().any(|row| row.luminosity_per_cm2_s.is_some()) {
        header.push("luminosity_per_cm2_s");
    }
    header
}

fn write_csv(out: impl Write, rows: &[Row]) -> io::Result<()> {
    let header = header(rows);
    let mut table = csv::WriterBuilder::new().flexible(true).from_writer(out);
    table.write_record(&header)?;
    for row in rows {
        let mut cells = cells(row, "");
        cells.resize(header.len(), String::new());
        table.write_record(cells)?;
    }
    table.flush()
}

fn print(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let mut table = table(header(rows), 0);
    for row in rows {
        table.add_row(cells(row, "no estimate"));
    }
    writeln!(out, "{table}")
}
