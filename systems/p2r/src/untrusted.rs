//! Tracks whose chi2 and errors are not right.
//!
//! On cylinders the Jacobian is the mini-app's: its derivatives of the path hold where the track
//! crosses the cylinder at right angles. The error grows with the angle between track and radius,
//! and matters if the start predicts the next hit much worse than the hit is measured.

use serde::Serialize;

use crate::batch::{Batch, Hit, Number, Track};
use crate::engine::reference::CURVATURE;
use crate::engine::{Fitted, Mode};

/// The largest trusted value of w s^3: s is the sine of the angle between track and radius at the
/// outermost cylinder, and w the start's error at the next hit in errors of the hit. At this value
/// chi2/ndf was at most 1.15 for w up to 33 in 0.5 to 3.8 T. Beyond it chi2/ndf - 1 grows about as
/// w^2 s^7. The page `docs/p2r.md` has the table.
const MOST: f64 = 0.4;

/// Sound tracks whose chi2 and errors are not right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Untrusted {
    /// The number of these tracks.
    pub tracks: u64,
    /// The number of sound tracks.
    pub of: u64,
    /// The transverse momentum \[GeV\] above which tracks of the same start, hits and field are
    /// trusted; 0 if all tracks are trusted.
    pub trusted_above_gev: f64,
}

impl Untrusted {
    /// Counts the untrusted ones of the first `tracks` tracks, event by event.
    #[must_use]
    pub fn of<T: Number>(batch: &Batch<T>, fitted: &Fitted<T>, mode: Mode, tracks: usize) -> Self {
        let layout = batch.layout();
        let each = layout.tracks.max(1);
        let mut untrusted = Self::default();
        let sound = (0..tracks).map(|i| (i / each, i % each)).filter(|(event, i)| fitted.status(*event, *i).is_ok());
        for (event, i) in sound {
            untrusted.of += 1;
            let hits = (0..layout.layers).map(|layer| batch.hit(event, i, layer));
            let pt = 1.0 / fitted.state(event, i)[3].abs();
            let Some(limit) = trusted_above(&batch.track(event, i), hits, mode) else { continue };
            if pt < limit {
                untrusted.tracks += 1;
                untrusted.trusted_above_gev = untrusted.trusted_above_gev.max(limit);
            }
        }
        untrusted
    }

    /// Returns a warning, or None if all tracks are trusted.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let Self { tracks, of, trusted_above_gev } = self;
        (*tracks > 0).then(|| {
            format!(
                "{tracks} of {of} tracks bend too much for their starts: their chi2 and errors are not right, because \
                 the Jacobian on cylinders is approximate; in this field, with these starts and hits, tracks are \
                 trusted above {trusted_above_gev:.1} GeV of transverse momentum"
            )
        })
    }
}

/// Returns the transverse momentum \[GeV\] above which a track with this start and these hits is
/// trusted. None without a cylinder beyond the first hit: planes have the exact Jacobian.
fn trusted_above(start: &Track, hits: impl Iterator<Item = Hit>, mode: Mode) -> Option<f64> {
    let radius = |hit: &Hit| hit.pos[0].hypot(hit.pos[1]);
    let from = start.par[0].hypot(start.par[1]);
    let cylinders = hits.filter(|hit| !hit.is_missing() && !hit.is_on_disk());
    let mut outermost = 0.0_f64;
    // The second hit, or the last one if each layer begins at the start.
    let (mut count, mut next) = (0, None);
    for hit in cylinders {
        outermost = outermost.max(radius(&hit));
        count += 1;
        if count == 2 || mode == Mode::SeedState {
            next = Some(hit);
        }
    }
    let next = next?;
    let to = radius(&next);
    let (sin, cos) = (next.pos[1] / to, next.pos[0] / to);
    let measured = sin * sin * next.cov[0] - 2.0 * sin * cos * next.cov[1] + cos * cos * next.cov[2];
    // Across the track, of phi and of 1/pt.
    let path = to - from;
    let circle = start.charge * CURVATURE;
    let bend = path * path / (2.0 * circle);
    let [curvature, mixed, direction] = [start.cov[9], start.cov[13], start.cov[14]];
    let predicted = path * path * direction + 2.0 * path * bend * mixed + bend * bend * curvature;
    let ratio = (predicted / measured).sqrt();
    if !(ratio.is_finite() && ratio > 0.0) {
        return None;
    }
    // s = outermost / (2 circle pt).
    Some(outermost / (2.0 * circle.abs()) * (ratio / MOST).cbrt())
}
