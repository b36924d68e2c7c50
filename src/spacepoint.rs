//! Spacepoints, regions of interest, and batches of them.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::azimuth::rho_phi;
use crate::batch_view::BatchView;
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

/// Many RoIs as a structure of arrays: coordinates of all spacepoints one after the other, and
/// where each RoI begins.
///
/// Coordinates are f64, or f32 in a batch made by [`RoiBatch::with_f32`]: 25 or 13 bytes a
/// spacepoint. Where spacepoints come at trigger rates in f32 already, half as much memory has to
/// be read. Either way they are widened to f64 before anything is computed of them.
#[derive(Clone, Debug, PartialEq)]
pub struct RoiBatch {
    coordinates: Coordinates,
    layer: Vec<u8>,
    offsets: Vec<usize>,
    descriptors: Vec<RoiDescriptor>,
}

/// rho, phi and z of many spacepoints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Coordinates {
    Double([Vec<f64>; 3]),
    Single([Vec<f32>; 3]),
}

/// In place of a layer that no detector has: [`crate::detector::MAX_LAYERS`] are possible.
pub(crate) const NO_LAYER: u8 = u8::MAX;

impl Default for RoiBatch {
    fn default() -> Self {
        Self {
            coordinates: Coordinates::Double(Default::default()),
            layer: Vec::new(),
            offsets: vec![0],
            descriptors: Vec::new(),
        }
    }
}

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

impl RoiBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty batch that keeps coordinates in f32.
    ///
    /// ```
    /// use zfinder::{RoiBatch, RoiDescriptor, Spacepoint};
    /// let mut batch = RoiBatch::with_f32();
    /// let spacepoint = Spacepoint { rho: 50.5, phi: 0.1, z: 12.25, layer: 0 };
    /// batch.push(RoiDescriptor::default(), [spacepoint]);
    /// assert_eq!(batch.roi(0).spacepoint(0).phi, f64::from(0.1f32));
    /// ```
    pub fn with_f32() -> Self {
        Self { coordinates: Coordinates::Single(Default::default()), ..Self::default() }
    }

    /// Returns whether coordinates are f32.
    pub(crate) fn is_f32(&self) -> bool {
        matches!(self.coordinates, Coordinates::Single(_))
    }

    /// Appends an RoI.
    pub fn push(&mut self, descriptor: RoiDescriptor, spacepoints: impl IntoIterator<Item = Spacepoint>) {
        for s in spacepoints {
            match &mut self.coordinates {
                Coordinates::Double([rho, phi, z]) => {
                    rho.push(s.rho);
                    phi.push(s.phi);
                    z.push(s.z);
                }
                Coordinates::Single([rho, phi, z]) => {
                    rho.push(s.rho as f32);
                    phi.push(s.phi as f32);
                    z.push(s.z as f32);
                }
            }
            self.layer.push(u8::try_from(s.layer).unwrap_or(NO_LAYER));
        }
        self.end_roi(self.layer.len(), descriptor);
    }

    /// Ends an RoI at a number of spacepoints.
    pub(crate) fn end_roi(&mut self, end: usize, descriptor: RoiDescriptor) {
        self.offsets.push(end);
        self.descriptors.push(descriptor);
    }

    /// The columns, to append to: coordinates and layers.
    pub(crate) fn columns_mut(&mut self) -> (&mut Coordinates, &mut Vec<u8>) {
        (&mut self.coordinates, &mut self.layer)
    }

    /// Takes all RoIs out and keeps the memory, so that filling it again allocates nothing.
    pub fn clear(&mut self) {
        match &mut self.coordinates {
            Coordinates::Double(columns) => columns.iter_mut().for_each(Vec::clear),
            Coordinates::Single(columns) => columns.iter_mut().for_each(Vec::clear),
        }
        self.layer.clear();
        self.offsets.truncate(1);
        self.descriptors.clear();
    }

    /// Number of RoIs.
    pub fn len(&self) -> usize {
        self.descriptors.len()
    }

    /// Whether there is no RoI.
    pub fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// Returns the number of spacepoints of all RoIs together.
    pub fn count_spacepoints(&self) -> usize {
        self.layer.len()
    }

    /// The RoI at `index`, in the order pushed.
    ///
    /// # Panics
    /// When `index >= len()`, as slices do.
    pub fn roi(&self, index: usize) -> RoiView<'_> {
        BatchView::from(self).roi(index)
    }

    /// Divides the batch into at most so many ranges of RoIs, none of them empty, with about equal
    /// numbers of spacepoints.
    ///
    /// ```
    /// use zfinder::{RoiBatch, RoiDescriptor, Spacepoint};
    /// let mut batch = RoiBatch::new();
    /// for count in [100, 1, 1] {
    ///     let spacepoint = Spacepoint { rho: 50.5, phi: 0.1, z: 1.0, layer: 0 };
    ///     batch.push(RoiDescriptor::default(), vec![spacepoint; count]);
    /// }
    /// assert_eq!(batch.split(2), [0..1, 1..3]);
    /// ```
    pub fn split(&self, parts: usize) -> Vec<Range<usize>> {
        split(&self.offsets, parts)
    }

    /// All RoIs in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RoiView<'_>> {
        (0..self.len()).map(|i| self.roi(i))
    }
}

impl<'a> From<&'a RoiBatch> for BatchView<'a> {
    fn from(batch: &'a RoiBatch) -> Self {
        let spacepoints = match &batch.coordinates {
            Coordinates::Double(all) => SpacepointsView::Double(all.each_ref().map(Vec::as_slice), &batch.layer),
            Coordinates::Single(all) => SpacepointsView::Single(all.each_ref().map(Vec::as_slice), &batch.layer),
        };
        Self::of_batch(spacepoints, &batch.offsets, &batch.descriptors)
    }
}

/// Ranges of items between these offsets, at most so many, none of them empty, of about equal
/// sizes.
pub(crate) fn split(offsets: &[usize], parts: usize) -> Vec<Range<usize>> {
    let last = offsets.len() - 1;
    let (low, high) = (offsets[0], offsets[last]);
    let (mut first, mut split) = (0, Vec::new());
    for part in 1..=parts {
        let target = low + (high - low) * part / parts;
        let after = first + offsets[first..].partition_point(|&offset| offset < target);
        let nearer_before = after > first && target - offsets[after - 1] < offsets[after] - target;
        let end = if part == parts { last } else { after - usize::from(nearer_before) };
        if end > first {
            split.push(first..end);
        }
        first = end;
    }
    split
}

impl FromIterator<Roi> for RoiBatch {
    fn from_iter<I: IntoIterator<Item = Roi>>(rois: I) -> Self {
        let mut batch = RoiBatch::new();
        for roi in rois {
            batch.push(roi.descriptor, roi.spacepoints);
        }
        batch
    }
}

#[cfg(test)]
#[path = "spacepoint_tests.rs"]
mod tests;
