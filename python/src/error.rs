//! Errors of the libraries as exceptions of `pyzfinder`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Makes an exception of the class of this name in `pyzfinder._errors`.
fn exception(class: &'static str, message: String) -> PyErr {
    Python::attach(|py| {
        static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let module = MODULE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("pyzfinder._errors")?.into_any().unbind()));
        let class = module.and_then(|module| Ok(module.bind(py).getattr(class)?.cast_into::<PyType>()?));
        match class {
            Ok(class) => PyErr::from_type(class, (message,)),
            Err(error) => error,
        }
    })
}

/// Makes a `ConfigError`.
pub(crate) fn config_error(message: &str) -> PyErr {
    exception("ConfigError", message.to_owned())
}

/// Makes an `InputError`.
pub(crate) fn input_error(message: &str) -> PyErr {
    exception("InputError", message.to_owned())
}

/// Makes an `EngineError`.
pub(crate) fn engine_error(message: &str) -> PyErr {
    exception("EngineError", message.to_owned())
}

/// Makes a `FileError`.
pub(crate) fn file_error(message: &str) -> PyErr {
    exception("FileError", message.to_owned())
}

/// An error that becomes an exception.
pub(crate) trait IntoException {
    /// Makes the exception.
    fn into_exception(self) -> PyErr;
}

impl IntoException for zfinder::Error {
    fn into_exception(self) -> PyErr {
        use zfinder::Error as E;
        let message = self.to_string();
        match self {
            E::Config { .. } | E::UnknownKey { .. } | E::Detector { .. } => config_error(&message),
            E::PhiWindow { .. } | E::Columns { .. } => input_error(&message),
            _ => engine_error(&message),
        }
    }
}

impl IntoException for zfinder_io::Error {
    fn into_exception(self) -> PyErr {
        use zfinder_io::Error as E;
        let message = self.to_string();
        match self {
            E::Toml { .. } => config_error(&message),
            E::Io { .. } => file_error(&message),
            E::Zfinder(error) => error.into_exception(),
            _ => input_error(&message),
        }
    }
}

impl IntoException for zfinder_study::Error {
    fn into_exception(self) -> PyErr {
        match self {
            Self::Zfinder(error) => error.into_exception(),
            other => engine_error(&other.to_string()),
        }
    }
}

impl IntoException for zfinder::gpu::kernel_host::Error {
    fn into_exception(self) -> PyErr {
        engine_error(&self.to_string())
    }
}
