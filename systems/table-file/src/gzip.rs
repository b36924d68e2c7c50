//! Decompression of gzip.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first byte of a gzip member.
const FIRST: u8 = 0x1f;

/// Decompresses all members of a gzip file. Zeros after the last member are ignored, because tapes
/// and some programs fill blocks with them.
pub(crate) struct Members<R: BufRead> {
    /// None after the last member.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub(crate) fn new(bytes: R) -> Self {
        Self { member: Some(GzDecoder::new(bytes)) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let length = member.read(into).map_err(explain)?;
            if length > 0 || into.is_empty() {
                return Ok(length);
            }
            self.member = self.member.take().map(GzDecoder::into_inner).map(next).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// Returns the next member; None at the end of the file.
fn next<R: BufRead>(mut bytes: R) -> io::Result<Option<GzDecoder<R>>> {
    let mut is_padded = false;
    loop {
        let rest = match bytes.fill_buf() {
            Ok(rest) => rest,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match rest.first() {
            None => return Ok(None),
            Some(0) => {
                let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
                bytes.consume(zeros);
                is_padded = true;
            }
            Some(&FIRST) if !is_padded => return Ok(Some(GzDecoder::new(bytes))),
            Some(_) => {
                let what = "other data follows the gzip data: the file is damaged, or two files were joined";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
    }
}

/// Returns a clear error: a cut file is only an unexpected end for the decoder.
fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "gzip data ends too early: the file is cut off"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            io::Error::new(error.kind(), format!("gzip data is damaged ({error})"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).expect("in memory");
        encoder.finish().expect("in memory")
    }

    /// Reads with a buffer of this size.
    fn read(bytes: &[u8], size: usize) -> io::Result<String> {
        let mut text = String::new();
        Members::new(BufReader::with_capacity(size, bytes)).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn members_are_joined_and_zeros_after_the_last_one_are_ignored() {
        for size in [1, 2, 7, 4096] {
            let members = [gzip("a,b\n"), gzip(""), gzip("1,2\n")].concat();
            assert_eq!(read(&members, size).expect("text"), "a,b\n1,2\n");
            assert_eq!(read(&[members, vec![0; 5000]].concat(), size).expect("text"), "a,b\n1,2\n");
        }
    }

    #[test]
    fn damaged_data_is_an_error() {
        let whole = [gzip("a,b\n1,2\n"), gzip("3,4\n")].concat();
        let first = gzip("a,b\n1,2\n").len();
        for length in 1..whole.len() {
            let found = read(&whole[..length], 4096);
            if length == first {
                assert_eq!(found.expect("the first member"), "a,b\n1,2\n");
            } else {
                assert_eq!(found.expect_err("cut").to_string(), "gzip data ends too early: the file is cut off");
            }
        }
        let mut flipped = whole.clone();
        flipped[first - 6] ^= 1;
        let error = read(&flipped, 4096).expect_err("damaged").to_string();
        assert!(error.starts_with("gzip data is damaged ("), "{error}");
        for rest in [&b"more"[..], b"\0\0more", b"\0\x1f\x8b"] {
            let error = read(&[&whole, rest].concat(), 4096).expect_err("more").to_string();
            assert!(error.starts_with("other data follows the gzip data"), "{error}");
        }
    }
}
