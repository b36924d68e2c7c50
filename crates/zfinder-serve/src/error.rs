//! What can go wrong before the server serves.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server does not start.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address is in use, or not of this machine, or its port is privileged.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A folder of models, or a file in it, cannot be served.
    #[error("{}: {reason}", path.display())]
    Folder {
        /// The folder or the file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Models contradict each other, or there is none.
    #[error("{0}")]
    Models(String),
    /// A certificate or a key is not usable.
    #[error("{}: {reason}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An option is out of its range.
    #[error("option `{name}`: {reason}")]
    Option {
        /// The name of the field of [`Options`](crate::Options).
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The system gives no threads or no sockets.
    #[error("the server cannot run: {0}")]
    System(#[from] io::Error),
    /// The finder of a model cannot be built.
    #[error("model {model}: {source}")]
    Finder {
        /// The model.
        model: String,
        /// Why.
        source: zfinder::Error,
    },
    /// A GPU cannot be opened.
    #[error(transparent)]
    Gpu(#[from] zfinder::kernel_host::Error),
}
