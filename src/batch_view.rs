//! RoIs whose spacepoints lie in the caller's columns.

use std::ops::Range;

use crate::cancellation::{Cancellation, CancellationToken};
use crate::columns::{Columns, Coordinate, check_offsets};
use crate::error::{Error, Result};
use crate::spacepoint::{Roi, RoiDescriptor, RoiView, SpacepointsView};

/// Many RoIs, borrowed: columns of spacepoints and the offset of each RoI, or one [`Roi`]. Nothing
/// is copied.
///
/// [`ZFinder::find_batch`](crate::ZFinder::find_batch) takes a view, a
/// [`RoiBatch`](crate::RoiBatch) or a [`Roi`]; the answers have the same bits.
///
/// ```
/// use zfinder::{BatchView, Columns, Detector, Engine, RoiDescriptor, ZFinder};
/// // One track from z = 12 mm.
/// let (rho, phi, layer) = ([50.5f32, 88.5, 122.5], [0.1f32; 3], [0u8, 1, 2]);
/// let z = rho.map(|rho| 12.0 + 0.5 * rho);
/// let rois = [RoiDescriptor::default()];
/// let batch = BatchView::new(&rois, &[0, 3], Columns::cylindrical(&rho, &phi, &z, &layer)?)?;
/// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
/// let results = finder.find_batch(batch)?;
/// assert!((results.vertices().z_mm()[0] - 12.0).abs() < 0.01);
/// # Ok::<(), zfinder::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BatchView<'a> {
    rois: Rois<'a>,
    pub(crate) cancellation: Cancellation<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Rois<'a> {
    Columns {
        spacepoints: SpacepointsView<'a>,
        /// One more than RoIs, ascending, within the spacepoints.
        offsets: &'a [usize],
        descriptors: &'a [RoiDescriptor],
    },
    One(RoiView<'a>),
}

impl<'a> BatchView<'a> {
    /// Borrows columns. RoI i has the spacepoints from `offsets[i]` up to `offsets[i + 1]` and the
    /// i-th descriptor, as in [`RoiBatch::extend_columns`](crate::RoiBatch::extend_columns). A
    /// layer of 255 is a layer that no detector has.
    ///
    /// # Errors
    /// [`Error::Columns`] if the columns are Cartesian, if the offsets do not ascend from 0 to the
    /// number of spacepoints, or if there are not as many descriptors as RoIs.
    pub fn new<T: Coordinate>(
        descriptors: &'a [RoiDescriptor],
        offsets: &'a [usize],
        columns: Columns<'a, T, u8>,
    ) -> Result<Self> {
        let Some(spacepoints) = columns.as_spacepoints() else {
            let reason = "borrowed columns must be rho, phi and z; a batch with x and y is a RoiBatch".into();
            return Err(Error::Columns { reason });
        };
        check_offsets(descriptors, offsets, columns.len())?;
        Ok(Self::of_batch(spacepoints, offsets, descriptors))
    }

    /// Borrows the columns of a batch.
    pub(crate) fn of_batch(
        spacepoints: SpacepointsView<'a>,
        offsets: &'a [usize],
        descriptors: &'a [RoiDescriptor],
    ) -> Self {
        Self::new_uncancelled(Rois::Columns { spacepoints, offsets, descriptors })
    }

    fn new_uncancelled(rois: Rois<'a>) -> Self {
        Self { rois, cancellation: Cancellation::default() }
    }

    /// Returns the same batch, whose search ends with [`Error::Cancelled`] once the token is
    /// cancelled. RoIs that were answered before are lost.
    #[must_use]
    pub fn cancelled_by(self, token: &'a CancellationToken) -> Self {
        self.with_cancellation(Cancellation(Some(token)))
    }

    pub(crate) fn with_cancellation(self, cancellation: Cancellation<'a>) -> Self {
        Self { cancellation, ..self }
    }

    /// Returns the number of RoIs.
    pub fn len(&self) -> usize {
        match self.rois {
            Rois::Columns { descriptors, .. } => descriptors.len(),
            Rois::One(_) => 1,
        }
    }

    /// Returns whether there is no RoI.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of spacepoints of all RoIs together.
    pub fn count_spacepoints(&self) -> usize {
        match self.rois {
            Rois::Columns { offsets, .. } => offsets[self.len()] - offsets[0],
            Rois::One(roi) => roi.len(),
        }
    }

    /// Returns the RoI at `index`.
    ///
    /// # Panics
    /// When `index >= len()`, as slices do.
    pub fn roi(&self, index: usize) -> RoiView<'a> {
        match self.rois {
            Rois::Columns { spacepoints, offsets, descriptors } => {
                let range = offsets[index]..offsets[index + 1];
                RoiView { descriptor: &descriptors[index], spacepoints: spacepoints.range(range) }
            }
            Rois::One(roi) => [roi][index],
        }
    }

    /// Returns the RoIs in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = RoiView<'a>> {
        (0..self.len()).map(move |index| self.roi(index))
    }

    /// Returns some consecutive RoIs.
    ///
    /// # Panics
    /// When the range ends after the last RoI, as slices do.
    ///
    /// ```
    /// use zfinder::{BatchView, Roi, RoiBatch};
    /// let batch: RoiBatch = (0..5).map(|_| Roi::default()).collect();
    /// assert_eq!(BatchView::from(&batch).rois(1..3).len(), 2);
    /// ```
    #[must_use]
    pub fn rois(self, range: Range<usize>) -> Self {
        let rois = match self.rois {
            Rois::Columns { spacepoints, offsets, descriptors } => {
                let offsets = &offsets[range.start..=range.end];
                Rois::Columns { spacepoints, offsets, descriptors: &descriptors[range] }
            }
            Rois::One(roi) if [roi][range].is_empty() => {
                Rois::Columns { spacepoints: SpacepointsView::Records(&[]), offsets: &[0], descriptors: &[] }
            }
            one @ Rois::One(_) => one,
        };
        Self { rois, ..self }
    }

    /// Divides the batch into at most so many parts, as [`RoiBatch::split`](crate::RoiBatch::split)
    /// does.
    #[cfg(feature = "gpu")]
    pub(crate) fn split(self, parts: usize) -> Vec<Self> {
        match self.rois {
            Rois::Columns { offsets, .. } => split(offsets, parts).into_iter().map(|range| self.rois(range)).collect(),
            Rois::One(_) => vec![self],
        }
    }

    /// Returns whether coordinates are f32.
    pub(crate) fn is_f32(&self) -> bool {
        matches!(self.rois, Rois::Columns { spacepoints: SpacepointsView::Single(..), .. })
    }
}

impl<'a> From<&'a Roi> for BatchView<'a> {
    fn from(roi: &'a Roi) -> Self {
        Self::new_uncancelled(Rois::One(roi.into()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Detector, Engine, Preset, Results, RoiBatch, ZFinder};

    /// Columns of tracks from z = 10 i mm in RoI i, and the offset of each RoI.
    fn events(count: usize) -> ([Vec<f64>; 3], Vec<u8>, Vec<usize>) {
        let ([mut rho, mut phi, mut z], mut layer, mut offsets) = (<[Vec<f64>; 3]>::default(), Vec::new(), vec![0]);
        for event in 0..count {
            for track in 0..event {
                for (index, radius) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
                    rho.push(radius);
                    phi.push(0.7 * track as f64);
                    z.push(10.0 * event as f64 + 0.3 * track as f64 * radius);
                    layer.push(index);
                }
            }
            offsets.push(layer.len());
        }
        ([rho, phi, z], layer, offsets)
    }

    #[test]
    fn a_view_has_the_answers_of_a_batch() {
        let ([rho, phi, z], layer, offsets) = events(9);
        let descriptors = vec![RoiDescriptor::default(); 9];
        let columns = || Columns::cylindrical(&rho, &phi, &z, &layer).expect("equal lengths");
        let view = BatchView::new(&descriptors, &offsets, columns()).expect("valid offsets");
        let mut batch = RoiBatch::new();
        batch.extend_columns(&descriptors, &offsets, columns()).expect("valid offsets");
        for engine in [Engine::Cpu, Engine::Reference] {
            for preset in [Preset::Default, Preset::Auto] {
                let builder =
                    ZFinder::builder(Detector::atlas2010()).config(Config::preset(preset)).engine(engine.clone());
                let finder = builder.build().expect("an engine of the host");
                let whole = finder.find_batch(&batch).expect("an answer");
                assert_eq!(finder.find_batch(view).expect("an answer"), whole);
                let parts = [view.rois(0..4), view.rois(4..4), view.rois(4..9)];
                let parts = parts.map(|part| finder.find_batch(part).expect("an answer"));
                assert_eq!(parts.iter().flatten().collect::<Results>(), whole);
                let last = batch.roi(8);
                let one = Roi { descriptor: *last.descriptor, spacepoints: last.spacepoints().collect() };
                assert_eq!(finder.find(&one).expect("an answer").roi(0), whole.roi(8));
                let none = finder.find_batch(BatchView::from(&one).rois(1..1)).expect("an answer");
                assert_eq!(none, Results::new());
            }
        }
        assert_eq!((view.len(), view.count_spacepoints()), (9, layer.len()));
        assert_eq!(view.rois(2..4).count_spacepoints(), 3 * (2 + 3));
    }

    #[test]
    fn wrong_columns_and_offsets_are_refused() {
        let ([rho, phi, z], layer, offsets) = events(3);
        let descriptors = [RoiDescriptor::default(); 3];
        let columns = Columns::cylindrical(&rho, &phi, &z, &layer).expect("equal lengths");
        for offsets in [&offsets[1..], &[0, 6, 3, 9], &[0, 3, 3, 8], &[0, 3, 3, 10], &[]] {
            assert!(BatchView::new(&descriptors, offsets, columns).is_err(), "{offsets:?}");
        }
        let cartesian = Columns::cartesian(&rho, &phi, &z, &layer).expect("equal lengths");
        assert!(BatchView::new(&descriptors, &offsets, cartesian).is_err());
    }
}
