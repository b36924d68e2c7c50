//! A vertex, and the significance of its peak.

use crate::config::Significance;

/// A vertex candidate on the beam line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Vertex {
    /// Position along the beam \[mm\]: the weighted mean z of the entries in the peak's three bins.
    /// Where pairs weigh by pT, the mean z of pairs where they are densest near the peak, weighted
    /// by the precision of their layers (`docs/physics.md`).
    pub z_mm: f64,
    /// Standard error of that mean \[mm\]: the spread of the entries over the square root of the
    /// number of tracks, one at least. The entries of a track err together; it makes two thirds of
    /// those of a track through all barrel layers, on average (`docs/physics.md`). With b of n
    /// entries being background, (n - b)^2 / n of them count. Where pairs weigh by pT, directions
    /// in phi stand for the tracks. The precision of the pairs, pairs beside the window, and the
    /// width of the beam count, too.
    pub z_error_mm: f64,
    /// Sum of the weights in the peak's three bins ([`PairWeight`](crate::config::PairWeight)).
    pub weight: f64,
    /// Pairs in the peak's three bins: the weight, unless confirming spacepoints are counted or
    /// weighted.
    pub pairs: u64,
    /// Key by which peaks are ordered: the weight, or
    /// [`PtWeight::rank`](crate::config::PtWeight::rank) of the three bins where pairs weigh by pT.
    /// The ratio of the first two ranks measures the confidence in the first vertex.
    pub rank: f64,
    /// How far the peak stands above its background, in standard deviations, when the vertex was
    /// found ([`Config::significance`](crate::Config::significance)). None without a background.
    pub significance: Option<f64>,
    /// Entries that three bins have without a vertex: the mean of the RoI's lowest windows, as
    /// [`Config::percentile`](crate::Config::percentile) says.
    pub background: Option<f64>,
    /// x \[mm\]. None without tracklets ([`Config::tracklets`](crate::Config::tracklets),
    /// [`Config::all_vertices`](crate::Config::all_vertices)).
    #[cfg_attr(feature = "serde", serde(default))]
    pub x_mm: Option<f64>,
    /// y \[mm\]. None without tracklets.
    #[cfg_attr(feature = "serde", serde(default))]
    pub y_mm: Option<f64>,
    /// Covariance of x, y and z \[mm^2\]: xx, xy, xz, yy, yz, zz. None without tracklets.
    #[cfg_attr(feature = "serde", serde(default))]
    pub covariance_mm2: Option<[f64; 6]>,
    /// Number of tracklets that belong to it more likely than not.
    #[cfg_attr(feature = "serde", serde(default))]
    pub tracklet_count: u64,
    /// Sum of the squared transverse momenta of its tracklets \[GeV^2\].
    #[cfg_attr(feature = "serde", serde(default))]
    pub sum_pt2_gev2: f64,
}

impl Vertex {
    /// Makes a vertex at this z \[mm\]. All other properties are 0 or None.
    pub fn at(z_mm: f64) -> Self {
        Self { z_mm, ..Self::default() }
    }

    /// Whether the vertex stands above its background: its significance is above 0, or unknown.
    pub fn is_significant(&self) -> bool {
        self.significance.is_none_or(|significance| significance > 0.0)
    }
}

/// The background of an RoI's peaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanBackground {
    /// Mean number of entries in three bins.
    pub entries: f64,
    /// Windows of three bins that the mean is over; neighbours overlap.
    pub windows: u32,
    /// All windows of the RoI: any of them might have been the peak.
    pub all_windows: u32,
}

impl MeanBackground {
    /// Returns the significance of a peak of `n` entries; `events` is the number of independent
    /// counts that they stand for, which is the number of tracks.
    pub(crate) fn significance(&self, form: Significance, n: f64, events: f64) -> Option<f64> {
        match form {
            Significance::Gaussian => (self.entries > 0.0).then(|| (n - self.entries) / self.entries.sqrt()),
            Significance::Poisson => {
                // An entry is in three windows: a third of them are independent.
                let independent = |windows: u32| (f64::from(windows) / 3.0).max(1.0);
                let local = li_ma(events, self.entries * (events / n), independent(self.windows));
                Some(anywhere(local, independent(self.all_windows)))
            }
        }
    }
}

/// Returns the significance of `n` counts where `b` are expected, by as many counts as `ratio` such
/// measurements had: Li and Ma, equation 17, with n_on = n, n_off = b ratio and alpha = 1 / ratio.
/// Negative for fewer counts than expected.
///
/// libm's logarithm, not the platform's: every platform has the same bits.
fn li_ma(n: f64, b: f64, ratio: f64) -> f64 {
    let excess = n - b;
    let on = n * libm::log1p(excess * ratio / (n + b * ratio));
    let off = if b > 0.0 { b * ratio * libm::log1p(excess / (b * (ratio + 1.0))) } else { 0.0 };
    // Rounding may leave less than nothing of two equal terms.
    (2.0 * (on - off)).max(0.0).sqrt().copysign(excess)
}

/// Returns the significance of the highest of so many independent windows, which has this
/// significance by itself: the asymptotic form of the probability that any of them fluctuates as
/// high, which is their number times that of one.
fn anywhere(local: f64, windows: f64) -> f64 {
    if local <= 0.0 { local } else { (local * local - 2.0 * libm::log(windows)).max(0.0).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the published form, in 30 digits.
    #[test]
    fn significance_is_that_of_li_and_ma() {
        for (n, b, ratio, wanted) in [
            (5.0, 0.5, 100.0, 3.692_731_718_567_328),
            (72.0, 1.9, 667.0, 19.478_464_998_259_705),
            (0.0625, 0.00009375, 667.0, 0.799_933_292_374_721),
            (3.0, 7.0, 12.0, -1.654_616_065_954_613_6),
        ] {
            approx::assert_relative_eq!(li_ma(n, b, ratio), wanted, max_relative = 1e-12);
        }
        assert_eq!(li_ma(4.0, 4.0, 100.0), 0.0);
        // With many counts it is the Gaussian one.
        approx::assert_relative_eq!(li_ma(10_100.0, 10_000.0, 1e9), 1.0, max_relative = 2e-3);
    }

    /// One entry over a background of almost none is no discovery.
    #[test]
    fn one_entry_is_not_significant() {
        let background = MeanBackground { entries: 3.0 / 1999.0, windows: 1999, all_windows: 1999 };
        let gaussian = background.significance(Significance::Gaussian, 1.0, 1.0).expect("a background");
        let poisson = background.significance(Significance::Poisson, 1.0, 1.0).expect("a background");
        assert!(gaussian > 25.0, "{gaussian}");
        assert_eq!(poisson, 0.0);
        // Entries of one track are one count.
        let of_a_track = background.significance(Significance::Poisson, 16.0, 1.0).expect("a background");
        assert!(of_a_track < 2.0, "{of_a_track}");
    }

    /// p of one window times their number is that of the whole: 2.866516e-7 at 5 standard
    /// deviations, 9.55e-5 of 333 windows, which is 3.73.
    #[test]
    fn significance_counts_all_windows() {
        approx::assert_relative_eq!(anywhere(5.0, 333.0), 3.73, max_relative = 0.03);
        assert_eq!(anywhere(5.0, 1.0), 5.0);
        assert_eq!(anywhere(2.0, 333.0), 0.0);
        assert_eq!(anywhere(-2.0, 333.0), -2.0);
    }

    #[test]
    fn empty_background_windows_leave_a_finite_significance() {
        let background = MeanBackground { entries: 0.0, windows: 999, all_windows: 3 };
        assert_eq!(background.significance(Significance::Gaussian, 5.0, 5.0), None);
        let poisson = background.significance(Significance::Poisson, 5.0, 5.0).expect("a background");
        approx::assert_relative_eq!(poisson, (10.0 * 334.0f64.ln()).sqrt(), max_relative = 1e-12);
    }
}
