//! The ranks of peaks, as the CPU engine and the twins compute them. The shaders are
//! `shaders/find_peaks/ranking/*.wgsl`.

use crate::config::Ranking;
use crate::engine::histogram::HistogramPair;
use crate::pt_weight::PtWeight;

impl Ranking {
    /// Returns the rank of three bins, from bin `left` of the histogram on that begins at word
    /// `first`. Higher words are higher ranks.
    pub(crate) fn rank(self, histogram: &HistogramPair, first: usize, left: usize) -> u32 {
        let bins = first + left..first + left + 3;
        let sum = histogram.n[bins.clone()].iter().fold(0, |sum: u32, &n| sum.saturating_add(n));
        match self {
            Self::Entries => sum,
            Self::Directions => {
                let count = |masks: &[u32]| masks[bins.clone()].iter().fold(0, |all, mask| all | mask).count_ones();
                let [soft, hard] = &histogram.sectors;
                PtWeight::rank(sum, count(soft), count(hard)).to_bits()
            }
        }
    }

    /// Returns the number that a rank's word means.
    pub(crate) fn value(self, rank: u32) -> f64 {
        match self {
            Self::Entries => rank.into(),
            Self::Directions => f32::from_bits(rank).into(),
        }
    }
}
