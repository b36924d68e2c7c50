//! The compiled part of the Python package `pyzfinder`: arrays in, arrays out. The package's Python
//! modules check and convert what users pass, so that the functions here take contiguous columns.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod arrow;
mod columns;
mod error;
mod files;
mod finder;
mod objects;
mod options;
mod pool;
mod results;
mod study;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _pyzfinder {
    #[pymodule_export]
    use super::arrow::{ArrowBuffer, export_results, import_arrow};
    #[pymodule_export]
    use super::columns::{SeenRois, column_advice, event_column};
    #[cfg(feature = "command")]
    #[pymodule_export]
    use super::command;
    #[pymodule_export]
    use super::files::{Reader, read_truth};
    #[pymodule_export]
    use super::finder::{Cancel, Core};
    #[pymodule_export]
    use super::objects::object_kinds;
    #[pymodule_export]
    use super::options::{
        DetectorCore, adapters, check_engine, config_from_toml, config_json, config_to_toml, detectors, keys, presets,
    };
    #[pymodule_export]
    use super::results::{ResultColumns, statuses};
    #[pymodule_export]
    use super::study::{evaluate, simulate};

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::pool::remember_process();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs the command `zfinder` with these arguments, the first of which is its name, and returns the
/// exit code.
#[cfg(feature = "command")]
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| zfinder_cli::main_from(arguments))
}
