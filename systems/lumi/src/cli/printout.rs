//! Prints decoded summaries by event id, so that the order of counting does not change the
//! printout.

use std::io::{self, Write};

use clap::Args;
use command_host::Failure;
use lumi::io::Banks;
use lumi::{Schemata, Summary};

use super::banks::{check_part, summaries};

#[derive(Args)]
pub(super) struct Printout {
    /// Print one lumi event in so many, by event id
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Output")]
    every: u32,
    /// Only counters whose name contains this
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    counter: Option<String>,
    /// A line of JSON for each event
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Printout {
    /// Checks `--counter` before anything is read.
    pub(super) fn check(&self, schemata: &Schemata) -> Result<(), Failure> {
        self.counter.as_deref().map_or(Ok(()), |part| check_part(schemata, part))
    }

    pub(super) fn print(&self, schemata: &Schemata, banks: &Banks) -> Result<(), Failure> {
        let mut summaries = summaries(schemata, banks)?;
        if let Some(part) = &self.counter {
            let part = part.to_lowercase();
            for (_, summary) in &mut summaries {
                summary.counters.retain(|name, _| name.to_lowercase().contains(&part));
            }
        }
        let mut out = io::stdout().lock();
        let lumi_events = summaries.len();
        for (event, summary) in summaries.into_iter().step_by(self.every as usize) {
            if self.json {
                let line = serde_json::json!({ "event_id": event, "summary": summary });
                writeln!(out, "{line}")?;
                continue;
            }
            let Summary { full, key, t0_us, crossing, crossing_type, reconstructed, counters } = summary;
            let kind = if full { "full" } else { "basic" };
            writeln!(
                out,
                "event {event}: {kind} {key:08x}, t0 {t0_us} us, crossing {crossing}, type {crossing_type}{}",
                if reconstructed { "" } else { ", not reconstructed" }
            )?;
            for (name, value) in counters {
                match value {
                    Some(value) => writeln!(out, "  {name:<24} {}", value_text(value))?,
                    None => writeln!(out, "  {name:<24} -")?,
                }
            }
        }
        if !self.json {
            writeln!(out, "{lumi_events} lumi events")?;
        }
        Ok(())
    }
}

fn value_text(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
