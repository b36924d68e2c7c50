//! Assembles the Helmholtz problem on extruded triangular prisms, and solves it.
//!
//! # Theory
//!
//! The problem is -div grad u + u = f, with a normal derivative of zero, on a mesh of triangles that is extruded to columns of prisms.
//! Functions are linear on triangles times linear upwards. The helmholtz report assembles what PyOP2 generated for it, four
//! stages: the forcing f, for which u = cos(2 pi x) cos(2 pi y) cos(2 pi z); M f, the right-hand side; S of that, where M and S are
//! the matrices of mass and stiffness; and the row sums of M + S, which are those of M, since gradients of a constant vanish: each node's
//! volume. No matrix is stored.
//!
//! [`Reference`] does that as it is written: prism by prism, by quadrature, scattered to the nodes. All layers are alike and columns are
//! straight up, so matrices of prisms are products of those of the plane with those of a column ([`Pairs`]), and every node can gather
//! its own number instead: that is what [`CpuEngine`] does, in any number of threads with the same result to the bit.
//!
//! # Practice
//!
//! Make [`Triangles`] by [`generate`], or read what the program Triangle wrote by [`io`]; extrude them to a [`Mesh`]. Fields are
//! arrays with a number for each node, column by column. An engine is built once for a mesh, and then acts on fields
//! ([`Action`]); [`solve()`] solves (M + S) u = b by conjugate gradients.
//!
//! ```
//! use helmholtz::{Action, CpuEngine, Extrusion, Mesh, SolveOptions, forcing, generate, solve};
//!
//! # fn main() -> Result<(), helmholtz::Error> {
//! // A cube of side 1.
//! let mesh = Mesh::new(generate::unit_square(16)?, Extrusion { levels: 17, height: 1.0 / 16.0 })?;
//! let exact: Vec<f64> = forcing::exact_solution(&mesh);
//! let engine = CpuEngine::<f64>::new(mesh);
//! let (mut forcing, mut rhs) = (engine.zero(), engine.zero());
//! engine.forcing(&mut forcing)?;
//! engine.act(Action::Mass, &forcing, &mut rhs)?;
//! let solution = solve(&engine, &rhs, SolveOptions::default())?;
//! assert!(solution.converged);
//! let error = solution.field.iter().zip(&exact).map(|(found, exact)| (found - exact).abs()).fold(0.0, f64::max);
//! assert!(error < 0.07, "{error}");
//! # Ok(())
//! # }
//! ```

mod assembler;
mod engine;
mod error;
pub mod forcing;
pub mod generate;
pub mod io;
mod mesh;
mod pairs;
mod shaders;
mod solve;

pub use assembler::{Assembled, Assembler, AssemblerBuilder};
pub use engine::Action;
pub use engine::cpu::CpuEngine;
pub use engine::gpu::{Accumulators, Atomics, Order, StageTime, Strategy};
pub use engine::reference::Reference;
pub use error::{Error, Result};
pub use kernel_host::{AdapterChoice, Engine, Gpu};
pub use mesh::{Extrusion, Mesh, Number, Triangles};
pub use pairs::Pairs;
pub use shaders::TablesIn;
pub use solve::{Operator, Solution, SolveOptions, solve};
