//! What can go wrong in a study.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that this crate can refuse.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A plot that cannot be drawn.
    #[error("cannot draw the plot: {0}")]
    Plot(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// From the library.
    #[error(transparent)]
    Zfinder(#[from] zfinder::Error),
}
