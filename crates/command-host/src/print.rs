//! Tables and JSON on standard output.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Row, Table, presets};
use serde::Serialize;

/// Makes a table without lines. The columns from `numbers` on are aligned to the right.
pub fn table(header: impl Into<Row>, numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for index in numbers..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A table whose rows appear as they are known, for benches that take minutes: the width of a
/// column is fixed by its heading and by a sample of its content.
#[derive(Debug)]
pub struct Rows {
    widths: Vec<usize>,
    /// The columns from this one on are aligned to the right.
    numbers: usize,
}

impl Rows {
    /// Makes a table. Each column is as wide as its heading or its widest content.
    #[must_use]
    pub fn new<const N: usize>(columns: [(&str, usize); N], numbers: usize) -> (Self, [String; N]) {
        let widths = columns.iter().map(|(name, width)| name.chars().count().max(*width)).collect();
        (Self { widths, numbers }, columns.map(|(name, _)| name.to_owned()))
    }

    /// Makes a table of so many columns of numbers, each as wide.
    #[must_use]
    pub fn wide(columns: usize, width: usize) -> Self {
        Self { widths: vec![width; columns], numbers: 0 }
    }

    /// Writes a row and flushes, so that it is seen.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn write(&self, out: &mut impl Write, row: &[String]) -> io::Result<()> {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&self.widths).enumerate() {
            line += if column == 0 { " " } else { "  " };
            line += &if column >= self.numbers { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
        }
        writeln!(out, "{}", line.trim_end())?;
        out.flush()
    }
}

/// Formats a number with four digits, as in 1.234e5. None gives an empty text.
#[must_use]
pub fn scientific(number: impl Into<Option<f64>>) -> String {
    number.into().map_or_else(String::new, |number| format!("{number:.3e}"))
}

/// Writes indented JSON and a newline.
///
/// # Errors
/// Any error of `out`; a value that JSON cannot represent, for example a map whose keys are not
/// text.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string_pretty(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_the_right() {
        let mut table = table(["kernel", "time"], 1);
        table.add_row(["a".to_owned(), scientific(12.0)]).add_row(["b".to_owned(), scientific(None)]);
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines, [" kernel     time", " a       1.200e1", " b"]);
    }

    #[test]
    fn rows_are_written_one_by_one() {
        let (rows, header) = Rows::new([("map", 5), ("tracks/s", 4)], 1);
        let mut out = Vec::new();
        for row in [&header[..], &["v1".to_owned(), "12".to_owned()], &["longer".to_owned(), String::new()]] {
            rows.write(&mut out, row).expect("a vector takes all");
        }
        assert_eq!(String::from_utf8(out).expect("text"), " map    tracks/s\n v1           12\n longer\n");
    }

    #[test]
    fn json_ends_with_its_line() {
        let mut out = Vec::new();
        write_json(&mut out, &[1, 2]).expect("a vector takes all");
        assert_eq!(out, b"[\n  1,\n  2\n]\n");
    }
}
