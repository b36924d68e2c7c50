//! A true vertex, and the true vertices of events.

use zfinder::RoiId;

/// A simulated primary vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TruthVertex {
    /// Position along the beam \[mm\].
    pub z_mm: f64,
    /// Whether the vertex is the hard scatter, and not pile-up.
    pub is_hard_scatter: bool,
    /// Number of its charged particles with pT > 500 MeV and |eta| < 2.5, if known.
    pub tracks: Option<u64>,
    /// Sum of pT^2 of these particles \[GeV^2\], if known.
    pub sum_pt2_gev2: Option<f64>,
    /// Largest pT of these particles \[GeV\], if known.
    pub leading_pt_gev: Option<f64>,
}

/// The vertices of whole events, in the order of a file.
pub(super) type EventVertices = Vec<(u64, Vec<TruthVertex>)>;

/// A source of true vertices of RoIs.
pub trait TrueZ: std::fmt::Debug + Sync {
    /// Returns z of the true hard scatter of an RoI \[mm\], if it is known.
    fn true_z_mm(&self, id: RoiId) -> Option<f64>;
}
