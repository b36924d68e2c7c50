//! What commands print alike.

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
    fn json_ends_with_its_line() {
        let mut out = Vec::new();
        write_json(&mut out, &[1, 2]).expect("a vector takes all");
        assert_eq!(out, b"[\n  1,\n  2\n]\n");
    }
}
