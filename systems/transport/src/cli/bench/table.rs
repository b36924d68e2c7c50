//! The tables of a bench, printed row by row as times are known.

use std::io::{self, Write};

use command_host::{Rows, scientific};

use super::report::{Counted, First, LaidOut, Ran, SortPart, Walked};

/// Prints rows on standard output, each part below a heading; nothing for JSON.
#[derive(Debug, Default)]
pub(super) struct Printer {
    is_silent: bool,
    part: Option<&'static str>,
}

const SPREAD: usize = 24;

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
}

/// The GPU, or threads of the CPU.
fn who(threads: Option<usize>) -> String {
    match threads {
        None => "GPU".to_owned(),
        Some(1) => "CPU, 1 thread".to_owned(),
        Some(threads) => format!("CPU, {threads} threads"),
    }
}

/// The kernels, with the threads of a workgroup where they are chosen.
fn kernels(kernels: &str, workgroup_size: Option<u32>) -> String {
    workgroup_size.map_or_else(|| kernels.to_owned(), |threads| format!("{kernels}, {threads}"))
}

impl Printer {
    pub(super) fn new(is_silent: bool) -> Self {
        Self { is_silent, part: None }
    }

    /// Prints a row, below the heading of its part if it is the first one.
    fn row<const N: usize>(
        &mut self,
        part: &'static str,
        title: impl FnOnce() -> String,
        columns: [(&str, usize); N],
        numbers: usize,
        row: &[String; N],
    ) -> io::Result<()> {
        if self.is_silent {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let (rows, header) = Rows::new(columns, numbers);
        if self.part != Some(part) {
            self.part = Some(part);
            writeln!(out, "\n{}\n", title())?;
            rows.write(&mut out, &header)?;
        }
        rows.write(&mut out, row)
    }

    pub(super) fn count(&mut self, row: &Counted) -> io::Result<()> {
        let on_gpu = row.variant.is_some();
        let title = || {
            let slides =
                if on_gpu { "; the slides: 633 us by atomics, 37 us by block sums, a factor of 17" } else { "" };
            format!("Counting elements of {} classes{slides}", row.classes)
        };
        let [median, spread] = row.time.text();
        let (name, ratio) =
            if on_gpu { ("x atomics", row.faster_than_atomics) } else { ("x 1 thread", row.times_one_thread) };
        let columns = [
            ("elements", 9),
            ("by", 16),
            ("what", 11),
            ("time [us]", 10),
            ("from, to", SPREAD),
            ("GB/s", 7),
            (name, 10),
            ("of reading", 10),
        ];
        let by = row.variant.map_or_else(|| who(row.threads), str::to_owned);
        let of_reading = percent(row.of_reading);
        let rate = format!("{:.1}", row.gb_per_s);
        let cells = [row.elements.to_string(), by, row.part.clone(), median, spread, rate, times(ratio), of_reading];
        self.row("counts", title, columns, 3, &cells)
    }

    pub(super) fn sort(&mut self, row: &SortPart) -> io::Result<()> {
        let title = || {
            let limit = "sort moves at least 8 bytes an element, 40 with a payload of 16, and gather 36";
            format!("Sorting elements of {} classes, stably; {limit}", row.classes)
        };
        let [median, spread] = row.time.text();
        let last = if row.threads.is_none() { percent(row.of_reading) } else { times(row.times_one_thread) };
        let columns = [
            ("elements", 9),
            ("by", 16),
            ("part", 13),
            ("time [us]", 10),
            ("from, to", SPREAD),
            ("GB/s", 7),
            (if row.threads.is_none() { "of reading" } else { "x 1 thread" }, 10),
        ];
        let rate = row.gb_per_s.map_or_else(String::new, |rate| format!("{rate:.1}"));
        let cells = [row.elements.to_string(), who(row.threads), row.part.clone(), median, spread, rate, last];
        self.row("sorts", title, columns, 3, &cells)
    }

    pub(super) fn path(&mut self, row: &Walked) -> io::Result<()> {
        let title = || format!("Runge-Kutta steps alone: {} electrons, {} steps each", row.states, row.steps);
        let [median, spread] = row.time.text();
        let columns = [
            ("field", 12),
            ("steps", 6),
            ("by", 16),
            ("time [us]", 10),
            ("from, to", SPREAD),
            ("track-steps/s", 13),
            ("x 1 thread", 10),
        ];
        let rate = scientific(row.track_steps_per_s);
        let ratio = times(row.times_one_thread);
        let cells = [row.field.to_owned(), row.way.to_owned(), who(row.threads), median, spread, rate, ratio];
        self.row("paths", title, columns, 3, &cells)
    }

    pub(super) fn layout(&mut self, row: &LaidOut) -> io::Result<()> {
        let title = || format!("Layouts of {} tracks in memory: one step in a uniform field", row.states);
        let [median, spread] = row.time.text();
        let columns = [("layout", 23), ("time [us]", 10), ("from, to", SPREAD), ("GB/s", 8), ("x structures", 12)];
        let ratio = times(Some(row.faster_than_structures));
        let cells = [row.layout.to_owned(), median, spread, format!("{:.1}", row.gb_per_s), ratio];
        self.row("layouts", title, columns, 1, &cells)
    }

    pub(super) fn first(&mut self, row: &First) -> io::Result<()> {
        let kernels = kernels(&row.kernels, row.workgroup_size);
        let columns = [
            ("by", 16),
            ("kernels", 16),
            ("stage", 11),
            ("time [us]", 10),
            ("from, to", SPREAD),
            ("share", 7),
            ("slides", 7),
            ("tracks/s", 9),
            ("x 1 thread", 10),
        ];
        let slides = "the slides: 18.5 times one core, and 5.8 % to set up random numbers";
        let title = || format!("The first step of {} tracks; {slides}", row.tracks);
        let none = String::new;
        for part in &row.stages {
            let [median, spread] = part.time.text();
            let stage = part.stage.to_owned();
            let [share, slides] = [percent(Some(part.share)), percent(part.of_slides)];
            let cells = [who(row.threads), kernels.clone(), stage, median, spread, share, slides, none(), none()];
            self.row("first", title, columns, 3, &cells)?;
        }
        let [median, spread] = row.time.text();
        let (rate, ratio) = (row.tracks_per_s.map_or_else(String::new, scientific), times(row.times_one_thread));
        let all = "all".to_owned();
        let cells = [who(row.threads), kernels.clone(), all, median, spread, none(), none(), rate, ratio];
        self.row("first", title, columns, 3, &cells)
    }

    pub(super) fn ran(&mut self, row: &Ran) -> io::Result<()> {
        let title =
            || format!("Runs of {} particles until no track is left, from host memory to host memory", row.particles);
        let [median, spread] = row.time.text();
        let columns = [
            ("by", 16),
            ("kernels", 16),
            ("time [us]", 10),
            ("from, to", SPREAD),
            ("iterations", 10),
            ("steps", 10),
            ("steps/s", 9),
            ("x 1 thread", 10),
            ("missing", 8),
            ("given up", 8),
        ];
        let cells = [
            who(row.threads),
            kernels(&row.kernels, row.workgroup_size),
            median,
            spread,
            row.iterations.to_string(),
            row.steps.to_string(),
            scientific(row.steps_per_s),
            times(row.times_one_thread),
            format!("{:.0e}", row.missing),
            format!("{:.0e}", row.given_up),
        ];
        self.row("runs", title, columns, 2, &cells)
    }
}
