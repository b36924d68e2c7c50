//! Electrons and photons through a magnetic field, step by step.
//!
//! # Theory
//!
//! The slides *Geant4 GPU Code Analysis* describe a prototype that moves electrons through the
//! field of a solenoid and lead tungstate. A step has three stages: the step length, counting and
//! sorting by process, and the interactions.
//!
//! A particle of charge q and momentum p moves along dx/ds = p/|p|, dp/ds = q (p x B)/|p| (in
//! MeV/c, mm and T times 0.299792458). A fourth-order Runge-Kutta method integrates each step once
//! in two halves and once as a whole; the difference estimates the error. A process of mean free
//! path L happens after a path of -L ln u with a uniform u. The first process ends the step.
//!
//! Random numbers are a function of the seed, the track, the step and the draw (Philox4x32-10), and
//! energies are summed as integers. Results therefore do not depend on the order of tracks, and
//! depend on the engine only by rounding.
//!
//! # Practice
//!
//! Simulate showers to their end, with their energy balance:
//!
//! ```
//! use transport::{Engine, Kernels, Simulation, Status, simulate};
//!
//! # fn main() -> Result<(), transport::Error> {
//! let simulation = Simulation::builder().engine(Engine::Cpu).kernels(Kernels::Split).build()?;
//! let outcome = simulation.run(&simulate(5, 0.2, 1))?;
//! assert_eq!(outcome.status, Status::Finished);
//! assert!(outcome.balance.missing().abs() < 1e-5);
//! assert!(outcome.deposits.total() > 0.9 * outcome.balance.initial);
//! # Ok(())
//! # }
//! ```
//!
//! Follow a single path:
//!
//! ```
//! use transport::{Accuracy, Parametrised, State, follow};
//!
//! let from = State { place: [100.0, 0.0, 0.0], momentum: [200.0, 0.0, 300.0] };
//! let path = follow(&Parametrised, -1.0, from, 500.0, &Accuracy::default());
//! assert_eq!(path.length, 500.0);
//! let momentum = path.state.momentum.map(|p| p * p).iter().sum::<f64>().sqrt();
//! assert!((momentum - 360.555).abs() < 1e-2);
//! ```
//!
//! [`Sorter`] counts and sorts elements by class. [`Probe`] evaluates fields and paths alone on a
//! GPU.
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `track`, `field`, `geometry`, `material`, `world`: tracks and the world that they pass.
//! - `integrate`, `philox`, `physics`: steps in a field, random numbers, and interactions.
//! - `engine`: the stages of a step; `classes`, `sorter`: sorting by process.
//! - `simulation`, `deposits`: [`Simulation`], runs, energy balance and deposits.
//! - `probe`, `number`, `error`: tests of fields, number types and failures.

mod classes;
mod deposits;
mod engine;
mod error;
mod field;
mod geometry;
mod integrate;
mod material;
mod number;
mod philox;
mod physics;
mod probe;
mod simulation;
mod sorter;
mod track;
mod world;

pub use classes::{Count, PartTime, Sorted};
pub use deposits::{Deposits, Grid};
pub use engine::Kernels;
pub use engine::ended::Status;
pub use engine::gpu::layouts::{Layout, LayoutTime, time_layout};
pub use engine::gpu::probe::{Probe, ProbeOptions};
pub use engine::gpu::time::StageTime;
pub use error::{Error, Result};
pub use field::{AnyField, Field, Map, Parametrised, Uniform};
pub use geometry::{Cell, Geometry, Shape, Volume};
pub use integrate::{Accuracy, Path, State, follow, plain_step, step};
pub use kernel_host::{AdapterChoice, Engine, Gpu, Precision};
pub use material::Material;
pub use number::{Number, Vector};
pub use philox::{CONSTANT, Draws, Random, philox4x32};
pub use physics::Cuts;
pub use probe::Walk;
pub use simulation::{Balance, Outcome, Simulation, SimulationBuilder};
pub use sorter::{Sorter, SorterBuilder};
pub use track::{Kind, Primary, Process, Rejected, Track, TrackStatus, simulate};
pub use world::{Scattering, SortBy};
