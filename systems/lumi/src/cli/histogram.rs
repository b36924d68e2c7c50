//! `lumi histogram`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use command_host::{Failure, PictureOptions, check_distinct, table, write_json};
use lumi::Schemata;
use serde::Serialize;

use super::average::number;
use super::banks::samples;
use super::draw::Bars;

/// Histogram of a counter: a table and a picture
#[derive(Args)]
pub(super) struct Histogram {
    /// Banks, as `lumi count --output` writes them
    #[arg(value_name = "BANKS.npz")]
    input: PathBuf,
    /// The counter
    #[arg(long, default_value = "VeloTracks", value_name = "NAME")]
    counter: String,
    /// Bins of equal width
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    bins: u32,
    /// Lower edge [default: the least value]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    from: Option<f64>,
    /// Upper edge [default: the largest value]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    to: Option<f64>,
    /// Draw the histogram, too
    #[arg(long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
    /// JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    counter: &'a str,
    from: f64,
    to: f64,
    below: usize,
    above: usize,
    counts: &'a [u64],
}

impl Histogram {
    pub(super) fn run(&self) -> Result<(), Failure> {
        check_distinct([&*self.input], self.plot.as_deref())?;
        let picture = self.picture.open_optional(self.plot.as_deref(), "lumi")?;
        let (samples, _) = samples(&self.input, &self.counter)?;
        let values = || samples.iter().map(|sample| sample.value);
        let from = self.from.unwrap_or_else(|| values().fold(f64::INFINITY, f64::min));
        let largest = values().fold(f64::NEG_INFINITY, f64::max);
        // A single value has a bin, too.
        let to = self.to.unwrap_or(if largest > from { largest } else { from + 1.0 });
        if from >= to {
            return Err(Failure::usage(format!("the edges {from} and {to} hold no bin"), "give --from below --to"));
        }
        let mut counts = vec![0_u64; self.bins as usize];
        let width = (to - from) / f64::from(self.bins);
        for value in values().filter(|value| (from..=to).contains(value)) {
            // The largest value is in the last bin.
            counts[(((value - from) / width) as usize).min(self.bins as usize - 1)] += 1;
        }
        let (below, above) = (values().filter(|&v| v < from).count(), values().filter(|&v| v > to).count());
        if let Some(picture) = picture {
            let unit = Schemata::new().unit(&self.counter).map_or_else(String::new, |unit| format!(" [{unit}]"));
            picture.draw(&Bars { title: self.counter.clone() + &unit, from, to, counts: &counts }.figure())?;
        }
        let mut out = io::stdout().lock();
        if self.json {
            let report = Report { counter: &self.counter, from, to, below, above, counts: &counts };
            return Ok(write_json(&mut out, &report)?);
        }
        writeln!(out, "{}: {} events, {below} below and {above} above the edges", self.counter, samples.len())?;
        let mut table = table(["from", "to", "events"], 0);
        for (bin, count) in counts.iter().enumerate() {
            let edge = |bin: usize| format!("{:.4}", from + bin as f64 * width);
            table.add_row([edge(bin), edge(bin + 1), count.to_string()]);
        }
        writeln!(out, "{table}")?;
        Ok(())
    }
}
