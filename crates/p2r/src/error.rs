//! What can go wrong.

use command_host::{Code, Failure};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong. What is wrong with single tracks is no error but their [`Status`](crate::Status).
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A batch that cannot be.
    #[error("batch: {what}")]
    Batch {
        /// What is wrong.
        what: String,
    },
    /// A number of threads that a workgroup cannot have.
    #[error("{size} threads a workgroup: {what}")]
    WorkgroupSize {
        /// That was asked for.
        size: u32,
        /// What is wrong.
        what: String,
    },
    /// An event with more than the GPU binds at once.
    #[error(
        "an event of {bytes} bytes of hits or tracks is larger than what the GPU binds at once ({limit}): fewer tracks an event"
    )]
    EventTooLarge {
        /// Of its larger part.
        bytes: u64,
        /// Of the device.
        limit: u64,
    },
    /// A GPU without 64-bit numbers.
    #[error("{adapter} has no 64-bit numbers (SHADER_F64): use f32, or the reference engine")]
    NoF64 {
        /// Its name.
        adapter: String,
    },
    /// An engine that does not have the number type.
    #[error("the CPU engine computes in f32: use f32, or the reference engine")]
    NoF64OnCpu,
    /// A file that cannot be written.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// The GPU.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}

/// The command's exit codes.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::WorkgroupSize { .. } => Code::Usage,
            Error::Gpu(_) | Error::NoF64 { .. } => Code::Gpu,
            _ => Code::Data,
        };
        Self::new(code, error)
    }
}
