//! A table in memory-bounded text: a header, and rows of as many fields.

use std::path::Path;

use crate::rows::{MOST_ROWS, RowError, Rows};
use crate::source;

/// The rows of a CSV file with a header, one at a time, as text without blanks around the fields.
///
/// Lines that begin with `#` are comments. A file has 4 million rows at most, because callers keep
/// them in memory.
pub struct Table {
    rows: Rows,
    header: Vec<String>,
    row: Vec<String>,
}

impl Table {
    /// Opens a file, or standard input for `-`, as [`open`](source::open) does, and reads the
    /// header. A file without content has an empty header.
    ///
    /// # Errors
    /// With the number of the line, from 1, or 0 if the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, (u64, RowError)> {
        let bytes = source::open(path).map_err(|error| (0, error.into()))?;
        let mut table = Self { rows: Rows::new(bytes), header: Vec::new(), row: Vec::new() };
        let read = table.read_row();
        read.map_err(|error| (table.line(), error))?;
        table.rows.limit(MOST_ROWS);
        table.header = std::mem::take(&mut table.row);
        Ok(table)
    }

    /// Returns the names of the columns.
    #[must_use]
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Goes to the next row; false at the end.
    ///
    /// # Errors
    /// As [`Rows::advance`]; a row that is no text in UTF-8, or that has not as many fields as the
    /// header. [`Table::line`] is the line of the fault.
    pub fn advance(&mut self) -> Result<bool, RowError> {
        if !self.read_row()? {
            return Ok(false);
        }
        let (fields, names) = (self.row.len(), self.header.len());
        if fields != names {
            return Err(RowError::Bad(format!("{fields} columns, and the header has {names}")));
        }
        Ok(true)
    }

    fn read_row(&mut self) -> Result<bool, RowError> {
        loop {
            if !self.rows.advance()? {
                return Ok(false);
            }
            if !self.rows.field(0).starts_with(b"#") {
                break;
            }
        }
        self.row.resize(self.rows.fields(), String::new());
        for (at, text) in self.row.iter_mut().enumerate() {
            let field = str::from_utf8(self.rows.field(at));
            let field = field.map_err(|_| RowError::Bad("it is no text in UTF-8".to_owned()))?;
            text.clear();
            text.push_str(field.trim());
        }
        Ok(true)
    }

    /// Returns the fields of the row.
    #[must_use]
    pub fn row(&self) -> &[String] {
        &self.row
    }

    /// Returns the line on which the row begins, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.rows.line()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with their lines.
    type Rows = Vec<(u64, Vec<String>)>;

    fn table(text: &[u8]) -> Result<Rows, (u64, String)> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).expect("written");
        let mut table = Table::open(&path).map_err(|(line, error)| (line, error.to_string()))?;
        let mut all = vec![(0, table.header().to_vec())];
        while table.advance().map_err(|error| (table.line(), error.to_string()))? {
            all.push((table.line(), table.row().to_vec()));
        }
        Ok(all)
    }

    #[test]
    fn rows_have_the_fields_of_the_header() {
        let text = |fields: [&str; 2]| fields.map(str::to_owned).to_vec();
        let found = table(b"# a comment\nx, y\r\n1 ,\"2\"\n\n#3\n3,4");
        assert_eq!(found, Ok(vec![(0, text(["x", "y"])), (3, text(["1", "2"])), (6, text(["3", "4"]))]));
        assert_eq!(table(b""), Ok(vec![(0, Vec::new())]));
        assert_eq!(table(b"x,y\n1\n"), Err((2, "1 columns, and the header has 2".to_owned())));
        assert_eq!(table(b"x,y\n1,2,3\n"), Err((2, "3 columns, and the header has 2".to_owned())));
        assert_eq!(table(b"x,y\n1,\xff\n"), Err((2, "it is no text in UTF-8".to_owned())));
        assert_eq!(Table::open(Path::new("none.csv")).err().map(|(line, _)| line), Some(0));
    }
}
