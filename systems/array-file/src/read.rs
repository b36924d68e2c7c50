//! Reads arrays.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::element::{self, Element};

/// A file that cannot be read, or that has the wrong content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", .path.display())]
pub struct Error {
    /// The path.
    pub path: PathBuf,
    /// The fault.
    pub what: String,
}

/// The arrays of an `.npz` file.
pub struct ArrayFile {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

impl ArrayFile {
    /// Opens a file.
    ///
    /// # Errors
    /// If the file cannot be read or is no archive.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |what: String| Error { path: path.to_owned(), what };
        let file = File::open(path).map_err(|source| failed(source.to_string()))?;
        let metadata = file.metadata().map_err(|source| failed(source.to_string()))?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|source| {
            let why = match source {
                _ if metadata.is_dir() => "it is a folder".to_owned(),
                _ if metadata.len() == 0 => "it is empty".to_owned(),
                ZipError::InvalidArchive(_) if starts_with(path, MAGIC) => {
                    "it is a single array; save it with numpy.savez".to_owned()
                }
                ZipError::InvalidArchive(_) => "it is no Zip archive, or its end is missing".to_owned(),
                source => source.to_string(),
            };
            failed(format!("this is no .npz file: {why}"))
        })?;
        Ok(Self { path: path.to_owned(), zip })
    }

    /// Makes an error of this file.
    pub fn error(&self, what: impl ToString) -> Error {
        Error { path: self.path.clone(), what: what.to_string() }
    }

    /// Returns whether there is an array of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|there| there == name)
    }

    /// Returns the names of the arrays.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.zip.file_names().flatten().filter_map(|entry| entry.strip_suffix(".npy").map(str::to_owned))
    }

    /// Reads an array of any type that is read, as numbers of type `T`: its shape and its elements,
    /// row by row, whatever their order in the file. See [`Element`] for the conversion.
    ///
    /// # Errors
    /// If the array is missing, damaged or of a type that is not read, or if a number does not fit.
    pub fn array<T: Element>(&mut self, name: &str) -> Result<(Vec<u64>, Vec<T>), Error> {
        if !self.has(name) {
            return Err(self.error(format!("there is no array `{name}`")));
        }
        let decoded = self.decoded(name);
        decoded.map_err(|what| self.error(format!("`{name}`: {what}")))
    }

    fn decoded<T: Element>(&mut self, name: &str) -> Result<(Vec<u64>, Vec<T>), Box<dyn std::error::Error>> {
        let entry = self.zip.by_name(&format!("{name}.npy"))?;
        let size = entry.size();
        decode(entry, size)
    }

    /// Reads an array of one dimension.
    ///
    /// # Errors
    /// As [`ArrayFile::array`]; more dimensions.
    pub fn column<T: Element>(&mut self, name: &str) -> Result<Vec<T>, Error> {
        let (shape, column) = self.array(name)?;
        self.one_dimension(name, &shape)?;
        Ok(column)
    }

    fn one_dimension(&self, name: &str, shape: &[u64]) -> Result<(), Error> {
        match shape.len() {
            1 => Ok(()),
            _ => Err(self.error(format!("`{name}` has shape {shape:?}, and [n] is wanted"))),
        }
    }

    /// Reads an array of one dimension and of this length.
    ///
    /// # Errors
    /// As [`ArrayFile::column`]; another length.
    pub fn as_long<T: Element>(&mut self, name: &str, length: usize) -> Result<Vec<T>, Error> {
        let column: Vec<T> = self.column(name)?;
        self.check_length(name, column.len(), length)?;
        Ok(column)
    }

    /// Checks the length of a column.
    ///
    /// # Errors
    /// If it is another one.
    pub fn check_length(&self, name: &str, found: usize, wanted: usize) -> Result<(), Error> {
        if found == wanted {
            return Ok(());
        }
        Err(self.error(format!("`{name}` has shape [{found}], and [{wanted}] is wanted")))
    }

    /// Checks offsets: where the elements of each of several lists begin, and where the last list
    /// ends.
    ///
    /// # Errors
    /// If they do not rise from 0 to the number of elements.
    pub fn bounds(
        &self,
        name: &str,
        offsets: impl IntoIterator<Item = u64>,
        elements: usize,
    ) -> Result<Vec<usize>, Error> {
        let offsets: Vec<u64> = offsets.into_iter().collect();
        let rises = offsets.first() == Some(&0) && offsets.last() == Some(&(elements as u64)) && offsets.is_sorted();
        if rises {
            return Ok(offsets.into_iter().map(|offset| offset as usize).collect());
        }
        Err(self.error(format!("`{name}` does not rise from 0 to {elements}")))
    }
}

/// Reads the array of an `.npy` file as numbers of type `T`, as [`ArrayFile::array`] does.
///
/// # Errors
/// As [`ArrayFile::array`]; if the file cannot be read.
pub fn read_npy<T: Element>(path: &Path) -> Result<(Vec<u64>, Vec<T>), Error> {
    let failed = |what: String| Error { path: path.to_owned(), what };
    let file = File::open(path).map_err(|source| failed(source.to_string()))?;
    let metadata = file.metadata().map_err(|source| failed(source.to_string()))?;
    if metadata.is_dir() {
        return Err(failed("this is no .npy file: it is a folder".to_owned()));
    }
    decode(BufReader::new(file), metadata.len()).map_err(|what| failed(what.to_string()))
}

/// The first bytes of an `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Returns whether a file starts with these bytes.
fn starts_with(path: &Path, bytes: &[u8]) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes.len() as u64).read_to_end(&mut first));
    read.is_ok() && first == bytes
}

/// Most bytes of an array.
const MOST_BYTES: u64 = 4 << 30;

/// Decodes an `.npy` file of this size. Type and shape are checked against the size before the
/// elements are read, and no more is read than they take, so that a packed entry without end takes
/// no memory.
fn decode<T: Element>(mut from: impl Read, size: u64) -> Result<(Vec<u64>, Vec<T>), Box<dyn std::error::Error>> {
    let (header_bytes, text) = read_header(&mut from)?;
    check_nesting(&header_bytes[text..])?;
    let header = npyz::NpyHeader::from_reader(&mut &header_bytes[..])?;
    let size = size.saturating_sub(header_bytes.len() as u64);
    element::check_size(&header, size)?;
    if size > MOST_BYTES {
        return Err(format!("the array takes {size} bytes, and {MOST_BYTES} are the most that are read").into());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(size)?)?;
    // Reading one byte beyond the array reaches its end, where the checksum is verified.
    from.take(size + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > size {
        return Err("more data follow the array than the file promises: the file is damaged".into());
    }
    let elements = element::decode(&header, &bytes)?;
    Ok((header.shape().to_vec(), elements))
}

/// Most bytes of a header's text. numpy itself refuses headers of more than 10,000 bytes.
const MOST_HEADER_BYTES: usize = 1 << 16;

/// Reads magic, version, length and text of a header. Returns its bytes, and the start of its text.
fn read_header(from: &mut impl Read) -> Result<(Vec<u8>, usize), Box<dyn std::error::Error>> {
    /// Magic and version.
    const FIRST: usize = 8;
    let mut bytes = Vec::new();
    from.by_ref().take(FIRST as u64).read_to_end(&mut bytes)?;
    if !bytes.starts_with(MAGIC) {
        let what = match bytes[..] {
            [] => "it is empty",
            [b'P', b'K', ..] => "it is a Zip archive; name the file .npz if it has several arrays",
            _ => "its first bytes are not those of numpy.save",
        };
        return Err(format!("this is no .npy file: {what}").into());
    }
    // Version 1 has a length of 16 bits, the other versions one of 32 bits.
    let width = if bytes.get(MAGIC.len()) == Some(&1) { 2 } else { 4 };
    from.by_ref().take(width).read_to_end(&mut bytes)?;
    let mut length = [0; 4];
    let found = bytes.get(FIRST..).unwrap_or_default();
    length[..found.len()].copy_from_slice(found);
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST_HEADER_BYTES {
        return Err(format!("its header has {length} bytes, and {MOST_HEADER_BYTES} are the most that are read").into());
    }
    let text = bytes.len();
    from.by_ref().take(length as u64).read_to_end(&mut bytes)?;
    Ok((bytes, text))
}

/// Refuses a header with deeply nested brackets. The parser of npyz takes twice the time for each
/// level: hours for 30.
///
/// A header of numpy is a dictionary that holds a tuple, and a list of tuples for records. Texts in
/// triple quotes are refused, so that the ends of texts are those that the parser finds.
fn check_nesting(header: &[u8]) -> Result<(), String> {
    const MOST_DEPTH: usize = 6;
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (at, &byte) in header.iter().enumerate() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if byte == b'\\' => is_escaped = true,
            Some(end) if byte == end => quote = None,
            Some(_) => {}
            None => match byte {
                b'\'' | b'"' if header[at..].starts_with(&[byte; 3]) => {
                    return Err("its header has a text in triple quotes, which numpy does not write".to_owned());
                }
                b'\'' | b'"' => quote = Some(byte),
                b'[' | b'(' | b'{' => depth += 1,
                b']' | b')' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        if depth > MOST_DEPTH {
            return Err(format!("its header has brackets within more than {MOST_DEPTH} others: the file is damaged"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::ArrayWriter;

    #[test]
    fn offsets_rise_to_the_number_of_elements() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.npz");
        let mut writer = ArrayWriter::new(File::create(&path).expect("a file"));
        writer.column("signed", [0_i64, 3]).expect("written");
        writer.finish().expect("written");
        let mut file = ArrayFile::open(&path).expect("a file");
        assert!(file.has("signed") && !file.has("unsigned"));
        assert_eq!(file.column::<u64>("signed"), Ok(vec![0, 3]));
        let error = file.column::<u64>("unsigned").expect_err("missing").to_string();
        assert!(error.ends_with("a.npz: there is no array `unsigned`"), "{error}");
        assert!(file.bounds("signed", [0, 3], 3).is_ok() && file.bounds("signed", [0, 4], 3).is_err());
    }

    /// An `.npy` file with this header.
    fn npy(header: &str) -> Vec<u8> {
        let length = u32::try_from(header.len()).expect("a short header").to_le_bytes();
        [MAGIC, &[2, 0], &length, header.as_bytes()].concat()
    }

    fn refused(bytes: &[u8]) -> String {
        let begun = Instant::now();
        let error = decode::<f64>(bytes, bytes.len() as u64).expect_err("refused").to_string();
        assert!(begun.elapsed().as_secs() < 2, "{error}");
        error
    }

    #[test]
    fn nested_headers_are_refused_at_once() {
        for depth in [7, 24, 10_000] {
            for (open, close) in [("[", "]"), ("(", ")"), ("{", "}")] {
                let closing = close.repeat(depth);
                let nested = format!("{}{closing}", open.repeat(depth));
                for nested in [nested.clone(), open.repeat(depth), format!("['\\'{closing}', {nested}")] {
                    let header = format!("{{'descr': {nested}, 'fortran_order': False, 'shape': (1,)}}\n");
                    let error = refused(&npy(&header));
                    assert!(error.contains("brackets within more than 6 others"), "{error}");
                }
            }
        }
        let error = refused(&npy(&format!("{{''' ' ''': {}\n", "[".repeat(24))));
        assert!(error.contains("triple quotes"), "{error}");
        let error = refused(&npy(&" ".repeat((1 << 16) + 1)));
        assert!(error.contains("its header has 65537 bytes, and 65536 are the most"), "{error}");
        // Records within records, and brackets in names.
        for records in ["[('a', [('b', '<f8', (2,))])]", "[('[[[[[[[[', '<f8')]"] {
            let error = refused(&npy(&format!("{{'descr': {records}, 'fortran_order': False, 'shape': (1,)}}\n")));
            assert!(error.contains("(records) is not read"), "{error}");
        }
        let whole = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}\n");
        (0..whole.len()).for_each(|length| drop(refused(&whole[..length])));
    }

    #[test]
    fn no_more_is_read_than_the_array_takes() {
        // Streams without end behind a header.
        for (length, told) in [(1, "more data follow the array"), (1 << 40, "are the most that are read")] {
            let header = npy(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({length},)}}\n"));
            let size = header.len() as u64 + 8 * length;
            let error =
                decode::<f64>(header.as_slice().chain(std::io::repeat(0)), size).expect_err("refused").to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn files_that_are_no_archives_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.npz");
        let why = |path: &Path| ArrayFile::open(path).map(|_| ()).expect_err("refused").what;
        assert_eq!(why(folder.path()), "this is no .npz file: it is a folder");
        std::fs::write(&path, "").expect("written");
        assert_eq!(why(&path), "this is no .npz file: it is empty");
        let mut writer = ArrayWriter::new(File::create(&path).expect("a file"));
        writer.column("double", [1.5_f64]).expect("written");
        writer.finish().expect("written");
        let bytes = std::fs::read(&path).expect("bytes");
        std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
        assert_eq!(why(&path), "this is no .npz file: it is no Zip archive, or its end is missing");
    }
}
