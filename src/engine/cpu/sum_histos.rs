//! Sums the histograms of an RoI's groups of slices, in order. Twin of `shaders/sum_histos.wgsl`, whose two stages
//! are one here.

use crate::histogram::{HistogramPair, ZSum};

pub(crate) fn sum_histos<Z: ZSum>(histograms: &[HistogramPair], bins: u32) -> HistogramPair {
    let mut total = HistogramPair::new(bins);
    for histogram in histograms {
        for bin in 0..bins as usize {
            total.n[bin] = total.n[bin].saturating_add(histogram.n[bin]);
            total.z[bin] = Z::sum(total.z[bin], histogram.z[bin]);
        }
    }
    total
}
