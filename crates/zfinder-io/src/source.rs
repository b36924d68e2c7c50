//! Opens files and streams unpacked, and tells their formats.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory;
use crate::error::{Error, Result};
use column_names::event_column;
use table_file::{OpenError, Packing};

/// Returns the name without its folder. Bytes that are not UTF-8 are replaced.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the number after `event` in the file's name (`event000000012-spacepoint.csv.gz`: 12),
/// else that of a folder as Hive names partitions (`event_id=12`), else 0.
pub(super) fn event_of_name(path: &Path) -> u64 {
    event_in_name(path).unwrap_or(0)
}

/// Returns the number of the event in the name of a file or of its folders.
pub(super) fn event_in_name(path: &Path) -> Option<u64> {
    let name = file_name(path).to_lowercase();
    let of_file = name.match_indices("event").find_map(|(at, word)| {
        let rest = name[at + word.len()..].trim_start_matches(['_', '-']);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    });
    let of_folder = |folder: &Path| {
        let name = folder.file_name()?.to_str()?;
        let (key, number) = name.split_once('=')?;
        event_column(std::iter::once(key)).ok()??;
        number.parse().ok()
    };
    of_file.or_else(|| path.ancestors().skip(1).find_map(of_folder))
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Csv,
    Parquet,
    Root,
}

/// The first bytes of formats.
const PARQUET: &[u8] = b"PAR1";
const ROOT: &[u8] = b"root";

/// Returns the format of a file by its first bytes, whatever its name.
///
/// # Errors
/// A file that cannot be read, and a stream in a format that is read from its end.
pub(super) fn container(path: &Path) -> Result<Container> {
    let mut first = Vec::new();
    peek(path)?.take(4).read_to_end(&mut first).map_err(|source| failed(path, source))?;
    let container = match first.as_slice() {
        PARQUET => Container::Parquet,
        ROOT => Container::Root,
        _ => Container::Csv,
    };
    if container != Container::Csv && is_stream(path) {
        let message = format!(
            "{container:?} files are read from their end, and this is a stream: save this in a file, and read that"
        );
        return Err(Error::Input { path: named(path), row: 0, column: None, message });
    }
    Ok(container)
}

/// Returns whether a path stands for standard input.
fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns whether a path can be read only once: standard input, an open file of this process, a
/// pipe or a device.
pub fn is_stream(path: &Path) -> bool {
    if memory::bytes(path).is_some() {
        return false;
    }
    is_standard_input(path)
        || (cfg!(unix) && ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|open| path.starts_with(open)))
        || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Returns one name for all names of standard input.
pub(super) fn stream_name(path: &Path) -> &Path {
    const STANDARD_INPUT: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    if STANDARD_INPUT.iter().any(|name| path == Path::new(name)) { Path::new("-") } else { path }
}

/// Returns the name that messages show.
pub(super) fn named(path: &Path) -> PathBuf {
    if is_standard_input(path) { "standard input".into() } else { path.to_owned() }
}

/// A stream whose first bytes were read to find its format.
struct PeekedStream {
    head: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

/// Streams whose first bytes were read, until they are opened.
static PEEKED: Mutex<BTreeMap<PathBuf, PeekedStream>> = Mutex::new(BTreeMap::new());

fn peeked() -> MutexGuard<'static, BTreeMap<PathBuf, PeekedStream>> {
    PEEKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Large enough for any header.
const HEAD_BYTES: usize = 1 << 16;

impl PeekedStream {
    fn open(path: &Path) -> io::Result<Self> {
        let rest: Box<dyn Read + Send> =
            if is_standard_input(path) { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
        Ok(Self { head: Vec::new(), rest })
    }

    /// Reads up to the end of the first line, or the first bytes of compressed data.
    fn fill(&mut self) -> io::Result<()> {
        let head = &mut self.head;
        let mut chunk = [0; 1 << 12];
        while head.len() < HEAD_BYTES && (Packing::of(head).is_some() || !head.contains(&b'\n')) {
            match self.rest.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => head.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Counts the bytes that are read.
struct CountedFile {
    file: File,
    count: Arc<AtomicU64>,
}

impl Read for CountedFile {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(to)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Opens a file, and decompresses gzip and zstd, whatever its name. A stream is read from its
/// beginning, once.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    open_counted(path, Arc::default())
}

/// Opens a file as [`open`] does, and counts the bytes that are read from it, as they are stored.
pub(super) fn open_counted(path: &Path, count: Arc<AtomicU64>) -> Result<Box<dyn Read + Send>> {
    let failed = |source| failed(path, source);
    if let Some(bytes) = memory::bytes(path) {
        return unpacked(path, Cursor::new(bytes));
    }
    if is_stream(path) {
        let stream = peeked().remove(path);
        let PeekedStream { head, rest } = stream.map_or_else(|| PeekedStream::open(path), Ok).map_err(failed)?;
        return unpacked(path, BufReader::with_capacity(1 << 16, Cursor::new(head).chain(rest)));
    }
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, a file is expected")));
    }
    unpacked(path, BufReader::with_capacity(1 << 16, CountedFile { file, count }))
}

/// Opens a file as [`open`] does. Of a stream it reads only the beginning, and keeps it for
/// [`open`].
pub(super) fn peek(path: &Path) -> Result<Box<dyn Read + Send>> {
    if !is_stream(path) {
        return open(path);
    }
    let failed = |source| failed(path, source);
    // The lock is released while the stream is read, because reading may block.
    let stream = peeked().remove(path);
    let mut stream = stream.map_or_else(|| PeekedStream::open(path), Ok).map_err(failed)?;
    stream.fill().map_err(failed)?;
    let head = stream.head.clone();
    peeked().insert(path.to_owned(), stream);
    unpacked(path, Cursor::new(head))
}

/// Decompresses gzip and zstd, and refuses files of other formats by their names.
fn unpacked(path: &Path, bytes: impl BufRead + Send + 'static) -> Result<Box<dyn Read + Send>> {
    table_file::unpack(bytes, &[PARQUET, ROOT]).map_err(|error| match error {
        OpenError::Io(source) => failed(path, source),
        OpenError::Foreign(message) => Error::Input { path: named(path), row: 0, column: None, message },
    })
}

/// Returns an error of reading that names the file.
pub(super) fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { path: named(path), source }
}

/// A longer row is not shown.
const SHOWN_BYTES: u64 = 1 << 16;

/// Returns the text of a row of a file, decompressed and without its line end, for error messages.
/// The first row is 1. None for a stream, and for a row of more than 64 KiB.
///
/// ```no_run
/// let header = zfinder_io::line("event000000000-spacepoint.csv.gz".as_ref(), 1);
/// ```
pub fn line(path: &Path, row: u64) -> Option<String> {
    // Rows of other formats are not text, and a stream is already consumed.
    if is_stream(path) || container(path).ok()? != Container::Csv {
        return None;
    }
    let mut bytes = BufReader::new(open(path).ok()?);
    for _ in 1..row {
        bytes.skip_until(b'\n').ok()?;
    }
    let mut line = Vec::new();
    bytes.take(SHOWN_BYTES + 1).read_until(b'\n', &mut line).ok()?;
    if row == 0 || line.is_empty() || line.len() as u64 > SHOWN_BYTES {
        return None;
    }
    let line = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
    // A byte order mark is valid only at the beginning of the file. In another row it may be the
    // error.
    let text = if row == 1 { line.trim_start_matches('\u{feff}') } else { &line };
    Some(text.trim_end_matches('\r').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_off_names() {
        for (name, event) in [
            ("event000000012-spacepoint.csv.gz", 12),
            ("a/run7_event876295434_pixel.csv", 876_295_434),
            ("events-event_3.csv", 3),
            ("low2.csv", 0),
            ("event.csv", 0),
            ("set/event_id=7/part-0.parquet", 7),
            ("event=4/run=3/part-0.parquet", 4),
            ("event_id=7/event3.csv", 3),
            ("events=7/x.csv", 0),
        ] {
            assert_eq!(event_of_name(Path::new(name)), event, "{name}");
        }
    }
}
