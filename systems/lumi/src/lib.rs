//! Luminosity counters of events: energies, hits, clusters, tracks and vertices, on any vendor's
//! GPU (WGSL compute shaders through wgpu) or on the CPU, with sums that are the same bits in any
//! order.
//!
//! # Theory
//!
//! Luminosity is measured by counts that grow with the number of collisions: hits, tracks,
//! vertices, energy in the calorimeter. A trigger counts them in randomly selected events (*lumi
//! events*) and packs the counters into a summary bank. The averages are taken later. The counters
//! and their packing follow LHCb's lumi summaries, as its public trigger program Allen makes them:
//!
//! - calorimeter ([`CALO`]): E = gain (digit - pedestal) and E_T = E sin theta, summed over all
//!   cells and by area;
//! - fibre tracker ([`SCIFI`]): hits by station, module and quarters;
//! - vertex locator: clusters by station and side ([`VELO_CLUSTERS`]), tracks by pseudorapidity
//!   ([`VELO_TRACKS`]);
//! - vertices: number and positions in the order of z; of two close vertices, the smaller one is
//!   dropped ([`VertexCounters`]).
//!
//! A floating-point sum depends on the order of its terms, and a GPU does not fix the order.
//! Energies are therefore summed as integers ([`Scheme::Fixed`], [`Scheme::Exact`]), in two 32-bit
//! words because WGSL has no 64-bit integers. Cuts on the distance from the beam line and on
//! pseudorapidity are exact: positions are multiples of 2^-16 mm, slopes are multiples of 2^-30,
//! and squares are compared instead of square roots.
//!
//! # Practice
//!
//! ```
//! use lumi::{Calorimeter, Engine, LumiCounter, Simulation};
//!
//! let simulation = Simulation { events: 50, lumi_fraction: 0.3, ..Simulation::default() };
//! let batch = simulation.simulate(&Calorimeter::lhcb())?;
//! let counter = LumiCounter::builder().engine(Engine::Cpu).build()?;
//! let counted = counter.count(&batch)?; // of lumi events, in their order
//! let banks = counter.summaries(&batch, &counted);
//! let summary = counter.schemata().decode(&banks[0])?;
//! assert_eq!(summary.counters["SciFiT1M123"], Some(f64::from(counted[0].scifi[0])));
//! # Ok::<(), lumi::Error>(())
//! ```
//!
//! [`Engine::Auto`] takes a hardware GPU if there is one, but the CPU for batches that it counts
//! faster ([`is_worth_a_gpu`]). Both give the same counters. There is no [`Engine::Reference`]. The
//! command `lumi` works on files ([`io`]). Each shader has a CPU twin in `src/engine/cpu.rs`.
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `calorimeter`, `event`: input, [`Calorimeter`] and batches of events; `simulate`:
//!   [`Simulation`].
//! - `fixed`: positions and slopes as integers, and exact cuts.
//! - `counters`, `counter`: options of the counters, and [`LumiCounter`].
//! - `engine`: the CPU engine, the GPU engine, and their stages.
//! - `sums`, `fields`, `schema`, `summary`: counters as columns, and summary banks.
//! - `luminosity`: averages of counters, their background, and the log-zero method.
//! - [`io`], `error`: files and failures.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod calorimeter;
mod counter;
mod counters;
mod engine;
mod error;
mod event;
mod fields;
mod fixed;
pub mod io;
mod luminosity;
mod schema;
mod simulate;
mod summary;
mod sums;

pub use calorimeter::{Calorimeter, Cell};
pub use counter::{LumiCounter, LumiCounterBuilder, is_worth_a_gpu};
pub use counters::{
    CALO, CaloSums, EventCounters, SCIFI, Scheme, VELO_CLUSTERS, VELO_TRACKS, VERTEX_Z, VertexCounters,
};
pub use engine::gpu::KernelTime;
pub use error::{Error, Result};
pub use event::{
    Event, EventBatch, EventView, Header, INVALID_ADC, MAX_VERTICES, SciFiHit, VeloCluster, VeloTrack, Vertex,
};
pub use kernel_host::{AdapterChoice, Engine};
pub use luminosity::{Averages, Background, Interval, LogZero, Point, Sample, time_us};
pub use schema::{Field, FieldSpec, Schema};
pub use simulate::Simulation;
pub use summary::{BUNCHES, BankLayout, FieldLayout, LAYOUT_VERSION, Layout, Schemata, Summary};
pub use sums::{Column, Sums, Values};
