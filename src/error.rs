//! What can go wrong, and where.

use std::path::PathBuf;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that this crate can refuse, each with what to do about it.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A configuration value that no engine could honour.
    #[error("option `{key}`: {value} {reason}")]
    Config {
        /// The key, as in TOML.
        key: &'static str,
        /// The value found.
        value: String,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// A TOML text (configuration or detector) that cannot be read.
    #[error("{what}: {message}")]
    Toml {
        /// Which text: a file's path, or "configuration".
        what: String,
        /// The parser's words, with line and column.
        message: String,
    },
    /// A detector table that contradicts itself.
    #[error("detector `{detector}`: {reason}")]
    Detector {
        /// The detector's name.
        detector: String,
        /// What is wrong.
        reason: String,
    },
    /// A phi window that no spacepoint could lie in, or that is no window.
    #[error("phi window [{phi_min}, {phi_max}] rad {reason}")]
    PhiWindow {
        /// Lower edge \[rad\].
        phi_min: f64,
        /// Upper edge \[rad\].
        phi_max: f64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file or folder that cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file whose content is not what its format asks for.
    #[error("{}{}: {message}", path.display(), place(*row, column.as_deref()))]
    Input {
        /// The file.
        path: PathBuf,
        /// Line in the file, the header being 1; 0 where the whole file is meant.
        row: u64,
        /// The column's name.
        column: Option<String>,
        /// What is wrong and what would be right.
        message: String,
    },
    /// An engine panicked on a batch of a [`Stream`](crate::Stream): a fault of the program, not of its input. The stream
    /// goes on with the next batch.
    #[error("the engine panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// The system gives no thread for a [`Stream`](crate::Stream).
    #[error("no thread for a stream: {0}")]
    Thread(std::io::Error),
    /// A plot that cannot be drawn.
    #[error("cannot draw the plot: {0}")]
    Plot(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The GPU, its driver or a shader.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}

fn place(row: u64, column: Option<&str>) -> String {
    match (row, column) {
        (0, None) => String::new(),
        (0, Some(column)) => format!(", column {column}"),
        (row, None) => format!(", row {row}"),
        (row, Some(column)) => format!(", row {row}, column {column}"),
    }
}
