//! Errors at the start of a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a server does not start.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address that is in use or not of this machine, or a privileged port.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A folder of models, or a file in it, that cannot be served.
    #[error("{}: {reason}", path.display())]
    Folder {
        /// The folder or the file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Models that contradict each other, or no models.
    #[error("{0}")]
    Models(String),
    /// An unusable certificate or key.
    #[error("{}: {reason}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// An option that is out of range.
    #[error("option `{name}`: {reason}")]
    Option {
        /// The name of the field of [`Options`](crate::Options).
        name: &'static str,
        /// The fault.
        reason: String,
    },
    /// The system gives no threads or no sockets.
    #[error("the server cannot run: {0}")]
    System(#[from] io::Error),
    /// The finder of a model that cannot be built.
    #[error("model {model}: {source}")]
    Finder {
        /// The model.
        model: String,
        /// The library's error.
        source: zfinder::Error,
    },
    /// Descriptors of the protocol that cannot be served.
    #[error("reflection: {0}")]
    Reflection(String),
    /// A GPU that cannot be opened.
    #[error(transparent)]
    Gpu(#[from] zfinder::gpu::kernel_host::Error),
}
