//! The statistics that the public mini-app prints.

use serde::Serialize;

use crate::batch::{Batch, Number};
use crate::engine::Fitted;
use crate::status::Status;

/// A mean and a standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Deviation {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, relative to the mean where the mini-app prints it so.
    pub spread: f64,
}

/// Statistics of the fitted tracks whose values are all finite, summed in f64.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// The number of tracks.
    pub tracks: u64,
    /// x, y, z and r \[cm\]: mean, and standard deviation relative to the mean.
    pub position: [Deviation; 4],
    /// (x - hit x) / hit x of the last hit, and the same for y, z and r: mean and standard
    /// deviation.
    pub residual: [Deviation; 4],
    /// The mean transverse momentum \[GeV\].
    pub pt: f64,
    /// Mean.
    pub phi: f64,
    /// Mean.
    pub theta: f64,
    /// The number of tracks with a value that is not finite.
    pub nans: u64,
    /// The number of tracks whose x, y, z or r differs from the last hit's by at least the last
    /// hit's own value.
    pub failed: u64,
    /// The number of tracks with each fault.
    pub flagged: Vec<(String, u64)>,
}

#[derive(Default)]
struct Sum {
    first: f64,
    second: f64,
}

impl Statistics {
    /// Computes the statistics of the first `tracks` tracks of a batch, event after event.
    #[must_use]
    pub fn of<T: Number>(batch: &Batch<T>, fitted: &Fitted<T>, tracks: usize) -> Self {
        let layout = fitted.layout();
        let tracks = tracks.min(layout.events * layout.tracks);
        let mut statistics = Self { tracks: tracks as u64, ..Self::default() };
        let mut sums: [Sum; 11] = Default::default();
        let mut counted = 0_u64;
        let mut residuals = 0_u64;
        let mut flagged = [0_u64; Status::NAMES.len()];
        for (event, i) in (0..tracks).map(|i| (i / layout.tracks, i % layout.tracks)) {
            let status = fitted.status(event, i);
            for (count, (flag, _)) in flagged.iter_mut().zip(Status::NAMES) {
                *count += u64::from(status.contains(flag));
            }
            let state = fitted.state(event, i);
            if !state.iter().all(|number| number.is_finite()) {
                statistics.nans += 1;
                continue;
            }
            let [x, y, z, ipt, phi, theta] = [state[0], state[1], state[2], state[3], state[4], state[5]];
            let place = [x, y, z, x.hypot(y)];
            let add = |sum: &mut Sum, value: f64| {
                sum.first += value;
                sum.second += value * value;
            };
            // A track whose 1/pt is 0 has no pt.
            if ipt == 0.0 {
                continue;
            }
            counted += 1;
            place.into_iter().chain([1.0 / ipt, phi, theta]).zip(&mut sums).for_each(|(value, sum)| add(sum, value));
            let hits = (0..layout.layers).rev().map(|layer| batch.hit(event, i, layer));
            let Some(last) = hits.into_iter().find(|hit| !hit.is_missing()) else { continue };
            let [hx, hy, hz] = last.pos;
            let hit = [hx, hy, hz, hx.hypot(hy)];
            let relative: [f64; 4] = std::array::from_fn(|n| (place[n] - hit[n]) / hit[n]);
            if !relative.iter().all(|value| value.abs() <= 1.0) {
                statistics.failed += 1;
                continue;
            }
            residuals += 1;
            relative.into_iter().zip(&mut sums[7..]).for_each(|(value, sum)| add(sum, value));
        }
        let of = |sum: &Sum, count: u64| {
            let count = count.max(1) as f64;
            let mean = sum.first / count;
            (mean, (sum.second / count - mean * mean).max(0.0).sqrt())
        };
        for (spread, sum) in statistics.position.iter_mut().zip(&sums) {
            let (mean, deviation) = of(sum, counted);
            *spread = Deviation { mean, spread: deviation / mean.abs() };
        }
        for (spread, sum) in statistics.residual.iter_mut().zip(&sums[7..]) {
            let (mean, deviation) = of(sum, residuals);
            *spread = Deviation { mean, spread: deviation };
        }
        [statistics.pt, statistics.phi, statistics.theta] = [4, 5, 6].map(|n| of(&sums[n], counted).0);
        let named = Status::NAMES.iter().zip(flagged).filter(|(_, count)| *count > 0);
        statistics.flagged = named.map(|((_, name), count)| ((*name).to_owned(), count)).collect();
        statistics
    }
}
