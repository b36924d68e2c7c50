//! Takes the highest windows of three bins, one after the other. Twin of `shaders/find_peaks.wgsl`
//! with `windows.wgsl`, `ranks/*.wgsl`, `peaks/*.wgsl` and, where an RoI has several histograms,
//! `highest_windows.wgsl`.

use crate::config::Config;
use crate::engine::records::{Background, Cluster, Peak};
use crate::histogram::{HistogramPair, MAX_COUNT, PAIR_PARTS};
use crate::pt_weight::PtWeight;
use crate::z_bins::ZBins;

/// Three neighbouring bins from `left` on.
#[derive(Clone, Copy)]
struct Window {
    /// Higher for a higher peak.
    rank: u32,
    distance: u32,
    left: u32,
}

// ranks/pt.wgsl
const CLUSTER_BINS: u32 = 2;
const CLUSTER_PARTS: u32 = (2 * CLUSTER_BINS + 1) * PAIR_PARTS;
const NEAR: u32 = 2;
const FAR: u32 = 6;

/// One call of the stage.
struct FindPeaks<'a> {
    totals: &'a mut HistogramPair,
    config: &'a Config,
    bins: u32,
    half: u32,
}

// windows.wgsl

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

    // ranks/pt.wgsl

    fn sectors(&self, which: usize, first: usize) -> u32 {
        let masks = &self.totals.sectors[which];
        (masks[first] | masks[first + 1] | masks[first + 2]).count_ones()
    }

    fn rank(&self, sum: u32, first: usize) -> u32 {
        if self.totals.sectors[0].is_empty() {
            return sum;
        }
        if sum == 0 {
            return 0;
        }
        let soft = self.sectors(0, first) + 1;
        let hard = self.sectors(1, first) + 1;
        ((f64::from(sum) + PtWeight::SCALE) as f32 * (hard * hard * hard * soft * soft) as f32).to_bits()
    }

    /// The pairs of a window of parts.
    fn cluster_in(parts: &[u32; CLUSTER_PARTS as usize], middle: u32, half: u32) -> Cluster {
        let first = middle - middle.min(half);
        let end = (middle + half + 1).min(CLUSTER_PARTS);
        let mut found = Cluster { first, ..Cluster::default() };
        for part in first..end {
            let weight = parts[part as usize];
            let i = part - first;
            found.weight += weight;
            found.sum += i * weight;
            found.squares += i * i * weight;
        }
        found
    }

    /// The part of a window's mean, rounded half up.
    fn mean_part(window: &Cluster) -> u32 {
        window.first + (2 * window.sum + window.weight) / (2 * window.weight).max(1)
    }

    fn cluster_of(&self, middle: u32) -> Cluster {
        if self.totals.sectors[0].is_empty() {
            return Cluster::default();
        }
        let mut parts = [0; CLUSTER_PARTS as usize];
        let mut sectors = [0; 2 * CLUSTER_BINS as usize + 1];
        for part in 0..CLUSTER_PARTS {
            let beyond = middle + part / PAIR_PARTS;
            if beyond < CLUSTER_BINS || beyond - CLUSTER_BINS >= self.bins {
                continue;
            }
            let bin = beyond - CLUSTER_BINS;
            let weight = self.totals.precisions[(bin * PAIR_PARTS + part % PAIR_PARTS) as usize];
            parts[part as usize] = weight.min(MAX_COUNT);
            sectors[(part / PAIR_PARTS) as usize] = self.totals.sectors[0][bin as usize];
        }
        let mut densest = 0;
        let mut most = [0; 2];
        let mut nearest = 0;
        for part in 0..CLUSTER_PARTS {
            let near = Self::cluster_in(&parts, part, NEAR).weight;
            let far = Self::cluster_in(&parts, part, FAR).weight;
            let distance = (2 * part + 1).abs_diff(CLUSTER_PARTS);
            let same = near == most[0] && far == most[1];
            if near > most[0] || (near == most[0] && far > most[1]) || (same && distance < nearest) {
                densest = part;
                most = [near, far];
                nearest = distance;
            }
        }
        let about_mean = Self::cluster_in(&parts, Self::mean_part(&Self::cluster_in(&parts, densest, NEAR)), FAR);
        let middle_part = Self::mean_part(&about_mean);
        let mut found = Self::cluster_in(&parts, middle_part, FAR);
        let last_part = (middle_part + FAR).min(CLUSTER_PARTS - 1);
        let mut mask = 0;
        for bin in found.first / PAIR_PARTS..=last_part / PAIR_PARTS {
            mask |= sectors[bin as usize];
        }
        found.directions = mask.count_ones();
        for part in parts {
            found.around += part;
        }
        found
    }

    // peaks/one.wgsl, peaks/several.wgsl

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
        let mut highest = no_window();
        for left in 0..self.bins - 2 {
            let first = self.bin_of(histogram, left);
            let window =
                Window { rank: self.rank(self.window_sum(first), first), distance: self.distance_of(left), left };
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
            let cluster = self.cluster_of(at + 1);
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
