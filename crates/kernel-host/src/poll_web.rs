//! Waiting in a browser, in place of `poll.rs`: the browser polls its devices itself and calls
//! back, and threads must not block.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub use web_time::Instant;

use futures_intrusive::channel::shared::OneshotSender;
use wasm_bindgen_futures::spawn_local;

use crate::error::Error;
use crate::gpu::Gpu;
use crate::status::{Caught, Status, lock};

/// Whether memory that the device has read can be mapped again while the caller waits.
pub(crate) const REMAPS: bool = false;

type Mapped = Result<(), wgpu::BufferAsyncError>;

/// Result of a requested mapping.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapOutcome {
    reported: Arc<Reported>,
}

#[derive(Debug, Default)]
struct Reported {
    outcome: Mutex<Option<Mapped>>,
    waiting: Mutex<Option<Waker>>,
}

impl MapOutcome {
    /// Requests the mapping of the first `bytes` of a buffer.
    pub(crate) fn request(raw: &wgpu::Buffer, mode: wgpu::MapMode, bytes: u64) -> Self {
        let outcome = Self::default();
        let reported = Arc::clone(&outcome.reported);
        raw.map_async(mode, 0..bytes, move |result| {
            *lock(&reported.outcome) = Some(result);
            if let Some(waker) = lock(&reported.waiting).take() {
                waker.wake();
            }
        });
        outcome
    }

    pub(crate) fn is_known(&self) -> bool {
        lock(&self.reported.outcome).is_some()
    }

    pub(crate) fn take(&self) -> Option<Mapped> {
        lock(&self.reported.outcome).take()
    }

    #[expect(clippy::unused_self, reason = "the native form needs it")]
    pub(crate) fn wait(&self, _gpu: &Gpu) -> Result<(), Error> {
        Err(Error::CannotWait)
    }

    /// Waits until the result is known.
    pub(crate) async fn wait_async(&self, gpu: &Gpu) -> Result<(), Error> {
        poll_fn(|context| {
            if self.is_known() {
                return Poll::Ready(());
            }
            *lock(&self.reported.waiting) = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        gpu.status().check()
    }
}

/// Blocks on a future and returns its output. In a browser no thread may wait, so a future that is
/// not ready at once is an error.
///
/// # Errors
/// The future's errors, and [`Error::CannotWait`].
pub fn block_on<T, E: From<Error>>(future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => Err(Error::CannotWait.into()),
    }
}

/// Errors in scopes that are popped come later: the status keeps the first of them for the next
/// call that checks it.
pub(crate) fn first_error<F: Future<Output = Option<wgpu::Error>> + 'static>(
    popped: [F; 3],
    status: &Arc<Status>,
) -> Option<wgpu::Error> {
    let status = Arc::clone(status);
    spawn_local(async move {
        for scope in popped {
            if let Some(error) = scope.await {
                let error = Caught::from(error).into_error("the device", 0, |message| Error::Validation { message });
                lock(&status.error).get_or_insert(error);
            }
        }
    });
    None
}

/// Submitted work that can be awaited.
#[derive(Clone, Debug)]
pub struct Submission {
    #[expect(dead_code, reason = "the native form needs it")]
    pub(crate) index: wgpu::SubmissionIndex,
    #[expect(dead_code, reason = "the native form needs it")]
    pub(crate) sequence: u64,
    #[expect(dead_code, reason = "the native form needs it")]
    pub(crate) done: Arc<AtomicBool>,
}

/// The browser reports the loss by a callback.
pub(crate) fn look_whether_lost(_device: &wgpu::Device, _status: &Status) {}

pub(crate) fn is_done_within(
    _device: &wgpu::Device,
    _status: &Status,
    _submission: &Submission,
    _spin: Duration,
) -> Result<bool, Error> {
    Ok(false)
}

/// Polls a future once, because a page cannot wait.
pub(crate) fn block_on_for<T>(future: Pin<&mut impl Future<Output = T>>, _limit: Duration) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Work that a future waits for.
#[derive(Debug)]
pub(crate) struct Job {
    #[expect(dead_code, reason = "all that is submitted by now is waited for, which is later by little")]
    pub(crate) submission: Option<Submission>,
    #[expect(dead_code, reason = "a callback costs nothing")]
    pub(crate) wanted: Weak<()>,
    pub(crate) sender: OneshotSender<Result<(), Error>>,
}

/// Hands callbacks to the queue.
#[derive(Debug)]
pub(crate) struct Poller {
    queue: wgpu::Queue,
    status: Arc<Status>,
}

impl Poller {
    pub(crate) fn new(_device: wgpu::Device, queue: wgpu::Queue, status: Arc<Status>) -> Self {
        Self { queue, status }
    }

    /// A page cannot wait.
    pub(crate) fn wait(&self, _submission: &Submission) -> Result<(), Error> {
        Err(Error::CannotWait)
    }

    pub(crate) fn request(&self, job: Job) {
        let status = Arc::clone(&self.status);
        self.queue.on_submitted_work_done(move || {
            // The future may have been dropped; then the outcome has no receiver.
            let _ = job.sender.send(status.check());
        });
    }
}
