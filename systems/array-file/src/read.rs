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

    fn read<T>(&mut self, name: &str, decode: impl FnOnce(Raw) -> Decoded<T>) -> Result<(Vec<u64>, Vec<T>), Error> {
        if !self.has(name) {
            return Err(self.error(format!("there is no array `{name}`")));
        }
        let decoded = bytes(&mut self.zip, name).and_then(decode);
        decoded.map_err(|what| self.error(format!("`{name}`: {what}")))
    }

    /// Reads an array: its shape and its elements, row by row.
    ///
    /// # Errors
    /// If the array is missing, damaged, of another type, or stored by columns.
    pub fn array<T: Deserialize>(&mut self, name: &str) -> Result<(Vec<u64>, Vec<T>), Error> {
        self.read(name, decode)
    }

    /// Reads an array of f32 or f64.
    ///
    /// # Errors
    /// As [`ArrayFile::array`].
    pub fn floats(&mut self, name: &str) -> Result<(Vec<u64>, Vec<f64>), Error> {
        self.read(name, |raw| match kind(&raw.0) {
            Some((TypeChar::Float, 4)) => convert::<f32, _>(raw),
            _ => decode(raw),
        })
    }

    /// Reads an array of one dimension of integers that are not negative, of 32 or 64 bits.
    ///
    /// # Errors
    /// As [`ArrayFile::array`]; a negative number.
    pub fn counts(&mut self, name: &str) -> Result<Vec<u64>, Error> {
        let (shape, values) = self.read(name, |raw| match kind(&raw.0) {
            Some((TypeChar::Int, 8)) => convert::<i64, _>(raw),
            Some((TypeChar::Int, 4)) => convert::<i32, _>(raw),
            Some((TypeChar::Uint, 4)) => convert::<u32, _>(raw),
            _ => decode(raw),
        })?;
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

/// A header, and the bytes that follow it.
type Raw = (npyz::NpyHeader, Vec<u8>);
type Decoded<T> = Result<(Vec<u64>, Vec<T>), Box<dyn std::error::Error>>;

fn bytes(zip: &mut ZipArchive<BufReader<File>>, name: &str) -> Result<Raw, Box<dyn std::error::Error>> {
    let entry = zip.by_name(&format!("{name}.npy"))?;
    let (mut bytes, size) = (Vec::new(), entry.size());
    // Reading one byte beyond the array reaches its end, where the checksum is verified.
    entry.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
    let mut rest = &bytes[..];
    let header = npyz::NpyHeader::from_reader(&mut rest)?;
    if header.order() != npyz::Order::C && header.shape().len() > 1 {
        return Err("it is stored by columns (fortran_order), and is wanted by rows".into());
    }
    let begin = bytes.len() - rest.len();
    bytes.drain(..begin);
    Ok((header, bytes))
}

fn decode<T: Deserialize>((header, bytes): Raw) -> Decoded<T> {
    let shape = header.shape().to_vec();
    // The header is checked against the file's size before memory is allocated.
    let elements = shape.iter().try_fold(1_u64, |product, &length| product.checked_mul(length));
    let there = elements.and_then(|elements| elements.checked_mul(size_of::<T>() as u64));
    if there != Some(bytes.len() as u64) {
        return Err(format!("shape {shape:?} does not go with {} bytes of it", bytes.len()).into());
    }
    let data = NpyFile::with_header(header, &bytes[..]).data::<T>()?;
    Ok((shape, data.collect::<io::Result<_>>()?))
}

/// Decodes numbers and converts them to another type.
fn convert<T: Deserialize, U: TryFrom<T>>(raw: Raw) -> Decoded<U> {
    let (shape, values) = decode::<T>(raw)?;
    let values: Result<_, _> = values.into_iter().map(U::try_from).collect();
    Ok((shape, values.map_err(|_| "it has a negative number")?))
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
        assert!(error.ends_with("a.npz: `negative`: it has a negative number"), "{error}");
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
