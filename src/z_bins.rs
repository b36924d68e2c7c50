//! The bins of z of an RoI.

use crate::error::{Error, Result};

/// How z is binned for one RoI (specification, section 2, Histograms).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ZBins {
    pub(crate) z_min: f64,
    pub(crate) z_max: f64,
    /// Width of a bin \[mm\].
    pub(crate) width: f64,
    /// floor(z_min / width): bin(z) = rint(z / width - offset).
    pub(crate) offset: f64,
    /// The bin in the middle of the range.
    pub(crate) half: u32,
    /// 2 * half + 1, and one more where rounding at z_max needs it (z_min no multiple of the
    /// width).
    pub(crate) bins: u32,
}

impl ZBins {
    /// Most bins of a histogram.
    pub(crate) const MAX_BINS: u32 = 1 << 20;

    pub(crate) fn new((z_min, z_max): (f64, f64), width: f64) -> Result<Self> {
        let refuse = |key, value: f64, reason: String| Err(Error::Config { key, value: value.to_string(), reason });
        if !(z_min.is_finite() && z_max.is_finite() && z_min < z_max) {
            return refuse("z_max_mm", z_max, format!("must be finite and above z_min_mm = {z_min}"));
        }
        if !(width.is_finite() && width > 0.0) {
            return refuse("z_bin_mm", width, "must be finite and positive, eta included".into());
        }
        let half = (0.5 * (z_max - z_min) / width).ceil();
        if 2.0 * half + 2.0 > f64::from(Self::MAX_BINS) {
            return refuse(
                "z_bin_mm",
                width,
                format!("makes more than {} bins of [{z_min}, {z_max}] mm", Self::MAX_BINS),
            );
        }
        let farthest = z_min.abs().max(z_max.abs()) / width;
        if farthest > f64::from(Self::MAX_BINS) {
            let reason = format!("puts [{z_min}, {z_max}] mm more than {} bins from z = 0", Self::MAX_BINS);
            return refuse("z_bin_mm", width, reason);
        }
        let offset = (z_min / width).floor();
        // With a margin, for the engines round in their own ways: numbers of 24 bits, some four
        // times.
        let margin = (farthest / f64::from(1 << 22)).max(1e-3);
        let last = (z_max / width - offset + 0.5 + margin).floor();
        let bins = (2.0 * half + 1.0).max(last + 1.0).max(3.0);
        Ok(Self { z_min, z_max, width, offset, half: half as u32, bins: bins as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_z_in_the_range_has_a_bin() {
        for (z_min, z_max, width) in [(-200.0, 200.0, 0.2), (-0.39, 0.41, 0.2), (-150.3, 77.7, 0.33), (10.0, 10.1, 5.0)]
        {
            let bins = ZBins::new((z_min, z_max), width).expect("valid");
            for i in 0..=10_000 {
                let z = z_min + (z_max - z_min) * f64::from(i) / 10_000.0;
                let bin = (z / width - bins.offset).round_ties_even();
                assert!(bin >= 0.0 && bin < f64::from(bins.bins), "{z} in {bins:?}");
            }
        }
        assert_eq!(ZBins::new((-200.0, 200.0), 0.2).expect("valid").bins, 2001);
    }
}
