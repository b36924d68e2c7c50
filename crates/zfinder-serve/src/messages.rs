//! The messages of a gRPC request: their sizes, their decompression, and the bytes they hold.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming};
use tonic::Status;
use tonic::metadata::MetadataValue;

use crate::encoding::{Encoding, Inflater, SizeLimit};
use crate::limits::INFLATED_AT_ONCE;
use crate::received::{Allowance, Received};
use crate::refusal::{Reason, Refusal};

/// Bytes before a message: whether it is compressed, and its length.
const HEADER_BYTES: usize = 5;

/// The body of a gRPC request, in which compressed messages are replaced by decompressed ones.
///
/// tonic can decompress too, but it does not count the decompressed bytes as being received: many
/// clients that send small messages without an end would exceed any limit.
pub(crate) struct Messages<B = Incoming>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    body: Received<B>,
    encoding: Option<Encoding>,
    limit: SizeLimit,
    /// Whether the call takes each message when it is complete, and not only the last one.
    is_stream: bool,
    part: Part,
    /// Bytes that are received, and not yet read.
    rest: Bytes,
    /// Parts that are read, and not yet taken.
    ready: VecDeque<Bytes>,
    /// Bytes of uncompressed parts since the last complete message.
    current: usize,
    /// Bytes of decompressed messages.
    decompressed: Vec<Allowance>,
    refusal: Option<Status>,
    is_refused: bool,
}

/// The next part of a body.
enum Part {
    /// A header, of which this many bytes are read.
    Header([u8; HEADER_BYTES], usize),
    /// An uncompressed message, of which this many bytes are missing.
    Plain(usize),
    /// A compressed message, of which this many bytes are missing.
    Compressed(usize, Box<Inflater>),
}

const START: Part = Part::Header([0; HEADER_BYTES], 0);

/// Replaces the body of a request by its decompressed messages.
pub(crate) fn decompress(request: Request<Received>, most_bytes: usize) -> Request<Messages> {
    let (mut head, body) = request.into_parts();
    let encoding = Encoding::read(&head.headers, "grpc-encoding");
    // tonic sees uncompressed messages.
    head.headers.remove("grpc-encoding");
    let path = head.uri.path();
    let is_stream = path.ends_with("/ModelStreamInfer") || path.ends_with("/ServerReflectionInfo");
    Request::from_parts(head, Messages::new(body, encoding, most_bytes, is_stream))
}

impl<B> Messages<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    fn new(body: Received<B>, encoding: Result<Option<Encoding>, Refusal>, most_bytes: usize, is_stream: bool) -> Self {
        let (encoding, refusal) = match encoding {
            Ok(encoding) => (encoding, None),
            Err(refusal) => {
                let mut status = Status::from(refusal);
                let accepted = MetadataValue::from_static("gzip,deflate,identity");
                status.metadata_mut().insert("grpc-accept-encoding", accepted);
                (None, Some(status))
            }
        };
        Self {
            body,
            encoding,
            limit: SizeLimit { what: "message", bytes: most_bytes, advice: SizeLimit::ADVICE },
            is_stream,
            part: START,
            rest: Bytes::new(),
            ready: VecDeque::new(),
            current: 0,
            decompressed: Vec::new(),
            refusal,
            is_refused: false,
        }
    }

    /// Reads messages from the received bytes, up to the end of a compressed message, or of a part
    /// of one. The next message is decompressed when the call has taken this one.
    fn read(&mut self) -> Result<(), Status> {
        let mut bytes = std::mem::take(&mut self.rest);
        while !bytes.is_empty() {
            match &mut self.part {
                Part::Header(header, read) => {
                    let part = bytes.split_to(bytes.len().min(HEADER_BYTES - *read));
                    header[*read..][..part.len()].copy_from_slice(&part);
                    *read += part.len();
                    if *read == HEADER_BYTES {
                        let header = *header;
                        self.begin(header)?;
                    }
                }
                Part::Plain(missing) => {
                    let part = bytes.split_to(bytes.len().min(*missing));
                    *missing -= part.len();
                    self.current += part.len();
                    let is_complete = *missing == 0;
                    self.ready.push_back(part);
                    if is_complete {
                        self.part = START;
                        self.current = 0;
                    }
                }
                Part::Compressed(missing, inflater) => {
                    let part = bytes.split_to(bytes.len().min(*missing).min(INFLATED_AT_ONCE));
                    *missing -= part.len();
                    let is_complete = *missing == 0;
                    inflater.push(&part).map_err(status)?;
                    self.rest = bytes;
                    return if is_complete { self.finish_compressed() } else { Ok(()) };
                }
            }
        }
        Ok(())
    }

    /// Begins the message of a header.
    fn begin(&mut self, header: [u8; HEADER_BYTES]) -> Result<(), Status> {
        let [flag, length @ ..] = header;
        let length = u32::from_be_bytes(length) as usize;
        if length > self.limit.bytes {
            let refusal = self.limit.refuse(if flag == 1 { "compressed" } else { "" });
            return Err(Status::out_of_range(format!("{}; it has {length} bytes", refusal.message)));
        }
        if flag != 1 {
            // tonic refuses unknown flags.
            self.ready.push_back(Bytes::copy_from_slice(&header));
            self.part = if length == 0 { START } else { Part::Plain(length) };
            return Ok(());
        }
        let Some(encoding) = self.encoding else {
            return Err(Status::internal("a message has the flag of a compressed one, and grpc-encoding is missing"));
        };
        let inflater = Inflater::new(encoding, self.limit, self.body.allowance());
        self.part = Part::Compressed(length, Box::new(inflater));
        if length == 0 { self.finish_compressed() } else { Ok(()) }
    }

    /// Replaces a complete compressed message by an uncompressed one.
    fn finish_compressed(&mut self) -> Result<(), Status> {
        let Part::Compressed(_, inflater) = std::mem::replace(&mut self.part, START) else { return Ok(()) };
        let (message, allowance) = inflater.finish().map_err(status)?;
        let length = u32::try_from(message.len()).map_err(|_| status(self.limit.refuse("decompressed")))?;
        let mut header = [0; HEADER_BYTES];
        header[1..].copy_from_slice(&length.to_be_bytes());
        self.ready.extend([Bytes::copy_from_slice(&header), message]);
        self.decompressed.push(allowance);
        self.current = 0;
        Ok(())
    }

    /// Checks that the body ends after a message. tonic checks this for uncompressed messages.
    fn end(&self) -> Result<(), Status> {
        match self.part {
            Part::Header(_, 0) | Part::Plain(_) => Ok(()),
            _ => Err(Status::internal("the body ends within a message")),
        }
    }
}

/// Returns the status of a message that cannot be decompressed.
fn status(refusal: Refusal) -> Status {
    match refusal.reason {
        Reason::Invalid => Status::internal(refusal.message),
        _ => refusal.into(),
    }
}

impl<B> Body for Messages<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        loop {
            if let Some(part) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(part))));
            }
            if let Some(status) = this.refusal.take() {
                this.is_refused = true;
                return Poll::Ready(Some(Err(status.into())));
            }
            if this.is_refused {
                return Poll::Ready(None);
            }
            if this.is_stream {
                // The call has taken all complete messages, and the queue counts them.
                this.body.keep(this.current + this.rest.len());
                if !this.decompressed.is_empty() {
                    this.decompressed.clear();
                    // The queue counts a message when its search is polled, which happens only if
                    // this body has no message at once.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            } else if matches!(this.part, Part::Compressed(..)) {
                // The inflater counts the bytes that it holds.
                this.body.keep(this.rest.len());
            }
            if this.rest.is_empty() {
                // A client may leave a stream idle between two messages.
                this.body.set_due(!this.is_stream || !matches!(this.part, Part::Header(_, 0)));
                match Pin::new(&mut this.body).poll_frame(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => {
                        let Err(status) = this.end() else { return Poll::Ready(None) };
                        this.refusal = Some(status);
                        continue;
                    }
                    Poll::Ready(Some(Err(error))) => {
                        this.is_refused = true;
                        return Poll::Ready(Some(Err(error)));
                    }
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(bytes) => this.rest = bytes,
                        Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                    },
                }
            }
            // Messages before the refused one come first.
            this.refusal = this.read().err();
            if matches!(this.part, Part::Compressed(..)) && !this.rest.is_empty() && this.refusal.is_none() {
                // Other requests have a turn: a part may become 1,000 times as large.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let is_empty = self.ready.is_empty() && self.rest.is_empty() && self.refusal.is_none() && self.end().is_ok();
        is_empty && self.body.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::Write;
    use std::sync::Arc;
    use std::time::Duration;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use http_body_util::{BodyExt, StreamBody};
    use tonic::Code;

    use super::*;
    use crate::drain::Phases;
    use crate::received::ReceiveLimits;

    fn message(flag: u8, bytes: &[u8]) -> Vec<u8> {
        [&[flag], &(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("in memory")
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("in memory")
    }

    fn limits(most: usize) -> Arc<ReceiveLimits> {
        Arc::new(ReceiveLimits::new(most, 0, Duration::from_secs(10), Phases::new().1))
    }

    /// Reads a body that arrives in parts of this many bytes. Returns the bytes before an error,
    /// and the error.
    fn read(
        encoding: Option<Encoding>,
        bytes: &[u8],
        part: usize,
        limits: &Arc<ReceiveLimits>,
        is_stream: bool,
    ) -> (Vec<u8>, Option<Status>) {
        let parts: Vec<_> = bytes.chunks(part).map(Bytes::copy_from_slice).collect();
        let parts = parts.into_iter().map(|part| Ok::<_, Infallible>(Frame::data(part)));
        let body = Received::new(StreamBody::new(futures_util::stream::iter(parts)), Arc::clone(limits));
        let mut messages = Messages::new(body, Ok(encoding), 1_000, is_stream);
        let mut found = Vec::new();
        loop {
            match pollster::block_on(messages.frame()) {
                None => return (found, None),
                Some(Ok(frame)) => found.extend(frame.into_data().expect("data")),
                Some(Err(error)) => {
                    assert!(pollster::block_on(messages.frame()).is_none(), "the body ends after an error");
                    return (found, Some(*error.downcast::<Status>().expect("a status")));
                }
            }
        }
    }

    #[test]
    fn compressed_messages_are_replaced() {
        let texts = [&b"one"[..], b"", &[7; 1_000], b"four"];
        let wanted = texts.map(|text| message(0, text)).concat();
        let some = [message(1, &gzip(texts[0])), message(0, b""), message(1, &gzip(texts[2])), message(0, b"four")];
        let all = texts.map(|text| message(1, &zlib(text)));
        for (encoding, bytes) in [
            (None, wanted.clone()),
            (Some(Encoding::Gzip), wanted.clone()),
            (Some(Encoding::Gzip), some.concat()),
            (Some(Encoding::Deflate), all.concat()),
        ] {
            for part in [1, 2, 5, 6, 100, bytes.len()] {
                for is_stream in [false, true] {
                    let limits = limits(1 << 20);
                    let (found, refusal) = read(encoding, &bytes, part, &limits, is_stream);
                    assert!(found == wanted && refusal.is_none(), "{encoding:?}, {part}: {refusal:?}");
                    assert_eq!(limits.taken(), 0);
                }
            }
        }
    }

    #[test]
    fn messages_before_a_refused_one_are_read() {
        let bomb = gzip(&[0; 100_000]);
        for (bytes, code, words) in [
            (message(1, &bomb), Code::ResourceExhausted, "the decompressed message is too large: the limit is 1000"),
            (message(1, &[0; 1_001]), Code::OutOfRange, "--max-message-mib; it has 1001 bytes"),
            (message(0, &[0; 1_001]), Code::OutOfRange, "the message is too large: the limit is 1000 bytes"),
            (message(1, b"no gzip"), Code::Internal, "cannot be decompressed as gzip"),
            (message(1, b""), Code::Internal, "cannot be decompressed as gzip"),
            (message(1, &gzip(b"half"))[..20].to_vec(), Code::Internal, "the body ends within a message"),
            (vec![1, 0], Code::Internal, "the body ends within a message"),
        ] {
            let first = message(0, b"first");
            let bytes = [message(1, &gzip(b"first")), bytes].concat();
            for part in [1, bytes.len()] {
                for is_stream in [false, true] {
                    let (found, status) = read(Some(Encoding::Gzip), &bytes, part, &limits(1 << 20), is_stream);
                    let status = status.expect(words);
                    assert_eq!((&found, status.code()), (&first, code), "{status:?}");
                    assert!(status.message().contains(words), "{status:?}");
                }
            }
        }
        let (_, status) = read(None, &message(1, &gzip(b"a")), 9, &limits(1 << 20), false);
        assert!(status.is_some_and(|status| status.message().contains("grpc-encoding is missing")));
    }

    /// A stream holds one message at a time, and the messages of another call are held together.
    #[test]
    fn bytes_of_taken_messages_do_not_count_in_a_stream() {
        for (encoding, one) in [(None, message(0, &[1; 900])), (Some(Encoding::Gzip), message(1, &gzip(&[1; 900])))] {
            let bytes = one.repeat(50);
            let (found, status) = read(encoding, &bytes, one.len(), &limits(2_000), true);
            assert!(found.len() == 50 * 905 && status.is_none(), "{encoding:?}: {status:?}");
            let (_, status) = read(encoding, &bytes, one.len(), &limits(2_000), false);
            assert_eq!(status.map(|status| status.code()), Some(Code::ResourceExhausted), "{encoding:?}");
        }
    }
}
