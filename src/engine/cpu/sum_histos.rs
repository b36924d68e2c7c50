//! Sums the histograms of an RoI's groups of slices, in order, and tells n from z. Twin of `shaders/sum_histos.wgsl`,
//! whose two stages are one here.

use pulp::{Arch, NullaryFnOnce};

use crate::engine::cpu::packed_histogram::PackedHistogram;
use crate::histogram::{HistogramPair, ZSum};

/// Into memory that is there already, if there is enough.
pub(crate) fn sum_histos<'a, Z: ZSum>(parts: impl IntoIterator<Item = &'a PackedHistogram>, total: &mut HistogramPair) {
    let HistogramPair { n, z, pairs, sectors } = total;
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return };
    n.resize(first.words.len(), 0);
    z.resize(first.words.len(), 0);
    Arch::new().dispatch(Unpack { words: &first.words, n, z });
    pairs.clone_from(&first.pairs);
    sectors.clone_from(&first.sectors);
    for part in parts {
        for (bin, &word) in part.words.iter().enumerate() {
            n[bin] = n[bin].saturating_add((word >> 32) as u32);
            z[bin] = Z::sum(z[bin], word as u32);
        }
        pairs.iter_mut().zip(&part.pairs).for_each(|(all, part)| *all = all.saturating_add(*part));
        for (all, part) in sectors.iter_mut().zip(&part.sectors) {
            all.iter_mut().zip(part).for_each(|(all, part)| *all |= part);
        }
    }
}

/// Tells n from z, in vectors.
struct Unpack<'a> {
    words: &'a [u64],
    n: &'a mut [u32],
    z: &'a mut [u32],
}

impl NullaryFnOnce for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for ((word, n), z) in self.words.iter().zip(self.n).zip(self.z) {
            (*n, *z) = ((word >> 32) as u32, *word as u32);
        }
    }
}
