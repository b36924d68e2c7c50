//! Errors of the library.

use std::fmt;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that this crate can refuse, each with what to do about it.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// A configuration value that no engine could honour.
    Config {
        /// The key, as in TOML.
        key: &'static str,
        /// The value found.
        value: String,
        /// Problem and remedy.
        reason: String,
    },
    /// No key of the configuration has this name.
    UnknownKey {
        /// The name found.
        name: String,
        /// The names of all keys.
        known: Vec<&'static str>,
    },
    /// A detector table that contradicts itself.
    Detector {
        /// The detector's name.
        detector: String,
        /// The number of the layer at fault; None if it is not one layer's.
        layer: Option<u32>,
        /// Problem.
        reason: String,
    },
    /// A phi window that no spacepoint could lie in, or that is no window.
    PhiWindow {
        /// Lower edge \[rad\].
        phi_min: f64,
        /// Upper edge \[rad\].
        phi_max: f64,
        /// Problem.
        reason: &'static str,
    },
    /// An object, or a size of the calorimeter, that is out of range.
    Object {
        /// Invalid field: `eta`, `phi`, `et`, `kind`, or a field of
        /// [`Calorimeter`](crate::Calorimeter).
        key: &'static str,
        /// The value found.
        value: String,
        /// Valid range.
        reason: String,
    },
    /// Columns or offsets of a batch that do not fit each other:
    /// [`RoiBatch::push_columns`](crate::RoiBatch::push_columns).
    Columns {
        /// Mismatch.
        reason: String,
    },
    /// An engine panicked on a batch of a [`Stream`](crate::Stream): a fault of the program, not of
    /// its input. The stream goes on with the next batch.
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// A [`CancellationToken`](crate::CancellationToken) ended the search.
    Cancelled,
    /// The system gives no thread for a [`Stream`](crate::Stream) or for the CPU engine.
    Thread(std::io::Error),
    /// The GPU, its driver or a shader.
    #[cfg(feature = "gpu")]
    Gpu(kernel_host::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config { key, value, reason } => write!(f, "option `{key}`: {value} {reason}"),
            Self::UnknownKey { name, known } => {
                let distance = |key: &str| strsim::damerau_levenshtein(name, key);
                let nearest = known.iter().min_by_key(|key| distance(key)).filter(|key| distance(key) <= 2);
                let advice = nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
                write!(f, "there is no option `{name}`: the options are {}{advice}", known.join(", "))
            }
            Self::Detector { detector, layer: Some(layer), reason } => {
                write!(f, "detector `{detector}`: layer {layer}: {reason}")
            }
            Self::Detector { detector, layer: None, reason } => write!(f, "detector `{detector}`: {reason}"),
            Self::PhiWindow { phi_min, phi_max, reason } => {
                write!(f, "phi window [{phi_min}, {phi_max}] rad {reason}")
            }
            Self::Object { key, value, reason } => write!(f, "`{key}` of an object: {value} {reason}"),
            Self::Columns { reason } => write!(f, "columns of spacepoints: {reason}"),
            Self::Panicked { message } => write!(f, "the engine panicked: {message}"),
            Self::Cancelled => f.write_str("the search was cancelled"),
            Self::Thread(source) => write!(f, "no thread for a stream: {source}"),
            #[cfg(feature = "gpu")]
            Self::Gpu(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Thread(source) => Some(source),
            #[cfg(feature = "gpu")]
            Self::Gpu(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(feature = "gpu")]
impl From<kernel_host::Error> for Error {
    fn from(error: kernel_host::Error) -> Self {
        Self::Gpu(error)
    }
}
