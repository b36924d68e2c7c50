//! Deposited energy: histograms in r and z, and sums. Integers make the sums independent of their
//! order.

use crate::error::{Error, Result};
use crate::number::{Number, Vector};
use crate::track::Track;

/// Units of energy per MeV.
const PER_MEV: f64 = 1_048_576.0;

/// Truncates an energy to whole units of less than an eV.
pub(crate) fn units<T: Number>(energy: T) -> u64 {
    (energy.into() * PER_MEV) as u64
}

pub(crate) fn mev(units: u64) -> f64 {
    units as f64 / PER_MEV
}

/// Bins of r, the distance from the axis, and of z, the position along it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The range of r \[mm\].
    pub r: [f64; 2],
    /// The range of z \[mm\].
    pub z: [f64; 2],
    /// The numbers of bins in r and in z.
    pub bins: [usize; 2],
}

impl Default for Grid {
    /// Returns the region where the prototype's particles begin and their showers end: 120 bins of
    /// 5 mm in r, and 120 bins of 50 mm in z.
    fn default() -> Self {
        Self { r: [1200.0, 1800.0], z: [-3000.0, 3000.0], bins: [120, 120] }
    }
}

impl Grid {
    /// Bins at most.
    const MOST: usize = 1 << 24;

    /// Checks the ranges and the numbers of bins.
    ///
    /// # Errors
    /// [`Error::Options`] if they are invalid.
    pub fn check(&self) -> Result<()> {
        let is_range = |[low, high]: [f64; 2]| low.is_finite() && high.is_finite() && low < high;
        let count = self.bins[0].saturating_mul(self.bins[1]);
        if !is_range(self.r) || !is_range(self.z) || self.r[0] < 0.0 || !(1..=Self::MOST).contains(&count) {
            let &Self { r, z, bins } = self;
            let what = format!(
                "histogram of {} x {} bins, r {} to {} mm, z {} to {} mm: ranges that rise from 0 on in r, and 1 to {} bins are wanted",
                bins[0],
                bins[1],
                r[0],
                r[1],
                z[0],
                z[1],
                Self::MOST
            );
            return Err(Error::Options { what });
        }
        Ok(())
    }

    pub(crate) fn count(&self) -> usize {
        self.bins[0] * self.bins[1]
    }
}

/// A [`Grid`] in the computation's numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins<T> {
    pub(crate) low: [T; 2],
    pub(crate) per_mm: [T; 2],
    pub(crate) counts: [u32; 2],
}

impl<T: Number> Bins<T> {
    pub(crate) fn new(grid: &Grid) -> Self {
        let per_mm = |[low, high]: [f64; 2], bins: usize| T::of(bins as f64 / (high - low));
        Self {
            low: [T::of(grid.r[0]), T::of(grid.z[0])],
            per_mm: [per_mm(grid.r, grid.bins[0]), per_mm(grid.z, grid.bins[1])],
            counts: grid.bins.map(|bins| bins as u32),
        }
    }

    /// The bin of a position: all bins of z of the first r come first. The last one is outside of
    /// all bins.
    pub(crate) fn of(&self, place: Vector<T>) -> usize {
        let r = (place[0] * place[0] + place[1] * place[1]).root();
        let at = [(r - self.low[0]) * self.per_mm[0], (place[2] - self.low[1]) * self.per_mm[1]];
        let [of_r, of_z] = self.counts.map(|bins| bins as usize);
        let [r, z] = at.map(|x| x.down().into());
        if r >= 0.0 && r < of_r as f64 && z >= 0.0 && z < of_z as f64 {
            r as usize * of_z + z as usize
        } else {
            of_r * of_z
        }
    }
}

/// The sums of deposited energy: bins, the outside of all bins, then each material of each primary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scores<T> {
    bins: Bins<T>,
    primaries: usize,
    /// 0 if primaries are not scored.
    materials: usize,
}

/// The largest number of sums: they are numbered in 32 bits, two words each.
const MOST_SUMS: usize = 1 << 28;

impl<T: Number> Scores<T> {
    /// # Errors
    /// [`Error::TooLarge`] for too many sums.
    pub(crate) fn new(grid: &Grid, primaries: usize, materials: usize) -> Result<Self> {
        let sums = primaries.checked_mul(materials).and_then(|sums| sums.checked_add(grid.count() + 1));
        if sums.is_none_or(|sums| sums > MOST_SUMS) {
            let what = format!("scores of {primaries} particles and {materials} materials: there may be {MOST_SUMS}");
            return Err(Error::TooLarge { what });
        }
        Ok(Self { bins: Bins::new(grid), primaries, materials })
    }

    /// The number of sums.
    pub(crate) fn count(&self) -> usize {
        self.bins.count() + 1 + self.primaries * self.materials
    }

    pub(crate) fn bin(&self, place: Vector<T>) -> usize {
        self.bins.of(place)
    }

    /// The sum of a track's primary and of the material of its step.
    pub(crate) fn score(&self, track: &Track<T>) -> Option<usize> {
        let of_material = (track.material as usize).checked_sub(1).filter(|_| self.materials > 0)?;
        Some(self.bins.count() + 1 + track.primary() * self.materials + of_material)
    }
}

impl<T> Bins<T> {
    fn count(&self) -> usize {
        self.counts[0] as usize * self.counts[1] as usize
    }
}

/// A histogram of deposited energy.
#[derive(Clone, Debug, PartialEq)]
pub struct Deposits {
    grid: Grid,
    /// Of each bin, and of what is beyond them.
    units: Vec<u64>,
}

impl Deposits {
    pub(crate) fn new(grid: Grid, units: Vec<u64>) -> Self {
        Self { grid, units }
    }

    /// Returns the bins.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the energy in each bin \[MeV\], all bins of z of the first r first.
    #[must_use]
    pub fn energies(&self) -> Vec<f64> {
        self.units[..self.grid.count()].iter().map(|&units| mev(units)).collect()
    }

    /// Returns the energy outside of all bins \[MeV\].
    #[must_use]
    pub fn beyond(&self) -> f64 {
        mev(self.units[self.grid.count()])
    }

    /// Returns the total energy, in bins and outside \[MeV\].
    #[must_use]
    pub fn total(&self) -> f64 {
        mev(self.units.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_bins() {
        let grid = Grid { r: [10.0, 20.0], z: [-5.0, 5.0], bins: [2, 5] };
        let bins = Bins::<f32>::new(&grid);
        assert_eq!(bins.of([12.0, 0.0, -4.9]), 0);
        assert_eq!(bins.of([0.0, -16.0, 4.9]), 9);
        for place in [[9.9, 0.0, 0.0], [20.1, 0.0, 0.0], [12.0, 0.0, 5.0], [12.0, 0.0, -5.1], [f32::NAN, 0.0, 0.0]] {
            assert_eq!(bins.of(place), 10);
        }
        let mut energies = vec![0; 11];
        energies[3] = units(1.5_f32);
        energies[10] = units(8000.25_f64);
        let deposits = Deposits::new(grid, energies);
        assert_eq!((deposits.energies()[3], deposits.beyond(), deposits.total()), (1.5, 8000.25, 8001.75));
        for wrong in [Grid { r: [-1.0, 1.0], ..grid }, Grid { z: [1.0, 1.0], ..grid }, Grid { bins: [0, 3], ..grid }] {
            assert!(wrong.check().is_err());
        }
    }
}
