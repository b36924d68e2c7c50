//! A limit on the bytes of all requests that are being received.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tonic::Status;

use crate::refusal::{Reason, Refusal};

/// Bytes that requests may still hold before they enter the queue, which has its own limit.
#[derive(Debug)]
pub(crate) struct Allowance {
    most: usize,
    left: AtomicUsize,
}

impl Allowance {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, left: AtomicUsize::new(most) }
    }

    /// Takes bytes from the allowance. A request that exceeds it is refused: if it waited,
    /// half-received requests could wait for each other.
    fn take(&self, bytes: usize) -> Result<(), Refusal> {
        let take = |left: usize| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        let refuse = |_| {
            Refusal::new(
                Reason::Full,
                format!("requests that are being received reach the limit of {} bytes; retry later", self.most),
            )
        };
        taken.map(drop).map_err(refuse)
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The body of a request. Its bytes count until the body is dropped, after the message is complete.
pub(crate) struct Received<B = Incoming> {
    body: B,
    allowance: Arc<Allowance>,
    taken: usize,
}

impl<B> Received<B> {
    pub(crate) fn new(body: B, allowance: Arc<Allowance>) -> Self {
        Self { body, allowance, taken: 0 }
    }
}

impl<B> Drop for Received<B> {
    fn drop(&mut self) {
        self.allowance.give_back(self.taken);
    }
}

impl<B> Body for Received<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map(|frame| {
            let frame = match frame? {
                Ok(frame) => frame,
                Err(error) => return Some(Err(error.into())),
            };
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            if let Err(refusal) = self.allowance.take(bytes) {
                // gRPC answers with the status inside an error.
                return Some(Err(Status::from(refusal).into()));
            }
            self.taken += bytes;
            Some(Ok(frame))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;

    #[test]
    fn bytes_count_until_the_body_is_dropped() {
        let allowance = Arc::new(Allowance::new(10));
        let body = |bytes: &'static [u8]| Received::new(Full::new(Bytes::from_static(bytes)), Arc::clone(&allowance));
        let mut first = body(b"sixsix");
        assert!(pollster::block_on(first.frame()).is_some_and(|frame| frame.is_ok()));
        let mut second = body(b"fives");
        let refused = pollster::block_on(second.frame()).and_then(Result::err).expect("5 of 4 bytes are left");
        let status = refused.downcast::<Status>().expect("a status");
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        drop(first);
        assert!(pollster::block_on(body(b"tenbytes!!").frame()).is_some_and(|frame| frame.is_ok()));
    }
}
