//! Verifies checksums of trees and baskets in ROOT files. oxyroot does not verify them.
//!
//! A record is a key and a payload. A payload that is shorter than its object is compressed in
//! blocks. A block has 9 bytes of header (method, 2 bytes; version; compressed and uncompressed
//! size, 3 bytes each, lowest byte first) and the data. LZ4 data begin with their XXH64; zlib data
//! end with Adler-32, and xz data with a CRC.
//!
//! Keys are found by the name of their class and verified by the position that they contain.
//! Records do not form a chain, because writers leave gaps between them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::ZlibDecoder;
use memchr::memmem;
use twox_hash::XxHash64;
use xz2::read::XzDecoder;

/// Classes of the verified records, each after the length of its name.
const CLASSES: [&[u8]; 2] = [b"\x07TBasket", b"\x05TTree"];
/// Bytes of a key before the name of its class: size, 4; version, 2; object's size, 4; date, 4; own
/// size, 2; cycle, 2; its place and that of its folder, 4 each, or 8 each above version 1000.
const KEYS: [(usize, usize); 2] = [(26, 4), (34, 8)];
const LARGE_KEY: u64 = 1000;
const BLOCK_HEADER: usize = 9;
const XXH64: usize = 8;
/// The way out for a compression that oxyroot does not know.
const REWRITE: &str = "trees compressed with zlib, LZ4 or LZMA are read, and RNTuples of any compression: write the tree \
                       again (`hadd -f101 new.root old.root`)";
/// Number of bytes that are searched at once.
const WINDOW: usize = 1 << 20;

/// Verifies the checksums of all trees and baskets of a file.
///
/// # Errors
/// The position of the first damaged record, as text.
pub(super) fn verify(path: &Path) -> Result<(), String> {
    File::open(path).and_then(records).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "this ROOT file is damaged: it is cut off".to_owned(),
        _ => error.to_string(),
    })
}

fn records(mut file: impl Read + Seek) -> io::Result<()> {
    // A key that begins in one window ends in the next one.
    let overlap = 64;
    let mut window = Vec::new();
    let mut start = 0;
    loop {
        file.seek(SeekFrom::Start(start))?;
        window.clear();
        file.by_ref().take((WINDOW + overlap) as u64).read_to_end(&mut window)?;
        for (class, (before, place)) in CLASSES.iter().flat_map(|class| KEYS.map(|key| (class, key))) {
            for at in memmem::find_iter(&window, class).filter(|&at| at >= before) {
                let begin = at - before;
                record(&mut file, &window[begin..at], start + begin as u64, place)?;
            }
        }
        if window.len() < WINDOW + overlap {
            return Ok(());
        }
        start += WINDOW as u64;
    }
}

/// Verifies a record whose key begins at `at`, if the bytes are a record.
fn record(mut file: impl Read + Seek, key: &[u8], at: u64, place: usize) -> io::Result<()> {
    let [size, version, object, own] = [&key[..4], &key[4..6], &key[6..10], &key[14..16]].map(number);
    let is_key = number(&key[18..18 + place]) == at && (version > LARGE_KEY) == (place == 8);
    // A freed record has a negative size.
    if !is_key || size > i32::MAX as u64 || own > size || object <= size - own {
        return Ok(());
    }
    file.seek(SeekFrom::Start(at + own))?;
    let mut payload = Vec::new();
    file.take(size - own).read_to_end(&mut payload)?;
    blocks(&payload).map_err(|what| io::Error::other(format!("the record of the tree at byte {at} {what}")))
}

/// Verifies the compressed blocks of a payload. A block of a method that oxyroot does not know is
/// an error.
fn blocks(mut payload: &[u8]) -> Result<(), String> {
    while let Some((header, rest)) = payload.split_first_chunk::<BLOCK_HEADER>() {
        let small = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize;
        let (size, whole) = (small(3), small(6));
        let data = rest.get(..size).ok_or("ends within a block")?;
        let found = match &header[..2] {
            b"L4" => {
                let (sum, data) = data.split_first_chunk::<XXH64>().ok_or("has a block without a checksum")?;
                if XxHash64::oneshot(0, data) != u64::from_be_bytes(*sum) {
                    return Err("does not match its checksum (XXH64)".into());
                }
                Ok(whole as u64)
            }
            b"ZL" => io::copy(&mut ZlibDecoder::new(data), &mut io::sink()),
            b"XZ" => io::copy(&mut XzDecoder::new(data), &mut io::sink()),
            b"ZS" => return Err(format!("is compressed with zstd; {REWRITE}")),
            other => return Err(format!("is compressed with method `{}`; {REWRITE}", other.escape_ascii())),
        };
        match found {
            Ok(length) if length == whole as u64 => payload = &rest[size..],
            Ok(length) => return Err(format!("has {length} bytes where {whole} are announced")),
            Err(error) => return Err(format!("does not match its checksum, or cannot be unpacked ({error})")),
        }
    }
    Ok(())
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const PLAIN: usize = 1000;

    /// A file of one basket, whose payload is one block.
    fn file(method: &[u8; 3], data: &[u8]) -> Vec<u8> {
        let (key, block) = (50, BLOCK_HEADER + data.len());
        let mut bytes = b"root".to_vec();
        bytes.resize(100, 0);
        bytes.extend(((key + block) as u32).to_be_bytes());
        bytes.extend([0, 4, 0, 0, 0x03, 0xe8, 0, 0, 0, 0, 0, key as u8, 0, 1, 0, 0, 0, 100, 0, 0, 0, 0]);
        bytes.extend(CLASSES[0]);
        bytes.resize(100 + key, 0);
        bytes.extend(method);
        bytes.extend(&(data.len() as u32).to_le_bytes()[..3]);
        bytes.extend(&(PLAIN as u32).to_le_bytes()[..3]);
        bytes.extend(data);
        bytes
    }

    /// Flips each bit of the data. An undetected flip must not change the unpacked data.
    fn assert_found(method: &[u8; 3], data: &[u8], unpack: impl Fn(&[u8]) -> Vec<u8>) {
        assert!(records(Cursor::new(file(method, data))).is_ok());
        let mut found = 0;
        for bit in 0..8 * data.len() {
            let mut bad = data.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            match records(Cursor::new(file(method, &bad))) {
                Ok(()) => assert!(unpack(&bad) == unpack(data), "bit {bit}"),
                Err(_) => found += 1,
            }
        }
        assert!(found > 7 * data.len(), "{found} of {} bits", 8 * data.len());
    }

    fn whole(mut reader: impl Read) -> Vec<u8> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).expect("it was unpacked before");
        bytes
    }

    #[test]
    fn any_flipped_bit_is_found() {
        // Not periodic: Adler-32 does not distinguish shifted periods.
        let mut random = fastrand::Rng::with_seed(11);
        let plain: Vec<u8> = (0..PLAIN).map(|_| random.u8(..7)).collect();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        io::copy(&mut &plain[..], &mut zlib).expect("in memory");
        let zlib = zlib.finish().expect("in memory");
        assert_found(b"ZL\x08", &zlib, |data| whole(ZlibDecoder::new(data)));

        let mut xz = xz2::write::XzEncoder::new(Vec::new(), 6);
        io::copy(&mut &plain[..], &mut xz).expect("in memory");
        assert_found(b"XZ\x00", &xz.finish().expect("in memory"), |data| whole(XzDecoder::new(data)));

        let packed = [7; 90];
        let lz4 = [&XxHash64::oneshot(0, &packed).to_be_bytes()[..], &packed].concat();
        assert_found(b"L4\x01", &lz4, <[u8]>::to_vec);

        let good = file(b"ZL\x08", &zlib);
        assert!(records(Cursor::new(&good[..good.len() - 1])).is_err());
        // A key at another position is a copy in a gap.
        assert!(records(Cursor::new([&[0], &good[..good.len() - 1]].concat())).is_ok());
    }
}
