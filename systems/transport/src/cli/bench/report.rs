//! What a bench reports.

use std::io::{self, Write};
use std::time::Duration;

use command_host::{bench_heading, scientific, table};
use serde::Serialize;

/// Times of rounds \[us\].
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Spread {
    pub(super) median_us: f64,
    fastest_us: f64,
    slowest_us: f64,
}

impl Spread {
    pub(super) fn of(rounds: &[Duration]) -> Self {
        let us = |time: Duration| 1e6 * time.as_secs_f64();
        Self {
            median_us: us(command_host::median(rounds.to_vec())),
            fastest_us: us(rounds.iter().min().copied().unwrap_or_default()),
            slowest_us: us(rounds.iter().max().copied().unwrap_or_default()),
        }
    }

    /// Whether there is a time: of a difference there may be none.
    pub(super) fn is_seen(&self) -> bool {
        self.median_us > 0.0
    }

    /// So many of something, a second.
    pub(super) fn rate(&self, count: f64) -> f64 {
        count / (1e-6 * self.median_us.max(1e-3))
    }

    /// The median, and from the fastest to the slowest.
    fn text(&self) -> [String; 2] {
        [time(self.median_us), format!("{} to {}", time(self.fastest_us), time(self.slowest_us))]
    }
}

fn time(us: f64) -> String {
    let digits = if us < 100.0 { 2 } else { usize::from(us < 1e4) };
    format!("{us:.digits$}")
}

#[derive(Default, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) debug_build: bool,
    pub(super) engine: String,
    /// Of a kernel that only reads.
    pub(super) read_gb_per_s: Option<f64>,
    pub(super) counts: Vec<Counted>,
    pub(super) sorts: Vec<SortPart>,
    pub(super) paths: Vec<Walked>,
    pub(super) first: Vec<First>,
    pub(super) runs: Vec<Ran>,
    pub(super) left_out: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Counted {
    pub(super) elements: usize,
    pub(super) classes: u32,
    /// Of a GPU.
    pub(super) variant: Option<&'static str>,
    /// Of the CPU.
    pub(super) threads: Option<usize>,
    pub(super) part: String,
    pub(super) time: Spread,
    /// Against global atomics in the same part.
    pub(super) faster_than_atomics: Option<f64>,
    pub(super) gb_per_s: f64,
    /// Of what a kernel gets that only reads.
    pub(super) of_reading: Option<f64>,
    pub(super) times_one_thread: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct SortPart {
    pub(super) elements: usize,
    pub(super) classes: u32,
    pub(super) threads: Option<usize>,
    /// `sort` is all of it but `gather`.
    pub(super) part: String,
    pub(super) time: Spread,
    /// None of what does not depend on the number of elements.
    pub(super) gb_per_s: Option<f64>,
    pub(super) of_reading: Option<f64>,
    pub(super) times_one_thread: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Walked {
    pub(super) field: &'static str,
    /// `plain` steps, or `halved` ones.
    pub(super) way: &'static str,
    pub(super) threads: Option<usize>,
    pub(super) states: usize,
    /// Of each.
    pub(super) steps: u32,
    pub(super) time: Spread,
    pub(super) track_steps_per_s: f64,
    pub(super) times_one_thread: Option<f64>,
}

/// The first step of all tracks.
#[derive(Serialize)]
pub(super) struct First {
    /// Of the CPU; none on a GPU.
    pub(super) threads: Option<usize>,
    pub(super) kernels: String,
    pub(super) tracks: usize,
    pub(super) time: Spread,
    /// None where a step takes less than runs differ by.
    pub(super) tracks_per_s: Option<f64>,
    /// Of the CPU, by the faster kernels.
    pub(super) times_one_thread: Option<f64>,
    pub(super) stages: Vec<StagePart>,
}

#[derive(Serialize)]
pub(super) struct StagePart {
    pub(super) stage: &'static str,
    pub(super) time: Spread,
    pub(super) share: f64,
    /// The slides' share of it.
    pub(super) of_slides: Option<f64>,
}

/// A run until no track is left, from host memory to host memory.
#[derive(Serialize)]
pub(super) struct Ran {
    pub(super) threads: Option<usize>,
    pub(super) kernels: String,
    pub(super) particles: usize,
    pub(super) iterations: u32,
    pub(super) steps: u64,
    pub(super) slots: usize,
    /// Of the energy.
    pub(super) missing: f64,
    pub(super) given_up: f64,
    pub(super) time: Spread,
    pub(super) steps_per_s: f64,
    /// Of the CPU, by the faster kernels.
    pub(super) times_one_thread: Option<f64>,
}

impl Report {
    /// Says it once.
    pub(super) fn leave_out(&mut self, what: String) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
}

/// What computed a row: a GPU, or threads.
fn who(threads: Option<usize>) -> String {
    match threads {
        None => "GPU".to_owned(),
        Some(1) => "CPU, 1 thread".to_owned(),
        Some(threads) => format!("CPU, {threads} threads"),
    }
}

pub(super) fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    bench_heading(out, &report.engine)?;
    if let Some(read) = report.read_gb_per_s {
        writeln!(out, "reading alone: {read:.1} GB/s")?;
    }
    if !report.counts.is_empty() {
        print_counts(out, &report.counts)?;
    }
    if !report.sorts.is_empty() {
        print_sorts(out, &report.sorts)?;
    }
    if !report.paths.is_empty() {
        print_paths(out, &report.paths)?;
    }
    if !report.first.is_empty() {
        print_first(out, &report.first)?;
    }
    if !report.runs.is_empty() {
        print_runs(out, &report.runs)?;
    }
    for left_out in &report.left_out {
        writeln!(out, "\nleft out: {left_out}")?;
    }
    Ok(())
}

fn print_counts(out: &mut impl Write, counts: &[Counted]) -> io::Result<()> {
    let on_gpu = counts.iter().any(|row| row.variant.is_some());
    let slides = if on_gpu { "; the slides have 633 us by atomics and 37 by block sums, 17 times as fast" } else { "" };
    let classes = counts.first().map_or(0, |row| row.classes);
    writeln!(out, "\nCounting elements of {classes} classes{slides}\n")?;
    let last = if on_gpu { ["x atomics", "of reading"] } else { ["x 1 thread", ""] };
    let mut table = table(["elements", "by", "what", "time [us]", "from, to", "GB/s", last[0], last[1]], 3);
    for row in counts {
        let [median, spread] = row.time.text();
        let ratio = if on_gpu { row.faster_than_atomics } else { row.times_one_thread };
        table.add_row([
            row.elements.to_string(),
            row.variant.map_or_else(|| who(row.threads), str::to_owned),
            row.part.clone(),
            median,
            spread,
            format!("{:.1}", row.gb_per_s),
            times(ratio),
            percent(row.of_reading),
        ]);
    }
    writeln!(out, "{table}")
}

fn print_sorts(out: &mut impl Write, sorts: &[SortPart]) -> io::Result<()> {
    let on_gpu = sorts.iter().any(|row| row.threads.is_none());
    let classes = sorts.first().map_or(0, |row| row.classes);
    let limit = "sort has to move 8 bytes an element, 40 with a group of 16, and gather 36";
    writeln!(out, "\nSorting elements of {classes} classes, stably; {limit}\n")?;
    let last = if on_gpu { "of reading" } else { "x 1 thread" };
    let mut table = table(["elements", "by", "part", "time [us]", "from, to", "GB/s", last], 3);
    for row in sorts {
        let [median, spread] = row.time.text();
        table.add_row([
            row.elements.to_string(),
            who(row.threads),
            row.part.clone(),
            median,
            spread,
            row.gb_per_s.map_or_else(String::new, |rate| format!("{rate:.1}")),
            if on_gpu { percent(row.of_reading) } else { times(row.times_one_thread) },
        ]);
    }
    writeln!(out, "{table}")
}

fn print_paths(out: &mut impl Write, paths: &[Walked]) -> io::Result<()> {
    let (states, steps) = paths.first().map_or((0, 0), |row| (row.states, row.steps));
    writeln!(out, "\nRunge and Kutta's steps alone: {states} electrons, {steps} steps each\n")?;
    let mut table = table(["field", "steps", "by", "time [us]", "from, to", "track-steps/s", "x 1 thread"], 3);
    for row in paths {
        let [median, spread] = row.time.text();
        table.add_row([
            row.field.to_owned(),
            row.way.to_owned(),
            who(row.threads),
            median,
            spread,
            scientific(row.track_steps_per_s),
            times(row.times_one_thread),
        ]);
    }
    writeln!(out, "{table}")
}

fn print_first(out: &mut impl Write, first: &[First]) -> io::Result<()> {
    let tracks = first.first().map_or(0, |row| row.tracks);
    writeln!(
        out,
        "\nThe first step of {tracks} tracks; the slides' GPU is 18.5 times one core, and sets random numbers up in 5.8 %\n"
    )?;
    let mut table =
        table(["by", "kernels", "stage", "time [us]", "from, to", "share", "slides", "tracks/s", "x 1 thread"], 3);
    for row in first {
        for part in &row.stages {
            let [median, spread] = part.time.text();
            let stage = part.stage.to_owned();
            let shares = [percent(Some(part.share)), percent(part.of_slides)];
            let [share, slides] = shares;
            table.add_row([who(row.threads), row.kernels.clone(), stage, median, spread, share, slides]);
        }
        let [median, spread] = row.time.text();
        let (rate, ratio) = (row.tracks_per_s.map_or_else(String::new, scientific), times(row.times_one_thread));
        let all = "all".to_owned();
        let none = String::new;
        table.add_row([who(row.threads), row.kernels.clone(), all, median, spread, none(), none(), rate, ratio]);
    }
    writeln!(out, "{table}")
}

fn print_runs(out: &mut impl Write, runs: &[Ran]) -> io::Result<()> {
    let particles = runs.first().map_or(0, |row| row.particles);
    writeln!(out, "\nRuns of {particles} particles until no track is left, from host memory to host memory\n")?;
    let header = [
        "by",
        "kernels",
        "time [us]",
        "from, to",
        "iterations",
        "steps",
        "steps/s",
        "x 1 thread",
        "missing",
        "given up",
    ];
    let mut table = table(header, 2);
    for row in runs {
        let [median, spread] = row.time.text();
        table.add_row([
            who(row.threads),
            row.kernels.clone(),
            median,
            spread,
            row.iterations.to_string(),
            row.steps.to_string(),
            scientific(row.steps_per_s),
            times(row.times_one_thread),
            format!("{:.0e}", row.missing),
            format!("{:.0e}", row.given_up),
        ]);
    }
    writeln!(out, "{table}")
}
