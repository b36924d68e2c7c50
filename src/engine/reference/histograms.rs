//! Histograms of z: sums of weights, of z, and of pairs.

use std::ops::Range;

use crate::z_bins::ZBins;

/// Entries by bin of z, one histogram after another.
///
/// An RoI may have thousands of histograms. They share one allocation, which is returned to the
/// system when freed; many small ones would stay with the thread.
pub struct Histograms {
    /// Bins of one histogram.
    pub(super) bins: usize,
    pub(super) n: Vec<u64>,
    pub(super) z: Vec<f64>,
    pub(super) pairs: Vec<u64>,
    /// Where weights go by pT: sectors of phi with soft and with hard tracks, one bit each.
    pub(super) sectors: Vec<[u32; 2]>,
    /// Sums of the precisions of pairs in each eighth of a bin.
    pub(super) eighths: Vec<[u64; 8]>,
}

/// One histogram of [`Histograms`].
#[derive(Clone, Copy)]
pub struct Histogram<'a> {
    /// Sums of weights.
    pub n: &'a [u64],
    /// Sums of weight times z \[mm\].
    pub z: &'a [f64],
    /// Pairs, whatever their weight.
    pub pairs: &'a [u64],
    pub(super) sectors: &'a [[u32; 2]],
    pub(super) eighths: &'a [[u64; 8]],
}

impl Histograms {
    /// Returns `count` histograms without an entry.
    pub(super) fn empty(bins: &ZBins, count: usize) -> Self {
        let bins = bins.bins as usize;
        let all = bins * count;
        Self {
            bins,
            n: vec![0; all],
            z: vec![0.0; all],
            pairs: vec![0; all],
            sectors: vec![[0; 2]; all],
            eighths: vec![[0; 8]; all],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.n.len() / self.bins
    }

    /// Returns whether there is no histogram.
    pub fn is_empty(&self) -> bool {
        self.n.is_empty()
    }

    pub(super) fn get(&self, histogram: usize) -> Histogram<'_> {
        let bins = histogram * self.bins..(histogram + 1) * self.bins;
        Histogram {
            n: &self.n[bins.clone()],
            z: &self.z[bins.clone()],
            pairs: &self.pairs[bins.clone()],
            sectors: &self.sectors[bins.clone()],
            eighths: &self.eighths[bins],
        }
    }

    /// Returns the histograms in order.
    pub fn iter(&self) -> impl Iterator<Item = Histogram<'_>> {
        (0..self.len()).map(|histogram| self.get(histogram))
    }

    /// Removes the entries of some bins of a histogram.
    pub(super) fn remove(&mut self, histogram: usize, bins: Range<usize>) {
        let bins = histogram * self.bins + bins.start..histogram * self.bins + bins.end;
        self.n[bins.clone()].fill(0);
        self.z[bins.clone()].fill(0.0);
        self.pairs[bins.clone()].fill(0);
        self.sectors[bins.clone()].fill([0; 2]);
        self.eighths[bins].fill([0; 8]);
    }
}
