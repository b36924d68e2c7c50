//! The pair of histograms (nHisto, zHisto), the two ways to sum z, and what a peak in them means.
//!
//! Words are 32 bits and mean the same on CPU and GPU. nHisto counts weights. zHisto holds, by
//! [`Accumulate`](crate::thesis::Accumulate), either the sum of offsets within the bin in fixed
//! point ([`FixedPoint`], shader `find_z/accumulate/fixed_point.wgsl`) or the bits of an f32 sum of
//! z ([`CompareExchange`], shader `thesis/f32_accumulate.wgsl`).

use crate::engine::records::{Background, Cluster, Peak};
use crate::vertex::MeanBackground;
use crate::z_bins::ZBins;

/// Fixed-point steps in one bin, from its lower edge on: `OFFSET_STEPS` in
/// `shaders/shared/types.wgsl`. A bin of 0.2 mm has steps of 0.2 um, far below any resolution.
pub(crate) const OFFSET_STEPS: u32 = 1024;

/// Largest count of a bin whose sum of offsets cannot overflow a word. More is reported, never
/// wrapped.
pub(crate) const MAX_COUNT: u32 = u32::MAX / OFFSET_STEPS;

/// Equal parts of a bin in which precisions of pairs are summed where weights go by pT:
/// `PAIR_PARTS` in `shaders/shared/histograms.wgsl`.
pub(crate) const PAIR_PARTS: u32 = 8;

/// Steps in such a part.
pub(crate) const PART_STEPS: u32 = OFFSET_STEPS / PAIR_PARTS;

/// nHisto and zHisto of one RoI or a part of it: bin by bin, one histogram after the other where
/// there are several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistogramPair {
    pub(crate) n: Vec<u32>,
    pub(crate) z: Vec<u32>,
    /// Pairs, whatever their weight; empty where it is 1, so that they are n.
    pub(crate) pairs: Vec<u32>,
    /// Where weights go by pT: sums of the pairs' precisions, [`PAIR_PARTS`] words a bin; empty
    /// elsewhere.
    pub(crate) precisions: Vec<u32>,
    /// With weights by pT: sectors of phi with soft and with hard tracks, a bit each; empty
    /// elsewhere.
    pub(crate) sectors: [Vec<u32>; 2],
}

impl HistogramPair {
    /// So many histograms, all zero.
    pub(crate) fn new(histograms: u32, bins: u32) -> Self {
        let words = histograms as usize * bins as usize;
        let [n, z, pairs] = [0; 3].map(|zero| vec![zero; words]);
        Self { n, z, pairs, precisions: Vec::new(), sectors: [const { Vec::new() }; 2] }
    }

    /// Whether a count is beyond what its words can hold exactly.
    pub(crate) fn overflows(&self) -> bool {
        self.n.iter().any(|&n| n > MAX_COUNT)
    }
}

/// How zHisto's words are summed.
pub(crate) trait ZSum {
    /// The word `sum` after an entry of this weight at `z` \[mm\], so many steps above its bin's
    /// lower edge.
    fn accumulate(sum: u32, weight: u32, z: f32, steps: u32) -> u32;
    /// The word of two sums together.
    fn sum(a: u32, b: u32) -> u32;
    /// Sum of z \[mm\] of `n` entries of bin `bin` whose word is `sum`.
    fn z_mm(sum: u32, n: u32, bin: f64, bins: &ZBins) -> f64;
}

/// Integers: exact, whatever the order.
pub(crate) struct FixedPoint;

impl ZSum for FixedPoint {
    fn accumulate(sum: u32, weight: u32, _z: f32, steps: u32) -> u32 {
        sum.wrapping_add(weight.wrapping_mul(steps))
    }

    fn sum(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    fn z_mm(sum: u32, n: u32, bin: f64, bins: &ZBins) -> f64 {
        // An entry lies half a step above the whole number of steps that stands for it, on average.
        let offsets = (f64::from(sum) + 0.5 * f64::from(n)) / f64::from(OFFSET_STEPS) - 0.5 * f64::from(n);
        (f64::from(n) * (bin + bins.offset) + offsets) * bins.width
    }
}

/// f32 sums, as the thesis has them.
pub(crate) struct CompareExchange;

impl ZSum for CompareExchange {
    fn accumulate(sum: u32, weight: u32, z: f32, _steps: u32) -> u32 {
        (f32::from_bits(sum) + weight as f32 * z).to_bits()
    }

    fn sum(a: u32, b: u32) -> u32 {
        (f32::from_bits(a) + f32::from_bits(b)).to_bits()
    }

    fn z_mm(sum: u32, _n: u32, _bin: f64, _bins: &ZBins) -> f64 {
        f64::from(f32::from_bits(sum))
    }
}

/// Sums of windows that are counted, from 0 on.
const COUNTED: usize = 1024;

/// All entries of a histogram, added in vectors.
struct EntrySum<'a>(&'a [u32]);

impl pulp::NullaryFnOnce for EntrySum<'_> {
    type Output = u64;

    #[inline(always)]
    fn call(self) -> u64 {
        let mut sum = 0;
        for &n in self.0 {
            sum += u64::from(n);
        }
        sum
    }
}

impl Background {
    /// Of the `lowest` windows, of which there is one at least, of histograms of so many bins; all
    /// of them if there are no more. `sums` is memory.
    pub(crate) fn measure(histogram: &HistogramPair, bins: u32, lowest: u32, sums: &mut Vec<u32>) -> Self {
        let histograms = histogram.n.chunks(bins as usize);
        if lowest as usize >= histograms.len() * (bins as usize - 2) {
            // Each bin is in three windows, except at the ends.
            let arch = pulp::Arch::new();
            let mut sum = 0;
            for n in histograms {
                let (first, last) = (u64::from(n[0]), u64::from(n[n.len() - 1]));
                let beside = u64::from(n[1]) + u64::from(n[n.len() - 2]);
                sum += 3 * arch.dispatch(EntrySum(n)) - 2 * (first + last) - beside;
            }
            return Self { low: sum as u32, high: (sum >> 32) as u32, windows: lowest, threshold: u32::MAX };
        }
        // Most sums are small. Small sums are counted; large sums are scanned.
        let mut counts = [0u32; COUNTED];
        sums.clear();
        for n in histograms {
            for n in n.windows(3) {
                let sum = n[0] + n[1] + n[2];
                match counts.get_mut(sum as usize) {
                    Some(count) => *count += 1,
                    None => sums.push(sum),
                }
            }
        }
        let (mut windows, mut sum) = (0, 0);
        for (threshold, &count) in counts.iter().enumerate() {
            if windows + count >= lowest {
                return Self { low: sum as u32, high: (sum >> 32) as u32, windows, threshold: threshold as u32 };
            }
            windows += count;
            sum += u64::from(count) * threshold as u64;
        }
        let threshold = *sums.select_nth_unstable((lowest - windows) as usize - 1).1;
        for &below in sums.iter().filter(|&&sum| sum < threshold) {
            windows += 1;
            sum += u64::from(below);
        }
        Self { low: sum as u32, high: (sum >> 32) as u32, windows, threshold }
    }

    /// The mean of the `lowest` of all windows; none without a window.
    pub(crate) fn mean(&self, lowest: u32, all_windows: u32) -> Option<MeanBackground> {
        let below = f64::from(self.high) * 2.0f64.powi(32) + f64::from(self.low);
        let others = f64::from(lowest.saturating_sub(self.windows)) * f64::from(self.threshold);
        (lowest > 0).then(|| MeanBackground {
            entries: (below + others) / f64::from(lowest),
            windows: lowest,
            all_windows,
        })
    }
}

impl Peak {
    /// The `bin` of a place where no peak was found.
    pub(crate) const NONE: u32 = u32::MAX;

    /// Takes three neighbouring bins of this rank out of a histogram: from `left` on, which is word
    /// `at` of all histograms.
    pub(crate) fn take(histogram: &mut HistogramPair, cluster: Cluster, rank: u32, left: u32, at: usize) -> Self {
        let take = |words: &mut [u32]| {
            let taken = [words[at], words[at + 1], words[at + 2]];
            words[at..at + 3].fill(0);
            taken
        };
        let (n, z) = (take(&mut histogram.n), take(&mut histogram.z));
        let pairs = if histogram.pairs.is_empty() { n } else { take(&mut histogram.pairs) };
        if !histogram.precisions.is_empty() {
            histogram.precisions[at * PAIR_PARTS as usize..(at + 3) * PAIR_PARTS as usize].fill(0);
        }
        for masks in histogram.sectors.iter_mut().filter(|masks| !masks.is_empty()) {
            take(masks);
        }
        Self { bin: left + 1, n, z, pairs, rank, cluster, flags: 0, background: Background::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries at known z come back as their mean, from either sum.
    #[test]
    fn the_fullest_bin_does_not_wrap() {
        assert!(MAX_COUNT.checked_mul(OFFSET_STEPS).is_some());
        let word = FixedPoint::accumulate(0, MAX_COUNT, 0.0, OFFSET_STEPS - 1);
        assert_eq!(word, MAX_COUNT * (OFFSET_STEPS - 1));
        let bins = ZBins::new((-200.0, 200.0), 0.2).expect("valid");
        let z = FixedPoint::z_mm(word, MAX_COUNT, 1000.0, &bins) / f64::from(MAX_COUNT);
        approx::assert_abs_diff_eq!(z, 0.1 - 0.1 / 1024.0, epsilon = 1e-9);
    }
}
