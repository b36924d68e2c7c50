//! What can go wrong.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A map of a field that cannot be.
    #[error("map of the field: {what}")]
    Map {
        /// What is wrong.
        what: String,
    },
    /// A file that cannot be read or written.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
}
