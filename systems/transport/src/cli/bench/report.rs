//! The report of a bench.

use std::io;
use std::time::Duration;

use serde::Serialize;

use super::table::Printer;

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
    pub(super) fn text(&self) -> [String; 2] {
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
    pub(super) layouts: Vec<LaidOut>,
    pub(super) first: Vec<First>,
    pub(super) runs: Vec<Ran>,
    pub(super) left_out: Vec<String>,
    #[serde(skip)]
    pub(super) printer: Printer,
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
    /// Absent for stages that do not depend on the number of elements.
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

/// A step of all tracks in a layout of memory.
#[derive(Serialize)]
pub(super) struct LaidOut {
    pub(super) layout: &'static str,
    pub(super) states: usize,
    pub(super) time: Spread,
    /// Of the 48 bytes of positions and momenta that a step needs.
    pub(super) gb_per_s: f64,
    pub(super) faster_than_structures: f64,
}

/// The first step of all tracks.
#[derive(Serialize)]
pub(super) struct First {
    /// Of the CPU; none on a GPU.
    pub(super) threads: Option<usize>,
    pub(super) kernels: String,
    /// Of a GPU; none is the default.
    pub(super) workgroup_size: Option<u32>,
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
    /// Of a GPU; none is the default.
    pub(super) workgroup_size: Option<u32>,
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
    /// Reports once that something is not timed.
    pub(super) fn leave_out(&mut self, what: String) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    pub(super) fn count(&mut self, row: Counted) -> io::Result<()> {
        self.printer.count(&row)?;
        self.counts.push(row);
        Ok(())
    }

    pub(super) fn sort(&mut self, row: SortPart) -> io::Result<()> {
        self.printer.sort(&row)?;
        self.sorts.push(row);
        Ok(())
    }

    pub(super) fn path(&mut self, row: Walked) -> io::Result<()> {
        self.printer.path(&row)?;
        self.paths.push(row);
        Ok(())
    }

    pub(super) fn layout(&mut self, row: LaidOut) -> io::Result<()> {
        self.printer.layout(&row)?;
        self.layouts.push(row);
        Ok(())
    }

    /// Adds a first step, with its ratio to the fastest one of one thread so far.
    pub(super) fn first(&mut self, mut row: First) -> io::Result<()> {
        let rows = self.first.iter().chain([&row]).filter(|row| row.threads == Some(1) && row.time.is_seen());
        let alone = rows.map(|row| row.time.median_us).reduce(f64::min);
        row.times_one_thread = alone.filter(|_| row.time.is_seen()).map(|alone| alone / row.time.median_us);
        self.printer.first(&row)?;
        self.first.push(row);
        Ok(())
    }

    /// Adds a run, with its ratio to the fastest one of one thread so far.
    pub(super) fn ran(&mut self, mut row: Ran) -> io::Result<()> {
        let rows = self.runs.iter().chain([&row]).filter(|row| row.threads == Some(1));
        let alone = rows.map(|row| row.time.median_us).reduce(f64::min);
        row.times_one_thread = alone.map(|alone| alone / row.time.median_us);
        self.printer.ran(&row)?;
        self.runs.push(row);
        Ok(())
    }
}
