//! Sums the histograms of an RoI's groups of slices, in order. Twin of `shaders/sum_histos.wgsl`, whose two stages
//! are one here.

use crate::histogram::{HistogramPair, ZSum};

pub(crate) fn sum_histos<Z: ZSum>(mut parts: Vec<HistogramPair>) -> HistogramPair {
    let mut total = parts.pop().unwrap_or_else(|| HistogramPair::new(0, 0));
    for histogram in parts.iter().rev() {
        for bin in 0..total.n.len() {
            total.n[bin] = total.n[bin].saturating_add(histogram.n[bin]);
            total.z[bin] = Z::sum(total.z[bin], histogram.z[bin]);
            total.pairs[bin] = total.pairs[bin].saturating_add(histogram.pairs[bin]);
        }
        for (all, part) in total.sectors.iter_mut().zip(&histogram.sectors) {
            all.iter_mut().zip(part).for_each(|(all, part)| *all |= part);
        }
    }
    total
}
