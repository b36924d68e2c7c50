//! Propagates tracks to radii and updates them with hits (Kalman), with the ways to lay tracks out in memory and to map them
//! onto threads side by side: on any GPU through WGSL, or on the CPU.
//!
//! # Theory
//!
//! The formulas are those of the public mini-app p2r (Front. Big Data 7:1485344), which takes them from mkFit: a helix in a field of
//! 3.8 T is followed to a hit's radius in five steps, with the derivatives of its path; the covariance of x, y, z, 1/pt, phi and
//! theta goes along with the Jacobian, whose zeros are used; the hit then updates the state across the mean direction
//! and along the beam. [`Mode::Sequential`] goes on from layer to layer: a track fit. [`Mode::SeedState`] begins each layer with
//! the track as it came, as the mini-app does, so that its result is that of the last layer.
//!
//! # Practice
//!
//! A [`Batch`] holds events of tracks and a hit for each track and layer, in groups of any size ([`Layout`]): structures of arrays
//! in an array. A [`Fitter`] is built once, and fits batches. What was wrong with a track is its [`Status`]: a fit never ends for a
//! bad track, and never gives back what is no number.
//!
//! ```
//! use p2r::{Engine, Fitter, Layout, Mode, Simulation, Statistics};
//!
//! # fn main() -> Result<(), p2r::Error> {
//! let layout = Layout { events: 1, tracks: 64, layers: 20, bsize: 32 };
//! let batch = Simulation { layout, ..Simulation::default() }.simulate::<f32>()?;
//! let fitter = Fitter::builder().engine(Engine::Cpu).mode(Mode::Sequential).build::<f32>()?;
//! let fitted = fitter.fit(&batch)?;
//! assert!(fitted.status(0, 7).is_ok());
//! let statistics = Statistics::of(&batch, &fitted);
//! assert_eq!((statistics.tracks, statistics.nans, statistics.failed), (64, 0, 0));
//! assert!((statistics.pt - 4.58).abs() < 0.02, "GeV: {}", statistics.pt);
//! # Ok(())
//! # }
//! ```

mod batch;
mod engine;
mod error;
mod fitter;
pub mod io;
mod shaders;
mod simulate;
mod statistics;
mod status;

pub use batch::{Batch, COVARIANCES, HIT, Hit, Layout, MAX_LAYERS, Number, PARAMETERS, STATE, TRACK, Track};
pub use engine::gpu::IndexMap;
pub use engine::{Fitted, Mode};
pub use error::{Error, Result};
pub use fitter::{Fitter, FitterBuilder};
pub use kernel_host::{AdapterChoice, Engine, Gpu};
pub use simulate::{Simulation, Spread, seed_track};
pub use statistics::{Deviation, Statistics};
pub use status::Status;
