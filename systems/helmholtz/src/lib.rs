//! Assembles the Helmholtz problem on extruded triangular prisms, and solves it.
//!
//! # Theory
//!
//! The problem is -div grad u + u = f with a normal derivative of zero, on a mesh of triangles that
//! is extruded to columns of prisms. The basis functions are linear on triangles times linear in z.
//! M is the mass matrix and S the stiffness matrix. The helmholtz report assembles four stages,
//! which PyOP2 generated:
//!
//! 1. the forcing f, whose solution is u = cos(2 pi x) cos(2 pi y) cos(2 pi z);
//! 2. the right-hand side M f;
//! 3. S M f;
//! 4. the row sums of M + S, which are the row sums of M because gradients of a constant vanish:
//!    the volume of each node.
//!
//! These stages store no matrix.
//!
//! [`Reference`] computes the stages prism by prism: it integrates by quadrature and scatters to
//! the nodes. A GPU can do the same ([`Strategy`]). All layers are equal and columns are vertical,
//! so the matrices of prisms are products of plane and column matrices ([`Pairs`]), and every node
//! can gather its own value. A GPU gathers by default; [`CpuEngine`] always does. Gathered results
//! are bit-identical for any number of threads.
//!
//! # Practice
//!
//! [`generate`] makes [`Triangles`], and [`io`] reads the files of Gmsh and of the program
//! Triangle. [`Mesh::new`] extrudes them. Fields are arrays with one number per node, column by
//! column. An [`Assembler`] is built once for a mesh, on a GPU or a CPU. It assembles the report's
//! stages, applies matrices to fields ([`Action`]), and solves (M + S) u = b by conjugate
//! gradients.
//!
//! A [`Problem`] has coefficients, a right-hand side and boundary conditions of the user's.
//! [`Problem::assemble`] makes a [`System`] with a stored [`NodeMatrix`], and a [`Solver`] solves
//! it in f64 or in mixed precision. If c is negative at a node, the matrix may be indefinite, and
//! the solver uses MINRES.
//!
//! ```
//! use helmholtz::{Action, Assembler, Engine, Extrusion, Mesh, SolveOptions, forcing, generate};
//!
//! # fn main() -> Result<(), helmholtz::Error> {
//! // A cube of side 1.
//! let mesh = Mesh::new(generate::unit_square(16)?, Extrusion { levels: 17, height: 1.0 / 16.0 })?;
//! let exact: Vec<f64> = forcing::exact_solution(&mesh);
//! // Engine::Auto takes a GPU if there is one; not every GPU has f64.
//! let assembler = Assembler::builder().engine(Engine::Cpu).build::<f64>(mesh)?;
//! let rhs = assembler.act(Action::Mass, &assembler.forcing()?)?;
//! let solution = assembler.solve(&rhs, SolveOptions::default())?;
//! assert!(solution.converged);
//! let errors = solution.field.iter().zip(&exact).map(|(found, exact)| (found - exact).abs());
//! let error = errors.fold(0.0, f64::max);
//! assert!(error < 0.07, "{error}");
//! # Ok(())
//! # }
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - [`generate`], [`io`], `mesh`, `boundary`: triangles, and the prisms that are extruded from
//!   them.
//! - `quadrature`, `pairs`, [`forcing`]: integrals on prisms, couplings of columns, and the problem
//!   of the report.
//! - `engine`: reference, CPU and GPU; `assembler`: [`Assembler`].
//! - `expression`, `problem`, `matrix`: [`Problem`] and its stored matrix.
//! - `solve`, `minres`, `solver`: conjugate gradients, MINRES and refinement; `error`: failures.

mod assembler;
mod boundary;
mod engine;
mod error;
mod expression;
pub mod forcing;
pub mod generate;
pub mod io;
mod matrix;
mod mesh;
mod minres;
mod pairs;
mod problem;
mod quadrature;
mod solve;
mod solver;

pub use assembler::{Assembled, Assembler, AssemblerBuilder};
pub use boundary::Boundary;
pub use engine::Action;
pub use engine::cpu::CpuEngine;
pub use engine::gpu::{Accumulators, Atomics, ForcingBy, Kernels, Loops, Order, StageTime, Strategy, TablesIn};
pub use engine::reference::Reference;
pub use error::{Error, Result, check_memory};
pub use expression::Expression;
pub use kernel_host::{AdapterChoice, Engine, Gpu, Precision};
pub use matrix::{Csr, NodeMatrix};
pub use mesh::{Extrusion, Mesh, Number, Triangles};
pub use pairs::Pairs;
pub use problem::{Condition, Problem, System, Values};
pub use solve::{Operator, Solution, SolveOptions, refine, solve};
pub use solver::{Arithmetic, Solver};
