//! Polling of a device, and the thread that polls on behalf of futures. In a browser, `poll_web.rs`
//! takes its place.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

pub use std::time::Instant;

use futures_intrusive::channel::shared::OneshotSender;

use crate::error::Error;
use crate::status::{Status, lock};
use crate::wait_queue::WaitQueue;

/// Whether memory that the device has read can be mapped again while the caller waits.
pub(crate) const REMAPS: bool = true;

/// Duration of one wait in the driver, after which the loss of the device is checked.
pub(crate) const SLICE: Duration = Duration::from_secs(1);

/// Result of a requested mapping. Any thread that polls the device may report it, not only the
/// requesting one.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapOutcome {
    pub(crate) reported: Arc<(Mutex<Option<Mapped>>, Condvar)>,
}

pub(crate) type Mapped = Result<(), wgpu::BufferAsyncError>;

impl MapOutcome {
    /// Requests the mapping of the first `bytes` of a buffer.
    pub(crate) fn request(raw: &wgpu::Buffer, mode: wgpu::MapMode, bytes: u64) -> Self {
        let outcome = Self::default();
        let reported = Arc::clone(&outcome.reported);
        raw.map_async(mode, 0..bytes, move |result| {
            *lock(&reported.0) = Some(result);
            reported.1.notify_all();
        });
        outcome
    }

    pub(crate) fn is_known(&self) -> bool {
        lock(&self.reported.0).is_some()
    }

    pub(crate) fn take(&self) -> Option<Mapped> {
        lock(&self.reported.0).take()
    }
}

/// Blocks on a future and returns its output. In a browser no thread may wait, so a future that is
/// not ready at once is an error.
///
/// # Errors
/// The future's errors, and [`Error::CannotWait`].
pub fn block_on<T, E: From<Error>>(future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    pollster::block_on(future)
}

/// Returns the first error of popped scopes, innermost first. Natively they are ready at once.
pub(crate) fn first_error<F: Future<Output = Option<wgpu::Error>>>(
    popped: [F; 3],
    _status: &Arc<Status>,
) -> Option<wgpu::Error> {
    popped.into_iter().filter_map(pollster::block_on).next()
}

/// Submitted work that can be awaited.
#[derive(Clone, Debug)]
pub struct Submission {
    pub(crate) index: wgpu::SubmissionIndex,
    /// The submission's number, in the order of submissions: wgpu's index has no readable order.
    pub(crate) sequence: u64,
    /// Set by a callback of the queue when the work is done.
    pub(crate) done: Arc<AtomicBool>,
}

/// The beginning of the message with which wgpu-core 30 panics if a wait times out and another
/// thread empties the queue before the waiting thread reads it (gfx-rs/wgpu pull request 9958). The
/// device is unharmed, and the caller can wait again.
const EMPTIED_BY_ANOTHER: &str = "If the queue is empty, the current submission index";

/// Polls the device. `wgpu::Device::poll` panics if the driver reports a failure; here the device
/// then counts as lost.
pub(crate) fn poll(
    device: &wgpu::Device,
    status: &Status,
    how: wgpu::PollType,
) -> Result<wgpu::PollStatus, wgpu::PollError> {
    caught(status, || device.poll(how))
}

/// Calls `poll`. A panic counts as the loss of the device, except [`EMPTIED_BY_ANOTHER`], which
/// counts as a timeout.
fn caught(
    status: &Status,
    poll: impl FnOnce() -> Result<wgpu::PollStatus, wgpu::PollError>,
) -> Result<wgpu::PollStatus, wgpu::PollError> {
    catch_unwind(AssertUnwindSafe(poll)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("waiting for it failed");
        if !reason.starts_with(EMPTIED_BY_ANOTHER) {
            status.lose(reason.to_owned());
        }
        Err(wgpu::PollError::Timeout)
    })
}

/// Detects the loss of a device whose callbacks belong to the caller: nothing can be mapped on a
/// lost device. Call it after a failure.
pub(crate) fn look_whether_lost(device: &wgpu::Device, status: &Status) {
    let _ = poll(device, status, wgpu::PollType::Poll);
    if status.lost().is_some() {
        return;
    }
    let (size, usage) = (wgpu::COPY_BUFFER_ALIGNMENT, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let descriptor = wgpu::BufferDescriptor { label: Some("probe"), size, usage, mapped_at_creation: false };
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let probe = device.create_buffer(&descriptor);
    let outcome = MapOutcome::request(&probe, wgpu::MapMode::Read, size);
    let refused = pollster::block_on(validation.pop()).is_some();
    let full = pollster::block_on(memory.pop()).is_some();
    let _ = poll(device, status, wgpu::PollType::Poll);
    if !full && (refused || matches!(outcome.take(), Some(Err(_)))) {
        status.lose("it does nothing any more".to_owned());
    }
}

fn is_done(
    device: &wgpu::Device,
    status: &Status,
    index: Option<&wgpu::SubmissionIndex>,
    timeout: Duration,
) -> Result<bool, Error> {
    let how = wgpu::PollType::Wait { submission_index: index.cloned(), timeout: Some(timeout) };
    match poll(device, status, how) {
        Ok(_) => status.check().map(|()| true),
        Err(wgpu::PollError::Timeout) => status.check().map(|()| false),
        Err(error @ wgpu::PollError::WrongSubmissionIndex(..)) => {
            // A submission that never reached the device: the device is lost, or it is another one.
            look_whether_lost(device, status);
            status.check()?;
            Err(Error::Validation { message: error.to_string() })
        }
    }
}

/// Polls repeatedly whether a submission is done, for the time `spin`. A wait for the submission
/// that times out could panic: see [`EMPTIED_BY_ANOTHER`]. The callbacks of finished mappings would
/// be lost with the panic.
pub(crate) fn is_done_within(
    device: &wgpu::Device,
    status: &Status,
    submission: &Submission,
    spin: Duration,
) -> Result<bool, Error> {
    let start = Instant::now();
    while start.elapsed() < spin {
        let _ = poll(device, status, wgpu::PollType::Poll);
        status.check()?;
        // On a lost device the flag says nothing: the wait finds out.
        if submission.done.load(Ordering::Acquire) && is_done(device, status, Some(&submission.index), Duration::ZERO)?
        {
            return Ok(true);
        }
        std::hint::spin_loop();
    }
    Ok(false)
}

/// Waits for everything that is submitted by now.
pub(crate) fn wait_for_all(device: &wgpu::Device, status: &Status) -> Result<(), Error> {
    while !is_done(device, status, None, SLICE)? {}
    Ok(())
}

/// Waits for a future on this thread. None if it takes longer than `limit`; the caller may wait
/// again.
pub(crate) fn block_on_for<T>(mut future: Pin<&mut impl Future<Output = T>>, limit: Duration) -> Option<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let start = Instant::now();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        thread::park_timeout(limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero())?);
    }
}

/// Work that a future waits for.
pub(crate) struct Job {
    pub(crate) submission: Option<Submission>,
    /// Dropped with the future.
    pub(crate) wanted: Weak<()>,
    pub(crate) sender: OneshotSender<Result<(), Error>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("submission", &self.submission).finish_non_exhaustive()
    }
}

/// Threads that wait for submissions, and the thread that waits on behalf of futures. This thread
/// starts with the first future, sleeps without one, and ends with the [`Gpu`].
#[derive(Debug)]
pub(crate) struct Poller {
    shared: Arc<PollerState>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Threads that wait for themselves.
    queue: WaitQueue<wgpu::SubmissionIndex>,
}

#[derive(Debug)]
struct PollerState {
    device: wgpu::Device,
    status: Arc<Status>,
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Jobs {
    waiting: Vec<Job>,
    closed: bool,
}

impl Poller {
    pub(crate) fn new(device: wgpu::Device, _queue: wgpu::Queue, status: Arc<Status>) -> Self {
        Self {
            shared: Arc::new(PollerState { device, status, jobs: Mutex::default(), changed: Condvar::new() }),
            thread: Mutex::default(),
            queue: WaitQueue::default(),
        }
    }

    /// Blocks until a submission is done.
    pub(crate) fn wait(&self, submission: &Submission) -> Result<(), Error> {
        let PollerState { device, status, .. } = &*self.shared;
        let is_done = |index: &wgpu::SubmissionIndex| is_done(device, status, Some(index), SLICE);
        self.queue.wait((submission.sequence, &submission.index), is_done)?;
        status.check()
    }

    pub(crate) fn request(&self, job: Job) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            match thread::Builder::new().name("gpu wait".to_owned()).spawn(move || shared.serve()) {
                Ok(handle) => *thread = Some(handle),
                Err(error) => {
                    // Without a thread the executor is blocked here, which is slow but correct.
                    tracing::warn!("no thread for waiting ({error}): blocking instead");
                    drop(thread);
                    self.shared.finish(job);
                    return;
                }
            }
        }
        lock(&self.shared.jobs).waiting.push(job);
        self.shared.changed.notify_one();
    }
}

impl PollerState {
    fn serve(&self) {
        while let Some(job) = self.next() {
            self.finish(job);
        }
    }

    /// Returns the next job, in the order of submissions; None when the [`Gpu`] is gone.
    fn next(&self) -> Option<Job> {
        let mut jobs = lock(&self.jobs);
        loop {
            if jobs.closed {
                return None;
            }
            jobs.waiting.retain(|job| job.wanted.strong_count() > 0);
            let first = (0..jobs.waiting.len()).min_by_key(|&i| {
                let submission = jobs.waiting[i].submission.as_ref();
                submission.map_or(u64::MAX, |submission| submission.sequence)
            });
            if let Some(first) = first {
                return Some(jobs.waiting.swap_remove(first));
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, job: Job) {
        let index = job.submission.as_ref().map(|submission| &submission.index);
        let outcome = loop {
            match is_done(&self.device, &self.status, index, SLICE) {
                Ok(true) => break Ok(()),
                Err(error) => break Err(error),
                // No future waits any more, which includes the end of the Gpu: futures hold it.
                Ok(false) if job.wanted.strong_count() == 0 => return,
                Ok(false) => {}
            }
        };
        // The future may have been dropped; then the outcome has no receiver.
        let _ = job.sender.send(outcome);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        lock(&self.shared.jobs).closed = true;
        self.shared.changed.notify_one();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            // A future woken on this very thread may hold the last Gpu: a thread cannot wait for
            // itself.
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_emptied_by_another_thread_is_no_loss() {
        let status = Status::default();
        let message = format!("{EMPTIED_BY_ANOTHER} (75) should be at least the wait submission index (78)");
        let outcome = caught(&status, || panic!("{message}"));
        assert!(matches!(outcome, Err(wgpu::PollError::Timeout)), "{outcome:?}");
        assert_eq!(status.lost(), None);
        let outcome = caught(&status, || panic!("the driver fails"));
        assert!(matches!(outcome, Err(wgpu::PollError::Timeout)), "{outcome:?}");
        assert_eq!(status.lost().as_deref(), Some("the driver fails"));
    }
}
