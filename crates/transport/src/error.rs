//! What can go wrong.

use command_host::{Code, Failure};

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
    /// Options that cannot be.
    #[error("{what}")]
    Options {
        /// What is wrong.
        what: String,
    },
    /// More of something than can be numbered or held.
    #[error("{what}")]
    TooLarge {
        /// What there is too much of, and how much there may be.
        what: String,
    },
    /// A class that is none of those that are counted.
    #[error("element {element} is of class {class}, and there are {classes} (numbered from 0)")]
    Class {
        /// The first such.
        element: usize,
        /// Its class.
        class: u32,
        /// How many there are.
        classes: u32,
    },
    /// The GPU.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}

/// The command's exit codes.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Options { .. } => Code::Usage,
            Error::Gpu(_) => Code::Gpu,
            _ => Code::Data,
        };
        Self::new(code, error)
    }
}
