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
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path == Path::new(STANDARD_INPUT) {
        return unpacked(BufReader::with_capacity(BYTES, io::stdin()));
    }
    unpacked(BufReader::with_capacity(BYTES, open_file(path)?))
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, and a file is wanted"));
    }
    Ok(file)
}

/// Most bytes that are read of a device or a pipe, whose size is unknown.
const MOST_STREAM_BYTES: u64 = 256 << 20;

/// Reads a whole file of at most `most` bytes, as it is. A device or a pipe may have 256 MiB.
///
/// # Errors
/// If the file cannot be read, is larger, or does not fit into memory.
pub fn read_whole(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let metadata = file.metadata()?;
    let (size, most) = match metadata.is_file() {
        true => (metadata.len(), most),
        false => (0, most.min(MOST_STREAM_BYTES)),
    };
    let too_large = || {
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("has more than {most} bytes, which are the most that are read"),
        )
    };
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(size).map_err(|_| too_large())?)?;
    // One byte more shows that there are more.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Reads a whole text in UTF-8, as [`read_whole`] does.
///
/// # Errors
/// As [`read_whole`]; other bytes than text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_whole(path, most)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "is no text in UTF-8"))
}

fn unpacked(bytes: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    match unpack(bytes, &[]) {
        Ok(text) => Ok(text),
        Err(OpenError::Io(error)) => Err(error),
        Err(OpenError::Foreign(message)) => Err(io::Error::new(io::ErrorKind::InvalidData, message)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    #[cfg(unix)]
    use std::time::Instant;

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
    #[test]
    fn whole_files_have_a_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, b"12345").expect("written");
        assert_eq!(read_whole(&path, 5).expect("bytes"), b"12345");
        assert_eq!(read_whole(&path, 4).expect_err("too large").kind(), io::ErrorKind::FileTooLarge);
        // A size without content: nothing is allocated for it.
        File::options().write(true).open(&path).and_then(|file| file.set_len(1 << 40)).expect("sparse");
        assert_eq!(read_whole(&path, 1 << 39).expect_err("too large").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_whole(folder.path(), 5).expect_err("a folder").kind(), io::ErrorKind::IsADirectory);
        std::fs::write(&path, b"\xff").expect("written");
        assert_eq!(read_text(&path, 5).expect_err("no text").to_string(), "is no text in UTF-8");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_end_is_refused() {
        let begun = Instant::now();
        let error = read_whole(Path::new("/dev/zero"), 1 << 20).expect_err("no end").to_string();
        assert!(error.starts_with("has more than 1048576 bytes"), "{error}");
        assert!(begun.elapsed().as_secs() < 20);
    }
}
