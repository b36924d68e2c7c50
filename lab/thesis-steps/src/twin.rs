//! The kernels as plain loops, the oracle of the tests.

use zfinder::Config;

use crate::batch::{SlicedBatch, SlicedRoi, around};
use crate::step::{Histogram, Search};

/// Returns z where the line through two points, each (rho, z), meets the beam.
fn extrapolate(a: [f32; 2], b: [f32; 2]) -> f32 {
    (b[1] * a[0] - a[1] * b[0]) / (a[0] - b[0])
}

/// Tells whether a third spacepoint lies on the track of a pair: `confirm_triplets`.
fn has_third(batch: &SlicedBatch, config: &Config, roi: &SlicedRoi, pair: [usize; 2], layer_b: u32, z12: f32) -> bool {
    let [a, b] = pair;
    let point = |index: usize| batch.points[index].map(|x| x as f32);
    let bend = |a: usize, b: usize| {
        let (rho_a, rho_b) = (point(a)[0], point(b)[0]);
        let (phi_a, phi_b) = (batch.azimuths[a][0] as f32, batch.azimuths[b][0] as f32);
        let d = rho_a - rho_b;
        [2.0 * (phi_b - phi_a) / d, (phi_b * rho_a - phi_a * rho_b) / d]
    };
    let [k12, p12] = bend(a, b);
    let slice_b = batch.azimuths[b][1] as u32 % roi.slices;
    (layer_b + 1..batch.layers).any(|layer_c| {
        batch.cell(roi, layer_c, around(roi, slice_b)).any(|c| {
            let [k23, p23] = bend(b, c);
            (extrapolate(point(b), point(c)) - z12).abs() <= config.triplet_dz_mm as f32
                && (k23 - k12).abs() <= config.triplet_dk as f32
                && (p23 - p12).abs() < config.triplet_dp as f32
        })
    })
}

/// Returns the histograms of the slice of a row, in f32: `find_z`.
#[must_use]
pub fn find_z(batch: &SlicedBatch, row: usize, search: Search) -> Histogram {
    let [roi, slice] = batch.rows[row];
    let roi = &batch.rois[roi as usize];
    let mut histogram = empty(roi);
    let point = |index: usize| batch.points[index].map(|x| x as f32);
    let config = search.config();
    let bins_per_mm = (1.0 / roi.bin_mm) as f32;
    for layer_a in 0..batch.layers {
        for a in batch.cell(roi, layer_a, slice..slice + 1) {
            for layer_b in layer_a + 1..batch.layers {
                for b in batch.cell(roi, layer_b, around(roi, slice)) {
                    let z = extrapolate(point(a), point(b));
                    let is_confirmed = || search == Search::Pairs || has_third(batch, &config, roi, [a, b], layer_b, z);
                    if z > roi.z_min as f32 && z < roi.z_max as f32 && is_confirmed() {
                        let bin = (z * bins_per_mm - roi.offset as f32).round_ties_even() as usize;
                        let bin = bin.min(roi.bins as usize - 1);
                        histogram.n[bin] += 1;
                        histogram.z[bin] += z;
                    }
                }
            }
        }
    }
    histogram
}

/// Returns the sum of the histograms of all slices of an RoI: `sum_histos`.
#[must_use]
pub fn sum_histos(batch: &SlicedBatch, roi: usize, search: Search) -> Histogram {
    let roi = &batch.rois[roi];
    let mut sum = empty(roi);
    for row in roi.first_row..roi.first_row + roi.slices {
        let slice = find_z(batch, row as usize, search);
        for bin in 0..roi.bins as usize {
            sum.n[bin] += slice.n[bin];
            sum.z[bin] += slice.z[bin];
        }
    }
    sum
}

fn empty(roi: &SlicedRoi) -> Histogram {
    Histogram { n: vec![0; roi.bins as usize], z: vec![0.0; roi.bins as usize] }
}
