//! Writes arrays.

use std::io::{self, Seek, SeekFrom, Write};

use npyz::WriterBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A writer of an `.npz` file.
///
/// The writes are small, so the stream should be buffered.
pub struct ArrayWriter<W: Write + Seek> {
    zip: ZipWriter<ZipStream<W>>,
}

impl<W: Write + Seek> ArrayWriter<W> {
    /// Begins a file.
    pub fn new(out: W) -> Self {
        Self { zip: ZipWriter::new(ZipStream::new(out)) }
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
        self.zip.finish()?.finish()
    }
}

/// A stream below a [`ZipWriter`], which reports its first error once and discards all content
/// after it.
///
/// A [`ZipWriter`] that is dropped after an error completes its file, and prints on standard error
/// if it cannot.
pub struct ZipStream<W> {
    out: W,
    position: u64,
    end: u64,
    has_failed: bool,
}

impl<W: Write + Seek> ZipStream<W> {
    /// Wraps a stream at its beginning.
    pub fn new(out: W) -> Self {
        Self { out, position: 0, end: 0, has_failed: false }
    }

    /// Flushes the stream.
    ///
    /// # Errors
    /// Any error of the stream, also an earlier one.
    pub fn finish(mut self) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("an earlier part of the file could not be written"));
        }
        self.out.flush()
    }

    /// Keeps in mind whether an operation failed.
    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.has_failed |= done.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        done
    }
}

impl<W: Write + Seek> Write for ZipStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.has_failed {
            bytes.len()
        } else {
            let written = self.out.write(bytes);
            self.note(written)?
        };
        self.position += written as u64;
        self.end = self.end.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.note(flushed)
    }
}

impl<W: Write + Seek> Seek for ZipStream<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = if self.has_failed {
            match to {
                SeekFrom::Start(position) => position,
                SeekFrom::Current(by) => self.position.saturating_add_signed(by),
                SeekFrom::End(by) => self.end.saturating_add_signed(by),
            }
        } else {
            let position = self.out.seek(to);
            self.note(position)?
        };
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with this much room.
    struct Disk(io::Cursor<Vec<u8>>, u64);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.position() + bytes.len() as u64 > self.1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_full_disk_is_one_error() {
        for room in (0..4000).step_by(97) {
            let mut zip = ZipWriter::new(ZipStream::new(Disk(io::Cursor::default(), room)));
            let write = |zip: &mut ZipWriter<ZipStream<Disk>>| -> io::Result<()> {
                zip.start_file("a", SimpleFileOptions::default().compression_method(CompressionMethod::Stored))?;
                zip.write_all(&[7; 5000])
            };
            let error = write(&mut zip).expect_err("the disk is full");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            // The rest succeeds, so that nothing is left to print when the writer is dropped.
            let stream = zip.finish().expect("the content is discarded");
            assert!(stream.finish().is_err(), "the file is not complete");
        }
    }
}
