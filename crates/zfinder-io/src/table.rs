//! Reads a CSV file by its header: rows, fields by column, and errors with their position.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::column_map::ColumnMap;
use super::source;
use super::whole::whole_of_text;
use crate::error::{Error, Result};
use column_names::{advice, event_column, lookalike, quoted, refusal, similar};
use table_file::{RowError, Rows};

/// More columns than any file of spacepoints has.
const MOST_COLUMNS: usize = 1 << 16;

/// A column of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column(usize);

pub(super) struct Table {
    path: PathBuf,
    rows: Rows,
    names: Vec<String>,
    /// The first row was read with the header, and [`Self::next`] has not returned it yet.
    is_in_first_row: bool,
    /// An error ended the file.
    is_broken: bool,
    bytes_read: Arc<AtomicU64>,
}

impl Table {
    /// Opens a file and reads its header.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let count = Arc::default();
        let bytes = source::open_counted(path, Arc::clone(&count))?;
        Ok(Self { bytes_read: count, ..Self::new(path, bytes)? })
    }

    /// Returns the number of these missing columns that no column is similar to.
    pub(super) fn count_unknown(&self, missing: &[&str]) -> usize {
        let there = || self.names.iter().map(String::as_str);
        missing.iter().filter(|key| similar(there(), key).is_none()).count()
    }

    /// Gives columns other names.
    pub(super) fn renamed(mut self, columns: &ColumnMap) -> Result<Self> {
        match columns.rename(self.names.iter_mut()) {
            Ok(()) => Ok(self),
            Err(message) => Err(self.row_error(message)),
        }
    }

    /// Renames those of the columns that the file has.
    pub(super) fn renamed_where_there(self, columns: &ColumnMap) -> Result<Self> {
        let columns = columns.of_those(self.names.iter().map(String::as_str));
        self.renamed(&columns)
    }

    /// Returns the number of bytes of the file, as stored, that were read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Reads the header alone. Standard input can still be opened afterwards.
    pub(super) fn peek(path: &Path) -> Result<Self> {
        Self::new(path, source::peek(path)?)
    }

    fn new(path: &Path, bytes: Box<dyn Read + Send>) -> Result<Self> {
        let mut table = Self {
            path: path.to_owned(),
            rows: Rows::new(bytes),
            names: Vec::new(),
            is_in_first_row: false,
            is_broken: false,
            bytes_read: Arc::default(),
        };
        table.read_header()?;
        if table.names.iter().all(String::is_empty) {
            return Err(table.whole("the file is empty; a header with the names of the columns is expected".into()));
        }
        if table.names.len() > MOST_COLUMNS {
            let message = format!("the header has {} columns; {MOST_COLUMNS} at most are read", table.names.len());
            return Err(table.row_error(message));
        }
        let mut there = HashSet::new();
        for name in &table.names {
            if name.contains('\0') || name.contains(char::REPLACEMENT_CHARACTER) {
                return Err(table.whole("the first line is no text: this is no CSV, Parquet or ROOT file".into()));
            }
            if name.contains('\r') {
                return Err(table.row_error("the lines end in carriage returns; newlines are expected".into()));
            }
            if !name.is_empty() && !there.insert(name) {
                return Err(table.row_error(format!("the header names column `{name}` twice")));
            }
        }
        Ok(table)
    }

    /// Reads the names of the columns: from the first line that is no comment, or from the comment
    /// before it if that line has numbers alone, as in files of `numpy.savetxt`.
    fn read_header(&mut self) -> Result<()> {
        let mut comment: Option<Vec<String>> = None;
        while self.next_row()? {
            let names =
                (0..self.rows.fields()).map(|at| String::from_utf8_lossy(self.rows.field(at)).trim().to_owned());
            let mut names: Vec<String> = names.collect();
            if let Some(first) = names[0].strip_prefix('#') {
                names[0] = first.trim_start().to_owned();
                comment = Some(names);
                continue;
            }
            let is_number = |name: &String| name.parse::<f64>().is_ok();
            match comment.filter(|comment| names.iter().all(is_number) && comment.len() == names.len()) {
                Some(comment) => (self.names, self.is_in_first_row) = (comment, true),
                None => self.names = names,
            }
            return Ok(());
        }
        // A comment without rows below it.
        self.names = comment.unwrap_or_default();
        Ok(())
    }

    pub(super) fn column(&self, name: &str) -> Option<Column> {
        self.names.iter().position(|n| n == name).map(Column)
    }

    /// Returns whether the name of any column has this prefix.
    pub(super) fn begins_with(&self, prefix: &str) -> bool {
        self.names.iter().any(|name| name.starts_with(prefix))
    }

    /// Returns all of these columns, or None if one is missing.
    pub(super) fn columns<const N: usize>(&self, names: [&str; N]) -> Option<[Column; N]> {
        let mut columns = [Column(0); N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self.column(name)?;
        }
        Some(columns)
    }

    /// Returns all of these columns, or an error that lists missing and present columns.
    pub(super) fn need<const N: usize>(&self, names: [&str; N], wanted: &str) -> Result<[Column; N]> {
        self.columns(names).ok_or_else(|| {
            let missing: Vec<&str> = names.into_iter().filter(|name| self.column(name).is_none()).collect();
            self.missing(&missing, wanted)
        })
    }

    /// Returns the column of the event number, if there is one.
    ///
    /// # Errors
    /// Columns that [`event_column`] refuses.
    pub(super) fn event_column(&self) -> Result<Option<Column>> {
        let name = event_column(self.names.iter().map(String::as_str)).map_err(|reason| self.row_error(reason))?;
        Ok(name.and_then(|name| self.column(name)))
    }

    /// Returns the column of the event number and all of these columns, or an error that lists
    /// missing and present columns.
    pub(super) fn need_with_event<const N: usize>(
        &self,
        names: [&str; N],
        wanted: &str,
    ) -> Result<(Column, [Column; N])> {
        match (self.event_column()?, self.columns(names)) {
            (Some(event), Some(columns)) => Ok((event, columns)),
            (event, _) => {
                let event = event.is_none().then_some("event_id");
                let missing = names.into_iter().filter(|name| self.column(name).is_none());
                Err(self.missing(&event.into_iter().chain(missing).collect::<Vec<_>>(), wanted))
            }
        }
    }

    /// Refuses a column whose name is similar to one of these.
    pub(super) fn refuse_lookalikes(&self, keys: &[&str]) -> Result<()> {
        let names = self.names.iter().map(String::as_str);
        for key in keys {
            if let Some(name) = lookalike(names.clone(), key) {
                return Err(self.row_error(refusal(name, key)));
            }
        }
        Ok(())
    }

    /// Returns an error that lists the missing columns, the present ones and the accepted ones.
    pub(super) fn missing(&self, missing: &[&str], wanted: &str) -> Error {
        let plural = if missing.len() == 1 { "column" } else { "columns" };
        let mut message = format!(
            "missing {plural} {}{}; the header has {}; expected: {wanted}",
            quoted(missing.iter().copied()),
            advice(missing.iter().copied(), self.names.iter().map(String::as_str)),
            quoted(self.names.iter().map(String::as_str))
        );
        if let Some(other) = self.other_separator() {
            message = format!(
                "the header is separated by {other}, and commas are expected: write the file with commas, and its \
                 numbers with decimal points (pandas: `read_csv(..., sep=..., decimal=...)`, then `to_csv`)"
            );
        }
        self.row_error(message)
    }

    /// Returns the separator of a header that has no comma.
    fn other_separator(&self) -> Option<&'static str> {
        let [only] = self.names.as_slice() else { return None };
        [(';', "`;`"), ('\t', "tabs"), ('|', "`|`"), (' ', "blanks")]
            .into_iter()
            .find(|(separator, _)| only.contains(*separator))
            .map(|(_, name)| name)
    }

    /// Makes further rows an error, for a file that is kept in memory.
    pub(super) fn limit_rows(&mut self, most: u64) {
        self.rows.limit(most);
    }

    /// Goes to the next row; false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        if !self.next_row()? {
            return Ok(false);
        }
        if self.rows.fields() != self.names.len() {
            let (fields, names) = (self.rows.fields(), self.names.len());
            return Err(self.row_error(format!("the row has {fields} fields, the header has {names}")));
        }
        Ok(true)
    }

    fn next_row(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_in_first_row) {
            return Ok(true);
        }
        self.rows.advance().map_err(|error| {
            self.is_broken = true;
            match error {
                RowError::Io(error) => source::failed(&self.path, error),
                RowError::Bad(message) => self.row_error(message),
            }
        })
    }

    /// Returns whether the last error ends the file: there is no next row.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns the number of the row. The header is row 1 if it is the first line.
    pub(super) fn row(&self) -> u64 {
        self.rows.line()
    }

    fn field(&self, column: Column) -> &[u8] {
        self.rows.field(column.0)
    }

    /// Returns the trimmed text of a field.
    pub(super) fn text(&self, column: Column) -> Result<&str> {
        match str::from_utf8(self.field(column)) {
            Ok(text) => Ok(text.trim()),
            Err(_) => Err(self.error(column, "is not text in UTF-8".into())),
        }
    }

    /// Returns a finite number.
    pub(super) fn number(&self, column: Column) -> Result<f64> {
        if let Some(number) = short_decimal(self.field(column)) {
            return Ok(number);
        }
        match fast_float2::parse::<f64, _>(self.field(column)) {
            Ok(number) if number.is_finite() => Ok(number),
            _ => self.number_with_care(column),
        }
    }

    /// Returns a finite number of single precision: nine digits of an f32 give back its bits.
    pub(super) fn single(&self, column: Column) -> Result<f64> {
        match fast_float2::parse::<f32, _>(self.field(column)) {
            Ok(number) if number.is_finite() => Ok(f64::from(number)),
            _ => match f64::from(self.number_with_care(column)? as f32) {
                number if number.is_finite() => Ok(number),
                _ => Err(self.error(column, "is beyond single precision".into())),
            },
        }
    }

    /// Reads a number with blanks around it, or returns the error.
    #[cold]
    fn number_with_care(&self, column: Column) -> Result<f64> {
        let text = self.text(column)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(self.error(column, format!("`{text}` is not finite"))),
            Err(_) if text.is_empty() => Err(self.error(column, "is empty; a number is expected".into())),
            Err(_) => Err(self.error(column, format!("`{text}` is not a number"))),
        }
    }

    /// Returns whether a field has no value: it is empty, a number that is not finite, or a word
    /// for no value.
    pub(super) fn is_missing(&self, column: Column) -> bool {
        let is_word = |text: &str| ["", "NA", "<NA>", "None", "null", "NULL", "N/A"].contains(&text);
        self.text(column).is_ok_and(|text| is_word(text) || text.parse().is_ok_and(|number: f64| !number.is_finite()))
    }

    /// Returns a non-negative whole number.
    pub(super) fn whole_number(&self, column: Column) -> Result<u64> {
        let bytes = self.field(column);
        // 19 digits cannot overflow.
        if (1..20).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit) {
            return Ok(bytes.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0')));
        }
        let text = self.text(column)?;
        whole_of_text(text).map_err(|reason| self.error(column, reason))
    }

    /// Returns an error in a field of the current row.
    #[cold]
    pub(super) fn error(&self, column: Column, message: String) -> Error {
        Error::Input {
            path: source::named(&self.path),
            row: self.row(),
            column: Some(self.names[column.0].clone()),
            message,
        }
    }

    /// Returns an error of the file as a whole.
    pub(super) fn whole(&self, message: String) -> Error {
        Error::Input { path: source::named(&self.path), row: 0, column: None, message }
    }

    /// Returns an error of the current row as a whole.
    #[cold]
    pub(super) fn row_error(&self, message: String) -> Error {
        Error::Input { path: source::named(&self.path), row: self.row(), column: None, message }
    }
}

/// Reads a number of at most 15 digits with an optional decimal point, the usual form. Returns None
/// for any other form. f64 holds the digits and the power of ten exactly, so that one division
/// rounds once (W. D. Clinger, How to read floating point numbers accurately, 1990).
fn short_decimal(text: &[u8]) -> Option<f64> {
    const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > 16 {
        return None;
    }
    let (mut whole, mut count, mut point) = (0u64, 0, None);
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            whole = 10 * whole + u64::from(digit);
            count += 1;
        } else if byte == b'.' && point.is_none() {
            point = Some(count);
        } else {
            return None;
        }
    }
    if !(1..=15).contains(&count) {
        return None;
    }
    let number = whole as f64 / TENS[point.map_or(0, |before| count - before)];
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::short_decimal;

    #[test]
    fn short_decimals_are_as_the_standard_library_reads_them() {
        const ALPHABET: &[u8] = b"0123456789.-";
        let mut random = fastrand::Rng::with_seed(62);
        let mut short = 0;
        for _ in 0..200_000 {
            let length = random.usize(..19);
            let text: String = (0..length).map(|_| char::from(ALPHABET[random.usize(..ALPHABET.len())])).collect();
            if let Some(number) = short_decimal(text.as_bytes()) {
                assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(number.to_bits()), "{text}");
                short += 1;
            }
        }
        assert!(short > 10_000, "{short}");
        let places = |number: f64, places: usize| format!("{number:.places$}");
        for _ in 0..100_000 {
            let text = places(2000.0 * (random.f64() - 0.5), random.usize(..12));
            assert_eq!(short_decimal(text.as_bytes()).map(f64::to_bits), text.parse().ok().map(f64::to_bits), "{text}");
        }
        for text in ["", "-", ".", "-.", "1e3", "nan", "+1", " 1", "1 ", "1.2.3", "1234567890123456", "--1", "1-"] {
            assert_eq!(short_decimal(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(short_decimal(b"-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
        assert_eq!(
            (short_decimal(b".5"), short_decimal(b"5."), short_decimal(b"-7.25")),
            (Some(0.5), Some(5.0), Some(-7.25))
        );
    }
}
