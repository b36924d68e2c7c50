//! The rank of three bins.

use super::engine::ReferenceEngine;
use super::histograms::Histogram;
use crate::config::Ranking;
use crate::pt_weight::PtWeight;

impl ReferenceEngine {
    /// Returns the rank of the three bins from `left` on.
    pub(super) fn rank(&self, histogram: Histogram<'_>, left: usize) -> f64 {
        let sum: u64 = histogram.n[left..left + 3].iter().sum();
        match self.config.ranking {
            Ranking::Entries => sum as f64,
            Ranking::Directions => {
                let directions = |which: usize| {
                    let sectors = histogram.sectors[left..left + 3].iter().fold(0, |all, sectors| all | sectors[which]);
                    sectors.count_ones()
                };
                PtWeight::rank_of(sum, directions(0), directions(1)).into()
            }
        }
    }
}
