//! Rows of CSV files.

use std::path::Path;

use crate::error::{Error, Result};

/// More columns than any version of ACTS has for the parts of a particle's id.
const MOST_PARTS: usize = 16;

/// More characters than any identifier has.
const LONGEST_ID: usize = 64;

pub(super) fn failed(path: &Path, row: Option<u64>, what: impl ToString) -> Error {
    Error::File { path: path.display().to_string(), row, what: what.to_string() }
}

/// Rows of a CSV file.
pub(super) struct Table<'a> {
    path: &'a Path,
    /// The columns that name a particle together.
    particle: Vec<usize>,
    rows: table_file::Table,
}

impl<'a> Table<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let rows = table_file::Table::open(path);
        let rows = rows.map_err(|(line, error)| failed(path, Some(line).filter(|&line| line > 0), error))?;
        let named = rows.header().iter().enumerate().filter(|(_, name)| name.starts_with("particle_id"));
        let particle: Vec<usize> = named.map(|(column, _)| column).collect();
        if particle.len() > MOST_PARTS {
            let what = format!("{} columns `particle_id...`, and {MOST_PARTS} at most are read", particle.len());
            return Err(failed(path, Some(rows.line()), what));
        }
        Ok(Self { path, particle, rows })
    }

    /// Returns whether columns name the particle of a row.
    pub(super) fn has_particles(&self) -> bool {
        !self.particle.is_empty()
    }

    pub(super) fn columns<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N]> {
        let mut columns = [0; N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self
                .rows
                .header()
                .iter()
                .position(|other| other == name)
                .ok_or_else(|| failed(self.path, Some(1), format!("there is no column `{name}`")))?;
        }
        Ok(columns)
    }

    /// Goes to the next row; false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        self.rows.advance().map_err(|error| self.wrong(error))
    }

    pub(super) fn wrong(&self, what: impl ToString) -> Error {
        failed(self.path, Some(self.rows.line()), what)
    }

    pub(super) fn text(&self, column: usize) -> &str {
        self.rows.row().get(column).map_or("", String::as_str)
    }

    pub(super) fn number(&self, column: usize) -> Result<f64> {
        let text = self.text(column);
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| {
            let name = self.rows.header().get(column).map_or("", String::as_str);
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
        if text.len() > LONGEST_ID {
            let length = text.len();
            return Err(self.wrong(format!("an identifier of {length} bytes, and {LONGEST_ID} at most are read")));
        }
        match table_file::whole::<i128>(text) {
            Ok(number) => Ok(number.to_string()),
            Err(reason) if text.parse::<f64>().is_ok_and(f64::is_finite) => Err(self.unlike(column, reason)),
            Err(_) => Ok(text.to_owned()),
        }
    }

    fn unlike(&self, column: usize, reason: &str) -> Error {
        let (text, name) = (self.text(column), self.rows.header().get(column).map_or("", String::as_str));
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
