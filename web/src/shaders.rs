//! The WGSL of all kernels, for tests of the browser's compiler.

use wasm_bindgen::prelude::*;
use zfinder::Precision;
use zfinder::internals::shader_sources;

use crate::json;

/// Returns `[kernel, WGSL]` of every assembled f32 shader as JSON.
///
/// # Errors
/// A failed serialization.
#[wasm_bindgen]
pub fn shaders() -> Result<String, JsError> {
    json(&shader_sources(Precision::F32))
}
