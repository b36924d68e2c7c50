//! Geometry and calibration of a calorimeter: a TOML file, and a CSV file with a row for each cell.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use table_file::{RowError, Table};

use crate::calorimeter::{Calorimeter, Cell};
use crate::error::{Error, Result};

/// The TOML file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Geometry {
    /// a, b, c, d of the plane a x + b y + c z + d = 0 of the shower maxima \[mm\].
    plane: [f64; 4],
    /// The CSV file, relative to this file.
    cells: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Area {
    Outer,
    Middle,
    Inner,
}

/// A row of the CSV file. The number of a cell is its row, from 0.
#[derive(Serialize)]
struct Row {
    area: Area,
    x_mm: f64,
    y_mm: f64,
    gain_mev: f64,
    pedestal: i16,
}

/// The columns of the CSV file.
const COLUMNS: [&str; 5] = ["area", "x_mm", "y_mm", "gain_mev", "pedestal"];

impl Row {
    /// Reads the fields of a row, in the order of [`COLUMNS`].
    fn read([area, x_mm, y_mm, gain_mev, pedestal]: [&str; 5]) -> Result<Self, String> {
        let number = |name: &str, text: &str| text.parse().map_err(|_| format!("{name} `{text}` is no number"));
        Ok(Self {
            area: match area {
                "outer" => Area::Outer,
                "middle" => Area::Middle,
                "inner" => Area::Inner,
                _ => return Err(format!("area `{area}` is none of outer, middle and inner")),
            },
            x_mm: number("x_mm", x_mm)?,
            y_mm: number("y_mm", y_mm)?,
            gain_mev: number("gain_mev", gain_mev)?,
            pedestal: table_file::whole(pedestal).map_err(|reason| format!("pedestal `{pedestal}` {reason}"))?,
        })
    }
}

fn failed(path: &Path, what: impl ToString) -> Error {
    Error::File { path: path.display().to_string(), what: what.to_string() }
}

/// Most bytes of the TOML file.
const MOST_BYTES: u64 = 1 << 20;

fn read_geometry(path: &Path) -> Result<Geometry> {
    let text = table_file::read_text(path, MOST_BYTES).map_err(|source| failed(path, source))?;
    toml::from_str(&text).map_err(|source| failed(path, source))
}

fn cells_of(path: &Path, geometry: &Geometry) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(&geometry.cells)
}

/// Returns the CSV file of cells that the TOML file of a calorimeter names.
///
/// # Errors
/// [`Error::File`] if the TOML file cannot be read or is wrong.
pub fn calorimeter_cells(path: &Path) -> Result<PathBuf> {
    Ok(cells_of(path, &read_geometry(path)?))
}

/// Reads a calorimeter: a TOML file with `plane` and `cells`, which names a CSV file, gzip or not,
/// with the columns `area` (outer, middle or inner, in this order), `x_mm`, `y_mm`, `gain_mev` and
/// `pedestal`.
///
/// # Errors
/// [`Error::File`] if a file cannot be read or is wrong; [`Error::Geometry`] as
/// [`Calorimeter::new`].
pub fn read_calorimeter(path: &Path) -> Result<Calorimeter> {
    let geometry = read_geometry(path)?;
    let table = cells_of(path, &geometry);
    let broken = |(line, error): (u64, RowError)| match line {
        0 => failed(&table, error),
        line => failed(&table, format!("line {line}: {error}")),
    };
    let mut rows = Table::open(&table).map_err(broken)?;
    let header = rows.header();
    let at = COLUMNS.map(|name| header.iter().position(|column| column == name));
    let [Some(area), Some(x), Some(y), Some(gain), Some(pedestal)] = at else {
        return Err(failed(&table, format!("the columns are {}, and the file lacks one", COLUMNS.join(", "))));
    };
    if header.len() > COLUMNS.len() {
        return Err(failed(&table, format!("the columns are {}, and the file has more", COLUMNS.join(", "))));
    }
    let mut cells = Vec::new();
    let mut counts = [0; 3];
    let mut last = Area::Outer;
    // One cell too many is enough for an error.
    while cells.len() <= Calorimeter::MOST_CELLS && rows.advance().map_err(|error| broken((rows.line(), error)))? {
        let fields = [area, x, y, gain, pedestal].map(|column| rows.row()[column].as_str());
        let row = Row::read(fields).map_err(|what| broken((rows.line(), RowError::Bad(what))))?;
        let Row { area, x_mm, y_mm, gain_mev, pedestal } = row;
        if area < last {
            let what = format!("cell {}: outer cells come first, then middle ones, then inner ones", cells.len());
            return Err(failed(&table, what));
        }
        last = area;
        counts[area as usize] += 1;
        cells.push(Cell { x: x_mm, y: y_mm, gain: gain_mev, pedestal });
    }
    Calorimeter::new(cells, counts[0], counts[1], geometry.plane)
}

/// Writes the TOML file of a calorimeter whose cells are in the CSV file of this name.
///
/// # Errors
/// Any error of `out`.
pub fn write_calorimeter(mut out: impl Write, calorimeter: &Calorimeter, cells: &str) -> io::Result<()> {
    writeln!(out, "# a, b, c, d of the plane a x + b y + c z + d = 0 of the shower maxima, in mm")?;
    writeln!(out, "plane = {:?}", calorimeter.plane())?;
    writeln!(
        out,
        "# A row for each cell: area (outer, middle, inner), x_mm, y_mm, gain_mev of an ADC count, pedestal"
    )?;
    writeln!(out, "cells = {}", toml::Value::from(cells))
}

/// Writes the CSV file of a calorimeter's cells.
///
/// # Errors
/// Any error of `out`.
pub fn write_cells(out: impl Write, calorimeter: &Calorimeter) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let (outer, middle) = calorimeter.areas();
    for (number, cell) in calorimeter.cells().iter().enumerate() {
        let area = if number < outer {
            Area::Outer
        } else if number < outer + middle {
            Area::Middle
        } else {
            Area::Inner
        };
        let &Cell { x, y, gain, pedestal } = cell;
        table.serialize(Row { area, x_mm: x, y_mm: y, gain_mev: gain, pedestal })?;
    }
    table.flush()
}
