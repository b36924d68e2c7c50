//! How good fits are: pulls against the truth, and chi2.

use std::f64::consts::{PI, TAU};

use serde::Serialize;

use crate::batch::{Number, PARAMETERS, STATE};
use crate::engine::{Fitted, Mode};
use crate::statistics::Deviation;

/// The number of pulls of a track.
pub const PULLS: usize = 5;
/// The names of the pulls: the position across the direction from the beam, z (on a disk the
/// radius), 1/pt, phi and theta.
pub const PULL_NAMES: [&str; PULLS] = ["across", "z", "1/pt", "phi", "theta"];

/// Returns the pulls of a fitted state: (fitted - true) / error, in the order of [`PULL_NAMES`].
///
/// Both states lie at one radius, so that the position has an error across the direction from the
/// beam and along the beam only. If both lie on one disk, the variance of z is 0, and the second
/// pull is the pull of the radius. A pull is not finite if its variance is not above zero.
#[must_use]
pub fn pulls(state: &[f64; STATE], truth: &[f64; PARAMETERS]) -> [f64; PULLS] {
    let [x, y] = [truth[0], truth[1]];
    let radius = x.hypot(y);
    let (sin, cos) = (y / radius, x / radius);
    let across = cos * (state[1] - y) - sin * (state[0] - x);
    let variance = sin * sin * state[6] - 2.0 * sin * cos * state[7] + cos * cos * state[8];
    let (along, along_variance) = match state[11] == 0.0 {
        true => (
            cos * (state[0] - x) + sin * (state[1] - y),
            cos * cos * state[6] + 2.0 * sin * cos * state[7] + sin * sin * state[8],
        ),
        false => (state[2] - truth[2], state[11]),
    };
    let phi = (state[4] - truth[4] + PI).rem_euclid(TAU) - PI;
    let off = [across, along, state[3] - truth[3], phi, state[5] - truth[5]];
    let variances = [variance, along_variance, state[15], state[20], state[26]];
    std::array::from_fn(|n| off[n] / variances[n].sqrt())
}

/// The quality of the fits of tracks without a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// The number of sound tracks.
    pub tracks: u64,
    /// The mean number of hits of a track.
    pub hits: f64,
    /// The mean of chi2 divided by its degrees of freedom. None if chi2 was not computed.
    pub chi2_per_ndf: Option<f64>,
    /// The mean and the standard deviation of each pull, in the order of [`PULL_NAMES`]. Empty if
    /// there is no truth.
    pub pulls: Vec<Deviation>,
}

impl Quality {
    /// Computes the quality of the first tracks, event by event, for which truth is given; of
    /// `tracks` tracks if truth is empty.
    #[must_use]
    pub fn of<T: Number>(fitted: &Fitted<T>, mode: Mode, tracks: usize, truth: Option<&[[f64; PARAMETERS]]>) -> Self {
        let each = fitted.layout().tracks.max(1);
        let mut quality = Self::default();
        let (mut chi2_per_ndf, mut with_chi2) = (0.0, 0_u64);
        let mut sums = [[0.0; 2]; PULLS];
        for i in (0..tracks).filter(|i| fitted.status(i / each, i % each).is_ok()) {
            let (event, track) = (i / each, i % each);
            quality.tracks += 1;
            quality.hits += f64::from(fitted.updates(event, track));
            let ndf = degrees_of_freedom(fitted.updates(event, track), mode);
            if let Some(chi2) = fitted.chi2(event, track).filter(|_| ndf > 0) {
                chi2_per_ndf += chi2 / f64::from(ndf);
                with_chi2 += 1;
            }
            if let Some(truth) = truth.and_then(|truth| truth.get(i)) {
                for (sum, pull) in sums.iter_mut().zip(pulls(&fitted.state(event, track), truth)) {
                    sum[0] += pull;
                    sum[1] += pull * pull;
                }
            }
        }
        let count = quality.tracks.max(1) as f64;
        quality.hits /= count;
        quality.chi2_per_ndf = (with_chi2 > 0).then(|| chi2_per_ndf / with_chi2 as f64);
        if truth.is_some() {
            let deviation = |[first, second]: [f64; 2]| {
                let mean = first / count;
                Deviation { mean, spread: (second / count - mean * mean).max(0.0).sqrt() }
            };
            quality.pulls = sums.into_iter().map(deviation).collect();
        }
        quality
    }
}

/// Returns the degrees of freedom of a track's chi2: two for each update that it sums.
#[must_use]
pub fn degrees_of_freedom(updates: u32, mode: Mode) -> u32 {
    2 * if mode == Mode::SeedState { updates.min(1) } else { updates }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_is_a_difference_in_errors() {
        let truth = [3.0, 4.0, 1.0, 0.5, PI - 0.01, 1.0];
        let mut state = [0.0; STATE];
        state[..PARAMETERS].copy_from_slice(&truth);
        // 0.2 across the direction (0.6, 0.8), and over the edge of phi.
        (state[0], state[1]) = (3.0 - 0.16, 4.0 + 0.12);
        state[4] = 0.01 - PI;
        for (at, variance) in [(6, 0.01), (8, 0.01), (11, 1.0), (15, 1.0), (20, 1e-4), (26, 1.0)] {
            state[at] = variance;
        }
        let found = pulls(&state, &truth);
        for (found, wanted) in found.into_iter().zip([2.0, 0.0, 0.0, 2.0, 0.0]) {
            assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        }
        // On a disk: 0.2 across, 0.1 along the radius.
        (state[0], state[1], state[2]) = (3.0 - 0.16 + 0.06, 4.0 + 0.12 + 0.08, truth[2]);
        state[11] = 0.0;
        let [across, radius, ..] = pulls(&state, &truth);
        assert!((across - 2.0).abs() < 1e-9 && (radius - 1.0).abs() < 1e-9, "{across}, {radius}");
        assert_eq!((degrees_of_freedom(20, Mode::Sequential), degrees_of_freedom(20, Mode::SeedState)), (40, 2));
    }
}
