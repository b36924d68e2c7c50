//! Splits a stream of bytes into rows of comma-separated values.

use std::io::{self, Read};
use std::ops::Range;

/// The reason why a row is unreadable.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The bytes cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The current row is invalid. The text says why.
    #[error("{0}")]
    Bad(String),
}

/// The rows of a stream, one at a time. Commas separate fields; newlines, optionally after a
/// carriage return, separate rows; quotes follow RFC 4180. Empty lines are skipped.
///
/// Memory is bounded, whatever the stream holds: a row of more than 16 MiB is an error, and
/// [`Rows::limit`] bounds the number of rows. Time is linear in the bytes. A row without quotes is
/// not copied.
///
/// ```
/// use table_file::Rows;
///
/// let mut rows = Rows::new(Box::new(&b"x,y\n1,\"2,5\"\n"[..]));
/// assert!(rows.advance()? && rows.advance()?);
/// assert_eq!((rows.line(), rows.fields(), rows.field(1)), (2, 2, &b"2,5"[..]));
/// assert!(!rows.advance()?);
/// # Ok::<(), table_file::RowError>(())
/// ```
pub struct Rows {
    bytes: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The part of the buffer that is filled but not yet read.
    unread: Range<usize>,
    ended: bool,
    /// Start of the current row in the buffer, if it has no quotes.
    start: usize,
    /// The concatenated fields of a row with quotes.
    unquoted: Option<Vec<u8>>,
    /// Ends of the fields, relative to the start of the row.
    ends: Vec<usize>,
    /// The number of the line on which the current row begins, from 1.
    line: u64,
    /// The number of the next line.
    next_line: u64,
    /// Rows that may still be read.
    rows_left: u64,
    most_rows: u64,
}

/// A limit on the rows of a table that is kept in memory, for [`Rows::limit`].
pub const MOST_ROWS: u64 = 4_000_000;

const FIRST_BUFFER: usize = 1 << 17;
/// A shorter row is split again whenever more bytes arrive, so that a slow stream is not delayed.
const LONG_ROW: usize = 1 << 16;
/// Rows longer than this are refused, which bounds the memory for files of other formats.
const LONGEST_ROW: usize = 1 << 24;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Rows {
    /// Splits a stream.
    pub fn new(bytes: Box<dyn Read + Send>) -> Self {
        Self {
            bytes,
            buffer: vec![0; FIRST_BUFFER],
            unread: 0..0,
            ended: false,
            start: 0,
            unquoted: None,
            ends: Vec::new(),
            line: 0,
            next_line: 1,
            rows_left: u64::MAX,
            most_rows: u64::MAX,
        }
    }

    /// Makes it an error if more than `most` rows follow, for a table that is kept in memory.
    pub fn limit(&mut self, most: u64) {
        (self.rows_left, self.most_rows) = (most, most);
    }

    /// Goes to the next row; false at the end.
    ///
    /// # Errors
    /// [`RowError::Io`] if the bytes cannot be read; [`RowError::Bad`] for a row that is too long,
    /// for a quote that is not closed, and for a row beyond the limit. No row follows an error.
    pub fn advance(&mut self) -> Result<bool, RowError> {
        if !self.split_next()? {
            return Ok(false);
        }
        let Some(rows_left) = self.rows_left.checked_sub(1) else {
            let most = self.most_rows;
            return Err(RowError::Bad(format!(
                "there are more than {most} rows, which are kept in memory: split the file"
            )));
        };
        self.rows_left = rows_left;
        Ok(true)
    }

    fn split_next(&mut self) -> Result<bool, RowError> {
        loop {
            while let Some(&end @ (b'\n' | b'\r')) = self.unread().first() {
                self.unread.start += 1;
                self.next_line += u64::from(end == b'\n');
            }
            if self.next_line == 1 && self.unread().starts_with(BYTE_ORDER_MARK) {
                self.unread.start += BYTE_ORDER_MARK.len();
            }
            self.line = self.next_line;
            if self.split()? {
                return Ok(true);
            }
            if self.ended {
                return match self.unread.is_empty() {
                    true => Ok(false),
                    false => Err(RowError::Bad("a quote is opened and not closed".into())),
                };
            }
            // A long row is split again only after its length has doubled: linear in total instead
            // of quadratic.
            let long = self.unread.len();
            self.fill()?;
            while long > LONG_ROW && !self.ended && self.unread.len() < 2 * long {
                self.fill()?;
            }
        }
    }

    /// Returns the number of the line on which the current row begins, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns the number of fields.
    #[must_use]
    pub fn fields(&self) -> usize {
        self.ends.len()
    }

    /// Returns a field.
    ///
    /// # Panics
    /// If `at` is out of range.
    #[inline]
    #[must_use]
    pub fn field(&self, at: usize) -> &[u8] {
        let (row, comma) = match &self.unquoted {
            None => (&self.buffer[self.start..], 1),
            Some(fields) => (&fields[..], 0),
        };
        let start = if at == 0 { 0 } else { self.ends[at - 1] + comma };
        &row[start..self.ends[at]]
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.unread.clone()]
    }

    /// Splits the next row into its fields; false if its end is not yet in the buffer.
    fn split(&mut self) -> Result<bool, RowError> {
        self.ends.clear();
        let row = &self.buffer[self.unread.clone()];
        for (word, bytes) in row.chunks(8).enumerate() {
            let mut low = low_bytes(bytes);
            while low != 0 {
                let at = 8 * word + low.trailing_zeros() as usize / 8;
                low &= low - 1;
                match row[at] {
                    b',' => self.ends.push(at),
                    b'\n' => {
                        self.ends.push(if at > 0 && row[at - 1] == b'\r' { at - 1 } else { at });
                        self.start = self.unread.start;
                        self.unquoted = None;
                        self.unread.start += at + 1;
                        self.next_line += 1;
                        return Ok(true);
                    }
                    b'"' => return self.split_quoted(),
                    _ => {}
                }
            }
        }
        Ok(false)
    }

    /// Splits a row with quotes; see `split`.
    #[cold]
    fn split_quoted(&mut self) -> Result<bool, RowError> {
        let row = &self.buffer[self.unread.clone()];
        let mut reader = csv_core::ReaderBuilder::new().terminator(csv_core::Terminator::Any(b'\n')).build();
        let mut fields = self.unquoted.take().unwrap_or_default();
        self.ends.clear();
        let (mut read, mut written, mut count) = (0, 0, 0);
        // Line by line, because most rows have one line.
        let mut lines = row.split_inclusive(|&byte| byte == b'\n');
        let mut line: &[u8] = &[];
        loop {
            if line.is_empty() {
                match lines.next() {
                    Some(next) => line = next,
                    None => {
                        self.ends.clear();
                        return Ok(false);
                    }
                }
            }
            // Removing quotes shortens a row, and a line has at most as many fields as bytes.
            fields.resize(written + line.len(), 0);
            self.ends.resize(count + line.len(), 0);
            let (result, input, output, ends) =
                reader.read_record(line, &mut fields[written..], &mut self.ends[count..]);
            (read, written, count) = (read + input, written + output, count + ends);
            line = &line[input..];
            if result == csv_core::ReadRecordResult::Record {
                break;
            }
        }
        // The last field ends with the carriage return of the line's end.
        if row[..read].ends_with(b"\r\n") && fields[..written].ends_with(b"\r") {
            written -= 1;
            self.ends[count - 1] = written;
        }
        fields.truncate(written);
        self.ends.truncate(count);
        self.next_line += row[..read].iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.unread.start += read;
        self.unquoted = Some(fields);
        Ok(true)
    }

    /// Reads more into the buffer.
    fn fill(&mut self) -> Result<(), RowError> {
        if self.unread.len() > LONGEST_ROW {
            let what = format!("the row is longer than {} MiB", LONGEST_ROW >> 20);
            return Err(RowError::Bad(format!("{what}: a quote that is not closed, or no CSV")));
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        if self.unread.len() > self.buffer.len() / 2 {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let read = loop {
            match self.bytes.read(&mut self.buffer[self.unread.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(RowError::Io)?,
            }
        };
        self.unread.end += read;
        if read == 0 {
            self.ended = true;
            // The last row may lack a newline.
            if !matches!(self.unread().last(), None | Some(b'\n')) {
                self.buffer[self.unread.end] = b'\n';
                self.unread.end += 1;
            }
        }
        Ok(())
    }
}

/// Returns the highest bit of each of up to eight bytes that is at most a comma. These bytes end
/// fields or rows, are quotes, or are rare in numbers.
fn low_bytes(bytes: &[u8]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = 128 * ONES;
    let word = match bytes.try_into() {
        Ok(bytes) => u64::from_le_bytes(bytes),
        // Missing bytes count as high.
        Err(_) => bytes.iter().rev().fold(u64::MAX, |word, &byte| word << 8 | u64::from(byte)),
    };
    // A sum of seven bits does not carry into the next byte.
    !(((word & !HIGH) + (128 - (b',' as u64 + 1)) * ONES) | word) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers the bytes a few at a time.
    struct Slowly(Vec<u8>, usize, usize);

    impl Read for Slowly {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.2.min(self.0.len() - self.1).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[self.1..][..length]);
            self.1 += length;
            Ok(length)
        }
    }

    type Read1 = (Vec<(u64, Vec<String>)>, Option<String>);

    fn rows(text: &[u8], at_once: usize) -> Read1 {
        let mut rows = Rows::new(Box::new(Slowly(text.to_vec(), 0, at_once)));
        let mut all = Vec::new();
        loop {
            match rows.advance() {
                Ok(true) => {
                    let field = |at| String::from_utf8_lossy(rows.field(at)).into_owned();
                    all.push((rows.line(), (0..rows.fields()).map(field).collect()));
                }
                Ok(false) => return (all, None),
                Err(RowError::Bad(message)) => return (all, Some(message)),
                Err(RowError::Io(error)) => panic!("{error}"),
            }
        }
    }

    fn expect(text: &str, wanted: &[(u64, &[&str])]) {
        let wanted: Vec<(u64, Vec<String>)> =
            wanted.iter().map(|(line, fields)| (*line, fields.iter().map(|field| (*field).into()).collect())).collect();
        for at_once in [1, 2, 3, 7, 1000] {
            assert_eq!(rows(text.as_bytes(), at_once), (wanted.clone(), None), "{text:?}");
        }
    }

    #[test]
    fn lines_and_fields() {
        expect("", &[]);
        expect("\n\r\n\n", &[]);
        expect("a", &[(1, &["a"])]);
        expect("\u{feff}a,b\r\n\r\n1,\n\n,2", &[(1, &["a", "b"]), (3, &["1", ""]), (5, &["", "2"])]);
        expect("a\rb,\r\n", &[(1, &["a\rb", ""])]);
    }

    #[test]
    fn quotes() {
        expect("\"a\",\"b\"\r\n1,2\n", &[(1, &["a", "b"]), (2, &["1", "2"])]);
        expect("x\n\"1,\n\"\"2\",3\r\n\n4,\"\"\n", &[(1, &["x"]), (2, &["1,\n\"2", "3"]), (5, &["4", ""])]);
        expect("\"1\r\",\n\"2\r\"\r\n\"\",\r\n", &[(1, &["1\r", ""]), (2, &["2\r"]), (3, &["", ""])]);
        expect("1\"2,3\n4", &[(1, &["1\"2", "3"]), (2, &["4"])]);
        let (all, error) = rows(b"1,2\n3,\"4\n5\n", 4);
        assert_eq!(all.len(), 1);
        assert_eq!(error.as_deref(), Some("a quote is opened and not closed"));
    }

    #[test]
    fn low_bytes_are_those_up_to_a_comma() {
        for length in 0..=8 {
            for byte in 0..=255 {
                let mut bytes = vec![b'7'; length];
                for at in 0..length {
                    bytes[at] = byte;
                    let wanted = if byte <= b',' { 128 << (8 * at) } else { 0 };
                    assert_eq!(low_bytes(&bytes), wanted, "{bytes:?}");
                    bytes[at] = b',';
                    assert_eq!(low_bytes(&bytes), 128 << (8 * at));
                    bytes[at] = b'7';
                }
            }
        }
    }

    #[test]
    fn as_the_csv_crate_splits() {
        const ALPHABET: &[u8] = b"ab1.,,,\n\n\"\" ";
        let mut random = fastrand::Rng::with_seed(61);
        for _ in 0..2000 {
            let length = random.usize(..60);
            let text: Vec<u8> = (0..length).map(|_| ALPHABET[random.usize(..ALPHABET.len())]).collect();
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_slice());
            let wanted: Vec<Vec<String>> =
                reader.records().map(|record| record.expect("bytes").iter().map(Into::into).collect()).collect();
            let (all, error) = rows(&text, 1 + random.usize(..20));
            let fields: Vec<Vec<String>> = all.into_iter().map(|(_, fields)| fields).collect();
            let same = if error.is_some() { wanted.starts_with(&fields) } else { wanted == fields };
            assert!(same, "{:?}: {fields:?}, not {wanted:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn a_stray_quote_is_found_in_linear_time() {
        let text = [b"1,\"2,".as_slice(), &b"3,4,5\n".repeat(2_500_000)].concat();
        let begin = std::time::Instant::now();
        let (all, error) = rows(&text, 1 << 12);
        assert_eq!((all.len(), error.as_deref()), (0, Some("a quote is opened and not closed")));
        // Splitting the row again for each 4 KiB would take minutes.
        assert!(begin.elapsed().as_secs() < 20);
    }

    #[test]
    fn rows_beyond_the_limit_are_refused() {
        let mut rows = Rows::new(Box::new(&b"a\n1\n2\n3\n"[..]));
        assert!(matches!(rows.advance(), Ok(true)), "the header does not count");
        rows.limit(2);
        assert!(matches!((rows.advance(), rows.advance()), (Ok(true), Ok(true))));
        assert!(matches!(rows.advance(), Err(RowError::Bad(message)) if message.contains("more than 2 rows")));
    }

    #[test]
    fn a_row_without_end_does_not_fill_the_memory() {
        let mut rows = Rows::new(Box::new(io::repeat(b'7')));
        assert!(matches!(rows.advance(), Err(RowError::Bad(message)) if message.contains("longer than 16 MiB")));
    }
}
