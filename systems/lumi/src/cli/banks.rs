//! Decoded banks: duplicate event ids are reported, unknown counters are refused.

use std::path::Path;

use command_host::{Failure, note};
use lumi::io::Banks;
use lumi::{Sample, Schemata, Summary};

/// The largest number of duplicate ids that are named.
const NAMED: usize = 3;

/// Returns the summaries of banks by event id. Several of one id stay in the order of the file.
pub(super) fn summaries(schemata: &Schemata, banks: &Banks) -> Result<Vec<(u64, Summary)>, Failure> {
    let mut summaries = Vec::with_capacity(banks.banks.len());
    for (&event, bank) in banks.event_ids.iter().zip(&banks.banks) {
        let summary = schemata.decode(bank).map_err(|error| lumi::Error::Bank {
            what: format!("event {event}: {}", error.to_string().trim_start_matches("bank: ")),
        })?;
        summaries.push((event, summary));
    }
    summaries.sort_by_key(|(event, _)| *event);
    report_duplicates(&summaries);
    Ok(summaries)
}

fn report_duplicates(summaries: &[(u64, Summary)]) {
    let groups = summaries.chunk_by(|(a, _), (b, _)| a == b).filter(|group| group.len() > 1);
    let duplicates: Vec<(u64, usize)> = groups.map(|group| (group[0].0, group.len())).collect();
    for (event, count) in duplicates.iter().take(NAMED) {
        note(&format!("warning: {count} events have the id {event}"));
    }
    if duplicates.len() > NAMED {
        note(&format!("warning: {} more ids occur several times", duplicates.len() - NAMED));
    }
}

/// Checks that there is a counter of this name.
pub(super) fn check_counter(schemata: &Schemata, name: &str) -> Result<(), Failure> {
    if schemata.counter_names().any(|known| known == name) {
        return Ok(());
    }
    let is_alike = |known: &&str| known.to_lowercase().contains(&name.to_lowercase());
    let alike: Vec<&str> = schemata.counter_names().filter(is_alike).take(8).collect();
    let alike = if alike.is_empty() { String::new() } else { format!("; there are {}", alike.join(", ")) };
    let help = "`lumi decode BANKS.npz` prints the names of all counters";
    Err(Failure::usage(format!("there is no counter `{name}`{alike}"), help))
}

/// Checks that a counter's name contains this text.
pub(super) fn check_part(schemata: &Schemata, part: &str) -> Result<(), Failure> {
    if schemata.counter_names().any(|known| known.to_lowercase().contains(&part.to_lowercase())) {
        return Ok(());
    }
    let help = "leave --counter out to see all counters";
    Err(Failure::usage(format!("no counter has a name with `{part}`"), help))
}

/// Reads the samples of a counter. Events without it are counted, not sampled.
pub(super) fn samples(path: &Path, counter: &str) -> Result<(Vec<Sample>, usize), Failure> {
    let schemata = Schemata::new();
    check_counter(&schemata, counter)?;
    let summaries = summaries(&schemata, &lumi::io::read_banks(path)?)?;
    let samples: Vec<Sample> = summaries.iter().filter_map(|(_, summary)| Sample::of(summary, counter)).collect();
    let without = summaries.len() - samples.len();
    if samples.is_empty() {
        let what = format!("{}: no event has a value of {counter}", path.display());
        return Err(Failure::new(command_host::Code::Data, what));
    }
    if without > 0 {
        note(&format!("{without} of {} events have no value of {counter}", summaries.len()));
    }
    Ok((samples, without))
}
