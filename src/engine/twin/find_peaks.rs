//! Takes the highest windows of three bins, one after the other. Twin of
//! `shaders/find_peaks/find_peaks.wgsl` with `find_peaks/windows.wgsl`,
//! `find_peaks/ranking/*.wgsl`, `find_peaks/peaks/*.wgsl` and, where an RoI has several histograms,
//! `find_peaks/highest_windows.wgsl`.

use crate::config::Config;
use crate::engine::histogram::{HistogramPair, PAIR_PARTS};
use crate::engine::records::{Background, Peak};
use crate::z_bins::ZBins;

/// Three neighbouring bins from `left` on.
#[derive(Clone, Copy)]
struct Window {
    /// Higher for a higher peak.
    rank: u32,
    distance: u32,
    left: u32,
}

/// One call of the stage.
struct FindPeaks<'a> {
    totals: &'a mut HistogramPair,
    config: &'a Config,
    bins: u32,
    half: u32,
}

// find_peaks/windows.wgsl

fn no_window() -> Window {
    Window { rank: 0, distance: u32::MAX, left: u32::MAX }
}

/// Whether one window is taken before another: higher, else nearer to the centre (if asked for),
/// else further left.
fn before(one: Window, other: Window) -> bool {
    if one.rank != other.rank {
        return one.rank > other.rank;
    }
    if one.distance != other.distance {
        return one.distance < other.distance;
    }
    one.left < other.left
}

impl FindPeaks<'_> {
    /// Returns the distance of a window from the middle bin; 0 if it does not count.
    fn distance_of(&self, left: u32) -> u32 {
        if self.config.prefer_central { (left + 1).abs_diff(self.half) } else { 0 }
    }

    // find_peaks/peaks/one.wgsl, find_peaks/peaks/several.wgsl

    fn histograms(&self) -> u32 {
        self.totals.n.len() as u32 / self.bins
    }

    /// The word of a bin of a histogram.
    fn bin_of(&self, histogram: u32, bin: u32) -> usize {
        (histogram * self.bins + bin) as usize
    }

    fn window_sum(&self, first: usize) -> u32 {
        let n = &self.totals.n;
        n[first] + n[first + 1] + n[first + 2]
    }

    /// The words at which the windows of all histograms begin.
    fn windows(&self) -> impl Iterator<Item = usize> {
        let (histograms, bins) = (self.histograms(), self.bins);
        (0..histograms).flat_map(move |h| (0..bins - 2).map(move |left| (h * bins + left) as usize))
    }

    /// The highest number below which there are fewer windows than `lowest`: bit by bit.
    fn threshold_of(&self, lowest: u32) -> u32 {
        /// The sum of a window, at most three times `MAX_COUNT`, has no higher bit.
        const HIGHEST_BIT: u32 = 1 << 24;
        let mut threshold = 0;
        let mut bit = HIGHEST_BIT;
        while bit != 0 {
            let below = self.windows().filter(|&first| self.window_sum(first) < threshold + bit).count();
            if below < lowest as usize {
                threshold += bit;
            }
            bit >>= 1;
        }
        threshold
    }

    /// Sums the windows below the threshold.
    fn background(&self, threshold: u32) -> Background {
        let (mut sum, mut windows) = (0u64, 0);
        for first in self.windows() {
            let window = self.window_sum(first);
            if window < threshold {
                sum += u64::from(window);
                windows += 1;
            }
        }
        Background { low: sum as u32, high: (sum >> 32) as u32, windows, threshold }
    }

    fn highest_window(&self, histogram: u32) -> Window {
        let first = self.bin_of(histogram, 0);
        let mut highest = no_window();
        for left in 0..self.bins - 2 {
            let rank = self.config.ranking.rank(self.totals, first, left as usize);
            let window = Window { rank, distance: self.distance_of(left), left };
            if before(window, highest) {
                highest = window;
            }
        }
        highest
    }

    fn take_peaks(&mut self, lowest: u32) -> Vec<Peak> {
        let histograms = self.histograms();
        // The background is all windows, the lowest windows, or not requested.
        let mut threshold = if lowest == 0 { 0 } else { u32::MAX };
        if lowest != 0 && lowest < histograms * (self.bins - 2) {
            threshold = self.threshold_of(lowest);
        }
        let mut background = if lowest == 0 { Background::default() } else { self.background(threshold) };
        let mut windows: Vec<Window> = (0..histograms).map(|h| self.highest_window(h)).collect();
        let mut peaks = Vec::new();
        for _ in 0..self.config.peaks {
            let mut highest = no_window();
            for (h, window) in (0..).zip(&windows) {
                let window = Window { left: h, ..*window };
                if before(window, highest) {
                    highest = window;
                }
            }
            if highest.rank < self.config.least_weight() {
                break;
            }
            let row = highest.left;
            let at = windows[row as usize].left;
            let first = self.bin_of(row, at);
            let cluster = self.config.z_estimate.find_cluster(self.totals, first + 1);
            let take = |words: &mut Vec<u32>| [0, 1, 2].map(|i| std::mem::take(&mut words[first + i]));
            let (n, z) = (take(&mut self.totals.n), take(&mut self.totals.z));
            // Where every weight is 1, the pairs are n.
            let pairs = if self.totals.pairs.is_empty() { n } else { take(&mut self.totals.pairs) };
            if !self.totals.precisions.is_empty() {
                let parts = PAIR_PARTS as usize;
                self.totals.precisions[first * parts..(first + 3) * parts].fill(0);
            }
            for masks in self.totals.sectors.iter_mut().filter(|masks| !masks.is_empty()) {
                take(masks);
            }
            let background = std::mem::take(&mut background);
            peaks.push(Peak { bin: at + 1, n, z, pairs, rank: highest.rank, cluster, flags: 0, background });
            windows[row as usize] = self.highest_window(row);
        }
        peaks
    }
}

/// Takes the peaks out of `totals`; the first has the background of the `lowest` windows.
pub(crate) fn find_peaks(totals: &mut HistogramPair, bins: &ZBins, config: &Config, lowest: u32) -> Vec<Peak> {
    FindPeaks { totals, config, bins: bins.bins, half: bins.half }.take_peaks(lowest)
}
