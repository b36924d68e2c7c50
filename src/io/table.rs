//! A CSV file read by its header: rows, fields by column, and errors that say where.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::str;

use super::source;
use crate::error::{Error, Result};

/// A column of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column(usize);

pub(super) struct Table {
    path: PathBuf,
    reader: csv::Reader<Box<dyn Read + Send>>,
    names: Vec<String>,
    record: csv::ByteRecord,
}

impl Table {
    /// Opens a file and reads its header.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::of(path, source::open(path)?)
    }

    /// The header alone: standard input can still be opened afterwards.
    pub(super) fn peek(path: &Path) -> Result<Self> {
        Self::of(path, source::peek(path)?)
    }

    fn of(path: &Path, bytes: Box<dyn Read + Send>) -> Result<Self> {
        let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(bytes);
        let header = match reader.byte_headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(csv_error(path, error)),
        };
        let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
        let table = Self { path: path.to_owned(), reader, names, record: csv::ByteRecord::new() };
        if table.names.iter().all(String::is_empty) {
            return Err(table.whole("the file is empty; a header with the names of the columns is wanted".into()));
        }
        for (at, name) in table.names.iter().enumerate() {
            if !name.is_empty() && table.names[..at].contains(name) {
                return Err(table.header_error(format!("the header names column `{name}` twice")));
            }
        }
        Ok(table)
    }

    pub(super) fn column(&self, name: &str) -> Option<Column> {
        self.names.iter().position(|n| n == name).map(Column)
    }

    /// Whether the name of any column begins so.
    pub(super) fn begins_with(&self, prefix: &str) -> bool {
        self.names.iter().any(|name| name.starts_with(prefix))
    }

    /// All of these columns, or None.
    pub(super) fn columns<const N: usize>(&self, names: [&str; N]) -> Option<[Column; N]> {
        let mut columns = [Column(0); N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self.column(name)?;
        }
        Some(columns)
    }

    /// All of these columns, or an error that names those missing and those there.
    pub(super) fn need<const N: usize>(&self, names: [&str; N], wanted: &str) -> Result<[Column; N]> {
        self.columns(names).ok_or_else(|| {
            let missing: Vec<&str> = names.into_iter().filter(|name| self.column(name).is_none()).collect();
            self.missing(&missing, wanted)
        })
    }

    /// An error about columns that are missing, with those that are there and those wanted.
    pub(super) fn missing(&self, missing: &[&str], wanted: &str) -> Error {
        let plural = if missing.len() == 1 { "column" } else { "columns" };
        let mut message =
            format!("missing {plural} {}; the header has {}; wanted: {wanted}", quoted(missing), quoted(&self.names));
        if self.names.len() == 1 && self.names[0].contains([';', '\t', ' ']) {
            message.push_str("; columns are separated by commas");
        }
        self.header_error(message)
    }

    /// Goes to the next row; false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        self.reader.read_byte_record(&mut self.record).map_err(|error| csv_error(&self.path, error))
    }

    /// Where the current row begins, for [`source::row_at`].
    pub(super) fn byte(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::byte)
    }

    /// The text of a field, trimmed.
    pub(super) fn text(&self, column: Column) -> Result<&str> {
        match str::from_utf8(&self.record[column.0]) {
            Ok(text) => Ok(text.trim()),
            Err(_) => Err(self.error(column, "is not text in UTF-8".into())),
        }
    }

    /// A finite number.
    pub(super) fn number(&self, column: Column) -> Result<f64> {
        match fast_float2::parse::<f64, _>(&self.record[column.0]) {
            Ok(number) if number.is_finite() => Ok(number),
            _ => self.number_with_care(column),
        }
    }

    /// A finite number of single precision: nine digits that stand for one give back its very bits.
    pub(super) fn single(&self, column: Column) -> Result<f64> {
        match fast_float2::parse::<f32, _>(&self.record[column.0]) {
            Ok(number) if number.is_finite() => Ok(f64::from(number)),
            _ => match f64::from(self.number_with_care(column)? as f32) {
                number if number.is_finite() => Ok(number),
                _ => Err(self.error(column, "is beyond single precision".into())),
            },
        }
    }

    /// With blanks around it, or in an error's words.
    #[cold]
    fn number_with_care(&self, column: Column) -> Result<f64> {
        let text = self.text(column)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(self.error(column, format!("`{text}` is not finite"))),
            Err(_) if text.is_empty() => Err(self.error(column, "is empty; a number is wanted".into())),
            Err(_) => Err(self.error(column, format!("`{text}` is not a number"))),
        }
    }

    /// A whole number from 0.
    pub(super) fn whole_number(&self, column: Column) -> Result<u64> {
        let bytes = &self.record[column.0];
        // So few digits cannot overflow.
        if (1..20).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit) {
            return Ok(bytes.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0')));
        }
        let text = self.text(column)?;
        text.parse().map_err(|_| self.error(column, format!("`{text}` is not a whole number from 0 to 2^64 - 1")))
    }

    /// An error in a field of the current row.
    #[cold]
    pub(super) fn error(&self, column: Column, message: String) -> Error {
        Error::Input {
            path: source::named(&self.path),
            row: row_of(&self.path, self.record.position()),
            column: Some(self.names[column.0].clone()),
            message,
        }
    }

    /// An error of the file as a whole.
    pub(super) fn whole(&self, message: String) -> Error {
        Error::Input { path: source::named(&self.path), row: 0, column: None, message }
    }

    fn header_error(&self, message: String) -> Error {
        Error::Input { path: source::named(&self.path), row: 1, column: None, message }
    }
}

/// The row of a record. The csv crate's own number leaves out carriage returns and empty lines; that of standard input
/// cannot be found in any other way.
fn row_of(path: &Path, position: Option<&csv::Position>) -> u64 {
    position.map_or(0, |position| source::row_at(path, position.byte()).unwrap_or(position.line()))
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

fn csv_error(path: &Path, error: csv::Error) -> Error {
    let message = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => source::failed(path, error),
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => Error::Input {
            path: source::named(path),
            row: row_of(path, pos.as_ref()),
            column: None,
            message: format!("the row has {len} fields, the header has {expected_len}"),
        },
        _ => Error::Input { path: source::named(path), row: 0, column: None, message },
    }
}
