//! Limits on answers that wait to be sent, and the end of streams whose client does not read.

use std::error::Error as StdError;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use tokio::time::{Sleep, sleep_until};

use crate::connections::Busy;
use crate::limits::{READER_PATIENCE, SENT_AT_ONCE};
use crate::refusal::{Reason, Refusal};

/// Limit on the bytes of answers that wait to be sent.
#[derive(Debug)]
pub(crate) struct SendLimits {
    most: usize,
    held: AtomicUsize,
    idle: Duration,
}

impl SendLimits {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self { most, held: AtomicUsize::new(0), idle }
    }

    /// Checks that there is room for one more answer.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.held.load(Ordering::Relaxed) < self.most { Ok(()) } else { Err(self.refuse()) }
    }

    /// Takes the bytes of an answer from the limit.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Result<Held, Refusal> {
        let add = |held: usize| held.checked_add(bytes).filter(|&sum| sum <= self.most || held == 0);
        let taken = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        taken.map(|_| Held { limits: Arc::clone(self), bytes }).map_err(|_| self.refuse())
    }

    /// Counts the bytes of an answer that exists.
    fn add(self: &Arc<Self>, bytes: usize) -> Held {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Held { limits: Arc::clone(self), bytes }
    }

    fn refuse(&self) -> Refusal {
        Refusal::new(
            Reason::Full,
            format!(
                "answers that wait to be sent reach the limit of {} bytes; retry later, or start zfinder serve with a \
                 larger --max-sending-mib",
                self.most
            ),
        )
    }

    /// Returns the longest time for which a client may leave an answer unread.
    pub(crate) fn patience(&self) -> Duration {
        let is_short = self.held.load(Ordering::Relaxed) > self.most / 2;
        if is_short { self.idle } else { self.idle * READER_PATIENCE }
    }
}

/// Bytes of an answer. Its drop gives them back.
#[derive(Debug)]
pub(crate) struct Held {
    limits: Arc<SendLimits>,
    bytes: usize,
}

impl Held {
    /// Returns bytes that are held as long as they exist.
    pub(crate) fn attach(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Attached { bytes, _held: self })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.limits.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Attached {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Attached {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The state of a stream of HTTP/2.
#[derive(Debug, Default)]
struct StreamState {
    /// When hyper took the last part of the answer, unless it waits for the next one.
    unread_since: Mutex<Option<Instant>>,
    is_reset: AtomicBool,
}

impl StreamState {
    fn set_unread(&self, since: Option<Instant>) {
        *self.unread_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn unread_since(&self) -> Option<Instant> {
        *self.unread_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

tokio::task_local! {
    /// The stream of HTTP/2 whose task runs.
    static STREAM: Arc<StreamState>;
}

/// Returns whether the server resets the stream whose task runs.
pub(crate) fn is_reset() -> bool {
    STREAM.try_with(|stream| stream.is_reset.load(Ordering::Relaxed)).unwrap_or(false)
}

/// Runs streams of HTTP/2, and resets those whose client does not read.
#[derive(Clone, Debug)]
pub(crate) struct StreamExecutor(pub(crate) Arc<SendLimits>);

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        let limits = Arc::clone(&self.0);
        tokio::spawn(async move {
            let state = Arc::new(StreamState::default());
            let mut stream = pin!(STREAM.scope(Arc::clone(&state), stream));
            let mut timer: Option<Pin<Box<Sleep>>> = None;
            poll_fn(|context| {
                if stream.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
                loop {
                    let Some(since) = state.unread_since() else {
                        timer = None;
                        return Poll::Pending;
                    };
                    let now = Instant::now();
                    let due = since + limits.patience();
                    if due <= now {
                        tracing::debug!("a stream is reset, because its client does not read");
                        state.is_reset.store(true, Ordering::Relaxed);
                        return Poll::Ready(());
                    }
                    // The patience may become shorter.
                    let next = due.min(now + limits.idle).into();
                    let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(next)));
                    if timer.is_elapsed() {
                        timer.as_mut().reset(next);
                    }
                    ready!(timer.as_mut().poll(context));
                }
            })
            .await;
        });
    }
}

/// The body of an answer. Its bytes count until they are written.
pub(crate) struct Sent<B> {
    body: B,
    /// A part of the body that hyper takes in smaller parts: it takes a part as soon as the client
    /// has room for its first byte.
    rest: Bytes,
    held: Option<Arc<Held>>,
    busy: Busy,
    limits: Arc<SendLimits>,
    stream: Option<Arc<StreamState>>,
}

impl<B> Sent<B> {
    /// Called in the task of the stream.
    pub(crate) fn new(body: B, busy: Busy, limits: Arc<SendLimits>) -> Self {
        let stream = STREAM.try_with(Arc::clone).ok();
        Self { body, rest: Bytes::new(), held: None, busy, limits, stream }
    }

    fn set_unread(&self, since: Option<Instant>) {
        if let Some(stream) = &self.stream {
            stream.set_unread(since);
        }
    }
}

impl<B> Body for Sent<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            this.held = None;
            let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) else {
                this.set_unread(None);
                return Poll::Pending;
            };
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(bytes))) if !bytes.is_empty() => {
                    this.held = Some(Arc::new(this.limits.add(bytes.len())));
                    this.rest = bytes;
                }
                other => {
                    this.set_unread(None);
                    let frame = other.map(|frame| frame.map(|frame| frame.map_or_else(|frame| frame, Frame::data)));
                    return Poll::Ready(frame);
                }
            }
        }
        let part = this.rest.split_to(this.rest.len().min(SENT_AT_ONCE));
        let part = match &this.held {
            Some(held) => this.busy.send(part, held),
            None => part,
        };
        this.set_unread(Some(Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut sum = SizeHint::new();
        sum.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            sum.set_upper(upper + rest);
        }
        sum
    }
}
