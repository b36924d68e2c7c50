//! Electrons and photons through a magnetic field, step by step.
//!
//! # Theory
//!
//! The slides *Geant4 GPU Code Analysis* describe a prototype that moves electrons through the field of a solenoid and lead tungstate: how
//! far each goes, count and sort by process, and then the interactions. A particle of charge q and momentum p goes along dx/ds = p/|p|,
//! dp/ds = q (p x B)/|p| (in MeV/c, mm and T times 0.299792458), which Runge and Kutta's fourth order integrates, each step as two halves
//! and as a whole: what is between them tells the error. A process of mean free path L happens after -L ln u, u being uniform; the one
//! that comes first ends the step. Random numbers are a function of the seed, the track, the step and the draw (Philox4x32-10), and energy is
//! summed in whole numbers, so that nothing depends on the order in which tracks are looked at, nor on the engine but for rounding.
//!
//! # Practice
//!
//! Showers, to their end, and where their energy went:
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
//! A path by itself:
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
//! [`Sorter`] counts and sorts elements of any classes, and [`Probe`] has fields and paths alone on a GPU.

mod deposits;
mod engine;
mod error;
mod field;
mod geometry;
mod integrate;
mod number;
mod philox;
mod physics;
mod probe;
mod shaders;
mod simulation;
mod sorter;
mod track;
mod world;

pub use deposits::{Deposits, Grid};
pub use engine::ended::Status;
pub use engine::gpu::probe::{Probe, ProbeOptions};
pub use engine::gpu::run::StageTime;
pub use error::{Error, Result};
pub use field::{AnyField, Field, Map, Parametrised, Uniform};
pub use geometry::{Cell, Geometry};
pub use integrate::{Accuracy, Path, State, follow, plain_step, step};
pub use kernel_host::{AdapterChoice, Engine, Gpu};
pub use number::{Number, Vector};
pub use philox::{CONSTANT, Draws, Random, philox4x32};
pub use physics::Cuts;
pub use probe::Walk;
pub use simulation::{Balance, Kernels, Outcome, Simulation, SimulationBuilder};
pub use sorter::{Count, PartTime, Sorted, Sorter, SorterBuilder};
pub use track::{Kind, Primary, Process, Rejected, Track, TrackStatus, simulate};
