//! Support for the tests of this workspace: adapters, toy events, comparisons of engines.
//!
//! # Map
//!
//! - `engines`: engines on every adapter, and comparisons of their answers.
//! - `toy`: simulated collisions in the detector `atlas2010`; `rois`: RoIs for tests of files.
//! - `shared`: paths of data outside the repository; `on_adapters`: the adapters of a test.
//! - `pages`: the Rust programs of README and book, which `cargo test --doc` runs.

#![allow(missing_docs, reason = "read by its tests")]

pub mod engines;
pub mod rois;
pub mod toy;

pub use kernel_host::testing::{is_slow, on_adapters, on_fast_adapters, shared};

/// The Rust programs of the pages: `cargo test --doc` compiles and runs them.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../../../docs/how-to/embed-in-rust.md")]
    struct EmbedInRust;

    #[doc = include_str!("../../../docs/explanation/tracklets.md")]
    struct Tracklets;
}
