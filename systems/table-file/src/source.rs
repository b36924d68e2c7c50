//! Files and standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::gzip::Members;

/// The size of a read.
const BYTES: usize = 1 << 16;

/// The path of standard input.
const STANDARD_INPUT: &str = "-";

/// Returns the name of a file in messages: its path, or `standard input` for `-`.
#[must_use]
pub fn name(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Opens a file, or standard input for `-`. Decompresses gzip, whatever the name.
///
/// # Errors
/// If the file cannot be read, or if its first bytes are those of another compression or format,
/// which the error names.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new(STANDARD_INPUT) {
        return decompress(BufReader::with_capacity(BYTES, io::stdin()));
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, and a file is wanted"));
    }
    decompress(BufReader::with_capacity(BYTES, file))
}

fn decompress(mut bytes: impl BufRead + 'static) -> io::Result<Box<dyn Read>> {
    let first = loop {
        match bytes.fill_buf() {
            Ok(first) => break first,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    if first.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(Members::new(bytes)));
    }
    match format_of(first) {
        Some(what) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("this is no CSV, but {what}"))),
        None => Ok(Box::new(bytes)),
    }
}

/// Returns what a file is that is neither text nor gzip, and the way out.
fn format_of(first: &[u8]) -> Option<&'static str> {
    Some(match first {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => "a bzip2 file: unpack it (bunzip2), or compress it with gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "a zstd file: unpack it (unzstd), or compress it with gzip",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "an xz file: unpack it (unxz), or compress it with gzip",
        [b'P', b'K', 3, 4, ..] => "a Zip archive: unpack it (unzip)",
        [b'P', b'A', b'R', b'1', ..] => "a Parquet file: write it as CSV",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "an array of numpy's: write it as CSV",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "text in UTF-16: save it as UTF-8",
        _ if first.starts_with(b"version https://git-lfs") => "a Git LFS pointer: run git lfs pull",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn text_is_read_from_plain_and_compressed_files_of_any_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        let text = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            let mut text = String::new();
            open(&path)?.read_to_string(&mut text)?;
            io::Result::Ok(text)
        };
        assert_eq!(text(b"a,b\n1,2\n").expect("text"), "a,b\n1,2\n");
        assert_eq!(text(b"").expect("text"), "");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"a,b\n1,2\n").expect("in memory");
        assert_eq!(text(&gzip.finish().expect("in memory")).expect("text"), "a,b\n1,2\n");
        for (bytes, what) in [
            (&b"BZh91AY"[..], "a bzip2 file"),
            (&[0x28, 0xb5, 0x2f, 0xfd, 0], "a zstd file"),
            (b"PK\x03\x04", "a Zip archive"),
            (b"PAR1", "a Parquet file"),
            (b"\xff\xfea\0", "text in UTF-16"),
            (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        ] {
            let error = text(bytes).expect_err(what).to_string();
            assert!(error.starts_with(&format!("this is no CSV, but {what}")), "{error}");
        }
        assert_eq!(
            open(folder.path()).map(drop).expect_err("a folder").to_string(),
            "is a folder, and a file is wanted"
        );
        assert_eq!((name(Path::new("-")), name(Path::new("a/-"))), ("standard input".to_owned(), "a/-".to_owned()));
    }
}
