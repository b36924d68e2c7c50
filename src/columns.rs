//! Columns of spacepoints that a caller has in its own arrays, and how a batch takes them.

use rayon::prelude::*;

pub use crate::azimuth::rho_phi_columns;
use crate::error::{Error, Result};
use crate::spacepoint::{Coordinates, NO_LAYER, RoiBatch, RoiDescriptor, SpacepointsView};

/// The number type of a column of coordinates: `f32` or `f64`.
pub trait Coordinate: Copy + Into<f64> + sealed::Sealed {
    /// Returns the nearest `f32`.
    fn to_f32(self) -> f32;

    #[doc(hidden)]
    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn spacepoints<'a>(columns: [&'a [Self]; 3], layer: &'a [u8]) -> SpacepointsView<'a>;
}

/// The number type of a column of layers: `u8`, `u16` or `u32`.
pub trait LayerIndex: Copy + Into<u32> + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
}

impl Coordinate for f32 {
    fn to_f32(self) -> f32 {
        self
    }

    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn spacepoints<'a>(columns: [&'a [Self]; 3], layer: &'a [u8]) -> SpacepointsView<'a> {
        SpacepointsView::Single(columns, layer)
    }
}

impl Coordinate for f64 {
    fn to_f32(self) -> f32 {
        self as f32
    }

    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn spacepoints<'a>(columns: [&'a [Self]; 3], layer: &'a [u8]) -> SpacepointsView<'a> {
        SpacepointsView::Double(columns, layer)
    }
}

impl LayerIndex for u8 {}
impl LayerIndex for u16 {}
impl LayerIndex for u32 {}

/// Borrowed columns of spacepoints: three of coordinates and one of layers, of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a, T, L> {
    frame: Frame,
    coordinates: [&'a [T]; 3],
    layer: &'a [L],
}

#[derive(Clone, Copy, Debug)]
enum Frame {
    Cylindrical,
    Cartesian,
}

impl<'a, T: Coordinate, L: LayerIndex> Columns<'a, T, L> {
    /// Takes rho \[mm\], phi \[rad\], z \[mm\] and the index of the layer of each spacepoint.
    ///
    /// # Errors
    /// [`Error::Columns`] if the columns differ in length.
    pub fn cylindrical(rho: &'a [T], phi: &'a [T], z: &'a [T], layer: &'a [L]) -> Result<Self> {
        Self::new(Frame::Cylindrical, ["rho", "phi", "z"], [rho, phi, z], layer)
    }

    /// Takes x, y, z \[mm\] and the index of the layer of each spacepoint.
    ///
    /// # Errors
    /// [`Error::Columns`] if the columns differ in length.
    pub fn cartesian(x: &'a [T], y: &'a [T], z: &'a [T], layer: &'a [L]) -> Result<Self> {
        Self::new(Frame::Cartesian, ["x", "y", "z"], [x, y, z], layer)
    }

    fn new(frame: Frame, names: [&str; 3], coordinates: [&'a [T]; 3], layer: &'a [L]) -> Result<Self> {
        for (name, column) in names.into_iter().zip(coordinates) {
            if column.len() != layer.len() {
                let reason = format!("{name} has {} elements and layer has {}", column.len(), layer.len());
                return Err(Error::Columns { reason });
            }
        }
        Ok(Self { frame, coordinates, layer })
    }

    /// Returns the number of spacepoints.
    pub fn len(&self) -> usize {
        self.layer.len()
    }

    /// Returns whether there is no spacepoint.
    pub fn is_empty(&self) -> bool {
        self.layer.is_empty()
    }
}

impl<'a, T: Coordinate> Columns<'a, T, u8> {
    /// Returns the columns as an RoI has them. None if they are Cartesian.
    pub(crate) fn as_spacepoints(&self) -> Option<SpacepointsView<'a>> {
        matches!(self.frame, Frame::Cylindrical).then(|| T::spacepoints(self.coordinates, self.layer))
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

/// Checks that `descriptors.len() + 1` offsets ascend from 0 to the number of spacepoints.
///
/// # Errors
/// [`Error::Columns`].
pub(crate) fn check_offsets(
    descriptors: &[RoiDescriptor],
    offsets: &[impl Copy + TryInto<usize>],
    spacepoints: usize,
) -> Result<()> {
    let refuse = |reason: String| Err(Error::Columns { reason });
    if offsets.len() != descriptors.len() + 1 {
        let (offsets, rois) = (offsets.len(), descriptors.len());
        return refuse(format!("{offsets} offsets for {rois} RoIs: one more than there are RoIs is expected"));
    }
    let mut before = 0;
    for (index, &offset) in offsets.iter().enumerate() {
        let Some(at) = offset.try_into().ok().filter(|&at| at >= before && (index > 0 || at == 0)) else {
            return refuse(format!("offset {index} is negative, too large or below the one before it"));
        };
        before = at;
    }
    if before != spacepoints {
        return refuse(format!("the last offset is {before}, and there are {spacepoints} spacepoints"));
    }
    Ok(())
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
mod tests {
    use super::*;
    use crate::spacepoint::Spacepoint;

    /// x, y, z and layers of spacepoints anywhere.
    fn random(count: usize) -> ([Vec<f64>; 3], Vec<u32>) {
        let mut rng = fastrand::Rng::with_seed(count as u64);
        let mut column = |size: f64| -> Vec<f64> { (0..count).map(|_| size * (rng.f64() - 0.5)).collect() };
        let columns = [column(1e3), column(1e3), column(4e3)];
        (columns, (0..count).map(|i| if i % 50 == 49 { 300 } else { i as u32 % 19 }).collect())
    }

    #[test]
    fn columns_give_the_bits_of_records() {
        for count in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 7, 70_001] {
            let ([x, y, z], layer) = random(count);
            let spacepoints: Vec<_> = (0..count).map(|i| Spacepoint::from_xyz(x[i], y[i], z[i], layer[i])).collect();
            let (rho, phi): (Vec<_>, Vec<_>) = spacepoints.iter().map(|s| (s.rho, s.phi)).unzip();
            for new in [RoiBatch::new, RoiBatch::with_f32] {
                let (mut records, mut cartesian, mut cylindrical) = (new(), new(), new());
                for _ in 0..2 {
                    records.push(RoiDescriptor::default(), spacepoints.iter().copied());
                    let columns = Columns::cartesian(&x, &y, &z, &layer).expect("equal lengths");
                    cartesian.push_columns(RoiDescriptor::default(), columns);
                    let columns = Columns::cylindrical(&rho, &phi, &z, &layer).expect("equal lengths");
                    cylindrical.push_columns(RoiDescriptor::default(), columns);
                }
                assert_eq!(records, cartesian, "{count}");
                assert_eq!(records, cylindrical, "{count}");
            }
        }
    }

    #[test]
    fn offsets_divide_columns_into_rois() {
        let ([x, y, z], layer) = random(10);
        let columns = || Columns::cartesian(&x, &y, &z, &layer).expect("equal lengths");
        let rois = [RoiDescriptor::default(); 3];
        let mut batch = RoiBatch::new();
        for _ in 0..2 {
            batch.extend_columns(&rois, &[0u32, 4, 4, 10], columns()).expect("good offsets");
        }
        let sizes: Vec<usize> = batch.iter().map(|roi| roi.len()).collect();
        assert_eq!(sizes, [4, 0, 6, 4, 0, 6]);
        assert_eq!(batch.roi(5).spacepoint(0), Spacepoint::from_xyz(x[4], y[4], z[4], layer[4]));
        let before = batch.clone();
        let mut refused = |rois: &[RoiDescriptor], offsets: &[i64], words: &str| {
            let error = batch.extend_columns(rois, offsets, columns()).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
            assert_eq!(batch, before, "{words}");
        };
        refused(&rois, &[0, 4, 10], "3 offsets for 3 RoIs");
        refused(&rois, &[], "0 offsets for 3 RoIs");
        refused(&rois, &[1, 4, 4, 10], "offset 0");
        refused(&rois, &[0, 4, 3, 10], "offset 2");
        refused(&rois, &[0, -1, 3, 10], "offset 1");
        refused(&rois, &[0, 4, 4, 11], "the last offset is 11");
        refused(&[], &[0], "the last offset is 0");
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let error = Columns::cylindrical(&[1.0f32, 2.0], &[1.0, 2.0], &[1.0], &[0u8, 1]).expect_err("z is short");
        assert_eq!(error.to_string(), "columns of spacepoints: z has 1 elements and layer has 2");
    }
}
