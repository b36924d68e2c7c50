//! `helmholtz solve`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use command_host::{Code, Failure, precision_parser, scientific, table, write_json};
use helmholtz::{Action, Extrusion, Mesh, Number, Precision, Solution, SolveOptions, Triangles, forcing};
use npyz::AutoSerialize;
use serde::Serialize;

use super::figures::{largest, sum};
use super::options::{EngineOptions, F64_HELP, FlatOptions, GpuOptions, MeshReport};
use super::output::Output;
use super::plot::Picture;
use super::report::as_text;

/// Solves (M + S) u = M f by conjugate gradients, and compares u with cos(2 pi x) cos(2 pi y) cos(2 pi z)
///
/// That is the solution of -div grad u + u = f on boxes whose sides are at multiples of one half. By default z goes from 0 to 1, in layers
/// about as high as triangles are wide. No matrix is stored.
#[derive(Args)]
pub(super) struct Solve {
    #[command(flatten)]
    flat: FlatOptions,
    /// Levels of nodes, one more than layers; one more than --squares if not given
    #[arg(long, value_name = "N", help_heading = "Mesh")]
    levels: Option<usize>,
    /// Height of a layer; if not given, such that z goes to 1
    #[arg(long, value_name = "H", help_heading = "Mesh")]
    height: Option<f64>,
    /// Norm of the residual, of that of the right-hand side, at which it is solved; 1e-8 if not given, 1e-6 in f32
    #[arg(long, value_name = "T", value_parser = tolerance)]
    tolerance: Option<f64>,
    /// Iterations at most
    #[arg(long, default_value_t = SolveOptions::default().iterations, value_name = "N")]
    iterations: usize,
    /// Solve on meshes of so many squares each way, and print the orders with which errors fall
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,N,...",
        conflicts_with_all = ["mesh", "squares", "levels", "height", "plot", "output"]
    )]
    convergence: Vec<usize>,
    /// Numbers
    #[arg(long, value_parser = precision_parser(F64_HELP), default_value = "f32", value_name = "TYPE", help_heading = "Engine")]
    precision: Precision,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    gpu: GpuOptions,
    /// Draw u on a slice of the mesh
    #[arg(long, value_name = "FILE.png|svg")]
    plot: Option<PathBuf>,
    /// Of --plot: where the slice is
    #[arg(long, default_value_t = 0.0, value_name = "Z", allow_negative_numbers = true)]
    z: f64,
    /// Write u: .npy of vertices x levels; .npz with the mesh
    #[arg(long, value_name = "FILE.npy|npz")]
    output: Option<PathBuf>,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if number > 0.0 && number < 1.0 { Ok(number) } else { Err("a tolerance is above 0 and below 1".to_owned()) }
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    engine: String,
    #[serde(serialize_with = "as_text")]
    precision: Precision,
    tolerance: f64,
    solved: Vec<Solved>,
}

#[derive(Serialize)]
struct Solved {
    mesh: MeshReport,
    iterations: usize,
    converged: bool,
    /// As the iteration knows it.
    residual: f64,
    /// Computed anew from u.
    true_residual: f64,
    /// From host memory to host memory.
    seconds: f64,
    /// Whether the mesh is a box on which u is known. Errors mean nothing elsewhere.
    is_known: bool,
    largest_error: f64,
    /// Root of the mean of its square over the volume.
    rms_error: f64,
    /// With which they fell, since the mesh before.
    largest_order: Option<f64>,
    rms_order: Option<f64>,
}

impl Solve {
    pub(super) fn run(&self) -> Result<(), Failure> {
        match self.precision {
            Precision::F32 => self.run_in::<f32>(),
            Precision::F64 => self.run_in::<f64>(),
        }
    }

    fn run_in<T: Number + AutoSerialize>(&self) -> Result<(), Failure> {
        let output = self.output.as_deref().map(Output::of).transpose()?;
        let plot = self.plot.as_deref().map(Picture::of).transpose()?;
        self.flat.check_outputs([&self.output, &self.plot].into_iter().filter_map(|path| path.as_deref()))?;
        let tolerance = self.tolerance.unwrap_or(match T::PRECISION {
            Precision::F32 => 1e-6,
            Precision::F64 => 1e-8,
        });
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            engine: String::new(),
            precision: T::PRECISION,
            tolerance,
            solved: Vec::new(),
        };
        let options = SolveOptions { tolerance, iterations: self.iterations };
        if self.convergence.is_empty() {
            let mesh = Arc::new(self.extruded(self.flat.triangles(32)?)?);
            if let Some(plot) = &plot {
                plot.check(&mesh, self.z)?;
            }
            let (engine, solution, solved) = self.solved::<T>(mesh.clone(), options)?;
            if let Some(output) = output {
                output.write(&mesh, &[("u", &solution.field[..])])?;
            }
            if let Some(plot) = &plot {
                plot.draw(&mesh, &solution.field, self.z, &engine)?;
            }
            report.engine = engine;
            report.solved.push(solved);
        }
        for &squares in &self.convergence {
            let mesh = Arc::new(self.extruded(self.flat.triangles(squares)?)?);
            let (engine, _, mut solved) = self.solved::<T>(mesh, options)?;
            if let Some(last) = report.solved.last() {
                let step = (squares as f64 / last.mesh.squares()).ln();
                let order = |before: f64, now: f64| Some((before / now).ln() / step).filter(|order| order.is_finite());
                solved.largest_order = order(last.largest_error, solved.largest_error);
                solved.rms_order = order(last.rms_error, solved.rms_error);
            }
            report.engine = engine;
            report.solved.push(solved);
        }
        let mut out = io::stdout().lock();
        if self.json {
            write_json(&mut out, &report)?;
        } else if self.convergence.is_empty() {
            print(&mut out, &report)?;
        } else {
            print_orders(&mut out, &report)?;
        }
        match report.solved.iter().find(|solved| !solved.converged) {
            Some(Solved { iterations, residual, .. }) => {
                let what = format!(
                    "not solved: after {iterations} iterations the residual is {residual:.1e}, and {tolerance:e} is the tolerance. More \
                     --iterations, a larger --tolerance or --precision f64 may help"
                );
                Err(Failure::new(Code::Data, what))
            }
            None => Ok(()),
        }
    }

    fn extruded(&self, flat: Triangles) -> helmholtz::Result<Mesh> {
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
        Mesh::new(one.flat().clone(), extrusion)
    }

    fn solved<T: Number>(
        &self,
        mesh: Arc<Mesh>,
        options: SolveOptions,
    ) -> Result<(String, Solution<T>, Solved), Failure> {
        let assembler = self.gpu.variant().of(self.engine.builder()).build::<T>(mesh.clone())?;
        let start = Instant::now();
        let rhs = assembler.act(Action::Mass, &assembler.forcing()?)?;
        let solution = assembler.solve(&rhs, options)?;
        let seconds = start.elapsed().as_secs_f64();
        let exact: Vec<f64> = forcing::exact_solution(&mesh);
        let error: Vec<f64> = solution.field.iter().zip(&exact).map(|(&u, &exact)| u.into() - exact).collect();
        let square = sum(&error, &assembler.lumped()?, |error, volume| error * error * volume);
        let solved = Solved {
            iterations: solution.iterations,
            converged: solution.converged,
            residual: solution.residuals.last().copied().unwrap_or(f64::NAN),
            true_residual: solution.true_residual,
            seconds,
            is_known: is_known(&mesh),
            largest_error: largest(&error, &error, |error, _| error.abs()),
            rms_error: (square / mesh.volume()).sqrt(),
            largest_order: None,
            rms_order: None,
            mesh: MeshReport::of(&mesh),
        };
        Ok((assembler.description(), solution, solved))
    }
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
        let Solved { iterations, residual, true_residual, seconds, .. } = solved;
        let ms = 1e3 * seconds;
        writeln!(
            out,
            "{iterations} iterations: residual {residual:.2e}, computed anew {true_residual:.2e}; {ms:.1} ms from host to host"
        )?;
        writeln!(
            out,
            "from cos(2 pi x) cos(2 pi y) cos(2 pi z): {:.3e} at most, {:.3e} rms",
            solved.largest_error, solved.rms_error
        )?;
        if !solved.is_known {
            let sides = "which is the solution only on a box with sides at multiples of one half: this mesh is none";
            writeln!(out, "{sides}")?;
        }
    }
    Ok(())
}

fn print_orders(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "{}\n", report.engine)?;
    let header =
        ["squares", "nodes", "iterations", "residual", "computed anew", "largest error", "order", "rms", "order"];
    let mut table = table(header, 0);
    let order = |order: Option<f64>| order.map_or_else(String::new, |order| format!("{order:.2}"));
    for solved in &report.solved {
        table.add_row([
            format!("{:.0}", solved.mesh.squares()),
            solved.mesh.nodes.to_string(),
            solved.iterations.to_string(),
            scientific(solved.residual),
            scientific(solved.true_residual),
            scientific(solved.largest_error),
            order(solved.largest_order),
            scientific(solved.rms_error),
            order(solved.rms_order),
        ]);
    }
    writeln!(out, "{table}")
}
