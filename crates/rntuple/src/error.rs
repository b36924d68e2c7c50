//! Errors of reading.

use std::io;

/// An error of reading an RNTuple.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system cannot read the file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not a ROOT file, is cut off, or does not match its checksums.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// The file uses a feature that this crate does not read.
    #[error("{0}")]
    Unsupported(String),
    /// The file has no object or field of this name.
    #[error("{0}")]
    NotFound(String),
    /// The request, or an object of the file, exceeds a limit on memory.
    #[error("{0}")]
    TooLarge(String),
}

/// The result of reading.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}
