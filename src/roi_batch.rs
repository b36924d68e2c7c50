//! Batches of RoIs.

use std::ops::Range;

use rayon::prelude::*;

use crate::azimuth::rho_phi_columns;
use crate::batch_view::{BatchView, split};
use crate::columns::{Columns, Coordinate, Frame, LayerIndex, check_offsets};
use crate::error::Result;
use crate::spacepoint::{NO_LAYER, Roi, RoiDescriptor, RoiView, Spacepoint, SpacepointsView};

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

impl RoiBatch {
    /// Appends an RoI whose spacepoints are all of these columns.
    ///
    /// The batch has the same bits as after [`RoiBatch::push`] of the spacepoints one by one, and
    /// the coordinates are copied once.
    ///
    /// ```
    /// use zfinder::{Columns, RoiBatch, RoiDescriptor};
    /// let (x, y, z, layer) = ([3.0f32, 0.0], [4.0f32, 88.5], [1.0f32, 2.0], [0u8, 1]);
    /// let mut batch = RoiBatch::with_f32();
    /// batch.push_columns(RoiDescriptor::default(), Columns::cartesian(&x, &y, &z, &layer)?);
    /// assert_eq!(batch.roi(0).spacepoint(0).rho, 5.0);
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn push_columns<T: Coordinate, L: LayerIndex>(
        &mut self,
        descriptor: RoiDescriptor,
        columns: Columns<'_, T, L>,
    ) {
        self.append(columns);
        self.end_roi(self.count_spacepoints(), descriptor);
    }

    /// Appends many RoIs. RoI i has the spacepoints from `offsets[i]` up to `offsets[i + 1]` and
    /// the i-th descriptor. The first of the `descriptors.len() + 1` offsets is 0, the last is the
    /// number of spacepoints, as in Arrow and Awkward Array.
    ///
    /// # Errors
    /// [`Error::Columns`] if offsets do not ascend from 0 to the number of spacepoints, or if the
    /// number of descriptors is not the number of RoIs. The batch is then unchanged.
    /// ```
    /// use zfinder::{Columns, RoiBatch, RoiDescriptor, RoiId};
    /// let (rho, phi, z) = ([50.5, 88.5, 50.5], [0.1, 0.1, 2.0], [1.0, 2.0, 3.0]);
    /// let layer = [0u32, 1, 0];
    /// let events = [7, 8].map(|event_id| {
    ///     let id = RoiId { event_id, roi_id: 0 };
    ///     RoiDescriptor { id, ..Default::default() }
    /// });
    /// let mut batch = RoiBatch::new();
    /// let columns = Columns::cylindrical(&rho, &phi, &z, &layer)?;
    /// batch.extend_columns(&events, &[0i64, 2, 3], columns)?;
    /// assert_eq!((batch.len(), batch.roi(1).len()), (2, 1));
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn extend_columns<T: Coordinate, L: LayerIndex>(
        &mut self,
        descriptors: &[RoiDescriptor],
        offsets: &[impl Copy + TryInto<usize>],
        columns: Columns<'_, T, L>,
    ) -> Result<()> {
        check_offsets(descriptors, offsets, columns.len())?;
        let first = self.count_spacepoints();
        self.append(columns);
        let ends = offsets.iter().skip(1).filter_map(|&offset| offset.try_into().ok());
        for (descriptor, end) in descriptors.iter().zip(ends) {
            self.end_roi(first + end, *descriptor);
        }
        Ok(())
    }

    /// Appends spacepoints, without the end of an RoI.
    fn append<T: Coordinate, L: LayerIndex>(&mut self, columns: Columns<'_, T, L>) {
        let first = self.count_spacepoints();
        let (coordinates, layers) = self.columns_mut();
        layers.extend(columns.layer.iter().map(|&layer| u8::try_from(layer.into()).unwrap_or(NO_LAYER)));
        match coordinates {
            Coordinates::Double(to) => {
                for (to, from) in to.iter_mut().zip(columns.coordinates) {
                    to.extend(from.iter().map(|&value| value.into()));
                }
                if let Frame::Cartesian = columns.frame {
                    let [x, y, _] = to;
                    rho_phi_of_many(&mut x[first..], &mut y[first..]);
                }
            }
            Coordinates::Single(to) => match columns.frame {
                Frame::Cylindrical => {
                    for (to, from) in to.iter_mut().zip(columns.coordinates) {
                        to.extend(from.iter().map(|&value| value.to_f32()));
                    }
                }
                Frame::Cartesian => {
                    let ([rho, phi, to_z], [x, y, z]) = (to, columns.coordinates);
                    to_z.extend(z.iter().map(|&value| value.to_f32()));
                    // rho and phi are computed in f64 and rounded once, block by block.
                    for (x, y) in x.chunks(BLOCK).zip(y.chunks(BLOCK)) {
                        let (mut rho_block, mut phi_block) = ([0.0; BLOCK], [0.0; BLOCK]);
                        for (to, &from) in rho_block.iter_mut().zip(x) {
                            *to = from.into();
                        }
                        for (to, &from) in phi_block.iter_mut().zip(y) {
                            *to = from.into();
                        }
                        let (rho_block, phi_block) = (&mut rho_block[..x.len()], &mut phi_block[..y.len()]);
                        rho_phi_columns(rho_block, phi_block);
                        rho.extend(rho_block.iter().map(|&value| value as f32));
                        phi.extend(phi_block.iter().map(|&value| value as f32));
                    }
                }
            },
        }
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

impl FromIterator<Roi> for RoiBatch {
    fn from_iter<I: IntoIterator<Item = Roi>>(rois: I) -> Self {
        let mut batch = RoiBatch::new();
        for roi in rois {
            batch.push(roi.descriptor, roi.spacepoints);
        }
        batch
    }
}

/// Turns x and y into rho and phi, on all threads of rayon's pool if there are many.
fn rho_phi_of_many(x: &mut [f64], y: &mut [f64]) {
    const MANY: usize = 1 << 16;
    const EACH: usize = 1 << 14;
    if x.len() < MANY {
        return rho_phi_columns(x, y);
    }
    x.par_chunks_mut(EACH).zip(y.par_chunks_mut(EACH)).for_each(|(x, y)| rho_phi_columns(x, y));
}

/// Spacepoints that are turned from x and y to rho and phi at a time.
const BLOCK: usize = 128;

#[cfg(test)]
#[path = "roi_batch_tests.rs"]
mod tests;
