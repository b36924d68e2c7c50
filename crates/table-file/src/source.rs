//! Files and standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::unpack::{OpenError, unpack};

/// The size of a read.
const BYTES: usize = 1 << 16;

/// The path of standard input.
const STANDARD_INPUT: &str = "-";

/// Returns the name of a file in messages: its path, or `standard input` for `-`.
#[must_use]
pub fn name(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Opens a file, or standard input for `-`. Unpacks gzip and zstd, whatever the name.
///
/// # Errors
/// If the file cannot be read, or if its first bytes are those of another compression or format,
/// which the error names.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new(STANDARD_INPUT) {
        return unpacked(BufReader::with_capacity(BYTES, io::stdin()));
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, and a file is wanted"));
    }
    unpacked(BufReader::with_capacity(BYTES, file))
}

fn unpacked(bytes: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read>> {
    match unpack(bytes, &[]) {
        Ok(text) => Ok(text),
        Err(OpenError::Io(error)) => Err(error),
        Err(OpenError::Foreign(message)) => Err(io::Error::new(io::ErrorKind::InvalidData, message)),
    }
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
            (b"PK\x03\x04", "a zip archive"),
            (b"PAR1", "a Parquet file"),
            (b"\xff\xfea\0", "text in UTF-16"),
            (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
        ] {
            let error = text(bytes).expect_err(what).to_string();
            assert!(error.starts_with(&format!("this is {what}")), "{error}");
        }
        assert_eq!(
            open(folder.path()).map(drop).expect_err("a folder").to_string(),
            "is a folder, and a file is wanted"
        );
        assert_eq!((name(Path::new("-")), name(Path::new("a/-"))), ("standard input".to_owned(), "a/-".to_owned()));
    }
}
