//! Studies with `zfinder`: simulated events with truth ([`simulate`]), efficiency and resolution
//! ([`evaluate`]), the beam spot ([`beam_spot`]), histograms and pairs of one RoI ([`inspect`]) and
//! their files ([`histogram_writer`]), and plots of all of these ([`plot`]).
//!
//! This program simulates events, searches them, and draws the efficiency against the number of
//! collisions:
//!
//! ```
//! use zfinder::{Config, Engine, Preset, ZFinder};
//! use zfinder_io::TruthVertex;
//! use zfinder_study::evaluate::{By, Evaluation, Options};
//! use zfinder_study::plot::{self, Format, Plotted};
//! use zfinder_study::simulate::Simulation;
//!
//! let sample = Simulation { rois: 30, ..Simulation::lowlum() };
//! let config = Config::preset(Preset::HardScatter);
//! let finder = ZFinder::builder(sample.detector())
//!     .config(config)
//!     
//!     .engine(Engine::Cpu)
//!     .build()?;
//! let mut evaluation = Evaluation::new(Options::default());
//! for event in sample.chunks().flatten() {
//!     let mut truth = Vec::new();
//!     for (number, vertex) in event.truth.iter().enumerate() {
//!         let is_hard_scatter = number == 0;
//!         truth.push(TruthVertex { z_mm: vertex.z_mm, is_hard_scatter, ..Default::default() });
//!     }
//!     evaluation.add(finder.find(&event.roi)?.roi(0), &truth);
//! }
//! let binning = evaluation.binning(By::PileUp, None);
//! let summary = evaluation.summary(Some(&binning));
//! assert!(summary.figures.first.value > Some(0.9));
//!
//! let residuals_mm: Vec<f64> = evaluation.residuals().collect();
//! let plotted = Plotted {
//!     name: "hard-scatter",
//!     figures: &summary.figures,
//!     bins: &summary.bins,
//!     residuals_mm: &residuals_mm,
//! };
//! let figure = plot::evaluation(&[plotted], Some(By::PileUp), 1.0);
//! let picture = figure.render(Format::Svg, &plot::Options::default())?;
//! assert!(picture.starts_with(b"<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `simulate`: spacepoints of RoIs and of whole events, with true vertices.
//! - `evaluate`: efficiency and resolution of found vertices.
//! - `beam_spot`: position, slope and width of the beam spot.
//! - `inspect`, `histogram_writer`: histograms and pairs of one RoI, and their files; `reason`: why
//!   a first vertex is wrong.
//! - `plot`: pictures; `error`: [`Error`].

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod beam_spot;
mod error;
pub mod evaluate;
pub mod histogram_writer;
pub mod inspect;
#[cfg(feature = "plot")]
pub mod plot;
mod reason;
pub mod simulate;

pub use reason::reason;

pub use error::{Error, Result};
