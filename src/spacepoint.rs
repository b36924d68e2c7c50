//! Spacepoints and regions of interest.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::azimuth::rho_phi;
use crate::error::{Error, Result};

/// A measured point in the tracker, in cylindrical coordinates about the nominal beam line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacepoint {
    /// Distance from the z axis \[mm\], > 0.
    pub rho: f64,
    /// Azimuth \[rad\], at most [`Spacepoint::MAX_PHI`] from 0; taken modulo 2 pi.
    pub phi: f64,
    /// Position along the beam \[mm\].
    pub z: f64,
    /// Index of the detector layer.
    pub layer: u32,
}

impl Spacepoint {
    /// Largest |phi| \[rad\] of a valid spacepoint: 2 pi, with room for rounding to single
    /// precision. A larger number is likely in degrees.
    pub const MAX_PHI: f64 = TAU + 1e-6;

    /// From Cartesian coordinates \[mm\]. phi is in [-pi, pi] and has the same bits on every
    /// machine and through every reader of files; it differs from [`f64::atan2`] by 4e-16 of itself
    /// at most.
    pub fn from_xyz(x: f64, y: f64, z: f64, layer: u32) -> Self {
        let (rho, phi) = rho_phi(x, y);
        Self { rho, phi, z, layer }
    }
}

/// Whether a spacepoint about the beam can be used: finite, near enough that no engine's arithmetic
/// overflows, and with phi in radians.
pub(crate) fn usable(rho: f64, phi: f64, z: f64) -> bool {
    is_near(rho, z) && phi.abs() <= Spacepoint::MAX_PHI
}

/// Whether rho and z of one are such that it can be used.
#[inline(always)]
pub(crate) fn is_near(rho: f64, z: f64) -> bool {
    (LEAST_MM..=MOST_MM).contains(&rho) && z.abs() <= MOST_MM
}

const LEAST_MM: f64 = 1e-6;
const MOST_MM: f64 = 1e9;

/// Which region of which event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RoiId {
    /// Event number.
    pub event_id: u64,
    /// Number of the RoI within the event.
    pub roi_id: u64,
}

/// The range of phi that an RoI covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PhiWindow {
    /// The full circle [-pi, pi), whose ends are neighbours unless the configuration says
    /// otherwise.
    FullScan,
    /// From `phi_min` up to `phi_max` \[rad\]; covers +-pi when `phi_min > phi_max`. Made by
    /// [`PhiWindow::new`].
    Range {
        /// Lower edge \[rad\].
        phi_min: f64,
        /// Upper edge \[rad\].
        phi_max: f64,
    },
    /// The smallest range that holds the spacepoints, taken separately for phi > 0 and phi < 0
    /// (thesis; specification, section 2).
    FromSpacepoints,
}

impl PhiWindow {
    /// A window from `phi_min` up to `phi_max` \[rad\], which wraps at +-pi when
    /// `phi_min > phi_max`.
    ///
    /// # Errors
    /// Edges that are not finite or beyond +-2 pi, a window of zero width, and one wider than the
    /// circle.
    ///
    /// ```
    /// use zfinder::PhiWindow;
    /// assert!(PhiWindow::new(3.0, -3.0).is_ok());   // 0.28 rad around pi
    /// assert!(PhiWindow::new(1.0, 1.0).is_err());   // nothing fits in there
    /// ```
    pub fn new(phi_min: f64, phi_max: f64) -> Result<Self> {
        let refuse = |reason| Err(Error::PhiWindow { phi_min, phi_max, reason });
        if !phi_min.is_finite() || !phi_max.is_finite() {
            return refuse("must have finite edges");
        }
        if phi_min.abs() > TAU || phi_max.abs() > TAU {
            return refuse("must have edges within +-2 pi: are these degrees?");
        }
        if phi_min == phi_max {
            return refuse("has zero width; for the full circle give no window (full scan)");
        }
        if phi_max - phi_min > TAU * (1.0 + 1e-9) || phi_min - phi_max > TAU {
            return refuse("is wider than the circle");
        }
        Ok(PhiWindow::Range { phi_min, phi_max })
    }

    /// Returns the lower edge in [-pi, pi] and the width in (0, 2 pi] of the range from `phi_min`
    /// up to `phi_max` \[rad\].
    pub fn edges(phi_min: f64, phi_max: f64) -> (f64, f64) {
        let width = phi_max - phi_min;
        let width = if width < 0.0 { width + TAU } else { width };
        (normalised(phi_min), width.min(TAU))
    }
}

/// Returns phi in [-pi, pi]; untouched, to the last bit, when it is there already.
#[cfg_attr(not(feature = "internals"), allow(unreachable_pub, reason = "public in `internals`"))]
pub fn normalised(phi: f64) -> f64 {
    if phi.abs() <= PI {
        return phi;
    }
    let turned = phi.rem_euclid(TAU);
    if turned > PI { turned - TAU } else { turned }
}

/// Window, eta and identity of an RoI.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoiDescriptor {
    /// Its identity in the input.
    pub id: RoiId,
    /// The range of phi that it covers; the configuration's `phi_window` where absent.
    pub window: Option<PhiWindow>,
    /// Pseudorapidity of its centre: widens the z bins and changes the bending in the end-caps.
    pub eta: f64,
    /// Range of z searched \[mm\]; the configuration's where absent.
    pub z_range: Option<(f64, f64)>,
}

/// One region of interest with its spacepoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roi {
    /// Window, eta and identity.
    pub descriptor: RoiDescriptor,
    /// Its spacepoints, in any order: the answer does not depend on it.
    pub spacepoints: Vec<Spacepoint>,
}

/// In place of a layer that no detector has: [`crate::detector::MAX_LAYERS`] are possible.
pub(crate) const NO_LAYER: u8 = u8::MAX;

/// A borrowed RoI of a batch.
#[derive(Clone, Copy, Debug)]
pub struct RoiView<'a> {
    /// Window, eta and identity.
    pub descriptor: &'a RoiDescriptor,
    pub(crate) spacepoints: SpacepointsView<'a>,
}

/// An RoI's spacepoints as they lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpacepointsView<'a> {
    /// rho, phi and z, and layers: four slices of equal length.
    Double([&'a [f64]; 3], &'a [u8]),
    Single([&'a [f32]; 3], &'a [u8]),
    /// One by one.
    Records(&'a [Spacepoint]),
}

impl SpacepointsView<'_> {
    /// Returns some consecutive spacepoints.
    #[inline]
    pub(crate) fn range(self, range: Range<usize>) -> Self {
        match self {
            Self::Double(columns, layers) => Self::Double(columns.map(|column| &column[range.clone()]), &layers[range]),
            Self::Single(columns, layers) => Self::Single(columns.map(|column| &column[range.clone()]), &layers[range]),
            Self::Records(records) => Self::Records(&records[range]),
        }
    }
}

impl<'a> From<&'a Roi> for RoiView<'a> {
    fn from(roi: &'a Roi) -> Self {
        Self { descriptor: &roi.descriptor, spacepoints: SpacepointsView::Records(&roi.spacepoints) }
    }
}

impl RoiView<'_> {
    /// Returns the RoI with some consecutive spacepoints.
    pub(crate) fn range(self, range: Range<usize>) -> Self {
        Self { spacepoints: self.spacepoints.range(range), ..self }
    }

    /// Number of spacepoints.
    pub fn len(&self) -> usize {
        match self.spacepoints {
            SpacepointsView::Double(_, layers) | SpacepointsView::Single(_, layers) => layers.len(),
            SpacepointsView::Records(records) => records.len(),
        }
    }

    /// Returns whether the RoI has no spacepoint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The spacepoint at `index`, in the order pushed. In a batch, a layer beyond 254 has become
    /// 255.
    ///
    /// # Panics
    /// When `index >= len()`, as slices do.
    pub fn spacepoint(&self, index: usize) -> Spacepoint {
        let ([rho, phi, z], layers) = match self.spacepoints {
            SpacepointsView::Double(columns, layers) => (columns.map(|column| column[index]), layers),
            SpacepointsView::Single(columns, layers) => (columns.map(|column| f64::from(column[index])), layers),
            SpacepointsView::Records(records) => return records[index],
        };
        Spacepoint { rho, phi, z, layer: u32::from(layers[index]) }
    }

    /// The spacepoints, one by one.
    pub fn spacepoints(&self) -> impl Iterator<Item = Spacepoint> + '_ {
        (0..self.len()).map(|i| self.spacepoint(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_wrap_and_refuse() {
        assert_eq!(PhiWindow::edges(-0.5, 0.5), (-0.5, 1.0));
        let (low, width) = PhiWindow::edges(3.0, -3.0);
        assert_eq!(low, 3.0);
        approx::assert_relative_eq!(width, TAU - 6.0, epsilon = 1e-12);
        for (low, high) in [(1.0, 1.0), (f64::NAN, 1.0), (-10.0, 30.0), (-4.0, 4.0)] {
            assert!(PhiWindow::new(low, high).is_err(), "[{low}, {high}]");
        }
        assert!(PhiWindow::new(-PI, PI).is_ok());
        assert!(PhiWindow::new(6.0, 7.0).is_err(), "edges beyond 2 pi are degrees or a mistake");
    }

    #[test]
    fn phi_is_turned_only_when_it_must() {
        assert_eq!(normalised(PI), PI);
        assert_eq!(normalised(-PI), -PI);
        approx::assert_relative_eq!(normalised(3.0 * PI / 2.0), -PI / 2.0, epsilon = 1e-12);
        approx::assert_relative_eq!(normalised(-100.0), (-100.0f64).sin().atan2((-100.0f64).cos()), epsilon = 1e-12);
    }
}
