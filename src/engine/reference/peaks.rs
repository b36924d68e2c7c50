//! Peaks of the histograms, and the vertices that they mean.

use super::engine::{FilledRoi, ReferenceEngine};
use super::histograms::Histogram;
use super::z_estimate::Mean;
use crate::config::{PairWeight, Significance};
use crate::results::Status;
use crate::vertex::Vertex;
use crate::z_bins::ZBins;

/// A vertex, and the bins that it consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The vertex, as in [`RoiResult::vertices`](crate::RoiResult::vertices).
    pub vertex: Vertex,
    /// The number of its histogram in [`FilledRoi::histograms`].
    pub histogram: usize,
    /// The first of its three bins. Bins that an earlier peak had as well were empty by then.
    pub first_bin: usize,
}

/// The highest window of three bins of a histogram.
#[derive(Clone, Copy)]
struct Window {
    rank: f64,
    first_bin: usize,
    /// From the middle bin.
    distance: i64,
}

impl ReferenceEngine {
    /// Adds a vertex, or mixes it into the nearest one if that is near. Returns false if the vertex
    /// is not significant.
    fn accept(&self, peaks: &mut Vec<Peak>, peak: Peak, bins: &ZBins) -> bool {
        let new = peak.vertex;
        let mut nearest = None;
        for (i, old) in peaks.iter().enumerate() {
            let distance = (old.vertex.z_mm - new.z_mm).abs();
            if nearest.is_none_or(|(_, least)| distance < least) {
                nearest = Some((i, distance));
            }
        }
        if let Some((i, distance)) = nearest
            && (distance < self.config.vertex_separation_bins * bins.width
                || distance < new.z_mm.abs() * self.config.vertex_distance_cut)
        {
            let (mix, old) = (self.config.vertex_mixing, peaks[i].vertex);
            peaks[i].vertex = Vertex {
                z_mm: mix * new.z_mm + (1.0 - mix) * old.z_mm,
                weight: mix * new.weight + (1.0 - mix) * old.weight,
                ..old
            };
            return true;
        }
        if new.significance.is_some_and(|significance| significance < self.config.min_significance) {
            return false;
        }
        peaks.push(peak);
        true
    }

    /// Returns the entries of three bins without a vertex: the mean of the lowest windows.
    pub fn background(&self, filled: &FilledRoi) -> Option<f64> {
        let FilledRoi { bins, histograms, .. } = filled;
        if histograms.is_empty() {
            return None;
        }
        let windows = histograms.iter().flat_map(|histogram| histogram.n.windows(3));
        let mut sums: Vec<u64> = windows.map(|bins| bins.iter().sum()).collect();
        let lowest = self.config.background_windows(bins, histograms.len() as u32) as usize;
        sums.sort_unstable();
        (lowest > 0).then(|| sums[..lowest].iter().sum::<u64>() as f64 / lowest as f64)
    }

    /// Takes the peaks out of the histograms, and sets the status.
    pub fn find_peaks(&self, filled: &mut FilledRoi) -> Vec<Peak> {
        let mut peaks = Vec::new();
        if filled.histograms.is_empty() {
            return peaks;
        }
        let background = self.background(filled);
        let FilledRoi { bins, histograms, summary, .. } = filled;
        let background_windows = self.config.background_windows(bins, histograms.len() as u32);
        let all_windows = histograms.len() * (bins.bins as usize - 2);
        let mut windows: Vec<_> = histograms.iter().map(|histogram| self.highest_window(histogram, bins)).collect();
        let wanted = self.config.peaks as usize;
        // Without a significant vertex, a search by pT goes on
        // (`VertexBuilder::lacks_significance`).
        let is_significant = |peak: &Peak| peak.vertex.significance.is_none_or(|significance| significance > 0.0);
        let most = if self.config.ranks_beside_significance() { self.config.first_peaks() } else { 0 };
        let mut taken = 0;
        while peaks.len() < wanted || (taken < most && !peaks.iter().any(is_significant)) {
            taken += 1;
            let mut highest = 0;
            for (i, window) in windows.iter().enumerate() {
                if self.is_higher(window, &windows[highest]) {
                    highest = i;
                }
            }
            let first_bin = windows[highest].first_bin;
            let histogram = histograms.get(highest);
            let sum: u64 = histogram.n[first_bin..first_bin + 3].iter().sum();
            if sum < u64::from(self.config.least_weight()) {
                break;
            }
            let mut vertex = self.vertex(histogram, first_bin, bins, background);
            vertex.significance = self.significance(&vertex, background_windows, all_windows);
            if !self.accept(&mut peaks, Peak { vertex, histogram: highest, first_bin }, bins) {
                break;
            }
            histograms.remove(highest, first_bin..first_bin + 3);
            windows[highest] = self.highest_window(histograms.get(highest), bins);
        }
        let (mut peaks, insignificant): (Vec<Peak>, Vec<Peak>) = peaks.into_iter().partition(is_significant);
        peaks.extend(insignificant);
        peaks.truncate(wanted);
        summary.status = if peaks.is_empty() { Status::NoPeak } else { Status::Ok };
        peaks
    }

    /// Whether a window is higher than another one, or as high and nearer to the centre, if that
    /// counts.
    fn is_higher(&self, one: &Window, other: &Window) -> bool {
        one.rank > other.rank || (self.config.prefer_central && one.rank == other.rank && one.distance < other.distance)
    }

    fn highest_window(&self, histogram: Histogram<'_>, bins: &ZBins) -> Window {
        let mut highest = Window { rank: 0.0, first_bin: 0, distance: i64::MAX };
        for first_bin in 0..histogram.n.len() - 2 {
            let rank = self.rank(histogram, first_bin);
            let window = Window { rank, first_bin, distance: (first_bin as i64 + 1 - i64::from(bins.half)).abs() };
            if self.is_higher(&window, &highest) {
                highest = window;
            }
        }
        highest
    }

    /// The vertex of three bins.
    fn vertex(&self, histogram: Histogram<'_>, first_bin: usize, bins: &ZBins, background: Option<f64>) -> Vertex {
        let three = first_bin..first_bin + 3;
        let weight = histogram.n[three.clone()].iter().sum::<u64>() as f64;
        let pairs: u64 = histogram.pairs[three].iter().sum();
        let Mean { z_mm, variance, measurements, common_variance } = self.mean(histogram, first_bin, bins);
        let signal = weight - background.unwrap_or(0.0);
        let independent = measurements * (signal / weight).powi(2);
        let z_error_mm = (variance / independent.max(1.0) + common_variance).sqrt();
        Vertex {
            z_mm,
            z_error_mm,
            weight,
            pairs,
            rank: self.rank(histogram, first_bin),
            significance: None,
            background,
            ..Vertex::default()
        }
    }

    /// Tracks that the entries of three bins stand for, where no entry is background.
    pub(super) fn tracks(&self, weight: f64, pairs: u64) -> f64 {
        let entries = if self.config.pair_weight == PairWeight::Pt { pairs as f64 } else { weight };
        entries / self.detector.track_model(&self.config).entries
    }

    /// The significance of a vertex over the mean of so many of all windows.
    fn significance(&self, vertex: &Vertex, windows: u32, all_windows: usize) -> Option<f64> {
        let (n, b) = (vertex.weight, vertex.background?);
        if self.config.significance == Significance::Gaussian {
            return (b > 0.0).then(|| (n - b) / b.sqrt());
        }
        // Li and Ma, equation 17, of tracks. An entry is in three windows.
        let alpha = (3.0 / f64::from(windows)).min(1.0);
        let on = self.tracks(n, vertex.pairs);
        let off = on * b / n / alpha;
        let on_term = on * ((1.0 + alpha) / alpha * on / (on + off)).ln();
        let off_term = if off > 0.0 { off * ((1.0 + alpha) * off / (on + off)).ln() } else { 0.0 };
        let square = (2.0 * (on_term + off_term)).max(0.0);
        if n < b {
            return Some(-square.sqrt());
        }
        // Any of the independent windows may fluctuate.
        let independent = (all_windows as f64 / 3.0).max(1.0);
        Some((square - 2.0 * independent.ln()).max(0.0).sqrt())
    }
}
