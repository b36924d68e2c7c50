//! Rows of CSV files.

use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

pub(super) fn failed(path: &Path, row: Option<u64>, what: impl ToString) -> Error {
    Error::File { path: path.display().to_string(), row, what: what.to_string() }
}

/// Rows of a CSV file.
pub(super) struct Table<'a> {
    path: &'a Path,
    pub(super) header: csv::StringRecord,
    /// The columns that name a particle together.
    particle: Vec<usize>,
    reader: csv::Reader<Box<dyn Read>>,
    row: csv::StringRecord,
}

impl<'a> Table<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let bytes = table_file::open(path).map_err(|source| failed(path, None, source))?;
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
        let header = reader.headers().map_err(|source| failed(path, Some(1), source))?.clone();
        let named = header.iter().enumerate().filter(|(_, name)| name.starts_with("particle_id"));
        let particle = named.map(|(column, _)| column).collect();
        Ok(Self { path, header, particle, reader, row: csv::StringRecord::new() })
    }

    pub(super) fn columns<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N]> {
        let mut columns = [0; N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self
                .header
                .iter()
                .position(|other| other == name)
                .ok_or_else(|| failed(self.path, Some(1), format!("there is no column `{name}`")))?;
        }
        Ok(columns)
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        self.reader.read_record(&mut self.row).map_err(|source| failed(self.path, None, source))
    }

    pub(super) fn wrong(&self, what: impl ToString) -> Error {
        failed(self.path, self.row.position().map(csv::Position::line), what)
    }

    pub(super) fn text(&self, column: usize) -> &str {
        self.row.get(column).unwrap_or_default()
    }

    pub(super) fn number(&self, column: usize) -> Result<f64> {
        let text = self.text(column);
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| {
            let name = self.header.get(column).unwrap_or_default();
            self.wrong(format!("`{text}` in column `{name}` is no finite number"))
        })
    }

    pub(super) fn whole(&self, column: usize) -> Result<u64> {
        table_file::whole(self.text(column)).map_err(|reason| self.unlike(column, reason))
    }

    /// Returns an identifier. Whole numbers are written without a fraction, because one file may
    /// have `1` and another one `1.0`.
    pub(super) fn id(&self, column: usize) -> Result<String> {
        let text = self.text(column);
        match table_file::whole::<i128>(text) {
            Ok(number) => Ok(number.to_string()),
            Err(reason) if text.parse::<f64>().is_ok_and(f64::is_finite) => Err(self.unlike(column, reason)),
            Err(_) => Ok(text.to_owned()),
        }
    }

    fn unlike(&self, column: usize, reason: &str) -> Error {
        let (text, name) = (self.text(column), self.header.get(column).unwrap_or_default());
        self.wrong(format!("`{text}` in column `{name}` {reason}"))
    }

    /// Returns the id of the row's particle. Newer versions of ACTS write its parts as columns.
    pub(super) fn particle(&self) -> Result<String> {
        if self.particle.is_empty() {
            return Err(failed(self.path, Some(1), "there is no column `particle_id`"));
        }
        let parts: Vec<String> = self.particle.iter().map(|&column| self.id(column)).collect::<Result<_>>()?;
        Ok(parts.join("|"))
    }
}
