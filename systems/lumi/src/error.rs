//! Errors of the crate.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An invalid event.
    #[error("event {event} of the batch: {what}")]
    Event {
        /// The index of the event in its batch.
        event: usize,
        /// The fault.
        what: String,
    },
    /// A batch with more than 2^32 - 1 elements of one kind.
    #[error("a batch holds no more than 4,294,967,295 elements of a kind: make several batches")]
    BatchTooLarge,
    /// A batch of another calorimeter than that of the counter.
    #[error("events of {found} calorimeter cells, and the counter was built for {wanted}")]
    Cells {
        /// The number of cells of the batch.
        found: usize,
        /// The number of cells of the counter.
        wanted: usize,
    },
    /// An invalid calorimeter.
    #[error("calorimeter: {what}")]
    Geometry {
        /// The fault.
        what: String,
    },
    /// An invalid schema.
    #[error("schema: {what}")]
    Schema {
        /// The fault.
        what: String,
    },
    /// A bank that does not match the schema.
    #[error("bank: {what}")]
    Bank {
        /// The fault.
        what: String,
    },
    /// An event that exceeds the largest GPU binding.
    #[error("event {event} of the batch is larger than what the GPU binds at once: {bytes} bytes")]
    EventTooLarge {
        /// The index of the event in its batch.
        event: usize,
        /// The size of its largest column.
        bytes: u64,
    },
    /// A file that cannot be read, or that has the wrong content.
    #[error("{path}: {what}")]
    File {
        /// The path.
        path: String,
        /// The fault.
        what: String,
    },
    /// The engine is [`Engine::Reference`](crate::Engine::Reference), which the counters do not
    /// have.
    #[error("the counters have no reference engine: count on the CPU")]
    NoReference,
    /// Events that exceed the memory of the host.
    #[error("{events} events take some {:.1} GB, and {:.1} GB are free: fewer events", *.bytes as f64 / 1e9, *.available as f64 / 1e9)]
    OutOfMemory {
        /// The number of events.
        events: usize,
        /// The bytes needed, estimated from the first events.
        bytes: u64,
        /// The bytes that are free.
        available: u64,
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
