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
//! [`Reference`] does that as it is written: prism by prism, by quadrature, scattered to the nodes. So do GPUs, if they are asked to
//! ([`Strategy`]). But all layers are alike and columns are straight up, so matrices of prisms are products of those of the plane with
//! those of a column ([`Pairs`]), and every node can gather its own number instead: that is what a GPU does by itself, and
//! [`CpuEngine`] in any number of threads, with the same result to the bit each time.
//!
//! # Practice
//!
//! Make [`Triangles`] by [`generate`], or read what the program Triangle wrote by [`io`]; extrude them to a [`Mesh`]. Fields are
//! arrays with a number for each node, column by column. An [`Assembler`] is built once for a mesh, on a GPU or a CPU; it assembles
//! what the report does, acts on fields ([`Action`]), and solves (M + S) u = b by conjugate gradients.
//!
//! ```
//! use helmholtz::{Action, Assembler, Engine, Extrusion, Mesh, SolveOptions, forcing, generate};
//!
//! # fn main() -> Result<(), helmholtz::Error> {
//! // A cube of side 1.
//! let mesh = Mesh::new(generate::unit_square(16)?, Extrusion { levels: 17, height: 1.0 / 16.0 })?;
//! let exact: Vec<f64> = forcing::exact_solution(&mesh);
//! // Engine::Auto takes a GPU if there is one; not every GPU has numbers of 64 bits.
//! let assembler = Assembler::builder().engine(Engine::Cpu).build::<f64>(mesh)?;
//! let rhs = assembler.act(Action::Mass, &assembler.forcing()?)?;
//! let solution = assembler.solve(&rhs, SolveOptions::default())?;
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
