//! Studies with `zfinder`: simulated events with truth ([`simulate`]), efficiency and resolution
//! ([`evaluate`]), the beam spot ([`beam_spot`]), histograms and pairs of one RoI ([`inspect`]) and
//! their files ([`histogram_writer`]), and plots of all of these ([`plot`]).
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `simulate`: spacepoints of RoIs and of whole events, with true vertices.
//! - `evaluate`: efficiency and resolution of found vertices.
//! - `beam_spot`: position, slope and width of the beam spot.
//! - `inspect`, `histogram_writer`: histograms and pairs of one RoI, and their files.
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
pub mod simulate;

pub use error::{Error, Result};
