//! The library `zfinder` for a page in the browser: reads files, finds vertices, returns answers
//! and the data of pictures.
//!
//! The page (`web/page`) runs this library in a worker, so that a search never blocks the page. The
//! CPU engine runs in the worker, and the GPU engine runs on the browser's WebGPU. Structures cross
//! the border as JSON, and columns of numbers as typed arrays. An error is a JavaScript exception
//! with the library's message.
//!
//! | module | content | page |
//! |---|---|---|
//! | [`events`] | files and simulated events, with their truth | samples, dropped files, event display |
//! | [`config`] | presets, detectors and layers | search options, event display |
//! | [`finder`] | a finder on the CPU or on a GPU | searches |
//! | [`device`] | the browser's GPU | table of engines |
//! | [`answers`] | answers, their CSV and digest | table of vertices, digests |
//! | [`histogram`] | the z histogram of an RoI | histogram |
//! | [`shaders`] | the WGSL of all kernels | tests of the browser's compiler |

pub mod answers;
pub mod config;
pub mod device;
pub mod events;
pub mod finder;
pub mod histogram;
pub mod shaders;

use serde::Serialize;
use wasm_bindgen::prelude::*;

/// Sends messages of panics to the console. A panic is a bug, or a damaged Parquet file.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// The release, and the addresses of its source and documentation.
#[derive(Serialize)]
struct About {
    version: &'static str,
    repository: &'static str,
    book: &'static str,
}

/// Returns version and addresses as JSON.
///
/// # Errors
/// A failed serialization.
#[wasm_bindgen]
pub fn about() -> Result<String, JsError> {
    json(&About {
        version: env!("CARGO_PKG_VERSION"),
        repository: env!("CARGO_PKG_REPOSITORY"),
        book: concat!(env!("CARGO_PKG_HOMEPAGE"), "/book/"),
    })
}

/// Returns a JavaScript exception.
pub(crate) fn exception(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

/// Returns JSON.
pub(crate) fn json(value: &(impl Serialize + ?Sized)) -> Result<String, JsError> {
    serde_json::to_string(value).map_err(exception)
}
