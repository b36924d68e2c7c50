//! The clock: of the standard library, or in a browser of the page, where the standard library has none.

#[cfg(not(target_arch = "wasm32"))]
pub use std::time::Instant;
#[cfg(target_arch = "wasm32")]
pub use web_time::Instant;
