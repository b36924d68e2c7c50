//! The phases of a server, and the end of streams of requests when it drains.

use futures_util::{FutureExt, Stream, StreamExt, stream};
use tokio::sync::watch;
use tonic::Status;

/// A phase in the life of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Serving,
    /// Accepted requests are answered.
    Draining,
    /// The time to drain has passed: requests are refused.
    Over,
}

/// The phase of the server, and its changes.
#[derive(Clone, Debug)]
pub(crate) struct Phases(watch::Receiver<Phase>);

impl Phases {
    /// Returns the sender of phases, and their first receiver.
    pub(crate) fn new() -> (watch::Sender<Phase>, Self) {
        let (sender, receiver) = watch::channel(Phase::Serving);
        (sender, Self(receiver))
    }

    pub(crate) fn has_reached(&self, phase: Phase) -> bool {
        *self.0.borrow() >= phase
    }

    /// Waits until the server has reached a phase.
    pub(crate) async fn reached(&mut self, phase: Phase) {
        // An error means that the server is gone.
        let _ = self.0.wait_for(|current| *current >= phase).await;
    }
}

/// Returns the messages of a stream. If the server drains before the client has ended the stream,
/// the last item is an error: without it, the client could not know that later requests have no
/// answer. The stream does not end after the error, and keeps `messages` until it is dropped: the
/// connection must not close before the client has the answers.
pub(crate) fn until_drained<M>(
    messages: impl Stream<Item = Result<M, Status>> + Unpin,
    phases: Phases,
) -> impl Stream<Item = Result<M, Status>> {
    stream::unfold((messages, phases, 0_u64, false), |(mut messages, mut phases, received, is_ended)| async move {
        if is_ended {
            return std::future::pending().await;
        }
        let message = tokio::select! {
            biased;
            () = phases.reached(Phase::Draining) => None,
            message = messages.next() => Some(message?),
        };
        match message {
            Some(message) => Some((message, (messages, phases, received + 1, false))),
            // All messages have been read, and so has the end.
            None if matches!(messages.next().now_or_never(), Some(None)) => None,
            None => Some((Err(unavailable(received)), (messages, phases, received, true))),
        }
    })
}

/// Returns the status of a stream that the server ends after this number of requests.
fn unavailable(answered: u64) -> Status {
    tracing::info!(answered, "a stream ends with UNAVAILABLE, because the server drains");
    Status::unavailable(format!(
        "the server is shutting down; the first {answered} requests of this stream are answered; send all later ones \
         to another server"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: u32) -> impl Stream<Item = Result<u32, Status>> + Unpin {
        stream::iter((0..count).map(Ok))
    }

    #[test]
    fn a_stream_that_its_client_ends_has_no_error() {
        let (_sender, phases) = Phases::new();
        let items: Vec<_> = pollster::block_on(until_drained(numbers(3), phases).collect());
        assert_eq!(items.into_iter().filter_map(Result::ok).collect::<Vec<_>>(), [0, 1, 2]);
        // The end has been received before the server drains.
        let (sender, phases) = Phases::new();
        sender.send_replace(Phase::Draining);
        assert_eq!(pollster::block_on(until_drained(numbers(0), phases).count()), 0);
    }

    #[test]
    fn a_stream_that_the_server_ends_says_how_many_requests_are_answered() {
        // The client may send more, or has sent more.
        for rest in [stream::pending().boxed(), numbers(5).boxed()] {
            let (sender, phases) = Phases::new();
            let mut items = Box::pin(until_drained(numbers(2).chain(rest), phases));
            for number in 0..2 {
                assert_eq!(pollster::block_on(items.next()).and_then(Result::ok), Some(number));
            }
            sender.send_replace(Phase::Draining);
            let status = pollster::block_on(items.next()).and_then(Result::err).expect("a status");
            assert_eq!(status.code(), tonic::Code::Unavailable);
            assert!(status.message().contains("the first 2 requests of this stream are answered"), "{status:?}");
            assert!(items.next().now_or_never().is_none(), "the stream is kept open");
        }
    }
}
