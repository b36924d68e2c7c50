//! Peaks of the histograms, and the vertices that they mean.

use std::collections::BTreeSet;

use super::engine::{FilledRoi, ReferenceEngine};
use super::histograms::Histogram;
use crate::config::{Significance, Weighting};
use crate::pt_weight::PtWeight;
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

/// A mean of z, the variance of one measurement, the number of independent measurements, and the
/// variance that does not average out.
struct Mean {
    z_mm: f64,
    variance: f64,
    measurements: f64,
    common_variance: f64,
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

    /// The rank of three bins: their sum, or by the directions of their tracks too.
    fn rank(&self, histogram: Histogram<'_>, left: usize) -> f64 {
        let sum: u64 = histogram.n[left..left + 3].iter().sum();
        if self.config.weighting == Weighting::Count {
            return sum as f64;
        }
        let directions = |which: usize| {
            let sectors = histogram.sectors[left..left + 3].iter().fold(0, |all, sectors| all | sectors[which]);
            sectors.count_ones()
        };
        PtWeight::rank_of(sum, directions(0), directions(1)).into()
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
        let Mean { z_mm, variance, measurements, common_variance } = match self.config.weighting {
            Weighting::Count => self.mean_of_entries(histogram, first_bin, bins),
            Weighting::Pt => self.mean_of_pairs(histogram, first_bin, bins),
        };
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
        }
    }

    /// The mean of the entries of three bins, weighted.
    fn mean_of_entries(&self, histogram: Histogram<'_>, first_bin: usize, bins: &ZBins) -> Mean {
        let three = first_bin..first_bin + 3;
        let weight = histogram.n[three.clone()].iter().sum::<u64>() as f64;
        let z_mm = histogram.z[three.clone()].iter().sum::<f64>() / weight;
        let mut between = 0.0;
        for bin in three {
            if histogram.n[bin] > 0 {
                let n = histogram.n[bin] as f64;
                between += n * (histogram.z[bin] / n - z_mm).powi(2);
            }
        }
        let variance = between / weight + bins.width * bins.width / 12.0;
        let measurements = weight / self.detector.track_model(&self.config).entries;
        Mean { z_mm, variance, measurements, common_variance: 0.0 }
    }

    /// The mean of the pairs where they are densest, near three bins, each with its precision
    /// (`docs/physics.md`).
    fn mean_of_pairs(&self, histogram: Histogram<'_>, first_bin: usize, bins: &ZBins) -> Mean {
        // Precisions of pairs by eighths of a bin, of five bins about the middle one of the three.
        let (low, high) = (first_bin as i64 - 1, first_bin as i64 + 3);
        let eighths = (low..=high).flat_map(|bin| {
            usize::try_from(bin).ok().and_then(|bin| histogram.eighths.get(bin)).copied().unwrap_or_default()
        });
        let counts: Vec<f64> = eighths.map(|weight| weight as f64).collect();
        let window = |middle: i64, half: i64| {
            let ends = (middle - half).max(0)..=(middle + half).min(counts.len() as i64 - 1);
            ends.map(|place| (place, counts[place as usize]))
        };
        let total = |middle: i64, half: i64| window(middle, half).map(|(_, weight)| weight).sum::<f64>();
        let mean = |middle: i64, half: i64| {
            window(middle, half).map(|(place, weight)| place as f64 * weight).sum::<f64>() / total(middle, half)
        };
        // The largest sum, then the largest sum around, then nearest to the middle.
        let density = |place: i64| (total(place, 2), total(place, 6), -(2 * place + 1 - counts.len() as i64).abs());
        let mut densest = 0;
        for place in 0..counts.len() as i64 {
            if density(place) > density(densest) {
                densest = place;
            }
        }
        let nearest = |mean: f64| (mean + 0.5).floor() as i64;
        let middle = nearest(mean(nearest(mean(densest, 2)), 6));
        let place = mean(middle, 6);
        let spread =
            window(middle, 6).map(|(at, weight)| weight * (at as f64 - place).powi(2)).sum::<f64>() / total(middle, 6);
        // A direction is a sector of phi with a soft track, in any bin of the window.
        let touched = window(middle, 6).map(|(place, _)| low + place / 8).collect::<BTreeSet<_>>().into_iter();
        let masks = touched.filter_map(|bin| histogram.sectors.get(usize::try_from(bin).ok()?));
        let directions = masks.fold(0, |all, [soft, _]| all | soft).count_ones();
        let z_mm = (low as f64 - 0.5 + bins.offset + (place + 0.5) / 8.0) * bins.width;
        let variance = (spread + 1.0 / 12.0) * (bins.width / 8.0).powi(2);
        let precision = total(middle, 6);
        let beside = counts.iter().sum::<f64>() / precision - 1.0;
        let tracks = self.detector.track_model(&self.config);
        let best_pair_mm = tracks.z_resolution_mm.unwrap_or(bins.width / 12.0f64.sqrt());
        let apart_mm = self.mean_of_entries(histogram, first_bin, bins).z_mm - z_mm;
        let wide = (self.config.beam_width_mm.powi(2) - 0.015f64.powi(2)).max(0.0);
        Mean {
            z_mm,
            variance: 0.36 * variance * (1.0 + 6.0 * beside) + 1.5 * 1.5 * wide,
            measurements: directions.into(),
            common_variance: (best_pair_mm * tracks.precision / precision).powi(2) + (0.5 * beside * apart_mm).powi(2),
        }
    }

    /// Tracks that the entries of three bins stand for, where no entry is background.
    fn tracks(&self, weight: f64, pairs: u64) -> f64 {
        let entries = if self.config.weighting == Weighting::Pt { pairs as f64 } else { weight };
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
