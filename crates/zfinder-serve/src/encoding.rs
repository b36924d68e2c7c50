//! Compressed requests: the names of encodings, and decompression within limits.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use hyper::header::HeaderMap;

use crate::received::Allowance;
use crate::refusal::{Reason, Refusal, shown};

/// The encodings that are read, for messages.
pub(crate) const ENCODINGS: &str = "gzip, deflate and identity";

/// The encoding of a compressed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// RFC 1952, with any number of members.
    Gzip,
    /// The zlib format of RFC 1950, as HTTP and gRPC define the word.
    Deflate,
}

impl Encoding {
    /// Reads a header that names encodings. Returns None if the request is not compressed.
    ///
    /// # Errors
    /// An unknown encoding, or more than one.
    pub(crate) fn read(headers: &HeaderMap, name: &str) -> Result<Option<Self>, Refusal> {
        let values = headers.get_all(name).into_iter();
        let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let words = values.iter().flat_map(|value| value.split(',')).map(|word| word.trim().to_ascii_lowercase());
        let words: Vec<String> = words.filter(|word| !matches!(&**word, "" | "identity")).collect();
        match words.iter().map(|word| &**word).collect::<Vec<&str>>()[..] {
            [] => Ok(None),
            ["gzip" | "x-gzip"] => Ok(Some(Self::Gzip)),
            ["deflate"] => Ok(Some(Self::Deflate)),
            _ => {
                let found = shown(&values.join(", "));
                let message = format!("{name} is `{found}`; the server reads one encoding of {ENCODINGS}");
                Err(Refusal::new(Reason::UnknownEncoding, message))
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
        }
    }
}

/// Largest size of a request, and the words of its refusal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeLimit {
    /// The part that is limited: body, message.
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
    pub(crate) advice: &'static str,
}

impl SizeLimit {
    /// Advice for limits that the option `--max-message-mib` sets.
    pub(crate) const ADVICE: &str = "send fewer RoIs, or start zfinder serve with a larger --max-message-mib";

    /// Refuses a request. `state` is empty or an adjective, such as decompressed.
    pub(crate) fn refuse(&self, state: &str) -> Refusal {
        let Self { what, bytes, advice } = self;
        let gap = if state.is_empty() { "" } else { " " };
        let message = format!("the {state}{gap}{what} is too large: the limit is {bytes} bytes; {advice}");
        Refusal::new(Reason::TooLarge, message)
    }
}

/// Decompresses a request part by part. It holds at most as many bytes as the limit on an
/// uncompressed request, and these bytes count as bytes that are being received.
pub(crate) struct Inflater {
    encoding: Encoding,
    decoder: Decoder,
}

enum Decoder {
    Gzip(Box<MultiGzDecoder<Sink>>),
    Deflate { state: Box<Decompress>, buffer: Vec<u8>, sink: Sink, is_ended: bool },
}

impl Inflater {
    pub(crate) fn new(encoding: Encoding, limit: SizeLimit, allowance: Allowance) -> Self {
        let sink = Sink { bytes: Vec::new(), limit, allowance, refusal: None };
        let decoder = match encoding {
            Encoding::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(sink))),
            Encoding::Deflate => Decoder::Deflate {
                state: Box::new(Decompress::new(true)),
                buffer: vec![0; 1 << 15],
                sink,
                is_ended: false,
            },
        };
        Self { encoding, decoder }
    }

    /// Decompresses the next part.
    ///
    /// # Errors
    /// Invalid bytes, or more bytes than a limit allows. After an error the inflater is useless.
    pub(crate) fn push(&mut self, part: &[u8]) -> Result<(), Refusal> {
        let pushed = match &mut self.decoder {
            Decoder::Gzip(gzip) => gzip.write_all(part),
            Decoder::Deflate { state, buffer, sink, is_ended } => inflate(state, buffer, sink, is_ended, part),
        };
        pushed.map_err(|error| self.refuse(&error))
    }

    /// Returns the decompressed bytes, and their share of the limit.
    ///
    /// # Errors
    /// The end of the compressed bytes is missing, or the checksum is wrong.
    pub(crate) fn finish(mut self) -> Result<(Bytes, Allowance), Refusal> {
        let finished = match &mut self.decoder {
            Decoder::Gzip(gzip) => gzip.try_finish(),
            Decoder::Deflate { is_ended: true, .. } => Ok(()),
            Decoder::Deflate { .. } => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its end is missing")),
        };
        finished.map_err(|error| self.refuse(&error))?;
        let sink = match self.decoder {
            Decoder::Gzip(gzip) => gzip.finish().map_err(|error| Refusal::invalid(error.to_string()))?,
            Decoder::Deflate { sink, .. } => sink,
        };
        Ok((sink.bytes.into(), sink.allowance))
    }

    fn refuse(&mut self, error: &io::Error) -> Refusal {
        let sink = match &mut self.decoder {
            Decoder::Gzip(gzip) => gzip.get_mut(),
            Decoder::Deflate { sink, .. } => sink,
        };
        let (what, name) = (sink.limit.what, self.encoding.name());
        let invalid = || Refusal::invalid(format!("the {what} cannot be decompressed as {name}: {error}"));
        sink.refusal.clone().unwrap_or_else(invalid)
    }
}

/// Decompresses a part of the zlib format. `ZlibDecoder` accepts a stream without its end.
fn inflate(
    state: &mut Decompress,
    buffer: &mut [u8],
    sink: &mut Sink,
    is_ended: &mut bool,
    mut part: &[u8],
) -> io::Result<()> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message.to_owned());
    loop {
        if *is_ended {
            return if part.is_empty() { Ok(()) } else { Err(invalid("bytes follow its end")) };
        }
        let (read, written) = (state.total_in(), state.total_out());
        let status = state.decompress(part, buffer, FlushDecompress::None);
        let status = status.map_err(|error| invalid(&error.to_string()))?;
        let read = (state.total_in() - read) as usize;
        let written = (state.total_out() - written) as usize;
        sink.write_all(&buffer[..written])?;
        part = &part[read..];
        *is_ended = status == Status::StreamEnd;
        // A full buffer means that more output may wait.
        if part.is_empty() && written < buffer.len() {
            return Ok(());
        }
        if read == 0 && written == 0 && !*is_ended {
            return Err(invalid("corrupt deflate stream"));
        }
    }
}

/// Decompressed bytes.
#[derive(Debug)]
struct Sink {
    bytes: Vec<u8>,
    limit: SizeLimit,
    allowance: Allowance,
    refusal: Option<Refusal>,
}

impl Sink {
    fn add(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let length = self.bytes.len() + bytes.len();
        if length > self.limit.bytes {
            return Err(self.limit.refuse("decompressed"));
        }
        self.allowance.take(bytes.len())?;
        if length > self.bytes.capacity() {
            // Doubles the capacity up to the limit.
            let capacity = self.bytes.capacity().saturating_mul(2).clamp(length, self.limit.bytes);
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.refusal.is_none() {
            match self.add(bytes) {
                Ok(()) => return Ok(bytes.len()),
                Err(refusal) => {
                    self.bytes = Vec::new();
                    self.refusal = Some(refusal);
                }
            }
        }
        // The decoder writes again when it is dropped.
        Err(io::ErrorKind::Other.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use hyper::header::HeaderValue;

    use super::*;
    use crate::drain::Phases;
    use crate::received::ReceiveLimits;

    const BOTH: [Encoding; 2] = [Encoding::Gzip, Encoding::Deflate];

    fn compress(encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
        let level = Compression::fast();
        match encoding {
            Encoding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("in memory")
            }
            Encoding::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("in memory")
            }
        }
    }

    fn limits(bytes: usize) -> Arc<ReceiveLimits> {
        Arc::new(ReceiveLimits::new(bytes, 0, Duration::from_secs(10), Phases::new().1))
    }

    fn inflater(encoding: Encoding, bytes: usize, limits: &Arc<ReceiveLimits>) -> Inflater {
        let limit = SizeLimit { what: "body", bytes, advice: SizeLimit::ADVICE };
        Inflater::new(encoding, limit, Allowance::new(Arc::clone(limits)))
    }

    /// Decompresses parts of this many bytes within a limit.
    fn decompress(encoding: Encoding, bytes: &[u8], part: usize, most: usize) -> Result<Vec<u8>, Refusal> {
        let limits = limits(most);
        let mut inflater = inflater(encoding, most, &limits);
        bytes.chunks(part).try_for_each(|part| inflater.push(part))?;
        Ok(inflater.finish()?.0.into())
    }

    #[test]
    fn bytes_survive_in_parts_of_any_length() {
        let mut random = fastrand::Rng::with_seed(3);
        let noise: Vec<u8> = (0..70_000).map(|at| if at % 3 == 0 { random.u8(..) } else { 7 }).collect();
        for bytes in [&b""[..], b"x", &noise] {
            for encoding in BOTH {
                let compressed = compress(encoding, bytes);
                for part in [1, 7, 4_096, compressed.len()] {
                    let found = decompress(encoding, &compressed, part, bytes.len());
                    assert!(found.as_deref() == Ok(bytes), "{encoding:?}, {} bytes, {part}", bytes.len());
                }
            }
        }
        let members = [compress(Encoding::Gzip, b"two "), compress(Encoding::Gzip, b"members")].concat();
        for part in [1, 5, members.len()] {
            assert_eq!(decompress(Encoding::Gzip, &members, part, 11).as_deref(), Ok(&b"two members"[..]));
        }
    }

    #[test]
    fn invalid_bytes_are_refused() {
        for encoding in BOTH {
            let good = compress(encoding, &[5; 1_000]);
            let mut corrupt = good.clone();
            *corrupt.last_mut().expect("a checksum") ^= 1;
            let longer = [&good[..], b"!"].concat();
            let cut: Vec<&[u8]> = (0..good.len()).map(|length| &good[..length]).collect();
            for bytes in cut.into_iter().chain([&corrupt[..], &longer, b"no compressed bytes"]) {
                for part in [1, bytes.len().max(1)] {
                    let refusal = decompress(encoding, bytes, part, 1_000).expect_err("invalid");
                    let words = format!("the body cannot be decompressed as {}: ", encoding.name());
                    assert!(refusal.reason == Reason::Invalid && refusal.message.starts_with(&words), "{refusal}");
                }
            }
        }
    }

    #[test]
    fn a_bomb_stays_within_the_limits() {
        const MOST: usize = 100_000;
        for encoding in BOTH {
            let bomb = compress(encoding, &vec![0; 8 << 20]);
            assert!(bomb.len() < MOST);
            for part in [100, bomb.len()] {
                for (limits, reason, words) in [
                    (
                        limits(1 << 30),
                        Reason::TooLarge,
                        "the decompressed body is too large: the limit is 100000 bytes",
                    ),
                    (limits(50_000), Reason::Full, "--max-receiving-mib"),
                ] {
                    let mut inflater = inflater(encoding, MOST, &limits);
                    let mut largest = 0;
                    let refusal = bomb.chunks(part).find_map(|part| {
                        let refusal = inflater.push(part).err();
                        let sink = match &mut inflater.decoder {
                            Decoder::Gzip(gzip) => gzip.get_mut(),
                            Decoder::Deflate { sink, .. } => sink,
                        };
                        largest = largest.max(sink.bytes.capacity());
                        refusal
                    });
                    let refusal = refusal.expect("the bomb is refused");
                    assert!(refusal.reason == reason && refusal.message.contains(words), "{refusal}");
                    assert!(largest <= MOST, "{largest} bytes");
                    drop(inflater);
                    assert_eq!(limits.taken(), 0);
                }
            }
        }
        // The limit itself is no bomb.
        let exact = compress(Encoding::Gzip, &vec![0; MOST]);
        assert_eq!(decompress(Encoding::Gzip, &exact, 10, MOST).map(|bytes| bytes.len()), Ok(MOST));
        assert!(decompress(Encoding::Gzip, &exact, 10, MOST - 1).is_err());
    }

    #[test]
    fn headers_name_one_encoding() {
        for (values, wanted) in [
            (&[][..], Ok(None)),
            (&[""], Ok(None)),
            (&["identity"], Ok(None)),
            (&["gzip"], Ok(Some(Encoding::Gzip))),
            (&["GZip "], Ok(Some(Encoding::Gzip))),
            (&["x-gzip"], Ok(Some(Encoding::Gzip))),
            (&["identity, gzip"], Ok(Some(Encoding::Gzip))),
            (&["identity", "deflate"], Ok(Some(Encoding::Deflate))),
            (&["br"], Err("`br`")),
            (&["gzip, gzip"], Err("`gzip, gzip`")),
            (&["gzip", "deflate"], Err("`gzip, deflate`")),
            (&["gz\u{ef}p"], Err("`gz\\u{ef}p`")),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("content-encoding", HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
            }
            let found = Encoding::read(&headers, "Content-Encoding").map_err(|refusal| refusal.message);
            let wanted = wanted.map_err(|value| {
                format!("Content-Encoding is {value}; the server reads one encoding of gzip, deflate and identity")
            });
            assert_eq!(found, wanted);
        }
    }
}
