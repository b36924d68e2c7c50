//! Errors of the crate.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An invalid field map.
    #[error("map of the field: {what}")]
    Map {
        /// The fault.
        what: String,
    },
    /// A file that cannot be read.
    #[error("{path}: {what}")]
    File {
        /// The path.
        path: String,
        /// The fault.
        what: String,
    },
    /// Invalid options.
    #[error("{what}")]
    Options {
        /// The fault.
        what: String,
    },
    /// A count that exceeds a limit.
    #[error("{what}")]
    TooLarge {
        /// The count and the limit.
        what: String,
    },
    /// An element of a class that does not exist.
    #[error("element {element} is of class {class}, and there are {classes} (numbered from 0)")]
    Class {
        /// The first such element.
        element: usize,
        /// The class.
        class: u32,
        /// The number of classes.
        classes: u32,
    },
    /// An error of the GPU.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}

impl From<array_file::Error> for Error {
    fn from(error: array_file::Error) -> Self {
        Self::File { path: error.path.display().to_string(), what: error.what }
    }
}
