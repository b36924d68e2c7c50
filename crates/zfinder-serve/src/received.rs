//! Limits on requests that are being received, and the rest of refused ones.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep, timeout};
use tonic::Status;

use crate::drain::{Phase, Phases};
use crate::limits::{LINGER, LINGER_IDLE};
use crate::refusal::{Reason, Refusal};
use crate::sending;

/// Limits on the bytes of requests before they enter the queue, which has its own limit.
#[derive(Debug)]
pub(crate) struct ReceiveLimits {
    /// Most bytes of all requests that are being received, and how many are left.
    most: usize,
    left: AtomicUsize,
    /// Most bytes that are read from a request after its refusal.
    discard: usize,
    /// Longest time for a client to send the next part of a request.
    idle: Duration,
    phases: Phases,
}

impl ReceiveLimits {
    pub(crate) fn new(most: usize, discard: usize, idle: Duration, phases: Phases) -> Self {
        Self { most, left: AtomicUsize::new(most), discard, idle, phases }
    }

    /// Takes bytes from the limit. A request that exceeds it is refused: if it waited,
    /// half-received requests could wait for each other.
    fn take(&self, bytes: usize) -> Result<(), Refusal> {
        let take = |left: usize| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        let refuse = |_| {
            Refusal::new(
                Reason::Full,
                format!(
                    "requests that are being received reach the limit of {} bytes; retry later, or start zfinder serve \
                     with a larger --max-receiving-mib",
                    self.most
                ),
            )
        };
        taken.map(drop).map_err(refuse)
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.most - self.left.load(Ordering::Relaxed)
    }

    /// Reads the rest of a refused request.
    ///
    /// Without it, HTTP/2 resets the stream of the request. Frames that the client has sent by then
    /// count as errors of the client, and after some of them `h2` ends the connection with all its
    /// requests. HTTP/1.1 would end the connection at once.
    async fn discard<B: Body<Data = Bytes> + Unpin>(&self, body: &mut B, idle: Duration) {
        let mut left = self.discard;
        while let Ok(Some(Ok(frame))) = timeout(idle, body.frame()).await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(bytes) else { break };
            left = rest;
        }
    }
}

/// Bytes that count towards the limit until they are given back. Its drop gives all of them back.
#[derive(Debug)]
pub(crate) struct Allowance {
    limits: Arc<ReceiveLimits>,
    bytes: usize,
}

impl Allowance {
    pub(crate) fn new(limits: Arc<ReceiveLimits>) -> Self {
        Self { limits, bytes: 0 }
    }

    /// Counts further bytes.
    ///
    /// # Errors
    /// The limit is reached.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.limits.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives back all bytes but this many.
    pub(crate) fn keep(&mut self, bytes: usize) {
        let given = self.bytes.saturating_sub(bytes);
        self.limits.give_back(given);
        self.bytes -= given;
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        self.limits.give_back(self.bytes);
    }
}

/// The body of a request. Its bytes count until the body is dropped, after the message is complete.
/// If the body is dropped before its end, a task reads the rest.
pub(crate) struct Received<B = Incoming>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    /// None after the end or an error.
    body: Option<B>,
    allowance: Allowance,
    /// Whether the client must send the next part now.
    is_due: bool,
    /// Runs while the next part is due.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<B> Received<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    pub(crate) fn new(body: B, limits: Arc<ReceiveLimits>) -> Self {
        Self { body: Some(body), allowance: Allowance::new(limits), is_due: true, timer: None }
    }

    /// Returns an empty allowance of the same limit, for bytes that are made from this body.
    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(Arc::clone(&self.allowance.limits))
    }

    /// Sets whether the client must send the next part now. It may leave a stream idle between two
    /// messages, but not within one.
    pub(crate) fn set_due(&mut self, is_due: bool) {
        if self.is_due != is_due {
            self.is_due = is_due;
            self.timer = None;
        }
    }

    /// Returns the share of the limit that this body has, which the caller keeps with the bytes.
    pub(crate) fn into_allowance(mut self) -> Allowance {
        let empty = self.allowance();
        std::mem::replace(&mut self.allowance, empty)
    }

    /// Gives back all bytes but this many, because the caller holds no more of them.
    pub(crate) fn keep(&mut self, bytes: usize) {
        self.allowance.keep(bytes);
    }
}

impl<B> Drop for Received<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    fn drop(&mut self) {
        let Some(mut body) = self.body.take().filter(|body| !body.is_end_stream()) else { return };
        if sending::is_reset() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let limits = Arc::clone(&self.allowance.limits);
        runtime.spawn(async move {
            let mut phases = limits.phases.clone();
            let is_draining = tokio::select! {
                biased;
                () = phases.reached(Phase::Draining) => true,
                () = limits.discard(&mut body, limits.idle) => false,
            };
            // Idle streams do not delay the end of the server.
            if is_draining {
                let _ = timeout(LINGER, limits.discard(&mut body, LINGER_IDLE)).await;
            }
        });
    }
}

impl<B> Body for Received<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let Poll::Ready(frame) = Pin::new(body).poll_frame(context) else {
            if this.is_due {
                let idle = this.allowance.limits.idle;
                let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(idle)));
                if timer.as_mut().poll(context).is_ready() {
                    // Without its rest: the client does not send it.
                    this.body = None;
                    let message = format!("the rest of the request did not arrive within {idle:?}");
                    return Poll::Ready(Some(Err(Status::from(Refusal::new(Reason::Stalled, message)).into())));
                }
            }
            return Poll::Pending;
        };
        this.timer = None;
        let frame = match frame {
            Some(Ok(frame)) => frame,
            ended => {
                this.body = None;
                return Poll::Ready(ended.map(|error| error.map_err(Into::into)));
            }
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        if let Err(refusal) = this.allowance.take(bytes) {
            // gRPC answers with the status inside an error.
            return Poll::Ready(Some(Err(Status::from(refusal).into())));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Full, StreamBody};
    use tokio::sync::{mpsc, watch};

    use super::*;

    fn limits(most: usize, discard: usize) -> (ReceiveLimits, watch::Sender<Phase>) {
        let (sender, phases) = Phases::new();
        (ReceiveLimits::new(most, discard, Duration::from_secs(10), phases), sender)
    }

    #[test]
    fn bytes_count_until_the_body_is_dropped() {
        let (limits, _drain) = limits(10, 0);
        let limits = Arc::new(limits);
        let body = |bytes: &'static [u8]| Received::new(Full::new(Bytes::from_static(bytes)), Arc::clone(&limits));
        let mut first = body(b"sixsix");
        assert!(pollster::block_on(first.frame()).is_some_and(|frame| frame.is_ok()));
        let mut second = body(b"fives");
        let refused = pollster::block_on(second.frame()).and_then(Result::err).expect("5 of 4 bytes are left");
        let status = refused.downcast::<Status>().expect("a status");
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        drop(first);
        assert!(pollster::block_on(body(b"tenbytes!!").frame()).is_some_and(|frame| frame.is_ok()));
    }

    type Sender = mpsc::Sender<Result<Frame<Bytes>, std::convert::Infallible>>;

    /// Returns the sending end of a body that was dropped.
    fn dropped(limits: &Arc<ReceiveLimits>) -> Sender {
        let (sender, mut receiver) = mpsc::channel(1);
        let frames = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
        drop(Received::new(StreamBody::new(frames), Arc::clone(limits)));
        sender
    }

    async fn send(sender: &Sender, bytes: &'static [u8]) -> bool {
        sender.send(Ok(Frame::data(Bytes::from_static(bytes)))).await.is_ok()
    }

    #[test]
    fn the_rest_of_a_dropped_body_is_read_within_limits() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let brief = ReceiveLimits { idle: Duration::from_millis(20), ..limits(0, 10).0 };
            let (limits, drain) = limits(0, 10);
            let (limits, brief) = (Arc::new(limits), Arc::new(brief));
            // More bytes than are discarded.
            let sender = dropped(&limits);
            assert!(send(&sender, b"fives").await && send(&sender, b"fives").await && send(&sender, b"!").await);
            sender.closed().await;
            // A client that stops.
            let sender = dropped(&brief);
            assert!(send(&sender, b"fives").await);
            sender.closed().await;
            // A server that ends.
            let sender = dropped(&limits);
            drain.send_replace(Phase::Draining);
            sender.closed().await;
        });
    }
    #[test]
    fn a_body_that_stops_ends_where_its_next_part_is_due() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let limits = Arc::new(ReceiveLimits { idle: Duration::from_millis(20), ..limits(10, 0).0 });
            let (sender, mut receiver) = mpsc::channel(1);
            let frames = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
            let mut body = Received::new(StreamBody::new(frames), Arc::clone(&limits));
            assert!(send(&sender, b"fives").await);
            assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
            body.set_due(false);
            assert!(timeout(Duration::from_millis(60), body.frame()).await.is_err(), "an idle stream goes on");
            body.set_due(true);
            let stalled = body.frame().await.and_then(Result::err).expect("the next part is due");
            let status = stalled.downcast::<Status>().expect("a status");
            assert_eq!(status.code(), tonic::Code::DeadlineExceeded);
            sender.closed().await;
            assert!(body.frame().await.is_none());
            drop(body);
            assert_eq!(limits.taken(), 0);
        });
    }
}
