//! Errors of files, with their position.

use std::path::PathBuf;

use crate::event_numbers::EventNumbers;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of this crate. Each message says what to do.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A TOML text (configuration or detector) that cannot be read.
    #[error("{what}: {message}")]
    Toml {
        /// The text: a file's path, or "configuration".
        what: String,
        /// The parser's message, with line and column.
        message: String,
    },
    /// A file or folder that cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file whose content does not match its format.
    #[error("{}{}: {message}", path.display(), place(*row, column.as_deref()))]
    Input {
        /// The file.
        path: PathBuf,
        /// Line in the file, the header being 1; 0 for the file as a whole.
        row: u64,
        /// The column's name.
        column: Option<String>,
        /// The fault, and what would be correct.
        message: String,
    },
    /// An RoI that comes again after its earlier rows were passed on. This error ends the reading,
    /// also if errors are skipped.
    #[error("{}: {message}; an earlier answer to it is made from a part of its spacepoints", path.display())]
    Returned {
        /// The file or stream.
        path: PathBuf,
        /// The RoI, and what would be correct.
        message: String,
    },
    /// Selected events that the input does not have. This error ends the reading, also if errors
    /// are skipped.
    #[error("the input has no event {numbers}: {events}")]
    NoEvent {
        /// The selected numbers.
        numbers: EventNumbers,
        /// The events of the input.
        events: String,
    },
    /// A configuration or a detector that the library refuses.
    #[error(transparent)]
    Zfinder(#[from] zfinder::Error),
}

impl Error {
    /// Returns whether reading ends at this error although errors are skipped.
    pub fn ends_reading(&self) -> bool {
        matches!(self, Self::Returned { .. } | Self::NoEvent { .. })
    }
}

/// Returns the known part of `, row 3, column z`.
fn place(row: u64, column: Option<&str>) -> String {
    match (row, column) {
        (0, None) => String::new(),
        (0, Some(column)) => format!(", column {column}"),
        (row, None) => format!(", row {row}"),
        (row, Some(column)) => format!(", row {row}, column {column}"),
    }
}
