//! `helmholtz assemble`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use command_host::{Failure, precision_parser, table, write_json};
use helmholtz::{Assembled, Number, Precision};
use npyz::AutoSerialize;
use serde::Serialize;

use super::figures::{largest, sum};
use super::options::{EngineOptions, F64_HELP, GpuOptions, MeshOptions, MeshReport};
use super::output::Output;
use super::report::as_text;

/// Assembles what the helmholtz report assembles, and prints figures of each stage
///
/// The forcing f = (1 + 12 pi^2) cos(2 pi x) cos(2 pi y) cos(2 pi z); the right-hand side M f; S of that; and the lumped volumes, row
/// sums of M + S, which sum to the volume of the mesh. M is the matrix of mass, S that of stiffness.
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
    /// Write the fields: .npz with the mesh, vertices x levels each; .npy as one array
    #[arg(long, value_name = "FILE.npz|npy")]
    output: Option<PathBuf>,
    /// JSON instead of a table
    #[arg(long)]
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
    pub(super) fn run(&self) -> Result<(), Failure> {
        match self.precision {
            Precision::F32 => self.run_in::<f32>(),
            Precision::F64 => self.run_in::<f64>(),
        }
    }

    fn run_in<T: Number + AutoSerialize>(&self) -> Result<(), Failure> {
        let output = self.output.as_deref().map(Output::of).transpose()?;
        self.mesh.flat.check_outputs(self.output.as_deref())?;
        let mesh = Arc::new(self.mesh.mesh(32)?);
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

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "{}", report.engine)?;
    writeln!(out, "{}\n", report.mesh.text())?;
    let mut table = table(["stage", "", "norm", "largest", "sum", "first of them"], 2);
    let what = ["f", "M f", "S (M f)", "row sums of M + S"];
    // What a number type has, and no digits beyond.
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
