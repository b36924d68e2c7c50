//! Writes arrays.

use std::io::{self, Seek, Write};

use npyz::WriterBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A writer of an `.npz` file.
///
/// The writes are small, so the stream should be buffered.
pub struct ArrayWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> ArrayWriter<W> {
    /// Begins a file.
    pub fn new(out: W) -> Self {
        Self { zip: ZipWriter::new(out) }
    }

    /// Writes an array, row by row.
    ///
    /// # Errors
    /// Any error of the stream; a number of elements that the shape does not have.
    pub fn array<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[u64],
        elements: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(format!("{name}.npy"), options)?;
        let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut self.zip).begin_nd()?;
        writer.extend(elements)?;
        writer.finish()
    }

    /// Writes an array of one dimension.
    ///
    /// # Errors
    /// Any error of the stream.
    pub fn column<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        elements: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let elements: Vec<T> = elements.into_iter().collect();
        self.array(name, &[elements.len() as u64], elements)
    }

    /// Writes a text in ASCII as an array without dimensions: `format` of `scipy.sparse.load_npz`.
    ///
    /// # Errors
    /// Any error of the stream.
    pub fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        self.zip.start_file(format!("{name}.npy"), options)?;
        let kind = format!("|S{}", text.len()).parse().map_err(io::Error::other)?;
        let options = npyz::WriteOptions::<Vec<u8>>::new().dtype(npyz::DType::Plain(kind)).shape(&[]);
        let mut writer = options.writer(&mut self.zip).begin_nd()?;
        writer.push(&text.as_bytes().to_vec())?;
        writer.finish()
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Any error of the stream.
    pub fn finish(self) -> io::Result<()> {
        self.zip.finish().map(drop).map_err(io::Error::from)
    }
}
