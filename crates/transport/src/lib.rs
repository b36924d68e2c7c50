//! Electrons and photons through a magnetic field, step by step.
//!
//! This is the beginning of it: random numbers by counter, fields, and the paths of charged particles in them. Steps, processes and GPUs
//! follow.
//!
//! # Theory
//!
//! The slides *Geant4 GPU Code Analysis* describe a prototype that moves electrons through the field of a solenoid. A particle of
//! charge q and momentum p goes along dx/ds = p/|p|, dp/ds = q (p x B)/|p| (in MeV/c, mm and T times 0.299792458), which Runge and Kutta's
//! fourth order integrates, each step as two halves and as a whole: what is between them tells the error.
//!
//! # Practice
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
pub use track::{Kind, Primary, Process, Rejected, Track, simulate};
