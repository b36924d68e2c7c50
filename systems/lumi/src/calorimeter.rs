//! The calorimeter: where its cells are, what their digits mean, and the whole numbers that stand
//! for both.

use crate::error::{Error, Result};

/// A calorimeter cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// x of the centre \[mm\].
    pub x: f64,
    /// y of the centre \[mm\]. The cell is in the top half if y is above 0.
    pub y: f64,
    /// The energy of one ADC count \[MeV\].
    pub gain: f64,
    /// The ADC value at zero energy.
    pub pedestal: i16,
}

/// A calorimeter with an outer, a middle and an inner area, whose cells are numbered in that order.
#[derive(Clone, Debug, PartialEq)]
pub struct Calorimeter {
    cells: Vec<Cell>,
    outer: usize,
    middle: usize,
    plane: [f64; 4],
    tables: Tables,
}

/// Properties of each cell that the counters need.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tables {
    /// Sine of the angle to the beam, rounded to f32.
    pub(crate) sin_theta: Vec<f32>,
    /// In MeV a count, rounded to f32.
    pub(crate) gain: Vec<f32>,
    pub(crate) pedestal: Vec<i16>,
    /// Transverse energies of areas: 0 to 2 outer, middle and inner at the top, 3 to 5 at the
    /// bottom.
    pub(crate) area: Vec<u8>,
    /// Transverse energy of a count, in units of 2^-`et_bits` MeV; below 2^[`WEIGHT_BITS`].
    pub(crate) et_weight: Vec<i32>,
    /// The energy of one ADC count \[MeV\].
    pub(crate) energy_weight: Vec<i32>,
    pub(crate) et_bits: i32,
    pub(crate) energy_bits: i32,
}

/// Weights are whole numbers of so many bits: two halves of ten, of which each times a digit fits a
/// word many times over.
pub(crate) const WEIGHT_BITS: i32 = 20;

/// Cells of the outer, the middle and the inner area of an electromagnetic calorimeter like LHCb's.
const AREAS: [Area; 3] = [
    Area { size: 121.2, columns: 64, rows: 52, hole: (32, 20) },
    Area { size: 60.6, columns: 64, rows: 40, hole: (32, 24) },
    Area { size: 40.4, columns: 48, rows: 36, hole: (16, 12) },
];

struct Area {
    /// Of a cell, in mm.
    size: f64,
    columns: i32,
    rows: i32,
    /// Columns and rows in the middle without cells.
    hole: (i32, i32),
}

impl Calorimeter {
    /// The largest number of cells.
    pub const MOST_CELLS: usize = 1 << 16;

    /// Makes a calorimeter. The first `outer` cells are in the outer area, the next `middle` cells
    /// in the middle area. `plane` is \[a, b, c, d\] of the plane a x + b y + c z + d = 0 of the
    /// shower maxima \[mm\].
    ///
    /// # Errors
    /// [`Error::Geometry`] if the areas have more cells than `cells`, if there are more than
    /// [`Calorimeter::MOST_CELLS`], if the plane is parallel to the beam, if a value is not finite,
    /// or if a gain is not above 0.
    pub fn new(cells: Vec<Cell>, outer: usize, middle: usize, plane: [f64; 4]) -> Result<Self> {
        let wrong = |what: String| Err(Error::Geometry { what });
        if outer + middle > cells.len() || cells.len() > Self::MOST_CELLS {
            return wrong(format!("{outer} outer and {middle} middle ones of {} cells (65,536 at most)", cells.len()));
        }
        if !plane.iter().all(|value| value.is_finite()) || plane[2] == 0.0 {
            return wrong(format!("{plane:?} is no plane across the beam"));
        }
        let sound = |cell: &Cell| [cell.x, cell.y, cell.gain].iter().all(|v| v.is_finite()) && cell.gain > 0.0;
        if let Some(at) = cells.iter().position(|cell| !sound(cell)) {
            return wrong(format!("cell {at} has no finite place or no gain above 0: {:?}", cells[at]));
        }
        let tables = Tables::new(&cells, outer, middle, plane);
        Ok(Self { cells, outer, middle, plane, tables })
    }

    /// Returns LHCb's electromagnetic calorimeter in outline: 6016 cells in three areas around the
    /// beam, about 12.6 m away. The largest digit (4095) is about 10 GeV of transverse energy in
    /// every cell.
    #[must_use]
    pub fn lhcb() -> Self {
        let plane = [0.0, 0.0036, 1.0, -12_620.0];
        let mut cells = Vec::new();
        let mut counts = [0; 3];
        for (area, count) in AREAS.iter().zip(&mut counts) {
            for row in 0..area.rows {
                for column in 0..area.columns {
                    let from_middle = |at: i32, all: i32| f64::from(at) + 0.5 - f64::from(all) / 2.0;
                    let (x, y) = (from_middle(column, area.columns), from_middle(row, area.rows));
                    if x.abs() < f64::from(area.hole.0) / 2.0 && y.abs() < f64::from(area.hole.1) / 2.0 {
                        continue;
                    }
                    let (x, y) = (x * area.size, y * area.size);
                    // Cells differ by some percent, as calibration finds them; here by their
                    // number.
                    let spread = 1.0 + 0.03 * (f64::from(row * 64 + column) * 0.618).sin();
                    let gain = 10_000.0 / 4095.0 / sin_theta(x, y, plane) * spread;
                    cells.push(Cell { x, y, gain, pedestal: 30 + ((row * 7 + column * 3) % 11) as i16 });
                    *count += 1;
                }
            }
        }
        let tables = Tables::new(&cells, counts[0], counts[1], plane);
        Self { cells, outer: counts[0], middle: counts[1], plane, tables }
    }

    /// Returns the cells.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the numbers of cells in the outer and in the middle area.
    #[must_use]
    pub fn areas(&self) -> (usize, usize) {
        (self.outer, self.middle)
    }

    /// Returns the plane of the shower maxima; see [`Calorimeter::new`].
    #[must_use]
    pub fn plane(&self) -> [f64; 4] {
        self.plane
    }

    /// Returns the units of the exact sums \[MeV\]: of transverse energy and of energy.
    #[must_use]
    pub fn units(&self) -> (f64, f64) {
        (2.0_f64.powi(-self.tables.et_bits), 2.0_f64.powi(-self.tables.energy_bits))
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }
}

/// Of the angle between the beam and the way from the origin to the shower in a cell.
fn sin_theta(x: f64, y: f64, [a, b, c, d]: [f64; 4]) -> f64 {
    let z = (-a * x - b * y - d) / c;
    let across = x * x + y * y;
    let all = across + z * z;
    if all == 0.0 { 0.0 } else { (across / all).sqrt() }
}

impl Tables {
    fn new(cells: &[Cell], outer: usize, middle: usize, plane: [f64; 4]) -> Self {
        let sin_theta: Vec<f64> = cells.iter().map(|cell| sin_theta(cell.x, cell.y, plane)).collect();
        let area = |(number, cell): (usize, &Cell)| {
            let area = u8::from(number >= outer) + u8::from(number >= outer + middle);
            if cell.y > 0.0 { area } else { area + 3 }
        };
        let et: Vec<f64> = cells.iter().zip(&sin_theta).map(|(cell, sine)| cell.gain * sine).collect();
        let energy: Vec<f64> = cells.iter().map(|cell| cell.gain).collect();
        let (et_bits, energy_bits) = (bits(&et), bits(&energy));
        let whole = |values: &[f64], bits: i32| {
            values.iter().map(|value| (value * 2.0_f64.powi(bits)).round() as i32).collect::<Vec<_>>()
        };
        Self {
            et_weight: whole(&et, et_bits),
            energy_weight: whole(&energy, energy_bits),
            et_bits,
            energy_bits,
            area: cells.iter().enumerate().map(area).collect(),
            sin_theta: sin_theta.iter().map(|&sine| sine as f32).collect(),
            gain: cells.iter().map(|cell| cell.gain as f32).collect(),
            pedestal: cells.iter().map(|cell| cell.pedestal).collect(),
        }
    }
}

/// So many binary digits that the greatest value still is below 2^[`WEIGHT_BITS`].
fn bits(values: &[f64]) -> i32 {
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let fits = |bits: i32| (greatest * 2.0_f64.powi(bits)).round() < f64::from(1 << WEIGHT_BITS);
    (-40..=40).rev().find(|&bits| fits(bits)).unwrap_or(-40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lhcb_has_6016_cells() {
        let calorimeter = Calorimeter::lhcb();
        assert_eq!((calorimeter.cells().len(), calorimeter.areas()), (6016, (2688, 1792)));
        let tables = calorimeter.tables();
        assert!(tables.et_weight.iter().chain(&tables.energy_weight).all(|&w| w > 0 && w < 1 << WEIGHT_BITS));
        // A count's transverse energy is about the same everywhere; weights are good to the last of
        // twenty bits.
        let (et, energy) = calorimeter.units();
        for (i, cell) in calorimeter.cells().iter().enumerate() {
            assert!((f64::from(tables.et_weight[i]) * et - 10_000.0 / 4095.0).abs() < 0.08, "{cell:?}");
            assert!((f64::from(tables.energy_weight[i]) * energy - cell.gain).abs() <= energy / 2.0, "{cell:?}");
        }
    }

    #[test]
    fn areas_are_by_number_and_top_by_y() {
        let at = |y: f64| Cell { x: 100.0, y, gain: 1.0, pedestal: 0 };
        let cells = vec![at(5.0), at(0.0), at(-1.0), at(1e-9)];
        let calorimeter = Calorimeter::new(cells, 1, 2, [0.0, 0.0, 1.0, -1000.0]).expect("a calorimeter");
        // y = 0 is the bottom.
        assert_eq!(calorimeter.tables().area, [0, 4, 4, 2]);
    }

    #[test]
    fn nonsense_is_refused() {
        let cell = Cell { x: 1.0, y: 1.0, gain: 1.0, pedestal: 0 };
        let plane = [0.0, 0.0, 1.0, -1.0];
        for (cells, outer, plane) in [
            (vec![cell], 2, plane),
            (vec![cell], 1, [0.0, 0.0, 0.0, 1.0]),
            (vec![cell], 1, [f64::NAN, 0.0, 1.0, 1.0]),
            (vec![Cell { gain: 0.0, ..cell }], 1, plane),
            (vec![Cell { x: f64::INFINITY, ..cell }], 1, plane),
            (vec![cell; 70_000], 1, plane),
        ] {
            assert!(Calorimeter::new(cells, outer, 0, plane).is_err());
        }
    }
}
