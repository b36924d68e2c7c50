//! `helmholtz assemble`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use command_host::{Failure, MessageOptions, precision_parser, table, write_json};
use helmholtz::{Assembled, Mesh, NodeMatrix, Number, Precision, check_memory};
use npyz::AutoSerialize;
use serde::Serialize;

use super::figures::{largest, sum};
use super::gpu_options::GpuOptions;
use super::options::{EngineOptions, F64_HELP, MeshOptions, MeshReport};
use super::output::Output;
use super::report::as_text;

/// Assembles what the helmholtz report assembles, and prints figures of each stage
///
/// Assembles the forcing f = (1 + 12 pi^2) cos(2 pi x) cos(2 pi y) cos(2 pi z), the right-hand side
/// M f, and S M f. It also assembles the lumped volumes, row sums of M + S, which sum to the volume
/// of the mesh. M is the mass matrix, S the stiffness matrix.
#[derive(Args)]
pub(super) struct Assemble {
    #[command(flatten)]
    mesh: MeshOptions,
    /// Numbers
    #[arg(long, value_parser = precision_parser(F64_HELP), default_value = "f32", value_name = "TYPE", help_heading = "Engine")]
    precision: Precision,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    gpu: GpuOptions,
    /// Write the fields: .npz with the mesh, vertices x levels each; .npy as one array; .vtu for
    /// ParaView
    #[arg(long, value_name = "FILE.npz|npy|vtu", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write the stiffness matrix S as sparse rows
    #[arg(long, value_name = "FILE.mtx|npz", help_heading = "Output")]
    stiffness: Option<PathBuf>,
    /// Write the mass matrix M as sparse rows
    #[arg(long, value_name = "FILE.mtx|npz", help_heading = "Output")]
    mass: Option<PathBuf>,
    /// JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    engine: String,
    #[serde(serialize_with = "as_text")]
    precision: Precision,
    mesh: MeshReport,
    stages: Vec<Stage>,
    /// From host memory to host memory, once.
    seconds: f64,
}

#[derive(Serialize)]
struct Stage {
    stage: &'static str,
    norm: f64,
    largest: f64,
    sum: f64,
    /// Of the first vertex, upwards.
    first: Vec<f64>,
}

impl Stage {
    fn of<T: Number>(stage: &'static str, field: &[T]) -> Self {
        Self {
            stage,
            norm: sum(field, field, |a, b| a * b).sqrt(),
            largest: largest(field, field, |a, _| a.abs()),
            sum: sum(field, field, |a, _| a),
            first: field.iter().take(5).map(|&number| number.into()).collect(),
        }
    }
}

impl Assemble {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        match self.precision {
            Precision::F32 => self.run_in::<f32>(messages),
            Precision::F64 => self.run_in::<f64>(messages),
        }
    }

    fn run_in<T: Number + AutoSerialize>(&self, messages: MessageOptions) -> Result<(), Failure> {
        let output = self.output.as_deref().map(Output::of_fields).transpose()?;
        let matrix = |path: &Option<PathBuf>| path.as_deref().map(Output::of_matrix).transpose();
        let matrices = [(matrix(&self.stiffness)?, [1.0, 0.0]), (matrix(&self.mass)?, [0.0, 1.0])];
        let outputs = [&self.output, &self.stiffness, &self.mass];
        self.mesh.flat.check_outputs(outputs.into_iter().filter_map(|path| path.as_deref()))?;
        let start = Instant::now();
        let mesh = Arc::new(self.mesh.mesh(32)?);
        messages.timed("mesh", start.elapsed());
        check_memory(6 * 8 * mesh.nodes() as u128, "the fields of an assembly")?;
        for (output, coefficients) in matrices {
            if let Some(output) = output {
                let start = Instant::now();
                output.write_matrix(&constant_matrix(&mesh, coefficients)?.to_csr())?;
                messages.timed("matrix", start.elapsed());
            }
        }
        let assembler = self.gpu.variant().of(self.engine.builder()).build::<T>(mesh.clone())?;
        let start = Instant::now();
        let assembled = assembler.assemble()?;
        let seconds = start.elapsed().as_secs_f64();
        let Assembled { forcing, mass, stiffness, lumped } = &assembled;
        if let Some(output) = output {
            let fields: [(&str, &[T]); 4] =
                [("forcing", forcing), ("mass", mass), ("stiffness", stiffness), ("lumped", lumped)];
            output.write(&mesh, &fields)?;
        }
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            engine: assembler.description(),
            precision: T::PRECISION,
            mesh: MeshReport::of(&mesh),
            stages: vec![
                Stage::of("forcing", forcing),
                Stage::of("mass", mass),
                Stage::of("stiffness", stiffness),
                Stage::of("lumped", lumped),
            ],
            seconds,
        };
        let mut out = io::stdout().lock();
        if self.json {
            write_json(&mut out, &report)?;
        } else {
            print(&mut out, &report)?;
        }
        Ok(())
    }
}

/// The matrix of a diffusion and a reaction that are the same everywhere.
fn constant_matrix(mesh: &Arc<Mesh>, [diffusion, reaction]: [f64; 2]) -> Result<NodeMatrix<f64>, Failure> {
    let field = |value: f64| vec![value; mesh.nodes()];
    Ok(NodeMatrix::assemble(Arc::clone(mesh), &field(diffusion), &field(reaction))?)
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "{}", report.engine)?;
    writeln!(out, "{}\n", report.mesh.text())?;
    let mut table = table(["stage", "", "norm", "largest", "sum", "first of them"], 2);
    let what = ["f", "M f", "S (M f)", "row sums of M + S"];
    // As many digits as the number type has.
    let digits = if report.precision == Precision::F32 { 7 } else { 12 };
    for (stage, what) in report.stages.iter().zip(what) {
        let first: Vec<String> = stage.first.iter().map(|number| format!("{number:>12.5e}")).collect();
        table.add_row([
            stage.stage.to_owned(),
            what.to_owned(),
            format!("{:.digits$e}", stage.norm),
            format!("{:.6e}", stage.largest),
            format!("{:.6e}", stage.sum),
            first.join(" "),
        ]);
    }
    writeln!(out, "{table}\n")?;
    let lumped = report.stages.last().map_or(0.0, |stage| stage.sum);
    writeln!(out, "volume {:.digits$}, sum of the lumped volumes {lumped:.digits$}", report.mesh.volume)?;
    writeln!(out, "{:.3} ms from host memory to host memory, once", 1e3 * report.seconds)
}
