//! `helmholtz solve`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use command_host::{Code, Failure, MessageOptions, PictureOptions, scientific, table, write_json};
use helmholtz::io::NamedEdges;
use helmholtz::{
    Arithmetic, Boundary, CpuEngine, Extrusion, Mesh, Operator, Solution, SolveOptions, Solver, Triangles,
    check_memory, forcing,
};
use serde::Serialize;

use super::figures::{largest, sum};
use super::options::{EngineOptions, FlatOptions, MeshReport};
use super::output::Output;
use super::plot::Picture;
use super::problem::ProblemOptions;

/// Solves -div(a grad u) + c u = f: a problem of yours, or the report's
///
/// Conjugate gradients solve a problem with c >= 0. MINRES solves a problem with c < 0 at a node,
/// because its matrix may be indefinite. If -c is close to an eigenvalue, the matrix is nearly
/// singular, and the command says so with exit code 6.
///
/// Without options under Problem, f is the report's forcing, and u is compared with its solution
/// cos(2 pi x) cos(2 pi y) cos(2 pi z), which holds on boxes whose sides are at multiples of one
/// half. No matrix is stored then. By default z goes from 0 to 1, in layers about as high as
/// triangles are wide.
#[derive(Args)]
#[command(after_help = "Examples:
  helmholtz solve --squares 64
  helmholtz solve --squares 32 --rhs 'exp(-20*((x-0.5)^2+y^2))' --dirichlet bottom=0 --neumann top=0.1 --output u.vtu
  helmholtz solve --mesh plate.msh --diffusion 'if(x<0.5,1,10)' --reaction 0 --dirichlet 'inlet=1' --dirichlet 'outlet=0'")]
pub(super) struct Solve {
    #[command(flatten)]
    flat: FlatOptions,
    /// Levels of nodes, one more than layers; one more than --squares if not given
    #[arg(long, value_name = "N", help_heading = "Mesh")]
    levels: Option<usize>,
    /// Height of a layer; if not given, such that z goes to 1
    #[arg(long, value_name = "H", help_heading = "Mesh", allow_negative_numbers = true)]
    height: Option<f64>,
    #[command(flatten)]
    problem: ProblemOptions,
    /// Norm of the true residual b - A u, relative to that of b, at which the problem is solved;
    /// 1e-8 if not given, 1e-5 in f32
    #[arg(long, value_name = "T", value_parser = tolerance, help_heading = "Solver", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Largest number of iterations
    #[arg(long, default_value_t = SolveOptions::default().iterations, value_name = "N", help_heading = "Solver")]
    iterations: usize,
    /// Numbers of the arithmetic
    #[arg(long, value_enum, default_value = "auto", value_name = "TYPE", help_heading = "Solver")]
    precision: PrecisionName,
    #[command(flatten)]
    engine: EngineOptions,
    /// Solve on meshes of so many squares each way, and print the orders with which errors fall
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,N,...",
        conflicts_with_all = ["mesh", "squares", "levels", "height", "plot", "output", "matrix"]
    )]
    convergence: Vec<usize>,
    /// Draw u on a slice of the mesh
    #[arg(long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
    /// Of --plot: where the slice is
    #[arg(long, default_value_t = 0.0, value_name = "Z", allow_negative_numbers = true, help_heading = "Output")]
    z: f64,
    /// Write u: .vtu for ParaView; .npz with the mesh; .npy of vertices x levels
    #[arg(long, value_name = "FILE.vtu|npz|npy", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write the matrix A of a problem of yours, boundary conditions included, as sparse rows
    #[arg(long, value_name = "FILE.mtx|npz", help_heading = "Output")]
    matrix: Option<PathBuf>,
    /// JSON instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PrecisionName {
    /// f64 where the engine has it, else mixed
    Auto,
    /// 32 bits alone
    F32,
    /// 64 bits alone
    F64,
    /// Corrections in 32 bits on the engine, residuals in 64 bits on the CPU
    Mixed,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if number > 0.0 && number < 1.0 { Ok(number) } else { Err("a tolerance is above 0 and below 1".to_owned()) }
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    engine: String,
    precision: &'static str,
    tolerance: f64,
    solved: Vec<Solved>,
}

#[derive(Serialize)]
struct Solved {
    mesh: MeshReport,
    /// Nodes with a Dirichlet condition.
    fixed: usize,
    /// `conjugate gradients` or `MINRES`.
    method: &'static str,
    iterations: usize,
    refinements: usize,
    converged: bool,
    /// As the iteration tracks it.
    residual: f64,
    /// b - A u, recomputed from u.
    true_residual: f64,
    /// From host memory to host memory, without the assembly of a matrix.
    seconds: f64,
    least: f64,
    greatest: f64,
    /// Whether a solution is known that u is compared with.
    is_known: bool,
    largest_error: Option<f64>,
    /// Root of the mean of the squared error over the volume.
    rms_error: Option<f64>,
    /// The orders with which errors fell since the mesh before.
    largest_order: Option<f64>,
    rms_order: Option<f64>,
}

impl Solve {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        let output = self.output.as_deref().map(Output::of_fields).transpose()?;
        let matrix = self.matrix.as_deref().map(Output::of_matrix).transpose()?;
        if matrix.is_some() && !self.problem.is_given() {
            let help = "give --rhs, or use `assemble --stiffness` and `--mass`";
            return Err(Failure::usage("--matrix: the report's problem stores no matrix", help));
        }
        self.check_files()?;
        let plot = Picture::open(&self.picture, self.plot.as_deref())?;
        let solver = Solver::new(&self.engine.engine(), self.arithmetic())?;
        let tolerance = self.tolerance.unwrap_or(match solver.arithmetic() {
            Arithmetic::F32 => 1e-5,
            _ => SolveOptions::default().tolerance,
        });
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            engine: solver.description().to_owned(),
            precision: match solver.arithmetic() {
                Arithmetic::F32 => "f32",
                Arithmetic::Mixed => "mixed",
                Arithmetic::F64 | Arithmetic::Auto => "f64",
            },
            tolerance,
            solved: Vec::new(),
        };
        let options = SolveOptions { tolerance, iterations: self.iterations };
        let solve = Run { solver: &solver, options, messages, matrix: matrix.as_ref() };
        if self.convergence.is_empty() {
            let (mesh, named) = self.extruded(self.flat.mesh(32)?)?;
            if let Some(plot) = &plot {
                plot.check(&mesh, self.z)?;
            }
            let (solution, solved) = self.solved(&mesh, named, &solve)?;
            if let Some(output) = output {
                output.write(&mesh, &[("u", &solution.field[..])])?;
            }
            if let Some(plot) = plot {
                plot.draw(&mesh, &solution.field, self.z, &report.engine)?;
            }
            report.solved.push(solved);
        }
        self.converge(&solve, &mut report)?;
        self.print(&report)?;
        let Some(Solved { method, iterations, true_residual, .. }) =
            report.solved.iter().find(|solved| !solved.converged)
        else {
            return Ok(());
        };
        let what = format!(
            "not solved: after {iterations} iterations of {method} the true residual is {true_residual:.1e}, and the tolerance is {tolerance:e}"
        );
        let help = if *iterations >= self.iterations {
            "allow more --iterations, or a larger --tolerance"
        } else if solver.arithmetic() == Arithmetic::F32 {
            "the rounding of f32 limits the residual: use --precision mixed or f64, or a larger --tolerance"
        } else if *method == MINRES {
            "-c is close to an eigenvalue, or rounding limits the residual: change --reaction, or use a larger --tolerance"
        } else {
            "rounding limits the residual: use a larger --tolerance"
        };
        Err(Failure::new(Code::NotConverged, what).with_help(help))
    }

    /// Solves on finer and finer meshes.
    fn converge(&self, solve: &Run<'_>, report: &mut Report) -> Result<(), Failure> {
        for &squares in &self.convergence {
            let (mesh, named) = self.extruded(self.flat.mesh(squares)?)?;
            let (_, mut solved) = self.solved(&mesh, named, solve)?;
            if let Some(last) = report.solved.last() {
                let step = (squares as f64 / last.mesh.squares()).ln();
                let order = |before: Option<f64>, now: Option<f64>| {
                    Some((before? / now?).ln() / step).filter(|order| order.is_finite())
                };
                solved.largest_order = order(last.largest_error, solved.largest_error);
                solved.rms_order = order(last.rms_error, solved.rms_error);
            }
            report.solved.push(solved);
        }
        Ok(())
    }

    fn print(&self, report: &Report) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        if self.json {
            write_json(&mut out, report)?;
        } else if self.convergence.is_empty() {
            print(&mut out, report)?;
        } else {
            print_orders(&mut out, report)?;
        }
        Ok(())
    }

    fn arithmetic(&self) -> Arithmetic {
        match self.precision {
            PrecisionName::Auto => Arithmetic::Auto,
            PrecisionName::F32 => Arithmetic::F32,
            PrecisionName::F64 => Arithmetic::F64,
            PrecisionName::Mixed => Arithmetic::Mixed,
        }
    }

    /// That no output is an input or another output.
    fn check_files(&self) -> Result<(), Failure> {
        let inputs: Vec<PathBuf> = self.flat.files().into_iter().chain(self.problem.files()).collect();
        let outputs = [&self.output, &self.plot, &self.matrix].into_iter().filter_map(|path| path.as_deref());
        command_host::check_distinct(inputs.iter().map(PathBuf::as_path), outputs)
    }

    fn extruded(&self, (flat, named): (Triangles, NamedEdges)) -> Result<(Arc<Mesh>, NamedEdges), Failure> {
        let one = Mesh::new(flat, Extrusion { levels: 2, height: 1.0 })?;
        let to_one = |height: f64| (1.0 / height).round().clamp(1.0, 1e9) as usize + 1;
        let extrusion = match (self.levels, self.height) {
            (Some(levels), Some(height)) => Extrusion { levels, height },
            (Some(levels), None) => Extrusion { levels, height: 1.0 / levels.saturating_sub(1).max(1) as f64 },
            (None, Some(height)) => Extrusion { levels: to_one(height), height },
            (None, None) => {
                // Two triangles a square.
                let width = (2.0 * one.area() / one.triangles().len() as f64).sqrt();
                let levels = to_one(width.max(1e-4));
                Extrusion { levels, height: 1.0 / (levels - 1) as f64 }
            }
        };
        Ok((Arc::new(Mesh::new(one.flat().clone(), extrusion)?), named))
    }

    fn solved(&self, mesh: &Arc<Mesh>, named: NamedEdges, run: &Run<'_>) -> Result<(Solution<f64>, Solved), Failure> {
        // The fields of a solve and of the comparison with a known solution.
        check_memory(16 * 8 * mesh.nodes() as u128, "the fields of a solve")?;
        let (solution, exact, Equations { fixed, method }, seconds) = if self.problem.is_given() {
            let exact = self.problem.exact(mesh)?;
            let (solution, equations, seconds) = self.own(mesh, named, run)?;
            (solution, exact, equations, seconds)
        } else {
            let factors: Vec<f64> = forcing::exact_solution(mesh);
            let source: Vec<f64> = factors.iter().map(|u| u * forcing::AMPLITUDE).collect();
            let start = Instant::now();
            let solution = run.solver.solve_source(mesh, &source, run.options)?;
            let equations = Equations { fixed: 0, method: CONJUGATE_GRADIENTS };
            (solution, is_known(mesh).then_some(factors), equations, start.elapsed())
        };
        let errors = exact.map(|exact| -> Result<[f64; 2], Failure> {
            let error: Vec<f64> = solution.field.iter().zip(&exact).map(|(u, exact)| u - exact).collect();
            let engine = CpuEngine::<f64>::new(Arc::clone(mesh));
            let mut volumes = engine.zero();
            engine.lumped(&mut volumes)?;
            let square = sum(&error, &volumes, |error, volume| error * error * volume);
            Ok([largest(&error, &error, |error, _| error.abs()), (square / mesh.volume()).sqrt()])
        });
        let errors = errors.transpose()?;
        let fold = |start: f64, pick: fn(f64, f64) -> f64| solution.field.iter().copied().fold(start, pick);
        let solved = Solved {
            fixed,
            method,
            iterations: solution.iterations,
            refinements: solution.refinements,
            converged: solution.converged,
            residual: solution.residuals.last().copied().unwrap_or(f64::NAN),
            true_residual: solution.true_residual,
            seconds: seconds.as_secs_f64(),
            least: fold(f64::INFINITY, f64::min),
            greatest: fold(f64::NEG_INFINITY, f64::max),
            is_known: errors.is_some(),
            largest_error: errors.map(|[largest, _]| largest),
            rms_error: errors.map(|[_, rms]| rms),
            largest_order: None,
            rms_order: None,
            mesh: MeshReport::of(mesh),
        };
        Ok((solution, solved))
    }

    /// A problem of the user's: the solution, its equations, the time of the solve.
    fn own(
        &self,
        mesh: &Arc<Mesh>,
        named: NamedEdges,
        run: &Run<'_>,
    ) -> Result<(Solution<f64>, Equations, Duration), Failure> {
        let start = Instant::now();
        let system = self.problem.problem(mesh)?.assemble(mesh, &Boundary::new(mesh, named)?)?;
        run.messages.timed("assembly", start.elapsed());
        if let Some(matrix) = run.matrix {
            matrix.write_matrix(&system.matrix.to_csr())?;
        }
        let start = Instant::now();
        let solution = run.solver.solve_system(&system, run.options)?;
        run.messages.timed("solve", start.elapsed());
        let method = if system.matrix.is_definite() { CONJUGATE_GRADIENTS } else { MINRES };
        Ok((solution, Equations { fixed: system.fixed, method }, start.elapsed()))
    }
}

const CONJUGATE_GRADIENTS: &str = "conjugate gradients";
const MINRES: &str = "MINRES";

/// Facts of the solved equations.
struct Equations {
    fixed: usize,
    method: &'static str,
}

/// Data that all meshes of a run share.
struct Run<'a> {
    solver: &'a Solver,
    options: SolveOptions,
    messages: MessageOptions,
    matrix: Option<&'a Output>,
}

/// Whether the mesh is a box with sides at multiples of one half.
fn is_known(mesh: &Mesh) -> bool {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for &vertex in mesh.triangles().as_flattened() {
        for (axis, &coordinate) in mesh.vertices()[vertex as usize].iter().enumerate() {
            low[axis] = low[axis].min(coordinate);
            high[axis] = high[axis].max(coordinate);
        }
    }
    let is_half = |at: f64| (2.0 * at - (2.0 * at).round()).abs() < 1e-9;
    let area = (high[0] - low[0]) * (high[1] - low[1]);
    low.into_iter().chain(high).chain([mesh.z(mesh.levels() - 1)]).all(is_half)
        && (mesh.area() - area).abs() < 1e-9 * area
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "{}", report.engine)?;
    for solved in &report.solved {
        writeln!(out, "{}", solved.mesh.text())?;
        if solved.fixed > 0 {
            writeln!(out, "{} nodes with a Dirichlet condition", solved.fixed)?;
        }
        let Solved { method, iterations, refinements, true_residual, seconds, .. } = solved;
        let ms = 1e3 * seconds;
        let starts = if *refinements == 1 { "start" } else { "starts" };
        writeln!(
            out,
            "{iterations} iterations of {method} in {refinements} {starts}: true residual {true_residual:.2e}; {ms:.1} ms"
        )?;
        writeln!(out, "u is from {:.6e} to {:.6e}", solved.least, solved.greatest)?;
        if let (Some(largest), Some(rms)) = (solved.largest_error, solved.rms_error) {
            writeln!(out, "error against the known solution: {largest:.3e} at most, {rms:.3e} rms")?;
        }
    }
    Ok(())
}

fn print_orders(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "{}\n", report.engine)?;
    let header = ["squares", "nodes", "iterations", "true residual", "largest error", "order", "rms", "order"];
    let mut table = table(header, 0);
    let order = |order: Option<f64>| order.map_or_else(String::new, |order| format!("{order:.2}"));
    for solved in &report.solved {
        table.add_row([
            format!("{:.0}", solved.mesh.squares()),
            solved.mesh.nodes.to_string(),
            solved.iterations.to_string(),
            scientific(solved.true_residual),
            scientific(solved.largest_error),
            order(solved.largest_order),
            scientific(solved.rms_error),
            order(solved.rms_order),
        ]);
    }
    writeln!(out, "{table}")
}
