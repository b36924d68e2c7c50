//! Columns of spacepoints that a caller has in its own arrays.

pub use crate::azimuth::rho_phi_columns;
use crate::error::{Error, Result};
use crate::spacepoint::{RoiDescriptor, SpacepointsView};

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
    pub(crate) frame: Frame,
    pub(crate) coordinates: [&'a [T]; 3],
    pub(crate) layer: &'a [L],
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Frame {
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
