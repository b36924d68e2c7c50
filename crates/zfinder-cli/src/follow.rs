//! `--follow`: answers while the input is still being written.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use zfinder::{Results, Roi, RoiBatch, ZFinder};

use super::beam_spot::RoiSource;
use super::input::Skipped;
use super::search::{BATCH_ROIS, BATCH_SPACEPOINTS, Totals, warn_of_misfit};
use command_host::Failure;

/// RoIs that are read ahead.
const READ_AHEAD: usize = 256;

type Read = zfinder_io::Result<Roi>;

/// Searches all RoIs like [`search`](super::search::search), and passes on a batch when it is full
/// or when `delay` has passed since its first RoI was read.
///
/// # Errors
/// As for [`search`](super::search::search).
pub(super) fn follow(
    finder: &ZFinder,
    rois: &mut RoiSource,
    skipped: &mut Skipped,
    delay: Duration,
    mut answer: impl FnMut(&RoiBatch, &Results) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    let mut totals = Totals::default();
    let skipped_before = skipped.errors();
    let (sender, receiver) = sync_channel(READ_AHEAD);
    let mut source = rois.take();
    // Reading may block forever. After a failure the process ends without this thread.
    let reader = thread::Builder::new().name("zfinder follow".into()).spawn(move || {
        for roi in source.by_ref() {
            if sender.send(roi).is_err() {
                break;
            }
        }
        source
    });
    let reader = reader.map_err(zfinder::Error::Thread)?;
    let (mut batch, mut results) = (RoiBatch::new(), Results::new());
    let mut is_first = true;
    loop {
        batch.clear();
        let unread = collect(&receiver, delay, skipped, &mut batch);
        if batch.is_empty() && unread.is_none() {
            break;
        }
        if std::mem::take(&mut is_first) {
            warn_of_misfit(finder, &batch).iter().for_each(|warning| skipped.warn(warning));
        }
        let begin = Instant::now();
        finder.find_batch_into(&batch, &mut results)?;
        totals.add(&batch, begin.elapsed());
        answer(&batch, &results)?;
        if let Some(error) = unread {
            return Err(error.into());
        }
    }
    if let Ok(source) = reader.join() {
        *rois = source;
    }
    totals.finish(rois, skipped, skipped_before);
    Ok(totals)
}

/// Fills a batch, which stays empty at the end of the input. Returns the error that ends the input.
fn collect(
    receiver: &Receiver<Read>,
    delay: Duration,
    skipped: &mut Skipped,
    batch: &mut RoiBatch,
) -> Option<zfinder_io::Error> {
    let mut due = None;
    while batch.len() < BATCH_ROIS && batch.count_spacepoints() < BATCH_SPACEPOINTS {
        let read = match due {
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => receiver.recv_timeout(Instant::saturating_duration_since(&due, Instant::now())),
        };
        match read {
            Ok(Ok(roi)) => {
                batch.push(roi.descriptor, roi.spacepoints);
                due.get_or_insert_with(|| Instant::now() + delay);
            }
            Ok(Err(error)) => {
                if let Err(error) = skipped.skip(error) {
                    return Some(error);
                }
            }
            Err(_) => break,
        }
    }
    None
}
