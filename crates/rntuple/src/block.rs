//! Reads byte ranges of a file, decompresses them and verifies their checksums.

use std::io::{Read, Seek, SeekFrom};

use flate2::read::ZlibDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use twox_hash::{XxHash3_64, XxHash64};

use crate::error::{Error, Result};

/// Most bytes of a page or an envelope, packed or not. ROOT writes pages of 1 MiB at most by
/// default, and larger objects than 1 GiB as several keys.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
/// Method, 2 bytes; version; packed and unpacked size, 3 bytes each, lowest byte first.
const CHUNK_HEADER: usize = 9;
const CHECKSUM: usize = 8;
/// Most KiB of the dictionary of LZMA: its highest level needs 64 MiB.
const LZMA_KIB: u32 = 100_000;

/// A byte range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locator {
    pub(crate) position: u64,
    pub(crate) size: u64,
}

/// Reads bytes at a position. Memory grows with the bytes that the file has, so that a size in a
/// damaged file allocates nothing.
pub(crate) fn read_at(file: &mut (impl Read + Seek), at: Locator, what: &str) -> Result<Vec<u8>> {
    if at.size > MOST_BYTES {
        return Err(Error::TooLarge(format!("{what} has {} bytes; {MOST_BYTES} at most are read", at.size)));
    }
    // Seeking beyond 2^63 is an error of the system.
    if at.position > i64::MAX.cast_unsigned() {
        return Err(Error::damaged(format!("{what} begins beyond the end of the file")));
    }
    file.seek(SeekFrom::Start(at.position))?;
    let mut bytes = Vec::new();
    file.take(at.size).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != at.size {
        return Err(Error::damaged(format!("{what} ends beyond the end of the file")));
    }
    Ok(bytes)
}

/// Reads a block that has `length` bytes when it is decompressed.
///
/// With `has_checksum` the XXH3 of the packed bytes follows them in the file.
pub(crate) fn read_block(
    file: &mut (impl Read + Seek),
    at: Locator,
    length: u64,
    has_checksum: bool,
    what: &str,
) -> Result<Vec<u8>> {
    if length > MOST_BYTES {
        return Err(Error::TooLarge(format!("{what} has {length} bytes; {MOST_BYTES} at most are read")));
    }
    let stored = Locator { size: at.size.saturating_add(if has_checksum { CHECKSUM as u64 } else { 0 }), ..at };
    let mut packed = read_at(file, stored, what)?;
    if has_checksum {
        let sum = packed.split_off(packed.len() - CHECKSUM);
        let sum = sum.try_into().expect("it has the length of a checksum");
        if !matches_checksum(&packed, u64::from_le_bytes(sum)) {
            return Err(Error::damaged(format!("{what} does not match its checksum")));
        }
    }
    if at.size == length { Ok(packed) } else { decompress(&packed, length as usize, what) }
}

/// Returns whether bytes have this XXH3. Fuzzers cannot guess checksums, so that they skip them.
pub(crate) fn matches_checksum(bytes: &[u8], sum: u64) -> bool {
    cfg!(fuzzing) || XxHash3_64::oneshot(bytes) == sum
}

/// Decompresses a series of chunks to `length` bytes.
pub(crate) fn decompress(mut packed: &[u8], length: usize, what: &str) -> Result<Vec<u8>> {
    let damaged = |problem: String| Error::damaged(format!("{what} {problem}"));
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let (header, rest) = packed.split_first_chunk::<CHUNK_HEADER>().ok_or_else(|| damaged("is cut off".into()))?;
        let small = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize;
        let (size, unpacked) = (small(3), small(6));
        let data = rest.get(..size).ok_or_else(|| damaged("is cut off".into()))?;
        if unpacked == 0 || unpacked > length - bytes.len() {
            return Err(damaged(format!("has more than the {length} bytes that are announced")));
        }
        let before = bytes.len();
        decompress_chunk([header[0], header[1]], data, unpacked, &mut bytes).map_err(|problem| match problem {
            Problem::Method(name) => Error::Unsupported(format!("{what} is compressed with {name}, which is not read")),
            Problem::Damaged(problem) => damaged(problem),
        })?;
        if bytes.len() - before != unpacked {
            return Err(damaged(format!("has {} bytes where {unpacked} are announced", bytes.len() - before)));
        }
        packed = &rest[size..];
    }
    Ok(bytes)
}

/// A chunk that cannot be decompressed.
enum Problem {
    Method(String),
    Damaged(String),
}

fn decompress_chunk(method: [u8; 2], data: &[u8], length: usize, to: &mut Vec<u8>) -> Result<(), Problem> {
    let failed = |error: &dyn std::fmt::Display| Problem::Damaged(format!("cannot be decompressed ({error})"));
    // One byte more shows a chunk that is too long.
    let most = length as u64 + 1;
    match &method {
        b"ZL" => ZlibDecoder::new(data).take(most).read_to_end(to).map_err(|error| failed(&error))?,
        b"XZ" => {
            let reader = XzReader::new_mem_limit(data, false, LZMA_KIB);
            reader.take(most).read_to_end(to).map_err(|error| failed(&error))?
        }
        b"ZS" => {
            // A streaming decoder holds as many bytes as the frame's window, which a file may
            // exaggerate.
            let (mut rest, mut decoder) = (data, FrameDecoder::new());
            decoder.init(&mut rest).map_err(|error| failed(&error))?;
            let upto = BlockDecodingStrategy::UptoBytes(most as usize);
            let is_whole = decoder.decode_blocks(&mut rest, upto).map_err(|error| failed(&error))?;
            if !is_whole {
                return Err(Problem::Damaged(format!("has more than the {length} bytes that are announced")));
            }
            let plain = decoder.collect().unwrap_or_default();
            to.extend_from_slice(&plain);
            plain.len()
        }
        // The XXH64 of the packed bytes, with its highest byte first, comes before them.
        b"L4" => {
            let Some((sum, data)) = data.split_first_chunk::<CHECKSUM>() else {
                return Err(Problem::Damaged("is cut off".into()));
            };
            if !cfg!(fuzzing) && XxHash64::oneshot(0, data) != u64::from_be_bytes(*sum) {
                return Err(Problem::Damaged("does not match its checksum".into()));
            }
            let plain = lz4_flex::block::decompress(data, length).map_err(|error| failed(&error))?;
            to.extend_from_slice(&plain);
            plain.len()
        }
        b"CS" => return Err(Problem::Method("ROOT's old algorithm".into())),
        other => return Err(Problem::Method(format!("method `{}`", other.escape_ascii()))),
    };
    Ok(())
}
