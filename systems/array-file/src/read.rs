//! Reads arrays.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use npyz::{Deserialize, NpyFile, TypeChar};
use zip::ZipArchive;
use zip::result::ZipError;

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

    /// Reads the bytes of an array and its header.
    fn bytes(&mut self, name: &str) -> Result<(npyz::NpyHeader, Vec<u8>), Error> {
        let path = self.path.clone();
        let wrong = |what: String| Error { path: path.clone(), what: format!("`{name}`: {what}") };
        let mut entry = self
            .zip
            .by_name(&format!("{name}.npy"))
            .map_err(|_| Error { path: path.clone(), what: format!("there is no array `{name}`") })?;
        let mut bytes = Vec::new();
        let size = entry.size();
        // Reading one byte beyond the array reaches its end, where the checksum is verified.
        entry
            .by_ref()
            .take(size.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| wrong(source.to_string()))?;
        let mut rest = &bytes[..];
        let header = npyz::NpyHeader::from_reader(&mut rest).map_err(|source| wrong(source.to_string()))?;
        if header.order() != npyz::Order::C && header.shape().len() > 1 {
            return Err(wrong("it is stored by columns (fortran_order), and is wanted by rows".to_owned()));
        }
        let begin = bytes.len() - rest.len();
        bytes.drain(..begin);
        Ok((header, bytes))
    }

    fn decode<T: Deserialize>(
        &self,
        name: &str,
        header: npyz::NpyHeader,
        bytes: &[u8],
    ) -> Result<(Vec<u64>, Vec<T>), Error> {
        let wrong = |what: String| self.error(format!("`{name}`: {what}"));
        let shape = header.shape().to_vec();
        // The header is checked against the file's size before memory is allocated.
        let elements = shape.iter().try_fold(1_u64, |product, &length| product.checked_mul(length));
        let there = elements.and_then(|elements| elements.checked_mul(size_of::<T>() as u64));
        if there != Some(bytes.len() as u64) {
            return Err(wrong(format!("shape {shape:?} does not go with {} bytes of it", bytes.len())));
        }
        let array = NpyFile::with_header(header, bytes);
        let data = array.data::<T>().map_err(|source| wrong(source.to_string()))?;
        Ok((shape, data.collect::<io::Result<_>>().map_err(|source| wrong(source.to_string()))?))
    }

    /// Reads an array: its shape and its elements, row by row.
    ///
    /// # Errors
    /// If the array is missing, damaged, of another type, or stored by columns.
    pub fn array<T: Deserialize>(&mut self, name: &str) -> Result<(Vec<u64>, Vec<T>), Error> {
        let (header, bytes) = self.bytes(name)?;
        self.decode(name, header, &bytes)
    }

    /// Reads an array of f32 or f64.
    ///
    /// # Errors
    /// As [`ArrayFile::array`].
    pub fn floats(&mut self, name: &str) -> Result<(Vec<u64>, Vec<f64>), Error> {
        let (header, bytes) = self.bytes(name)?;
        if kind(&header) == Some((TypeChar::Float, 4)) {
            let (shape, values) = self.decode::<f32>(name, header, &bytes)?;
            return Ok((shape, values.into_iter().map(f64::from).collect()));
        }
        self.decode(name, header, &bytes)
    }

    /// Reads an array of one dimension of integers that are not negative, of 32 or 64 bits.
    ///
    /// # Errors
    /// As [`ArrayFile::array`]; a negative number.
    pub fn counts(&mut self, name: &str) -> Result<Vec<u64>, Error> {
        let (header, bytes) = self.bytes(name)?;
        let negative = |_| self.error(format!("`{name}` has a negative number"));
        let (shape, values): (Vec<u64>, Vec<u64>) = match kind(&header) {
            Some((TypeChar::Int, 8)) => {
                let (shape, values) = self.decode::<i64>(name, header, &bytes)?;
                (shape, values.into_iter().map(u64::try_from).collect::<Result<_, _>>().map_err(negative)?)
            }
            Some((TypeChar::Int, 4)) => {
                let (shape, values) = self.decode::<i32>(name, header, &bytes)?;
                (shape, values.into_iter().map(u64::try_from).collect::<Result<_, _>>().map_err(negative)?)
            }
            Some((TypeChar::Uint, 4)) => {
                let (shape, values) = self.decode::<u32>(name, header, &bytes)?;
                (shape, values.into_iter().map(u64::from).collect())
            }
            _ => self.decode::<u64>(name, header, &bytes)?,
        };
        self.one_dimension(name, &shape)?;
        Ok(values)
    }

    /// Reads an array of one dimension.
    ///
    /// # Errors
    /// As [`ArrayFile::array`]; more dimensions.
    pub fn column<T: Deserialize>(&mut self, name: &str) -> Result<Vec<T>, Error> {
        let (shape, column) = self.array(name)?;
        self.one_dimension(name, &shape)?;
        Ok(column)
    }

    fn one_dimension(&self, name: &str, shape: &[u64]) -> Result<(), Error> {
        match shape.len() {
            1 => Ok(()),
            _ => Err(self.error(format!("`{name}` has shape {shape:?}, and one dimension is wanted"))),
        }
    }

    /// Reads an array of one dimension and of this length.
    ///
    /// # Errors
    /// As [`ArrayFile::column`]; another length.
    pub fn as_long<T: Deserialize>(&mut self, name: &str, length: usize) -> Result<Vec<T>, Error> {
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
        Err(self.error(format!("`{name}` has {found} elements, and {wanted} are wanted")))
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

/// The kind of an array's numbers and their bytes; None for a record.
fn kind(header: &npyz::NpyHeader) -> Option<(TypeChar, u64)> {
    match header.dtype() {
        npyz::DType::Plain(plain) => Some((plain.type_char(), plain.size_field())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArrayWriter;

    #[test]
    fn numbers_of_other_types_are_converted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.npz");
        let mut writer = ArrayWriter::new(File::create(&path).expect("a file"));
        writer.array("single", &[2, 2], [1.5_f32, 2.0, 3.0, 4.0]).expect("written");
        writer.column("double", [1.5_f64]).expect("written");
        writer.column("signed", [0_i64, 3]).expect("written");
        writer.column("negative", [-1_i32]).expect("written");
        writer.column("short", [7_u32]).expect("written");
        writer.finish().expect("written");
        let mut file = ArrayFile::open(&path).expect("a file");
        assert_eq!(file.floats("single").expect("floats"), (vec![2, 2], vec![1.5, 2.0, 3.0, 4.0]));
        assert_eq!(file.floats("double").expect("floats").1, [1.5]);
        assert_eq!(file.counts("signed").expect("counts"), [0, 3]);
        assert_eq!(file.counts("short").expect("counts"), [7]);
        assert!(file.has("short") && !file.has("long"));
        let error = file.counts("negative").expect_err("refused").to_string();
        assert!(error.ends_with("a.npz: `negative` has a negative number"), "{error}");
        assert!(file.floats("signed").is_err());
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
