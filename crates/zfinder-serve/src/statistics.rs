//! Counts and durations of a model.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::refusal::Reason;

/// A number of events and their total duration.
#[derive(Debug, Default)]
pub(crate) struct Total {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Total {
    pub(crate) fn add(&self, duration: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn nanoseconds(&self) -> u64 {
        self.nanoseconds.load(Ordering::Relaxed)
    }
}

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    /// Subtracts from a counter that can fall.
    pub(crate) fn subtract(&self, number: u64) {
        self.0.fetch_sub(number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Durations of the parts of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Durations {
    /// From arrival to the start of its batch.
    pub(crate) queue: Duration,
    /// Making the batch.
    pub(crate) input: Duration,
    /// The search of the batch.
    pub(crate) search: Duration,
    /// Making its answer.
    pub(crate) output: Duration,
}

/// The statistics of a model since the start.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) success: Total,
    pub(crate) failure: Total,
    pub(crate) queue: Total,
    pub(crate) input: Total,
    pub(crate) search: Total,
    pub(crate) output: Total,
    /// Number of RoIs.
    pub(crate) rois: Count,
    pub(crate) spacepoints: Count,
    pub(crate) batches: Count,
    /// Batches that the CPU engine answered for a failed device.
    pub(crate) fallback_batches: Count,
    /// Waiting requests.
    pub(crate) pending: Count,
    /// Requests whose client left before the search.
    pub(crate) cancelled: Count,
    /// Time of the last answer, in milliseconds since 1970.
    last: AtomicU64,
    failures: [Count; Reason::ALL.len()],
}

impl Statistics {
    pub(crate) fn succeed(&self, durations: &Durations, all: Duration) {
        self.success.add(all);
        self.queue.add(durations.queue);
        self.input.add(durations.input);
        self.search.add(durations.search);
        self.output.add(durations.output);
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last.store(u64::try_from(since_1970.as_millis()).unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn fail(&self, reason: Reason, all: Duration) {
        self.failure.add(all);
        self.failures[reason as usize].add(1);
    }

    pub(crate) fn failures(&self, reason: Reason) -> u64 {
        self.failures[reason as usize].get()
    }

    pub(crate) fn last_milliseconds(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }
}
