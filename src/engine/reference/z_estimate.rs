//! The estimate of z from a peak.

use super::engine::ReferenceEngine;
use super::histograms::Histogram;
use crate::config::ZEstimate;
use crate::engine::histogram::MAX_COUNT;
use crate::engine::records::Cluster;
use crate::z_bins::ZBins;

/// A mean of z, the variance of one measurement, the number of independent measurements, and the
/// variance that does not average out.
pub(super) struct Mean {
    pub(super) z_mm: f64,
    pub(super) variance: f64,
    pub(super) measurements: f64,
    pub(super) common_variance: f64,
}

impl ReferenceEngine {
    /// Returns the mean z of the three bins from `first_bin` on.
    pub(super) fn mean(&self, histogram: Histogram<'_>, first_bin: usize, bins: &ZBins) -> Mean {
        match self.config.z_estimate {
            ZEstimate::Mean => self.mean_of_entries(histogram, first_bin, bins),
            ZEstimate::Densest => self.mean_of_pairs(histogram, first_bin, bins),
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
        let measurements = self.tracks(weight, histogram.pairs[first_bin..first_bin + 3].iter().sum());
        Mean { z_mm, variance, measurements, common_variance: 0.0 }
    }

    /// The mean of the pairs where they are densest, near three bins, each with its precision
    /// (`docs/physics.md`).
    fn mean_of_pairs(&self, histogram: Histogram<'_>, first_bin: usize, bins: &ZBins) -> Mean {
        let mut parts = [0; Cluster::PARTS];
        let mut sectors = [0; 2 * Cluster::BINS + 1];
        // Two bins on either side of the middle one of the three.
        for (i, sectors) in sectors.iter_mut().enumerate() {
            let bin = (first_bin + 1 + i).checked_sub(Cluster::BINS).filter(|&bin| bin < histogram.n.len());
            let Some(bin) = bin else { continue };
            *sectors = histogram.sectors[bin][0];
            for (part, &precision) in parts[8 * i..].iter_mut().zip(&histogram.eighths[bin]) {
                *part = precision.min(MAX_COUNT.into()) as u32;
            }
        }
        let cluster = Cluster::densest(&parts, &sectors);
        let (z_mm, variance) = cluster.mean((first_bin + 1) as f64, bins);
        let precision = f64::from(cluster.weight);
        let beside = f64::from(cluster.around) / precision - 1.0;
        let tracks = self.detector.track_model(&self.config);
        let best_pair_mm = tracks.z_resolution_mm.unwrap_or(bins.width / 12.0f64.sqrt());
        let apart_mm = self.mean_of_entries(histogram, first_bin, bins).z_mm - z_mm;
        let wide = (self.config.beam_width_mm.powi(2) - 0.015f64.powi(2)).max(0.0);
        Mean {
            z_mm,
            variance: 0.36 * variance * (1.0 + 6.0 * beside) + 1.5 * 1.5 * wide,
            measurements: cluster.directions.into(),
            common_variance: (best_pair_mm * tracks.precision / precision).powi(2) + (0.5 * beside * apart_mm).powi(2),
        }
    }
}
