//! Verifies headers of Parquet files before the crate `parquet` reads them.
//!
//! A list of values that take no bytes (booleans; at a file's end, doubles) may claim thousands of
//! millions of values, and the crate iterates over all of them. The crate also reads the fields of
//! page headers without a check of their types. So the footer is walked, and page headers must have
//! the fields of the format (parquet.thrift).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::memory;

/// A Parquet file whose headers are verified before the crate reads them.
#[derive(Debug)]
pub(super) enum Parquet {
    /// A file of the system.
    File(File),
    /// A [`MemoryFile`](crate::MemoryFile).
    Memory(Bytes),
}

/// Values of a page. A run of equal values takes a few bytes at any length, and the crate allocates
/// memory for all values of a list at once. fastparquet writes pages of 50 million values.
const MOST_PAGE_VALUES: u64 = 1 << 26;
/// Values of a footer beyond one a byte. (Thrift's compact protocol.)
const MOST_VALUES: u64 = 1000;
const MOST_DEPTH: u32 = 64;
/// Number of the footer's field that says how columns are encrypted.
const ENCRYPTION: u64 = 8;
/// Bytes at a file's end: the footer's length, and a magic.
const TAIL: u64 = 8;

/// The type of a field.
enum Field {
    Number,
    /// A number of values.
    Count,
    Boolean,
    Text,
    /// Fields from number 1 on.
    Struct(&'static [Field]),
}

const PAGE_HEADER: &[Field] = {
    use Field::{Boolean, Count, Number, Struct, Text};
    const STATISTICS: &[Field] = &[Text, Text, Number, Number, Text, Text, Boolean, Boolean, Number];
    const DATA_PAGE: &[Field] = &[Count, Number, Number, Number, Struct(STATISTICS)];
    const DICTIONARY_PAGE: &[Field] = &[Count, Number, Boolean];
    const DATA_PAGE_V2: &[Field] = &[Count, Number, Number, Number, Number, Number, Boolean, Struct(STATISTICS)];
    &[Number, Number, Number, Number, Struct(DATA_PAGE), Struct(&[]), Struct(DICTIONARY_PAGE), Struct(DATA_PAGE_V2)]
};

impl Parquet {
    /// Opens a file of the system or of memory.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        match memory::bytes(path) {
            Some(bytes) => Ok(Self::Memory(Bytes::from_owner(bytes))),
            None => File::open(path).map(Self::File),
        }
    }

    /// Verifies the footer.
    pub(super) fn check_footer(&self) -> Result<()> {
        let length = self.len();
        let Some(tail_start) = length.checked_sub(TAIL) else { return Ok(()) };
        let mut tail = [0; TAIL as usize];
        self.reader(tail_start)?.read_exact(&mut tail)?;
        let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        // The crate refuses a footer that is longer than the file.
        let Some(start) = tail_start.checked_sub(footer) else { return Ok(()) };
        // A value of the footer takes at least one byte.
        check_values(self.reader(start)?, footer + MOST_VALUES)
    }

    /// Returns a reader from this byte on. All readers of a file share its position.
    fn reader(&self, start: u64) -> Result<Box<dyn SeekRead>> {
        Ok(match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Memory(bytes) => {
                let mut reader = Cursor::new(bytes.clone());
                reader.set_position(start);
                Box::new(reader)
            }
        })
    }
}

/// A reader of a file or of memory.
trait SeekRead: BufRead + Seek + Send {}

impl SeekRead for BufReader<File> {}
impl SeekRead for Cursor<Bytes> {}

impl Length for Parquet {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.len(),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for Parquet {
    type T = Header;

    /// Returns a reader of a page header. The crate reads the page itself by [`Self::get_bytes`].
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let unverified = (start + TAIL != self.len()).then_some(start);
        Ok(Header { reader: self.reader(start)?, unverified })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            let message = format!("{length} bytes are expected from byte {start} on, and the file has {}", self.len());
            return Err(ParquetError::EOF(message));
        }
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Memory(bytes) => bytes.get_bytes(start, length),
        }
    }
}

/// A page header. It is verified at the first read and not before: the crate also opens readers at
/// the data of pages, and drops them unread.
pub(super) struct Header {
    reader: Box<dyn SeekRead>,
    /// Start of a header that is not verified yet.
    unverified: Option<u64>,
}

impl Read for Header {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Some(start) = self.unverified {
            // Another reader may have moved the shared position of the file.
            self.reader.seek(SeekFrom::Start(start))?;
            let verified = Walk { reader: &mut self.reader, most: 0, left: 0 }.fields(PAGE_HEADER);
            verified.map_err(io::Error::other)?;
            self.reader.seek(SeekFrom::Start(start))?;
            self.unverified = None;
        }
        self.reader.read(to)
    }
}

/// Refuses an invalid header, and a header with more than `most` values.
fn check_values<R: BufRead + Seek>(reader: R, most: u64) -> Result<()> {
    Walk { reader, most, left: most }.structure(0)
}

struct Walk<R> {
    reader: R,
    most: u64,
    left: u64,
}

impl<R: BufRead + Seek> Walk<R> {
    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.reader.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ParquetError::General("a header with a number that does not end".into()))
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        let bytes =
            i64::try_from(bytes).map_err(|_| ParquetError::EOF(format!("a header with {bytes} bytes of text")))?;
        Ok(self.reader.seek_relative(bytes)?)
    }

    /// Reads a struct of these fields. Unknown fields are skipped if they are not lists.
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 0xf;
            if kind == 0 {
                return Ok(());
            }
            // The field number is in zigzag form.
            id = if head >> 4 == 0 { self.number()? >> 1 } else { id + u64::from(head >> 4) };
            let field = usize::try_from(id).ok().and_then(|id| fields.get(id.checked_sub(1)?));
            match (field, kind) {
                (Some(Field::Boolean) | None, 1 | 2) => {}
                (None, 3) => self.byte().map(|_| ())?,
                (Some(Field::Number) | None, 4..=6) => self.number().map(|_| ())?,
                // In zigzag form a negative number is odd. The crate refuses it.
                (Some(Field::Count), 4..=6) => {
                    let count = self.number()? >> 1;
                    if count > MOST_PAGE_VALUES {
                        let message = format!("a page of {count} values; at most {MOST_PAGE_VALUES} are read");
                        return Err(ParquetError::General(message));
                    }
                }
                (Some(Field::Text) | None, 8) => {
                    let length = self.number()?;
                    self.skip(length)?;
                }
                (Some(Field::Struct(fields)), 12) => self.fields(fields)?,
                _ => return Err(ParquetError::General(format!("a page header with field {id} of kind {kind}"))),
            }
        }
    }

    fn structure(&mut self, depth: u32) -> Result<()> {
        let mut id = 0;
        loop {
            let field = self.byte()?;
            if field & 0xf == 0 {
                return Ok(());
            }
            // The field number is in zigzag form.
            id = if field >> 4 == 0 { self.number()? >> 1 } else { id + u64::from(field >> 4) };
            if depth == 0 && id == ENCRYPTION {
                return Err(ParquetError::General("its columns are encrypted: write it without encryption".into()));
            }
            self.value(field & 0xf, depth + 1)?;
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Result<()> {
        let left = self.left.checked_sub(1).filter(|_| depth <= MOST_DEPTH);
        self.left =
            left.ok_or_else(|| ParquetError::General(format!("a header with more than {} values", self.most)))?;
        match kind {
            // The kind of a field contains its boolean value.
            1 | 2 => Ok(()),
            3 => self.byte().map(|_| ()),
            4..=6 => self.number().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                (0..count).try_for_each(|_| self.value(head & 0xf, depth + 1))
            }
            11 => {
                let count = self.number()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.value(kinds >> 4, depth + 1)?;
                    self.value(kinds & 0xf, depth + 1)
                })
            }
            12 => self.structure(depth),
            13 => self.skip(16),
            _ => Err(ParquetError::General(format!("a header with a value of kind {kind}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    fn is_accepted(bytes: &[u8]) -> bool {
        check_values(Cursor::new(bytes), 1000).is_ok()
    }

    #[test]
    fn headers_with_too_many_values_are_refused() {
        // A struct of: i32 7; binary "abc"; a list of two bytes; a struct with a boolean.
        let small = [0x15, 0x0e, 0x18, 3, b'a', b'b', b'c', 0x19, 0x23, 1, 2, 0x1c, 0x11, 0, 0];
        assert!(is_accepted(&small));
        // 999 booleans and their list; 1000 booleans; 2^31 booleans; booleans in a list of lists;
        // booleans in a map.
        assert!(is_accepted(&[0x19, 0xf1, 0xe7, 0x07, 0]));
        assert!(!is_accepted(&[0x19, 0xf1, 0xe8, 0x07, 0]));
        assert!(!is_accepted(&[0x19, 0xf2, 0xff, 0xff, 0xff, 0xff, 0x07, 0]));
        assert!(!is_accepted(&[0x19, 0x29, 0xf1, 0xe7, 0x07, 0xf1, 0xe7, 0x07, 0]));
        assert!(!is_accepted(&[0x1b, 0xff, 0xff, 0xff, 0xff, 0x07, 0x11, 0]));
        // A field of number 8, after 7 skipped ones, and with an explicit number.
        assert!(
            is_accepted(&[0x75, 0x0e, 0]) && !is_accepted(&[0x85, 0x0e, 0]) && !is_accepted(&[0x05, 0x10, 0x0e, 0])
        );
        // Cut headers, deep nesting, numbers without an end, invalid kinds.
        for cut in 0..small.len() {
            assert!(!is_accepted(&small[..cut]));
        }
        for none in [&[0x15; 1000][..], &[0x1c; 1000], &[0x19; 1000], &[0x1f, 0xff, 0], &[0x15, 0xff]] {
            assert!(!is_accepted(none), "{none:?}");
        }
        assert!(!is_accepted(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0]));
        assert!(!is_accepted(&[0x19, 0xf7, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), "doubles beyond the end");
    }

    #[test]
    fn page_headers_have_the_fields_of_the_format() {
        let is_header =
            |bytes: &[u8]| Walk { reader: Cursor::new(bytes), most: 0, left: 0 }.fields(PAGE_HEADER).is_ok();
        // Kind and sizes; a dictionary page with its number of values, encoding and order; a field
        // with an explicit number; a field of a later version.
        let header = [0x15, 4, 0x15, 20, 0x15, 20, 0x4c, 0x15, 14, 0x15, 0, 0x11, 0, 0x05, 0x06, 2, 0xf8, 1, b'x', 0];
        assert!(is_header(&header));
        for cut in 0..header.len() {
            assert!(!is_header(&header[..cut]));
        }
        // A list as a later field, and within a page; a number in place of a struct; a struct in
        // place of a number.
        for none in
            [&[0xf9, 0xf1, 9, 0][..], &[0x5c, 0x69, 0xf7, 9, 0, 0], &[0x55, 4, 0], &[0x1c, 0, 0], &[0xf8, 0xff, 9, 0]]
        {
            assert!(!is_header(none), "{none:?}");
        }
    }

    /// A data page, a data page of version 2, and a dictionary page.
    #[test]
    fn pages_of_too_many_values_are_refused() {
        let is_header = |page: u8, count: &[u8]| {
            let bytes = [&[page << 4 | 0xc, 0x15], count, &[0, 0]].concat();
            Walk { reader: Cursor::new(bytes), most: 0, left: 0 }.fields(PAGE_HEADER).is_ok()
        };
        for page in [5, 7, 8] {
            assert!(is_header(page, &[0x80, 0x80, 0x80, 0x40]), "1 << 26");
            assert!(!is_header(page, &[0x82, 0x80, 0x80, 0x40]), "one more");
            assert!(!is_header(page, &[0xfe, 0xff, 0xff, 0xff, 0x0f]), "as many as a number says");
        }
    }

    #[test]
    fn reads_beyond_the_end_of_a_file_are_refused() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"PAR1 twenty bytes at all").expect("written");
        for parquet in [Parquet::File(file), Parquet::Memory(Bytes::from_static(b"PAR1 twenty bytes at all"))] {
            assert_eq!(parquet.get_bytes(5, 6).ok().as_deref(), Some(&b"twenty"[..]));
            assert!(parquet.get_bytes(5, 1 << 40).is_err() && parquet.get_bytes(u64::MAX, 2).is_err());
        }
    }
}
