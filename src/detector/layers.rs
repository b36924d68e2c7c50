//! Layers of a tracker, and the bending of tracks between them.

use crate::config::words::words;

/// Where a layer's spacepoints lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayerKind {
    /// A cylinder about the beam.
    Barrel {
        /// Its radius \[mm\].
        radius_mm: f64,
    },
    /// A disk across the beam; the disks at +z and -z share a layer.
    Endcap {
        /// Its |z| \[mm\].
        z_mm: f64,
        /// Its outer radius \[mm\].
        r_max_mm: f64,
    },
}

words! {
    /// Sensor of a layer, ordered from the best to the worst resolution in z.
    #[derive(PartialOrd, Ord)]
    pub enum Sensor for "sensor" {
        /// Pixels.
        Pixel = "pixel",
        /// Strips whose z is known to about a millimetre: short ones, or pairs at an angle.
        ShortStrip = "short-strip",
        /// Strips whose z is known to some millimetres or worse.
        LongStrip = "long-strip",
    }
}

/// One layer of a detector.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Barrel or end-cap, with its place.
    pub kind: LayerKind,
    /// Sensor, if known.
    pub sensor: Option<Sensor>,
    /// Standard deviation of what it measures along the beam, or along r on a disk \[mm\], where
    /// that is known: errors of z count it in where pairs weigh by pT.
    pub z_resolution_mm: Option<f64>,
    /// Its thickness in radiation lengths, for a track that crosses it straight on; None for
    /// [`Layer::RADIATION_LENGTHS`]. Tracklets scatter in it.
    pub radiation_lengths: Option<f64>,
    /// The layers that may follow it on a track of pixel spacepoints; None where the places of the
    /// layers tell ([`LayerGraph`](super::LayerGraph)).
    pub next: Option<Vec<u32>>,
    /// The (volume, layer) numbers by which geometry-aware files call it.
    pub ids: Vec<(u32, u32)>,
}

impl Layer {
    /// The thickness of a layer that has no [`Layer::radiation_lengths`].
    pub const RADIATION_LENGTHS: f64 = 0.01;

    /// Its thickness in layers of [`Layer::RADIATION_LENGTHS`].
    pub(crate) fn thickness(&self) -> f64 {
        self.radiation_lengths.map_or(1.0, |lengths| lengths / Self::RADIATION_LENGTHS)
    }

    /// Whether it is a disk.
    pub fn is_endcap(&self) -> bool {
        matches!(self.kind, LayerKind::Endcap { .. })
    }
}

/// Bending of tracks between pairs of layers, tabulated at one momentum and field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BendingTable {
    /// Transverse momentum of the tracks \[GeV\].
    pub pt_gev: f64,
    /// Solenoid field \[T\].
    pub field_t: f64,
    /// The pairs of layers that are known. A pair that is absent reaches one neighbour slice.
    pub pairs: Vec<BendingPair>,
}

/// Bending of tracks between two layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BendingPair {
    /// Index of the inner layer.
    pub inner: u32,
    /// Index of the outer layer, above `inner`.
    pub outer: u32,
    /// Difference of the azimuths on the two layers \[rad\].
    pub dphi_rad: f64,
    /// Pseudorapidity at which the bending was taken, for a pair with a disk.
    pub eta: Option<f64>,
}

/// Returns |z| of the first disk whose edge is at least as far out as a barrel of this radius
/// \[mm\]; infinity without such a disk.
pub(super) fn barrel_end(layers: &[Layer], radius: f64) -> f64 {
    let disks = layers.iter().filter_map(|layer| match layer.kind {
        LayerKind::Endcap { z_mm, r_max_mm } if r_max_mm >= radius => Some(z_mm),
        _ => None,
    });
    disks.fold(f64::INFINITY, f64::min)
}
