//! The estimate of z from a peak, and its error (`docs/physics.md`, z error). In f64 from words, so
//! that all engines have the same bits. The shaders are `shaders/find_peaks/z_estimate/*.wgsl`.

use std::cmp::Reverse;
use std::ops::Range;

use crate::config::{Config, ZEstimate};
use crate::engine::histogram::{CompareExchange, FixedPoint, HistogramPair, MAX_COUNT, PAIR_PARTS, ZSum};
use crate::engine::records::{Cluster, Peak};
use crate::reach::TrackModel;
use crate::thesis::Accumulate;
use crate::z_bins::ZBins;

/// Variance of the mean of one direction, in units of the pairs' variance. Adjusted to simulated
/// events, as are the other numbers (lab/records/2026-11-27-errors-of-z.md).
const OF_DIRECTION: f64 = 0.36;
/// How much more it is for each unit of precision beside the window over precision inside.
const OF_PRECISION_BESIDE: f64 = 6.0;
/// Share of the distance between both means of z.
const OF_DISTANCE: f64 = 0.5;
/// z of a direction moves by so much for each mm of the vertex beside the beam.
const OF_BEAM: f64 = 1.5;

/// A mean z, and what its error consists of.
pub(crate) struct MeanZ {
    pub(crate) z_mm: f64,
    /// Variance of one measurement \[mm^2\].
    variance: f64,
    /// Number of independent measurements, of which background takes its share.
    independent: f64,
    /// Variance that does not average out \[mm^2\].
    common_variance: f64,
}

/// A peak, and what its z depends on.
pub(crate) struct PeakOfTracks<'a> {
    pub(crate) peak: &'a Peak,
    /// Number of pairs that the weights stand for.
    pub(crate) entries: f64,
    /// Square of the share of entries that is no background.
    pub(crate) share: f64,
    pub(crate) tracks: TrackModel,
}

impl ZEstimate {
    /// Returns the pairs that a peak's z is the mean of. The middle one of the peak's bins is word
    /// `middle` of the histogram.
    pub(crate) fn find_cluster(self, histogram: &HistogramPair, middle: usize) -> Cluster {
        match self {
            Self::Mean => Cluster::default(),
            Self::Densest => Cluster::find(histogram, middle),
        }
    }

    /// Returns the mean z of a peak.
    pub(crate) fn mean(
        self,
        PeakOfTracks { peak, entries, share, tracks }: &PeakOfTracks<'_>,
        bins: &ZBins,
        accumulate: Accumulate,
        beam_width_mm: f64,
    ) -> MeanZ {
        let (z_mm, variance) = peak.mean_of_entries(bins, accumulate);
        match self {
            Self::Mean => MeanZ { z_mm, variance, independent: entries * share / tracks.entries, common_variance: 0.0 },
            Self::Densest => {
                let of_pairs = peak.cluster.mean(f64::from(peak.bin), bins);
                let best_pair_mm = tracks.z_resolution_mm.unwrap_or(bins.width / 12.0f64.sqrt());
                let of_precision_1_mm = best_pair_mm * tracks.precision;
                MeanZ::of_pairs(of_pairs, z_mm, &peak.cluster, *share, of_precision_1_mm, beam_width_mm)
            }
        }
    }
}

impl MeanZ {
    /// The mean of the pairs of a cluster, and their variance \[mm^2\].
    ///
    /// `entries_z_mm` is the mean of the peak's entries, with weights by pT. `share` is the square
    /// of the share of entries that is no background. A vertex whose precisions sum up to 1 has
    /// the error `of_precision_1_mm`.
    pub(crate) fn of_pairs(
        (z_mm, variance): (f64, f64),
        entries_z_mm: f64,
        cluster: &Cluster,
        share: f64,
        of_precision_1_mm: f64,
        beam_width_mm: f64,
    ) -> Self {
        let precision = f64::from(cluster.weight);
        // Precision beside the window shows that pairs of other vertices are inside.
        let beside = f64::from(cluster.around.saturating_sub(cluster.weight)) / precision;
        // Simulated events have a beam of BEAM_WIDTH_MM, so that their numbers contain it.
        let beam = (beam_width_mm * beam_width_mm - Config::BEAM_WIDTH_MM * Config::BEAM_WIDTH_MM).max(0.0);
        let imprecise = of_precision_1_mm / precision;
        let distance = OF_DISTANCE * beside * (entries_z_mm - z_mm);
        Self {
            z_mm,
            variance: OF_DIRECTION * variance * (1.0 + OF_PRECISION_BESIDE * beside) + OF_BEAM * OF_BEAM * beam,
            independent: f64::from(cluster.directions) * share,
            common_variance: imprecise * imprecise + distance * distance,
        }
    }

    /// The error of the mean \[mm\].
    pub(crate) fn error_mm(&self) -> f64 {
        (self.variance / self.independent.max(1.0) + self.common_variance).sqrt()
    }
}

impl Cluster {
    /// Bins on either side of the middle one.
    pub(crate) const BINS: usize = 2;
    /// Parts in those bins.
    pub(crate) const PARTS: usize = (2 * Self::BINS + 1) * PAIR_PARTS as usize;
    /// Parts on either side of the middle one of the first window, and of the next ones.
    const NEAR: usize = 2;
    const FAR: usize = 6;

    /// Returns the densest pairs near the peak with this middle bin of the only histogram.
    fn find(histogram: &HistogramPair, middle: usize) -> Self {
        let each = PAIR_PARTS as usize;
        let mut parts = [0; Self::PARTS];
        // Bins beyond the histogram are empty.
        let (skipped, first_bin) = (Self::BINS.saturating_sub(middle), middle.saturating_sub(Self::BINS));
        let there = &histogram.precisions[first_bin * each..];
        for (part, &precisions) in parts[skipped * each..].iter_mut().zip(there) {
            // So that sums of squares fit into a word.
            *part = precisions.min(MAX_COUNT);
        }

        let mut sectors = [0; Self::PARTS / PAIR_PARTS as usize];
        let soft = &histogram.sectors[0][first_bin..];
        sectors[skipped..].iter_mut().zip(soft).for_each(|(own, there)| *own = *there);
        Self::densest(&parts, &sectors)
    }

    /// Returns the densest pairs in five bins: sums of precisions in each part, and sectors with
    /// soft tracks in each bin.
    pub(crate) fn densest(parts: &[u32; Self::PARTS], sectors: &[u32; 2 * Self::BINS + 1]) -> Self {
        let each = PAIR_PARTS as usize;
        let window = |middle: usize, half: usize| middle.saturating_sub(half)..(middle + half + 1).min(Self::PARTS);
        let weight_in = |window: Range<usize>| parts[window].iter().sum::<u32>();
        let density = |part: usize| {
            let from_middle = (2 * part + 1).abs_diff(Self::PARTS);
            (
                weight_in(window(part, Self::NEAR)),
                weight_in(window(part, Self::FAR)),
                Reverse(from_middle),
                Reverse(part),
            )
        };
        let densest = (0..Self::PARTS).max_by_key(|&part| density(part)).unwrap_or_default();
        let about_mean = |range: Range<usize>| window(Self::in_window(parts, range).mean_part(), Self::FAR);
        let range = about_mean(about_mean(window(densest, Self::NEAR)));
        let bins = range.start / each..(range.end - 1) / each + 1;
        let mut found = Self::in_window(parts, range);
        found.directions = sectors[bins].iter().fold(0, |all, mask| all | mask).count_ones();
        found.around = parts.iter().sum();
        found
    }

    fn in_window(parts: &[u32; Self::PARTS], window: Range<usize>) -> Self {
        let mut found = Self { first: window.start as u32, ..Self::default() };
        for (i, &weight) in (0..).zip(&parts[window]) {
            found.weight += weight;
            found.sum += i * weight;
            found.squares += i * i * weight;
        }
        found
    }

    /// The part that the mean lies in, rounded half up.
    fn mean_part(&self) -> usize {
        (self.first + (2 * self.sum + self.weight) / (2 * self.weight).max(1)) as usize
    }

    /// Mean z \[mm\], and its variance \[mm^2\], about the bin `middle`.
    pub(crate) fn mean(&self, middle: f64, bins: &ZBins) -> (f64, f64) {
        let (weight, parts) = (f64::from(self.weight), f64::from(PAIR_PARTS));
        let mean = f64::from(self.sum) / weight;
        // Within a part, pairs are taken to be spread evenly.
        let variance = f64::from(self.squares) / weight - mean * mean + 1.0 / 12.0;
        let offset = (f64::from(self.first) + mean + 0.5) / parts - (Self::BINS as f64 + 0.5);
        ((middle + bins.offset + offset) * bins.width, variance * (bins.width / parts).powi(2))
    }
}

impl Peak {
    /// The mean z \[mm\] of the entries in the three bins, and its variance \[mm^2\].
    fn mean_of_entries(&self, bins: &ZBins, accumulate: Accumulate) -> (f64, f64) {
        let z_mm = match accumulate {
            Accumulate::Fixed => FixedPoint::z_mm,
            Accumulate::CompareExchange => CompareExchange::z_mm,
        };
        let n: f64 = self.n.iter().map(|&n| f64::from(n)).sum();
        let z = [0, 1, 2].map(|i| z_mm(self.z[i], self.n[i], f64::from(self.bin) + i as f64 - 1.0, bins));
        let mean = z.iter().sum::<f64>() / n;
        let apart = |(&n, z): (&u32, &f64)| if n == 0 { 0.0 } else { f64::from(n) * (z / f64::from(n) - mean).powi(2) };
        let between: f64 = self.n.iter().zip(&z).map(apart).sum();
        // Within a bin entries are taken to be spread evenly.
        (mean, between / n + bins.width * bins.width / 12.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(cluster: &Cluster, entries_z_mm: f64, beam_width_mm: f64) -> f64 {
        let of_precision_1_mm = 0.018 * 59.0;
        MeanZ::of_pairs((10.0, 0.0025), entries_z_mm, cluster, 1.0, of_precision_1_mm, beam_width_mm).error_mm()
    }

    /// By hand from the form in docs/physics.md.
    #[test]
    fn errors_follow_the_published_form() {
        let cluster = Cluster { weight: 118, around: 118, directions: 3, ..Cluster::default() };
        let usual = (0.36f64 * 0.0025 / 3.0 + 0.009 * 0.009).sqrt();
        approx::assert_relative_eq!(error(&cluster, 10.2, 0.015), usual, max_relative = 1e-12);
        assert_eq!(error(&cluster, 10.2, 0.0), error(&cluster, 10.2, 0.015));
        let wide = (usual * usual + 2.25 * (0.05 * 0.05 - 0.015 * 0.015) / 3.0).sqrt();
        approx::assert_relative_eq!(error(&cluster, 10.2, 0.05), wide, max_relative = 1e-12);
        let mixed = Cluster { around: 177, ..cluster };
        let wanted = (0.36f64 * 0.0025 * 4.0 / 3.0 + 0.009 * 0.009 + 0.05 * 0.05).sqrt();
        approx::assert_relative_eq!(error(&mixed, 10.2, 0.015), wanted, max_relative = 1e-12);
        // Half of four directions are independent.
        let four = Cluster { directions: 4, ..cluster };
        let half = MeanZ::of_pairs((10.0, 0.0025), 10.2, &four, 0.5, 0.018 * 59.0, 0.015).error_mm();
        let wanted = (0.36f64 * 0.0025 / 2.0 + 0.009 * 0.009).sqrt();
        approx::assert_relative_eq!(half, wanted, max_relative = 1e-12);
    }

    /// The densest window by the definition in docs/physics.md, in f64: an independent form.
    #[test]
    fn the_densest_pairs_are_those_of_the_definition() {
        let rng = &mut fastrand::Rng::with_seed(31);
        for round in 0..3000 {
            let most = [2, 3, 40, 5000][round % 4];
            let parts: [u32; Cluster::PARTS] = std::array::from_fn(|_| rng.u32(0..most));
            let sectors: [u32; 5] = std::array::from_fn(|_| 1 << rng.u32(0..24));
            let window = |middle: i64, half: i64| {
                let ends = (middle - half).max(0)..=(middle + half).min(parts.len() as i64 - 1);
                ends.map(|place| (place, f64::from(parts[place as usize])))
            };
            let total = |middle: i64, half: i64| window(middle, half).map(|(_, weight)| weight).sum::<f64>();
            let mean = |middle: i64, half: i64| {
                window(middle, half).map(|(place, weight)| place as f64 * weight).sum::<f64>() / total(middle, half)
            };
            let density = |place: i64| (total(place, 2), total(place, 6), -(2 * place + 1 - parts.len() as i64).abs());
            let mut densest = 0;
            for place in 0..parts.len() as i64 {
                if density(place) > density(densest) {
                    densest = place;
                }
            }
            if total(densest, 2) == 0.0 {
                continue;
            }
            let nearest = |mean: f64| (mean + 0.5).floor() as i64;
            let middle = nearest(mean(nearest(mean(densest, 2)), 6));
            let bins: std::collections::BTreeSet<i64> = window(middle, 6).map(|(place, _)| place / 8).collect();
            let directions = bins.iter().fold(0, |all, &bin| all | sectors[bin as usize]).count_ones();

            let found = Cluster::densest(&parts, &sectors);
            assert_eq!(i64::from(found.first), (middle - 6).max(0), "{parts:?}");
            assert_eq!(f64::from(found.weight), total(middle, 6), "{parts:?}");
            assert_eq!(found.directions, directions, "{parts:?}");
            assert_eq!(found.around, parts.iter().sum::<u32>(), "{parts:?}");
            let place = f64::from(found.first) + f64::from(found.sum) / f64::from(found.weight);
            approx::assert_abs_diff_eq!(place, mean(middle, 6), epsilon = 1e-9);
        }
    }
}
