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
        let decoded = self.bytes(name).and_then(|bytes| decode(&bytes));
        decoded.map_err(|what| self.error(format!("`{name}`: {what}")))
    }

    fn bytes(&mut self, name: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let entry = self.zip.by_name(&format!("{name}.npy"))?;
        let (mut bytes, size) = (Vec::new(), entry.size());
        // Reading one byte beyond the array reaches its end, where the checksum is verified.
        entry.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
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
    let bytes = std::fs::read(path).map_err(|source| failed(source.to_string()))?;
    decode(&bytes).map_err(|what| failed(what.to_string()))
}

/// The first bytes of an `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Returns whether a file starts with these bytes.
fn starts_with(path: &Path, bytes: &[u8]) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes.len() as u64).read_to_end(&mut first));
    read.is_ok() && first == bytes
}

/// Decodes the bytes of an `.npy` file.
fn decode<T: Element>(bytes: &[u8]) -> Result<(Vec<u64>, Vec<T>), Box<dyn std::error::Error>> {
    if !bytes.starts_with(MAGIC) {
        let what = match bytes {
            [] => "it is empty",
            [b'P', b'K', ..] => "it is a Zip archive; name the file .npz if it has several arrays",
            _ => "its first bytes are not those of numpy.save",
        };
        return Err(format!("this is no .npy file: {what}").into());
    }
    let mut rest = bytes;
    let header = npyz::NpyHeader::from_reader(&mut rest)?;
    let elements = element::decode(&header, rest)?;
    Ok((header.shape().to_vec(), elements))
}

#[cfg(test)]
mod tests {
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
