//! What can go wrong.

use command_host::{Code, Failure};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An event that cannot be counted.
    #[error("event {event} of the batch: {what}")]
    Event {
        /// Its place in the batch.
        event: usize,
        /// What is wrong with it.
        what: String,
    },
    /// More elements of a kind in a batch than 32 bits number.
    #[error("a batch holds no more than 4,294,967,295 elements of a kind: make several batches")]
    BatchTooLarge,
    /// A batch of another calorimeter than the counter was built for.
    #[error("events of {found} calorimeter cells, and the counter was built for {wanted}")]
    Cells {
        /// Of the batch.
        found: usize,
        /// Of the geometry.
        wanted: usize,
    },
    /// A calorimeter that cannot be described so.
    #[error("calorimeter: {what}")]
    Geometry {
        /// What is wrong.
        what: String,
    },
    /// A schema that cannot be.
    #[error("schema: {what}")]
    Schema {
        /// What is wrong.
        what: String,
    },
    /// A bank that is none of the schema's.
    #[error("bank: {what}")]
    Bank {
        /// What is wrong.
        what: String,
    },
    /// An event that needs more memory than one part of a batch may have on the GPU.
    #[error("event {event} of the batch is larger than what the GPU binds at once: {bytes} bytes")]
    EventTooLarge {
        /// Its place in the batch.
        event: usize,
        /// Of its largest column.
        bytes: u64,
    },
    /// A file that cannot be read or written, or holds something else.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// [`Engine::Reference`](crate::Engine::Reference).
    #[error("the counters have no reference engine: count on the CPU")]
    NoReference,
    /// The GPU.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}

/// The command's exit codes.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = if matches!(error, Error::Gpu(_)) { Code::Gpu } else { Code::Data };
        Self::new(code, error)
    }
}
