//! Decompresses streams of gzip and of zstd: one member, or frame, after another.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// A packing of text files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

impl Packing {
    /// Returns the packing of a file with these first bytes. None: it is not packed with these.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        [Self::Gzip, Self::Zstd].into_iter().find(|packing| head.starts_with(packing.magic()))
    }

    /// Returns the first bytes of each member.
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => b"\x1f\x8b",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
        }
    }

    /// Returns the name: `gzip`, `zstd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The plain bytes of all members. Zeros after the last member are padding, which tapes and copies
/// of whole blocks leave.
pub(crate) struct Members<R: BufRead> {
    packing: Packing,
    state: State<R>,
}

enum State<R: BufRead> {
    /// Before a member.
    Between(R),
    Gzip(Box<GzDecoder<R>>),
    Zstd(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Ended,
}

impl<R: BufRead> Members<R> {
    pub(crate) fn new(bytes: R, packing: Packing) -> Self {
        Self { packing, state: State::Between(bytes) }
    }

    /// Begins the next member, or ends after the padding.
    fn begin(&mut self, mut bytes: R) -> io::Result<State<R>> {
        loop {
            let head = match bytes.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                head => head?,
            };
            let zeros = head.iter().take_while(|&&byte| byte == 0).count();
            match head.first() {
                None => return Ok(State::Ended),
                Some(0) => bytes.consume(zeros),
                Some(&first) if first == self.packing.magic()[0] => break,
                Some(_) => {
                    let what = "other data follows the compressed data: the file is damaged, or two files were joined";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
        match self.packing {
            Packing::Gzip => Ok(State::Gzip(Box::new(GzDecoder::new(bytes)))),
            Packing::Zstd => match StreamingDecoder::new(bytes) {
                Ok(decoder) => Ok(State::Zstd(Box::new(decoder))),
                Err(error) => Err(explain(io::Error::new(io::ErrorKind::InvalidData, error.to_string()))),
            },
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        loop {
            let length = match &mut self.state {
                State::Between(_) => 0,
                State::Gzip(decoder) => decoder.read(to).map_err(explain)?,
                State::Zstd(decoder) => decoder.read(to).map_err(explain)?,
                State::Ended => return Ok(0),
            };
            if length > 0 {
                return Ok(length);
            }
            let bytes = match std::mem::replace(&mut self.state, State::Ended) {
                State::Between(bytes) => bytes,
                State::Gzip(decoder) => decoder.into_inner(),
                State::Zstd(decoder) => decoder.into_inner(),
                State::Ended => return Ok(0),
            };
            self.state = self.begin(bytes)?;
        }
    }
}

/// Returns a clear error: a decoder reports a cut file only as an unexpected end.
fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "compressed data ends too early: the file is cut off")
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            io::Error::new(error.kind(), format!("compressed data is damaged ({error})"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn pack(packing: Packing, plain: &[u8]) -> Vec<u8> {
        match packing {
            Packing::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(plain).expect("packed");
                encoder.finish().expect("packed")
            }
            Packing::Zstd => compress_to_vec(plain, CompressionLevel::Fastest),
        }
    }

    fn unpack(packing: Packing, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        // A small buffer, so that members end within one.
        Members::new(io::BufReader::with_capacity(7, bytes), packing).read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn members_and_padding_are_read_to_the_end() {
        let plain: Vec<u8> = (0..100_000u32).flat_map(|number| (number % 1009).to_le_bytes()).collect();
        for packing in [Packing::Gzip, Packing::Zstd] {
            let [one, two, none] = [&plain[..], b"end", b""].map(|plain| pack(packing, plain));
            assert_eq!(Packing::of(&one), Some(packing));
            for padding in [0, 1, 512] {
                let bytes = [&one[..], &none, &two, &vec![0; padding]].concat();
                assert!(unpack(packing, &bytes).expect("unpacked") == [&plain[..], b"end"].concat());
            }
            assert!(unpack(packing, &[&one[..], b"garbage"].concat()).is_err());
            for cut in [1, 5, one.len() / 2, one.len() - 1] {
                assert!(unpack(packing, &one[..cut]).is_err(), "{packing:?} {cut}");
            }
        }
    }
}
