//! The kernels as plain loops, the oracle of the tests.

use crate::batch::{SlicedBatch, SlicedRoi, around};
use crate::step::Histogram;

/// Returns z where the line through two points, each (rho, z), meets the beam.
fn extrapolate(a: [f32; 2], b: [f32; 2]) -> f32 {
    (b[1] * a[0] - a[1] * b[0]) / (a[0] - b[0])
}

/// Returns the histograms of the slice of a row, in f32: `find_z`.
#[must_use]
pub fn find_z(batch: &SlicedBatch, row: usize) -> Histogram {
    let [roi, slice] = batch.rows[row];
    let roi = &batch.rois[roi as usize];
    let mut histogram = empty(roi);
    let point = |index: usize| batch.points[index].map(|x| x as f32);
    let bins_per_mm = (1.0 / roi.bin_mm) as f32;
    for layer_a in 0..batch.layers {
        for a in batch.cell(roi, layer_a, slice..slice + 1) {
            for layer_b in layer_a + 1..batch.layers {
                for b in batch.cell(roi, layer_b, around(roi, slice)) {
                    let z = extrapolate(point(a), point(b));
                    if z > roi.z_min as f32 && z < roi.z_max as f32 {
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
pub fn sum_histos(batch: &SlicedBatch, roi: usize) -> Histogram {
    let roi = &batch.rois[roi];
    let mut sum = empty(roi);
    for row in roi.first_row..roi.first_row + roi.slices {
        let slice = find_z(batch, row as usize);
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
