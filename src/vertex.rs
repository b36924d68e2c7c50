//! What a finder answers.

use crate::spacepoint::RoiId;

/// A vertex candidate on the beam line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Vertex {
    /// Position along the beam \[mm\]: the weighted mean z of the entries in the peak's three bins.
    pub z_mm: f64,
    /// Standard error of that mean \[mm\]: the spread of the entries over the square root of the number of tracks, one at
    /// least. The entries of a track err together; it makes two thirds of those of a track through all barrel layers, on
    /// average (`docs/physics.md`). With b of n entries being background, (n - b)^2 / n of them count.
    pub z_error_mm: f64,
    /// Entries in the peak's three bins (pairs, or triplets, by [`Triplets`](crate::Triplets)), or their weights
    /// ([`Weighting`](crate::Weighting)).
    pub weight: f64,
    /// Pairs in the peak's three bins: the weight, unless confirming spacepoints are counted or weighted.
    pub pairs: u64,
    /// (weight - background) / sqrt(background), as the vertex was found; none without a background.
    pub significance: Option<f64>,
    /// Entries that three bins have without a vertex: the mean of the RoI's lowest windows, as
    /// [`Config::percentile`](crate::Config::percentile) says.
    pub background: Option<f64>,
}

impl Vertex {
    /// How far a peak stands out of its background; none if there is no background or nothing in it.
    pub(crate) fn significance_of(weight: f64, background: Option<f64>) -> Option<f64> {
        background.filter(|&background| background > 0.0).map(|background| (weight - background) / background.sqrt())
    }
}

/// How an RoI's search ended. Never a silent wrong answer.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Status {
    /// At least one vertex was found.
    Ok,
    /// The RoI holds no spacepoint inside its window.
    #[default]
    Empty,
    /// There are spacepoints, but no window of three bins holds a peak.
    NoPeak,
    /// A spacepoint is not finite, has a rho outside 1e-6 to 1e9 mm (also after the beam spot was subtracted) or a |z|
    /// beyond 1e9 mm, or lies on a layer that the detector does not have. No vertex is given.
    BadSpacepoint,
    /// The work, the counts or the histograms exceed what the engine can number or hold. No vertex is given. Other slices,
    /// another adapter or the CPU engine may do.
    CapacityExceeded,
}

impl Status {
    /// The word that tables and files show.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Empty => "empty",
            Status::NoPeak => "no_peak",
            Status::BadSpacepoint => "bad_spacepoint",
            Status::CapacityExceeded => "capacity_exceeded",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The answer for one RoI.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RoiResult {
    /// Whose answer this is.
    pub id: RoiId,
    /// Vertices in the order found: highest peak first, or by rank where pairs weigh by pT
    /// ([`PtWeight::rank`](crate::PtWeight::rank)). At most `peaks` of the configuration.
    pub vertices: Vec<Vertex>,
    /// How the search ended.
    pub status: Status,
    /// Spacepoints that took part.
    pub spacepoints: usize,
    /// Spacepoints outside the phi window, or beyond [`Config::max_layer`](crate::Config::max_layer), which took no part.
    pub outside_window: usize,
}
