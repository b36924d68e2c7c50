//! The steps that lead to the GPU design of C. Jones, *Porting the z-finder algorithm to GPU* (MSc
//! thesis, Edinburgh 2010).
//!
//! Each [`Step`] of the [`staircase`] changes one choice of the step before it, and each of the
//! [`variations`] one choice of the last step. A [`StepEngine`] runs one step on one adapter:
//! `find_z` fills two histograms for each phi slice, `sum_histos` adds the histograms of an RoI.
//! Spacepoints are grouped by layer and slice on the host ([`SlicedBatch`]), as in the thesis.
//! [`compare`] compares the sums with the reference engine.
//!
//! This crate is for measurements. Searches use the library `zfinder`, whose kernels share nothing
//! with these.
//!
//! The example sums the histograms of one RoI on the CPU, and compares them with the reference
//! engine. It then does the same with the last step on a GPU, if there is one.
//!
//! ```
#![doc = include_str!("example.rs")]
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `step`: [`Step`], the choices of the staircase; `sources`: the shaders of a step.
//! - `batch`, `workspace`: [`SlicedBatch`], and its buffers.
//! - `engine`, [`twin`]: [`StepEngine`], and the same stages on the CPU.
//! - `compare`, `error`: differences from the reference engine, and failures.

mod batch;
mod compare;
mod engine;
mod error;
mod sources;
mod step;
pub mod twin;
mod workspace;

pub use batch::{SlicedBatch, SlicedRoi, full_circle};
pub use compare::{Difference, compare};
pub use engine::{StepEngine, StepTimes};
pub use error::{Error, Result};
pub use sources::sources;
pub use step::{
    Grid, Histogram, Index, Init, Input, Memory, Rows, Search, Step, Sums, Threads, Window, staircase, variations,
};
