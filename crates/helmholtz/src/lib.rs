//! Assembles the Helmholtz problem on extruded triangular prisms.

mod engine;
mod error;
pub mod forcing;
pub mod generate;
pub mod io;
mod mesh;
mod pairs;
mod solve;

pub use engine::Action;
pub use engine::cpu::CpuEngine;
pub use engine::reference::Reference;
pub use error::{Error, Result};
pub use mesh::{Extrusion, Mesh, Number, Triangles};
pub use pairs::Pairs;
pub use solve::{Operator, Solution, SolveOptions, solve};
