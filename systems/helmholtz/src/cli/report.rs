//! Report of a bench.

use std::io::{self, Write};
use std::time::Duration;

use command_host::{Rows, bench_heading, median, scientific};
use helmholtz::{Mesh, Number, Precision};
use serde::{Serialize, Serializer};

use super::check::STAGES;
use super::figures::Distance;
use super::options::MeshReport;

/// Serializes a number type by its name.
pub(super) fn as_text<S: Serializer>(precision: &Precision, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(precision)
}

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) debug_build: bool,
    pub(super) engine: String,
    pub(super) mesh: MeshReport,
    /// Of a kernel that only reads.
    pub(super) read_gb_per_s: Option<f64>,
    pub(super) measured: Vec<Measured>,
    pub(super) reference: Option<Serial>,
    /// Variants that the adapter does not support.
    pub(super) left_out: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Measured {
    #[serde(serialize_with = "as_text")]
    pub(super) precision: Precision,
    /// Of a GPU.
    pub(super) strategy: Option<String>,
    pub(super) details: Option<String>,
    /// Of the CPU.
    pub(super) threads: Option<u32>,
    /// None without a clock.
    pub(super) stages: Vec<Stage>,
    /// Sum of the medians.
    pub(super) total_ms: Option<f64>,
    pub(super) nodes_per_s: Option<f64>,
    pub(super) gb_per_s: Option<f64>,
    /// Of the bandwidth of a kernel that only reads.
    pub(super) of_reading: Option<f64>,
    /// All stages, from host memory to host memory, once.
    pub(super) host_to_host_ms: Option<f64>,
    pub(super) times_one_thread: Option<f64>,
    /// Of its time for as many prisms.
    pub(super) times_reference: Option<f64>,
    /// Error of each stage, relative to its expected answer.
    pub(super) errors: Vec<StageError>,
}

#[derive(Serialize)]
pub(super) struct StageError {
    pub(super) stage: &'static str,
    /// Of the largest number.
    pub(super) largest: f64,
    /// Of the norm.
    pub(super) norm: f64,
}

#[derive(Serialize)]
pub(super) struct Stage {
    pub(super) stage: &'static str,
    pub(super) median_ms: f64,
    pub(super) fastest_ms: f64,
    pub(super) slowest_ms: f64,
    /// That have to move.
    pub(super) bytes: u64,
    pub(super) gb_per_s: f64,
}

/// The reference engine, on one core.
#[derive(Serialize)]
pub(super) struct Serial {
    pub(super) prisms: usize,
    /// Forcing, mass, stiffness, lumped.
    pub(super) stages_ms: Vec<f64>,
    pub(super) total_ms: f64,
    /// For as many prisms as the mesh has.
    pub(super) scaled_ms: f64,
}

pub(super) fn ms(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

impl Stage {
    pub(super) fn of(stage: &'static str, rounds: &[Duration], bytes: u64) -> Self {
        let median_ms = ms(median(rounds.to_vec()));
        Self {
            stage,
            median_ms,
            fastest_ms: rounds.iter().min().copied().map_or(f64::NAN, ms),
            slowest_ms: rounds.iter().max().copied().map_or(f64::NAN, ms),
            gb_per_s: bytes as f64 / median_ms / 1e6,
            bytes,
        }
    }
}

impl Measured {
    pub(super) fn of<T: Number>(stages: Vec<Stage>, mesh: &Mesh, distances: [Distance; 4]) -> Self {
        let total_ms = (!stages.is_empty()).then(|| stages.iter().map(|stage| stage.median_ms).sum::<f64>());
        let errors = STAGES.into_iter().zip(distances);
        let errors = errors.map(|(stage, Distance { largest, norm })| StageError { stage, largest, norm }).collect();
        let bytes: u64 = stages.iter().map(|stage| stage.bytes).sum();
        Self {
            precision: T::PRECISION,
            strategy: None,
            details: None,
            threads: None,
            total_ms,
            nodes_per_s: total_ms.map(|total| 1e3 * mesh.nodes() as f64 / total),
            gb_per_s: total_ms.map(|total| bytes as f64 / total / 1e6),
            of_reading: None,
            host_to_host_ms: None,
            times_one_thread: None,
            times_reference: None,
            errors,
            stages,
        }
    }

    /// Of a stage: of the largest number in f32, of the norm in f64.
    fn error(&self, stage: usize) -> String {
        let error = |error: &StageError| if self.precision == Precision::F32 { error.largest } else { error.norm };
        self.errors.get(stage).map(error).map_or_else(String::new, |error| format!("{error:.0e}"))
    }

    /// Medians of the stages, and their sum.
    fn times(&self) -> Vec<String> {
        let stage = |i: usize| self.stages.get(i).map(|stage| stage.median_ms);
        let times = (0..STAGES.len()).map(stage).chain([self.total_ms]);
        times.map(|time| time.map_or_else(String::new, |time| format!("{time:.3}"))).collect()
    }
}

/// The table of a bench, whose rows are printed when they are measured.
pub(super) struct Table {
    rows: Rows,
    on_gpu: bool,
}

/// Columns that both kinds of table have, with their widths.
const TIMES: [(&str, usize); 7] =
    [("forcing [ms]", 0), ("mass", 9), ("stiffness", 9), ("lumped", 9), ("all four", 9), ("nodes/s", 9), ("GB/s", 5)];

impl Table {
    /// Prints the heading.
    pub(super) fn new(out: &mut impl Write, report: &Report, on_gpu: bool) -> io::Result<Self> {
        print_heading(out, report)?;
        let [a, b, c, d, e, f, g] = TIMES;
        let errors = [("rhs off by", 0), ("lumped", 6)];
        let rows = if on_gpu {
            let rest = [("of reading", 0), ("host to host [ms]", 0), errors[0], errors[1], ("with", 0)];
            let [h, i, j, k, l] = rest;
            let columns = [("numbers", 0), ("strategy", 8), a, b, c, d, e, f, g, h, i, j, k, l];
            Self::begin(out, Rows::new(columns, 2))?
        } else {
            let columns = [
                ("numbers", 0),
                ("threads", 0),
                a,
                b,
                c,
                d,
                e,
                f,
                g,
                ("x 1 thread", 0),
                ("x reference", 0),
                errors[0],
                errors[1],
            ];
            Self::begin(out, Rows::new(columns, 1))?
        };
        Ok(Self { rows, on_gpu })
    }

    fn begin<const N: usize>(out: &mut impl Write, (rows, header): (Rows, [String; N])) -> io::Result<Rows> {
        rows.write(out, &header)?;
        Ok(rows)
    }

    pub(super) fn row(&self, out: &mut impl Write, row: &Measured) -> io::Result<()> {
        let number =
            |number: Option<f64>, digits: usize| number.map_or_else(String::new, |number| format!("{number:.digits$}"));
        let mut cells = vec![row.precision.to_string()];
        cells.extend(row.strategy.clone());
        cells.extend(row.threads.map(|threads| threads.to_string()));
        cells.extend(row.times());
        let digits = usize::from(row.gb_per_s.is_some_and(|rate| rate < 10.0));
        cells.extend([scientific(row.nodes_per_s), number(row.gb_per_s, digits)]);
        if self.on_gpu {
            cells.push(row.of_reading.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share)));
            cells.push(number(row.host_to_host_ms, 1));
        } else {
            cells.extend([number(row.times_one_thread, 2), number(row.times_reference, 1)]);
        }
        cells.extend([row.error(2), row.error(3)]);
        cells.extend(row.details.clone());
        self.rows.write(out, &cells)
    }
}

/// Prints the engine and the mesh.
pub(super) fn print_heading(out: &mut impl Write, report: &Report) -> io::Result<()> {
    bench_heading(out, &report.engine)?;
    if let Some(read) = report.read_gb_per_s {
        writeln!(out, "reading alone: {read:.0} GB/s")?;
    }
    writeln!(out, "{}\n", report.mesh.text())
}

/// Prints what follows the table.
pub(super) fn print_rest(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if let Some(Serial { prisms, stages_ms, total_ms, scaled_ms }) = &report.reference {
        let stages: Vec<String> = STAGES.iter().zip(stages_ms).map(|(stage, ms)| format!("{stage} {ms:.1}")).collect();
        write!(out, "reference, one core, {prisms} prisms, once: {} ms, {total_ms:.1} ms together", stages.join(", "))?;
        if *prisms != report.mesh.prisms {
            write!(out, "; {scaled_ms:.0} ms for as many prisms as this mesh")?;
        }
        writeln!(out)?;
    }
    for left_out in &report.left_out {
        writeln!(out, "left out: {left_out}")?;
    }
    Ok(())
}
