//! Which files there are, and their bytes, unzipped.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::bufread::MultiGzDecoder;

use super::event::addressing;
use crate::error::{Error, Result};

/// The files that a user's files and folders stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Files of spacepoints: those named, and those of the folders named, sorted by name.
    pub files: Vec<PathBuf>,
    /// CSV, Parquet and ROOT files of the folders that do not hold spacepoints by their name or header: left out.
    pub skipped: Vec<PathBuf>,
}

/// Expands folders: of a folder come every file `*spacepoint*` and every other with the columns of a format that
/// [`SpacepointReader`](super::SpacepointReader) reads, CSV (gzipped or not), Parquet or ROOT, sorted by name. Never
/// `truth_vertices.csv`, nor RoI files (`rois.csv`, `*-rois.csv`), nor the other files of a TrackML event. `-` is
/// standard input.
///
/// # Errors
/// What is missing or cannot be read, and a folder without any such file.
pub fn inputs(paths: &[PathBuf]) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    for path in paths {
        if is_standard_input(path) {
            inputs.files.push(path.clone());
            continue;
        }
        let metadata = fs::metadata(path).map_err(|source| failed(path, source))?;
        if !metadata.is_dir() {
            inputs.files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries: Vec<PathBuf> =
            entries.map_err(|source| failed(path, source))?.iter().map(fs::DirEntry::path).collect();
        entries.sort();
        let before = inputs.files.len();
        for entry in entries {
            let Some(stem) = data_stem(&entry).filter(|_| entry.is_file()) else { continue };
            if is_companion(&stem) {
                continue;
            }
            // A file by that name must be right; of any other the header tells.
            if stem.contains("spacepoint") || addressing(&entry).is_ok() {
                inputs.files.push(entry);
            } else {
                inputs.skipped.push(entry);
            }
        }
        if inputs.files.len() == before {
            return Err(Error::Input {
                path: path.clone(),
                row: 0,
                column: None,
                message:
                    "the folder holds no `*spacepoint*.csv[.gz]` and no other file of spacepoints (CSV, Parquet, ROOT)"
                        .into(),
            });
        }
    }
    Ok(inputs)
}

/// Whether files by this name go with spacepoints and hold none: truth, RoIs, and the other files of a TrackML event.
fn is_companion(stem: &str) -> bool {
    const NAMES: [&str; 3] = ["truth_vertices", "rois", "detectors"];
    const ENDINGS: [&str; 5] = ["-rois", "-cells", "-particles", "-truth", "_particles"];
    NAMES.contains(&stem) || ENDINGS.iter().any(|ending| stem.ends_with(ending))
}

/// The name without `.csv`, `.csv.gz`, `.parquet` or `.root`, in lower case.
fn data_stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let stem = [".csv", ".csv.gz", ".parquet", ".root"].into_iter().find_map(|ending| name.strip_suffix(ending))?;
    Some(stem.to_owned())
}

/// The number after `event` in the file's name (`event000000012-spacepoint.csv.gz`: 12), else 0.
pub(super) fn event_of_name(path: &Path) -> u64 {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default().to_lowercase();
    for (at, word) in name.match_indices("event") {
        let rest = name[at + word.len()..].trim_start_matches(['_', '-']);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if let Ok(number) = rest[..digits].parse() {
            return number;
        }
    }
    0
}

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Csv,
    Parquet,
    Root,
}

/// What a file is, whatever its name says.
pub(super) fn container(path: &Path) -> Result<Container> {
    let mut first = Vec::new();
    peek(path)?.take(4).read_to_end(&mut first).map_err(|source| failed(path, source))?;
    Ok(match first.as_slice() {
        b"PAR1" => Container::Parquet,
        b"root" => Container::Root,
        _ => Container::Csv,
    })
}

/// Whether this stands for standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// What messages call it.
pub(super) fn named(path: &Path) -> PathBuf {
    if is_standard_input(path) { "standard input".into() } else { path.to_owned() }
}

/// What has been read of standard input to see what it is.
static HEAD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Enough for any header.
const HEAD_BYTES: usize = 1 << 16;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// Standard input up to the end of its first line, or of the first bytes if they are zipped.
fn head_of_standard_input() -> io::Result<Vec<u8>> {
    let mut head = HEAD.lock().unwrap_or_else(PoisonError::into_inner);
    let mut stdin = io::stdin().lock();
    while head.len() < HEAD_BYTES && (head.starts_with(GZIP) || !head.contains(&b'\n')) {
        let chunk = stdin.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let length = chunk.len();
        head.extend_from_slice(chunk);
        stdin.consume(length);
    }
    Ok(head.clone())
}

/// The bytes of a file, unzipped where they are gzip, whatever the name says; of standard input what has not been read.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if is_standard_input(path) {
        let head = std::mem::take(&mut *HEAD.lock().unwrap_or_else(PoisonError::into_inner));
        return unzipped(path, BufReader::with_capacity(1 << 16, Cursor::new(head).chain(io::stdin())));
    }
    let failed = |source| failed(path, source);
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, a file is wanted")));
    }
    unzipped(path, BufReader::with_capacity(1 << 16, file))
}

/// As [`open`]; but of standard input the beginning only, which is kept for those who open it.
pub(super) fn peek(path: &Path) -> Result<Box<dyn Read + Send>> {
    if is_standard_input(path) {
        let head = head_of_standard_input().map_err(|source| failed(path, source))?;
        return unzipped(path, Cursor::new(head));
    }
    open(path)
}

fn unzipped(path: &Path, mut bytes: impl BufRead + Send + 'static) -> Result<Box<dyn Read + Send>> {
    let gzip = bytes.fill_buf().map_err(|source| failed(path, source))?.starts_with(GZIP);
    Ok(if gzip { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) })
}

/// An error of reading, in words that help: a cut gzip file is only an unexpected end to the system.
pub(super) fn failed(path: &Path, source: io::Error) -> Error {
    let source = match source.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(source.kind(), "gzip data ends too early: the file is cut off"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            io::Error::new(source.kind(), format!("gzip data is damaged ({source})"))
        }
        _ => source,
    };
    Error::Io { path: named(path), source }
}

/// The text of a row of a file, unzipped, without its line end; the first row is 1. For pointing at an error.
///
/// ```no_run
/// let header = zfinder_io::line("event000000000-spacepoint.csv.gz".as_ref(), 1);
/// ```
pub fn line(path: &Path, row: u64) -> Option<String> {
    // Rows of other formats are no text.
    if container(path).ok()? != Container::Csv {
        return None;
    }
    let bytes = BufReader::new(open(path).ok()?);
    let line = bytes.split(b'\n').nth(usize::try_from(row.checked_sub(1)?).ok()?)?.ok()?;
    let line = String::from_utf8_lossy(&line);
    // A mark of UTF-8 is one where the file begins. In a field of another row it may be what is wrong.
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
        ] {
            assert_eq!(event_of_name(Path::new(name)), event, "{name}");
        }
    }
}
