//! The error of z where pairs weigh by pT (`docs/physics.md`, z error). In f64 from words, so that
//! all engines have the same bits.

use crate::config::Config;
use crate::engine::records::Cluster;

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
    pub(crate) variance: f64,
    /// Number of independent measurements, of which background takes its share.
    pub(crate) independent: f64,
    /// Variance that does not average out \[mm^2\].
    pub(crate) common_variance: f64,
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
}
