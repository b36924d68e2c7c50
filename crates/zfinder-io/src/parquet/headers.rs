//! Checks the footer and the page headers of a Parquet file before the crate `parquet` reads them.
//! A list of values that take no bytes may claim thousands of millions of values, and the crate
//! visits them all. Page headers must have the fields of the format (parquet.thrift), because the
//! crate reads these fields for every type of page.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A Parquet file whose headers are checked before the crate reads them.
pub(super) struct Parquet(File);

/// Most values of a page. A run of equal values takes a few bytes at any length, and the crate
/// allocates memory for all values of a list at once. fastparquet writes pages of 50 million
/// values.
const MOST_PAGE_VALUES: u64 = 1 << 26;
/// Values of a footer in addition to one for each byte. (Thrift's compact protocol.)
const MOST_VALUES: u64 = 1000;
const MOST_DEPTH: u32 = 64;
/// Bytes at the end of a file: the length of the footer, and the magic.
const TAIL: u64 = 8;

/// The meaning of a field.
enum Field {
    Number,
    /// A number of values.
    Count,
    Truth,
    Text,
    /// The fields from number 1 on.
    Struct(&'static [Field]),
}

const PAGE_HEADER: &[Field] = {
    use Field::{Count, Number, Struct, Text, Truth};
    const STATISTICS: &[Field] = &[Text, Text, Number, Number, Text, Text, Truth, Truth, Number];
    const DATA_PAGE: &[Field] = &[Count, Number, Number, Number, Struct(STATISTICS)];
    const DICTIONARY_PAGE: &[Field] = &[Count, Number, Truth];
    const DATA_PAGE_V2: &[Field] = &[Count, Number, Number, Number, Number, Number, Truth, Struct(STATISTICS)];
    &[Number, Number, Number, Number, Struct(DATA_PAGE), Struct(&[]), Struct(DICTIONARY_PAGE), Struct(DATA_PAGE_V2)]
};

impl Parquet {
    pub(super) fn new(mut file: File) -> Result<Self> {
        let length = file.len();
        let mut tail = [0; TAIL as usize];
        if length > TAIL {
            file.seek(SeekFrom::Start(length - TAIL))?;
            file.read_exact(&mut tail)?;
            let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
            // A value of the footer takes at least a byte. The crate reports an invalid length.
            if footer + TAIL <= length {
                file.seek(SeekFrom::Start(length - TAIL - footer))?;
                look(BufReader::new(&file), footer + MOST_VALUES)?;
            }
        }
        Ok(Self(file))
    }
}

impl Length for Parquet {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Parquet {
    type T = Header;

    /// Returns a reader of page headers. The footer needs no check here.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let unseen = (start + TAIL != self.len()).then_some(start);
        Ok(Header { reader: self.0.get_read(start)?, unseen })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            let message = format!("{length} bytes are wanted from byte {start} on, and the file has {}", self.len());
            return Err(ParquetError::EOF(message));
        }
        self.0.get_bytes(start, length)
    }
}

/// A reader that checks a page header before the first read. The check cannot come earlier: the
/// crate opens a reader at the data of a page whose header it already has, and never reads from it.
pub(super) struct Header {
    reader: BufReader<File>,
    /// Position of an unchecked header.
    unseen: Option<u64>,
}

impl Read for Header {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Some(start) = self.unseen {
            // All readers of a file share its position.
            self.reader.seek(SeekFrom::Start(start))?;
            let seen = Walk { reader: &mut self.reader, most: 0, left: 0 }.fields(PAGE_HEADER);
            seen.map_err(io::Error::other)?;
            self.reader.seek(SeekFrom::Start(start))?;
            self.unseen = None;
        }
        self.reader.read(to)
    }
}

/// Returns an error for an invalid header, or one with too many values.
fn look<R: BufRead + Seek>(reader: R, most: u64) -> Result<()> {
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

    /// Reads a struct with these fields, and with other fields that are no lists.
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 0xf;
            if kind == 0 {
                return Ok(());
            }
            // The field number is a zigzag number.
            id = if head >> 4 == 0 { self.number()? >> 1 } else { id + u64::from(head >> 4) };
            let field = usize::try_from(id).ok().and_then(|id| fields.get(id.checked_sub(1)?));
            match (field, kind) {
                (Some(Field::Truth) | None, 1 | 2) => {}
                (None, 3) => self.byte().map(|_| ())?,
                (Some(Field::Number) | None, 4..=6) => self.number().map(|_| ())?,
                // Negative numbers are odd in zigzag form. The crate refuses them.
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
        loop {
            let field = self.byte()?;
            if field & 0xf == 0 {
                return Ok(());
            }
            if field >> 4 == 0 {
                self.number()?;
            }
            self.value(field & 0xf, depth + 1)?;
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Result<()> {
        let left = self.left.checked_sub(1).filter(|_| depth <= MOST_DEPTH);
        self.left =
            left.ok_or_else(|| ParquetError::General(format!("a header with more than {} values", self.most)))?;
        match kind {
            // The value of a Boolean field is in its type.
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

    fn looked(bytes: &[u8]) -> bool {
        look(Cursor::new(bytes), 1000).is_ok()
    }

    #[test]
    fn what_has_too_many_values_is_refused() {
        // A struct: i32 7; binary "abc"; a list of two bytes; a struct with a Boolean; the end.
        let small = [0x15, 0x0e, 0x18, 3, b'a', b'b', b'c', 0x19, 0x23, 1, 2, 0x1c, 0x11, 0, 0];
        assert!(looked(&small));
        // 1000 Booleans and the list itself, one above the limit; as many as a number states; in a
        // list of lists; in a map.
        assert!(looked(&[0x19, 0xf1, 0xe7, 0x07, 0]));
        assert!(!looked(&[0x19, 0xf1, 0xe8, 0x07, 0]));
        assert!(!looked(&[0x19, 0xf2, 0xff, 0xff, 0xff, 0xff, 0x07, 0]));
        assert!(!looked(&[0x19, 0x29, 0xf1, 0xe7, 0x07, 0xf1, 0xe7, 0x07, 0]));
        assert!(!looked(&[0x1b, 0xff, 0xff, 0xff, 0xff, 0x07, 0x11, 0]));
        // Truncated data, deep nesting, numbers without end, and unknown types.
        for cut in 0..small.len() {
            assert!(!looked(&small[..cut]));
        }
        for none in [&[0x15; 1000][..], &[0x1c; 1000], &[0x19; 1000], &[0x1f, 0xff, 0], &[0x15, 0xff]] {
            assert!(!looked(none), "{none:?}");
        }
        assert!(!looked(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0]));
        assert!(!looked(&[0x19, 0xf7, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), "doubles beyond the end");
    }

    #[test]
    fn page_headers_have_the_fields_of_the_format() {
        let is_header =
            |bytes: &[u8]| Walk { reader: Cursor::new(bytes), most: 0, left: 0 }.fields(PAGE_HEADER).is_ok();
        // Type and sizes; a dictionary page with its number of values, encoding and order; a field
        // by its number; an unknown later field.
        let header = [0x15, 4, 0x15, 20, 0x15, 20, 0x4c, 0x15, 14, 0x15, 0, 0x11, 0, 0x05, 0x06, 2, 0xf8, 1, b'x', 0];
        assert!(is_header(&header));
        for cut in 0..header.len() {
            assert!(!is_header(&header[..cut]));
        }
        // A list, as a later field and in a page; a number in place of a struct, and the reverse.
        for none in
            [&[0xf9, 0xf1, 9, 0][..], &[0x5c, 0x69, 0xf7, 9, 0, 0], &[0x55, 4, 0], &[0x1c, 0, 0], &[0xf8, 0xff, 9, 0]]
        {
            assert!(!is_header(none), "{none:?}");
        }
    }

    /// A data page, one of version 2, and a dictionary page.
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
    fn more_bytes_than_a_file_has_are_not_asked_for() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"PAR1 twenty bytes at all").expect("written");
        let parquet = Parquet(file);
        assert_eq!(parquet.get_bytes(5, 6).ok().as_deref(), Some(&b"twenty"[..]));
        assert!(parquet.get_bytes(5, 1 << 40).is_err() && parquet.get_bytes(u64::MAX, 2).is_err());
    }
}
