//! Assembles the Helmholtz problem on extruded triangular prisms.

mod error;
mod mesh;
mod pairs;

pub use error::{Error, Result};
pub use mesh::{Extrusion, Mesh, Number, Triangles};
pub use pairs::Pairs;
