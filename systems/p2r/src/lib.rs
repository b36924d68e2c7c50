//! Propagates tracks to radii and updates them with hits (Kalman), on any GPU through WGSL or on
//! the CPU.
//!
//! The crate compares memory layouts of tracks and mappings of tracks onto threads.
//!
//! # Theory
//!
//! 1. A helix is propagated to the cylinder or disk of a hit, in closed form.
//! 2. The exact Jacobian transports the covariance of x, y, z, 1/pt, phi and theta.
//! 3. The hit updates the state, on a cylinder across the mean direction and along the beam.
//!
//! [`Formulas::P2r`] propagates to cylinders with the formulas of the public mini-app p2r (Front.
//! Big Data 7:1485344), which takes them from mkFit: in five steps, with an approximate Jacobian.
//!
//! [`Mode::Sequential`] continues from layer to layer: a track fit. [`Mode::SeedState`] begins each
//! layer with the input track, as the mini-app does: the result is the result of the last layer.
//!
//! # Practice
//!
//! A [`Batch`] holds tracks of events and a hit for each track and layer, as an array of structures
//! of arrays ([`Layout`]). A [`Fitter`] is built once and fits many batches. The [`Status`] of a
//! track reports its faults: a bad track never stops a fit, and results are always finite.
//! [`Quality`] has pulls and chi2. [`io`] reads tracks and hits from files.
//!
//! ```
//! use p2r::{Engine, Fitter, Layout, Simulation, Statistics};
//!
//! # fn main() -> Result<(), p2r::Error> {
//! let layout = Layout { events: 1, tracks: 64, layers: 20, bsize: 32 };
//! let batch = Simulation { layout, ..Simulation::default() }.simulate::<f32>()?;
//! let fitter = Fitter::builder().engine(Engine::Cpu).build::<f32>()?;
//! let fitted = fitter.fit(&batch)?;
//! assert!(fitted.status(0, 7).is_ok());
//! let statistics = Statistics::of(&batch, &fitted, 64);
//! assert_eq!((statistics.tracks, statistics.nans, statistics.failed), (64, 0, 0));
//! assert!((statistics.pt - 4.58).abs() < 0.02, "GeV: {}", statistics.pt);
//! # Ok(())
//! # }
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `batch`: [`Batch`], tracks and hits in memory; `simulate`: [`Simulation`].
//! - `engine`: the stages, for the CPU, the GPU and the reference; `fitter`: [`Fitter`].
//! - `perigee`: [`Perigee`], the parameters at the beam line.
//! - `status`, `quality`, `statistics`: faults, pulls and chi2, and the statistics of the mini-app.
//! - [`io`], `error`: files and failures.

mod batch;
mod engine;
mod error;
mod fitter;
pub mod io;
mod perigee;
mod quality;
mod simulate;
mod statistics;
mod status;

pub use batch::{Batch, COVARIANCES, HIT, Hit, Layout, MAX_LAYERS, Number, PARAMETERS, STATE, TRACK, Track};
pub use engine::gpu::IndexMap;
pub use engine::reference::FIELD;
pub use engine::{Fitted, Formulas, Mode};
pub use error::{Error, Result};
pub use fitter::{Fitter, FitterBuilder};
pub use kernel_host::{AdapterChoice, Engine, Gpu, Precision};
pub use perigee::{PERIGEE, PERIGEE_NAMES, Perigee};
pub use quality::{PULL_NAMES, PULLS, Quality, degrees_of_freedom, pulls};
pub use simulate::{Simulation, Spread, seed_track};
pub use statistics::{Deviation, Statistics};
pub use status::Status;
