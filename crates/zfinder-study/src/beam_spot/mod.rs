//! The beam spot, found from spacepoints alone: position, slope and transverse width.
//!
//! A [`BeamSpotFinder`] receives RoIs one after another. It finds tracks of 1 GeV or more in the
//! innermost barrel layers, and fits the beam to their impact parameters. It needs neither vertices
//! nor an initial beam spot: the beam may be up to [`BeamSpotFinder::MOST_OFF_MM`] off the z axis.
//!
//! # Method
//!
//! 1. *Tracks.* Spacepoints on the three innermost barrel layers make a triplet if they lie on one
//!    circle and one line in r-z. If the detector has a fourth barrel layer, a spacepoint on it
//!    must confirm the triplet. Tracks share no spacepoint.
//! 2. *Vote.* A track that comes from (x, y) has the impact parameter d0 = -n · (x, y) about the z
//!    axis, where n is the unit normal of the track. In the plane of x and y this is a line. The
//!    beam is where most lines meet.
//! 3. *Purity.* Combinations of spacepoints that are no particle are as frequent 1 to 3 mm from the
//!    beam as at the beam. The share of tracks from the beam is measured for each number of
//!    neighbours in z. Tracks with a share below a half are left out. All other tracks weigh by it.
//! 4. *Fit.* A least squares fit of d0 in position and slope, iterated with rejection at four
//!    standard deviations. The standard deviation is estimated from the median of |d0| of tracks of
//!    similar curvature. The slope is fitted if vertices at several z fix it within 0.001. Else the
//!    configuration's slope holds.
//! 5. *Width.* d0 of two tracks of one vertex has the covariance width^2 cos(phi1 - phi2); errors
//!    of measurement do not contribute. Pairs of tracks that are close in z estimate it. Pairs that
//!    are further apart estimate the background of two vertices, which is subtracted.
//!
//! The result depends only on the RoIs and their order.
//!
//! ```
//! use zfinder::Config;
//! use zfinder_study::beam_spot::BeamSpotFinder;
//! use zfinder_study::simulate::Simulation;
//!
//! let sample = Simulation { rois: 200, beam_spot_mm: [0.6, -0.4], ..Simulation::lowlum() };
//! let mut config = Config::default();
//! let mut finder = BeamSpotFinder::new(&sample.geometry.detector(), &config)?;
//! for event in sample.chunks().flatten() {
//!     finder.add(&event.roi);
//! }
//! let beam = finder.fit()?;
//! assert!((beam.x_mm - 0.6).abs() < 5.0 * beam.errors.x_mm);
//! beam.apply(&mut config);
//! # Ok::<(), zfinder_study::Error>(())
//! ```

mod fit;
mod purity;
#[cfg(test)]
mod tests;
mod tracks;

use std::fmt;

use serde::{Deserialize, Serialize};
use zfinder::{Config, Detector, RoiView};

use crate::error::Result;
use fit::Assumed;
use tracks::{Track, TrackFinder};

/// Position, slope and width of the beam.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeamSpot {
    /// x at z = 0 \[mm\], rounded to 0.1 um.
    pub x_mm: f64,
    /// y at z = 0 \[mm\], rounded to 0.1 um.
    pub y_mm: f64,
    /// Slope in x, rounded to 1e-7; the configuration's if it was not fitted.
    pub dx_dz: f64,
    /// Slope in y, rounded to 1e-7; the configuration's if it was not fitted.
    pub dy_dz: f64,
    /// Standard deviation of vertices about the beam in x and in y, assumed equal \[mm\]. 0 if
    /// tracks of one vertex are no closer together than tracks of different vertices, or if it was
    /// not measured.
    pub width_mm: f64,
    /// Standard errors.
    pub errors: BeamSpotErrors,
    /// Number of tracks in the fit.
    pub tracks: u64,
}

/// Standard errors of a [`BeamSpot`]. Correlated errors of the tracks of one vertex are included.
/// So is the width of the beam, because one vertex shows the beam no better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeamSpotErrors {
    /// Of x \[mm\].
    pub x_mm: f64,
    /// Of y \[mm\].
    pub y_mm: f64,
    /// Of the slope in x. None if the slope was not fitted, because one z does not fix a slope.
    pub dx_dz: Option<f64>,
    /// Of the slope in y. None if the slope was not fitted.
    pub dy_dz: Option<f64>,
    /// Of the width \[mm\]; None if too few vertices have two tracks.
    pub width_mm: Option<f64>,
}

impl BeamSpot {
    /// Sets the beam of a configuration: position, slope, and the width if it is known.
    pub fn apply(&self, config: &mut Config) {
        config.beam_spot_mm = [self.x_mm, self.y_mm];
        config.beam_spot_tilt = [self.dx_dz, self.dy_dz];
        if self.errors.width_mm.is_some() {
            config.beam_width_mm = self.width_mm;
        }
    }
}

impl fmt::Display for BeamSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { x_mm, y_mm, dx_dz, dy_dz, width_mm, errors, tracks } = self;
        write!(f, "x {x_mm} +- {:.4} mm, y {y_mm} +- {:.4} mm", errors.x_mm, errors.y_mm)?;
        match (errors.dx_dz, errors.dy_dz) {
            (Some(dx), Some(dy)) => write!(f, ", slopes {dx_dz:e} +- {dx:.1e} and {dy_dz:e} +- {dy:.1e}")?,
            _ => write!(f, ", slopes {dx_dz:e} and {dy_dz:e} not fitted: one z does not fix a slope")?,
        }
        if let Some(error) = errors.width_mm {
            write!(f, ", width {width_mm:.4} +- {error:.4} mm")?;
        }
        write!(f, ", from {tracks} tracks")
    }
}

/// Finds the beam spot from RoIs; see the [module](self).
#[derive(Clone, Debug)]
pub struct BeamSpotFinder {
    tracks: TrackFinder,
    found: Vec<Track>,
    rois: u32,
    assumed: Assumed,
}

impl BeamSpotFinder {
    /// Fewest tracks that a fit needs.
    pub const LEAST_TRACKS: usize = 50;
    /// Largest distance between z axis and beam \[mm\].
    pub const MOST_OFF_MM: f64 = 10.0;

    /// Makes a finder for this detector, in the field and range of z of this configuration. The
    /// configuration's beam position is not used. Its slope and its width hold where the tracks do
    /// not determine them.
    ///
    /// # Errors
    /// [`Error::FewBarrels`](crate::Error::FewBarrels): the detector has fewer than three barrel
    /// layers.
    pub fn new(detector: &Detector, config: &Config) -> Result<Self> {
        let assumed = Assumed { slope: config.beam_spot_tilt, width_mm: config.beam_width_mm };
        Ok(Self { tracks: TrackFinder::new(detector, config)?, found: Vec::new(), rois: 0, assumed })
    }

    /// Adds the tracks of an RoI. Spacepoints outside its window are ignored. A track in two
    /// overlapping RoIs counts twice.
    pub fn add<'a>(&mut self, roi: impl Into<RoiView<'a>>) {
        self.tracks.find(roi.into(), self.rois, &mut self.found);
        self.rois += 1;
    }

    /// Returns the number of tracks so far, including tracks that do not come from the beam.
    pub fn tracks(&self) -> usize {
        self.found.len()
    }

    /// Fits the beam spot to the tracks so far.
    ///
    /// # Errors
    /// - [`Error::FewTracks`](crate::Error::FewTracks): fewer than [`BeamSpotFinder::LEAST_TRACKS`]
    ///   tracks come from one beam.
    /// - [`Error::UncertainBeamSpot`](crate::Error::UncertainBeamSpot): the error of the position
    ///   exceeds 0.2 mm, for example because all tracks have one direction.
    pub fn fit(&self) -> Result<BeamSpot> {
        fit::beam_spot(&self.found, &self.tracks, self.rois as usize, &self.assumed)
    }
}
