//! What can go wrong in a study.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that this crate can refuse.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A detector in which no beam spot can be found.
    #[error("no beam spot can be found in detector `{detector}`: it has {barrels} barrel layers, and 3 are wanted")]
    FewBarrels {
        /// The detector.
        detector: String,
        /// Its barrel layers.
        barrels: usize,
    },
    /// RoIs with too few tracks for a beam spot.
    #[error("no beam spot was found: {wanted} tracks from one place are wanted, and {rois} RoIs have {found}")]
    FewTracks {
        /// Tracks that are wanted.
        wanted: usize,
        /// Tracks that were found.
        found: usize,
        /// RoIs that were read.
        rois: usize,
    },
    /// Tracks that do not tell where the beam is.
    #[error(
        "no beam spot was found: {tracks} tracks do not give its position within 0.2 mm; their directions are alike"
    )]
    UncertainBeamSpot {
        /// Tracks that come from one place.
        tracks: usize,
    },
    /// From the library.
    #[error(transparent)]
    Zfinder(#[from] zfinder::Error),
}
