//! The library's exports to the page: files in, answers and pictures' data out.
//!
//! Structures pass as JSON, and long columns of numbers as typed arrays. Errors are exceptions
//! whose message is the library's. All of it runs in a worker of the page: the CPU engine there,
//! and the GPU engine by the browser's WebGPU.

#![cfg(target_arch = "wasm32")]

mod answers;
pub mod config;
mod device;
mod events;
mod finder;
mod histogram;
pub mod shaders;

use wasm_bindgen::prelude::*;

/// Sends the message of a panic, which would be a fault of the program, to the console.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// An exception.
pub(crate) fn exception(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

/// JSON of what is always representable.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, JsError> {
    serde_json::to_string(value).map_err(exception)
}
