//! Errors of the steps.

/// Errors of this crate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration, the detector or an RoI is invalid.
    #[error(transparent)]
    Finder(#[from] zfinder::Error),
    /// The device or a kernel failed.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
    /// The histograms of the sums differ from the reference engine's by more than rounding
    /// explains.
    #[error("{step}: RoI {roi}: {reason}")]
    WrongAnswer {
        /// The step's name.
        step: String,
        /// Number of the RoI in the batch.
        roi: usize,
        /// How the two differ.
        reason: String,
    },
}

/// A result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
