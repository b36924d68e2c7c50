//! Sums the histograms of an RoI's groups of slices, in order, and tells n from z. Twin of
//! `shaders/sum_histos.wgsl`, whose two stages are one here.

use crate::engine::cpu::packed_histogram::PackedHistogram;
use crate::histogram::{HistogramPair, ZSum};

/// Into memory that is there already, if there is enough.
pub(crate) fn sum_histos<'a, Z: ZSum>(parts: impl IntoIterator<Item = &'a PackedHistogram>, total: &mut HistogramPair) {
    let HistogramPair { n, z, pairs, precisions, sectors } = total;
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return };
    n.resize(first.all_bins(), 0);
    z.resize(first.all_bins(), 0);
    first.unpack(0, n, z);
    pairs.clear();
    pairs.extend_from_slice(first.pairs());
    precisions.clear();
    precisions.extend_from_slice(first.precisions());
    sectors.clone_from(&first.sectors);
    for part in parts {
        part.for_blocks(|bin, more_n, more_z| {
            n[bin..].iter_mut().zip(more_n).for_each(|(n, more)| *n = n.saturating_add(*more));
            z[bin..].iter_mut().zip(more_z).for_each(|(z, more)| *z = Z::sum(*z, *more));
        });
        pairs.iter_mut().zip(part.pairs()).for_each(|(all, part)| *all = all.saturating_add(*part));
        precisions.iter_mut().zip(part.precisions()).for_each(|(all, part)| *all = all.saturating_add(*part));
        for (all, part) in sectors.iter_mut().zip(&part.sectors) {
            all.iter_mut().zip(part).for_each(|(all, part)| *all |= part);
        }
    }
}
