//! Searches files batch by batch, in the memory of a few batches.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use zfinder::{Results, RoiBatch, SearchedBatch, StreamOptions, ZFinder};
use zfinder_io::{SpacepointReader, config_summary};

use super::beam_spot::{RoiSource, wrong_beam};
use super::input::Skipped;
use command_host::Failure;

/// A batch is searched when it holds this many spacepoints, or RoIs.
pub(super) const BATCH_SPACEPOINTS: usize = 1_000_000;
pub(super) const BATCH_ROIS: usize = 4096;

/// Spacepoints of the first batch whose units and layers are checked.
const CHECKED_SPACEPOINTS: usize = 10_000;

/// Batches that are searched while the next is read. On several GPUs the stream has more.
const IN_FLIGHT: usize = 2;

/// Options of progress and messages.
#[derive(Args)]
pub(super) struct ProgressOptions {
    /// No progress bar (there never is one if standard error is not a terminal)
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    no_progress: bool,
    /// Print only warnings and errors on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

impl ProgressOptions {
    /// Returns a progress bar of the bytes of the files. For a stream the end is unknown.
    pub(super) fn bar(&self, reader: &SpacepointReader) -> ProgressBar {
        if self.quiet || self.no_progress || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let (template, bar) = match reader.total_bytes() {
            None => ("{spinner} {msg}, {elapsed}", ProgressBar::no_length()),
            Some(bytes) => {
                ("{bar:30} {percent} %, {decimal_bytes_per_sec}, {eta} left, {msg}", ProgressBar::new(bytes))
            }
        };
        bar.with_style(ProgressStyle::with_template(template).expect("a fixed template"))
    }
}

/// Totals of a search.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) events: usize,
    pub(super) rois: usize,
    pub(super) spacepoints: usize,
    /// Number of skipped errors.
    errors: u64,
    /// Time of waiting for answers while no file was read.
    waiting: Duration,
}

impl Totals {
    /// Counts a batch that was answered after this time.
    pub(super) fn add(&mut self, batch: &RoiBatch, waited: Duration) {
        self.rois += batch.len();
        self.spacepoints += batch.count_spacepoints();
        self.waiting += waited;
        tracing::debug!(rois = batch.len(), spacepoints = batch.count_spacepoints(), "a batch is answered");
    }

    /// Adds the totals of the reader, when all is read.
    pub(super) fn finish(&mut self, rois: &RoiSource, skipped: &mut Skipped, skipped_before: u64) {
        self.errors = skipped_before + rois.reader.errors();
        skipped.set_errors(self.errors);
        self.events = rois.reader.events();
    }

    /// Returns the totals as text.
    pub(super) fn describe(&self, start: Instant) -> String {
        let skipped = match self.errors {
            0 => String::new(),
            errors => format!(", {} skipped", counted(errors as usize, "error")),
        };
        format!(
            "{}, {}, {}{skipped}: {:.3} s, of which waiting for answers {:.3} s",
            counted(self.events, "event"),
            counted(self.rois, "RoI"),
            counted(self.spacepoints, "spacepoint"),
            start.elapsed().as_secs_f64(),
            self.waiting.as_secs_f64()
        )
    }
}

/// Searches all RoIs, and passes on batches with their answers.
///
/// # Errors
/// The first error that is not skipped. All RoIs before an error of the input are passed on.
pub(super) fn search(
    finder: &ZFinder,
    rois: &mut RoiSource,
    skipped: &mut Skipped,
    bar: &ProgressBar,
    mut answer: impl FnMut(&RoiBatch, &Results) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    let mut totals = Totals::default();
    let skipped_before = skipped.errors();
    let stream = finder.stream(StreamOptions { in_flight: IN_FLIGHT })?;
    let (mut reading, mut unread) = (Duration::ZERO, None);
    let mut is_first = true;
    // Reading and searching overlap.
    let batches = std::iter::from_fn(|| {
        if unread.is_some() {
            return None;
        }
        let begin = Instant::now();
        let (batch, error) = read_batch(rois, skipped, bar);
        reading += begin.elapsed();
        unread = error;
        if std::mem::take(&mut is_first) {
            warn_of_misfit(finder, &batch).iter().for_each(|warning| bar.suspend(|| skipped.warn(warning)));
        }
        Some(batch).filter(|batch| !batch.is_empty())
    });
    let mut answers = stream.run(batches);
    loop {
        let begin = Instant::now();
        let Some(answered) = answers.next() else { break };
        let SearchedBatch { batch, results } = answered?;
        totals.add(&batch, begin.elapsed());
        bar.set_message(format!(
            "{} searched, {}",
            counted(totals.rois, "RoI"),
            counted(totals.spacepoints, "spacepoint")
        ));
        bar.suspend(|| answer(&batch, &results))?;
    }
    drop(answers);
    bar.finish_and_clear();
    // Answers before the error are reported first.
    if let Some(error) = unread {
        return Err(error.into());
    }
    totals.finish(rois, skipped, skipped_before);
    totals.waiting = totals.waiting.saturating_sub(reading);
    Ok(totals)
}

/// Returns the first line of a report: engine, detector, preset and changed keys.
pub(super) fn headline(finder: &ZFinder) -> String {
    let summary = config_summary(finder.config());
    format!("{}; detector {}; {summary}", finder.description(), finder.detector().name())
}

/// Returns a warning if the first RoIs do not match the detector or the beam. The search reports
/// azimuths in degrees.
pub(super) fn warn_of_misfit(finder: &ZFinder, batch: &RoiBatch) -> Option<String> {
    match finder.check_input(batch, CHECKED_SPACEPOINTS) {
        Ok(None) => wrong_beam(batch, finder.detector(), finder.config()),
        Ok(Some(warning)) => Some(format!("{warning}; --detector NAME|FILE.toml chooses another detector")),
        Err(_) => None,
    }
}

/// Reads the next batch, which is empty at the end, and the error that ends it.
fn read_batch(rois: &mut RoiSource, skipped: &mut Skipped, bar: &ProgressBar) -> (RoiBatch, Option<zfinder_io::Error>) {
    let (mut batch, mut unread) = (RoiBatch::new(), None);
    while batch.len() < BATCH_ROIS && batch.count_spacepoints() < BATCH_SPACEPOINTS {
        match rois.next() {
            None => break,
            Some(Ok(roi)) => batch.push(roi.descriptor, roi.spacepoints),
            Some(Err(error)) => {
                unread = bar.suspend(|| skipped.skip(error)).err();
                if unread.is_some() {
                    break;
                }
            }
        }
    }
    bar.set_position(rois.reader.bytes_read());
    (batch, unread)
}

pub(super) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
