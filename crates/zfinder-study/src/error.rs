//! Errors of studies.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of this crate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The detector has too few barrel layers for a beam spot.
    #[error("no beam spot can be found in detector `{detector}`: it has {barrels} barrel layers, and 3 are needed")]
    FewBarrels {
        /// The detector.
        detector: String,
        /// Number of its barrel layers.
        barrels: usize,
    },
    /// The RoIs have too few tracks for a beam spot.
    #[error("no beam spot was found: {wanted} tracks from one place are needed, and {rois} RoIs have {found}")]
    FewTracks {
        /// Number of required tracks.
        wanted: usize,
        /// Number of tracks found.
        found: usize,
        /// Number of RoIs read.
        rois: usize,
    },
    /// The tracks do not determine the position of the beam.
    #[error(
        "no beam spot was found: {tracks} tracks do not give its position within 0.2 mm; their directions are alike"
    )]
    UncertainBeamSpot {
        /// Number of tracks from one position.
        tracks: usize,
    },
    /// An error of the library.
    #[error(transparent)]
    Zfinder(#[from] zfinder::Error),
}
