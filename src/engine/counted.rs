//! How many threads do the same at once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// One of the threads that do the same at once, counted until it ends, even if it panics.
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    pub(crate) fn begin(threads: &'a AtomicUsize) -> Self {
        threads.fetch_add(1, Ordering::Relaxed);
        Self(threads)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
