//! Places along z where tracklets are dense, one after the other.

use pulp::{Arch, NullaryFnOnce};

use crate::engine::tracklets::exp::exp_below_0;
use crate::engine::tracklets::lanes::Eight;
use crate::engine::tracklets::places::{CLASSES, EightPlaces, Places};

/// chi2 below which a dense place takes a tracklet from others.
const TAKEN: f64 = 3.0;
/// Tracklets within so many errors make a density.
const REACH: f64 = 3.0;
/// Width of a bin of the density \[mm\], and its steps for a Gaussian's maximum of 1.
const BIN_MM: f64 = 0.05;
const STEPS: f64 = 65536.0;
/// Errors below this do not add to the height of a tracklet's density \[mm\].
const SHARPEST_MM: f64 = 0.04;
/// Bins whose maximum is kept.
const BLOCK: usize = 64;
/// The density of a bin that is not looked at again, whatever is taken out.
const CLOSED: f64 = f64::NEG_INFINITY;

/// Memory of the search for dense places.
#[derive(Debug, Default)]
pub(super) struct Density {
    /// Whole steps. Closed bins follow the last one.
    bins: Vec<f64>,
    /// The largest density of each block.
    maxima: Vec<f64>,
}

impl Density {
    /// Finds the densest place, takes its tracklets out, and repeats.
    pub(super) fn find_dense_places(&mut self, z_range: [f64; 2], places: &mut Places, found: &mut Vec<f64>) {
        Arch::new().dispatch(FindDensePlaces { density: self, z_range, places, found });
    }

    #[inline(always)]
    fn update_maxima(&mut self, from: usize, end: usize) {
        for block in from / BLOCK..end.div_ceil(BLOCK).min(self.maxima.len()) {
            let mut most = Eight::all(CLOSED);
            for bins in self.bins[block * BLOCK..(block + 1) * BLOCK].chunks_exact(Eight::LANES) {
                most = most.larger(Eight::load(bins));
            }
            self.maxima[block] = most.most();
        }
    }

    /// The densest bin, the first one of several.
    #[inline(always)]
    fn densest(&self) -> Option<usize> {
        let (mut most, mut block) = (0.0, None);
        for (number, &maximum) in self.maxima.iter().enumerate() {
            if maximum > most {
                (most, block) = (maximum, Some(number));
            }
        }
        let first = block? * BLOCK;
        self.bins[first..].iter().position(|&density| density == most).map(|bin| first + bin)
    }
}

struct FindDensePlaces<'a> {
    density: &'a mut Density,
    z_range: [f64; 2],
    places: &'a mut Places,
    found: &'a mut Vec<f64>,
}

impl NullaryFnOnce for FindDensePlaces<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { density, z_range: [z_min, z_max], places, found } = self;
        found.clear();
        let count = ((z_max - z_min) / BIN_MM).ceil() as usize + 1;
        let blocks = count.div_ceil(BLOCK);
        density.bins.clear();
        density.bins.resize(count, 0.0);
        density.bins.resize(blocks * BLOCK + Eight::LANES, CLOSED);
        density.maxima.clear();
        density.maxima.resize(blocks, 0.0);
        let axis = Axis { z_min, last: (count - 1) as f64 };
        for eight in &places.all {
            for lane in 0..Eight::LANES {
                if eight.free.0[lane] > 0.0 {
                    axis.add(&mut density.bins, eight, lane, 1.0);
                }
            }
        }
        density.update_maxima(0, count);
        while let Some(bin) = density.densest() {
            let z = mean(places, z_min + bin as f64 * BIN_MM);
            let mut taken = 0;
            let (mut low, mut high) = (count, 0);
            for class in 0..CLASSES {
                let near = places.near(class, z, TAKEN.sqrt());
                for eight in &mut places.all[near] {
                    let apart = eight.z - Eight::all(z);
                    let chi2 = apart * apart * eight.weight;
                    for lane in 0..Eight::LANES {
                        if chi2.0[lane] < TAKEN && eight.free.0[lane] > 0.0 {
                            eight.free.0[lane] = 0.0;
                            taken += 1;
                            let [first, end] = axis.add(&mut density.bins, eight, lane, -1.0);
                            (low, high) = (low.min(first), high.max(end));
                        }
                    }
                }
            }
            if taken == 0 {
                // Nothing more is found there.
                (low, high) = (bin.saturating_sub(2), (bin + 3).min(count));
                density.bins[low..high].fill(CLOSED);
            }
            density.update_maxima(low, high);
            if taken > 1 {
                found.push(z);
            }
        }
    }
}

/// The bins of the density.
struct Axis {
    z_min: f64,
    last: f64,
}

impl Axis {
    /// Adds the Gaussian of a tracklet to the density `times` times, in whole steps. Returns its
    /// bins.
    #[inline(always)]
    fn add(&self, bins: &mut [f64], eight: &EightPlaces, lane: usize, times: f64) -> [usize; 2] {
        /// Added to a number, rounds it to a whole number.
        const WHOLE: f64 = 6_755_399_441_055_744.0;
        const LANES: Eight = Eight([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let (z, error, weight) = (eight.z.0[lane], eight.error.0[lane], eight.weight.0[lane]);
        let bin = |z: f64| ((z - self.z_min) * (1.0 / BIN_MM)).clamp(0.0, self.last) as usize;
        let (first, end) = (bin(z - REACH * error), bin(z + REACH * error) + 1);
        let steps = Eight::all(STEPS / error.max(SHARPEST_MM).sqrt());
        let whole = Eight::all(WHOLE);
        for i in (first - first % Eight::LANES..end).step_by(Eight::LANES) {
            let at = Eight::all(self.z_min) + (Eight::all(i as f64) + LANES) * Eight::all(BIN_MM);
            let apart = at - Eight::all(z);
            let by = Eight::all(-0.5) * apart * apart * Eight::all(weight);
            let density = (exp_below_0(by) * steps + whole - whole) * Eight::all(times);
            let density = by.select_at_least(-0.5 * REACH * REACH, density, Eight::all(0.0));
            (Eight::load(&bins[i..]) + density).store(&mut bins[i..]);
        }
        [first, end]
    }
}

/// The mean about z of the free places within three errors.
#[inline(always)]
fn mean(places: &Places, z: f64) -> f64 {
    let (mut sum, mut total) = (Eight::all(0.0), Eight::all(0.0));
    for class in 0..CLASSES {
        for eight in &places.all[places.near(class, z, REACH)] {
            let apart = eight.z - Eight::all(z);
            let chi2 = apart * apart * eight.weight;
            let weight = chi2.select_at_least(REACH * REACH, Eight::all(0.0), eight.weight * eight.free);
            (sum, total) = (sum + weight * apart, total + weight);
        }
    }
    let total = total.sum();
    if total > 0.0 { z + sum.sum() / total } else { z }
}
