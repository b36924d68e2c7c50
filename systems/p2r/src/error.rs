//! Errors of the crate.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate. A fault of a single track is not an error: see
/// [`Status`](crate::Status).
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A batch with an invalid layout.
    #[error("batch: {what}")]
    Batch {
        /// The fault.
        what: String,
    },
    /// A workgroup size that the device cannot have.
    #[error("{size} threads a workgroup: {what}")]
    WorkgroupSize {
        /// The requested size.
        size: u32,
        /// The fault.
        what: String,
    },
    /// An event that exceeds the largest GPU binding.
    #[error(
        "an event of {bytes} bytes of hits or tracks is larger than what the GPU binds at once ({limit}): fewer tracks an event"
    )]
    EventTooLarge {
        /// The size of its hits or of its tracks, whichever is larger.
        bytes: u64,
        /// The device's limit.
        limit: u64,
    },
    /// A batch or its results that exceed the memory of the host.
    #[error(
        "{} are needed{}: fewer events, tracks or layers",
        gigabytes(*.bytes),
        .available.map_or_else(String::new, |available| format!(", and {} are free", gigabytes(available)))
    )]
    OutOfMemory {
        /// The bytes needed.
        bytes: u64,
        /// The bytes that are free, if they are known.
        available: Option<u64>,
    },
    /// A file that cannot be read, or that has the wrong content.
    #[error("{path}{}: {what}", .row.map_or_else(String::new, |row| format!(", line {row}")))]
    File {
        /// The path.
        path: String,
        /// The line, from 1, if the fault is in one.
        row: Option<u64>,
        /// The fault.
        what: String,
    },
    /// A GPU without f64.
    #[error("{adapter} has no 64-bit numbers (SHADER_F64): use f32, or the reference engine")]
    NoF64 {
        /// The adapter's name.
        adapter: String,
    },
    /// The CPU engine, which has no f64.
    #[error("the CPU engine computes in f32: use f32, or the reference engine")]
    NoF64OnCpu,
    /// An error of the GPU.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}

impl From<array_file::Error> for Error {
    fn from(error: array_file::Error) -> Self {
        Self::File { path: error.path.display().to_string(), row: None, what: error.what }
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
