//! `helmholtz bench`.

use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Args;
use command_host::{Code, Failure, MessageOptions, median, precision_parser, timed, write_json};
use helmholtz::{
    Accumulators, Assembled, CpuEngine, Error, Mesh, Number, Precision, Reference, Strategy, check_memory, generate,
};
use kernel_host::wgpu::Features;
use kernel_host::{AdapterKind, Gpu, GpuOptions, Opened, read_bandwidth};

use super::check::{Fields, STAGES, Wanted, rounding};
use super::gpu_options::{GpuLists, Variant, typed};
use super::options::{EngineOptions, F64_HELP, MeshOptions, MeshReport};
use super::report::{Measured, Report, Serial, Stage, Table, ms, print_heading, print_rest};

/// Times the four stages: on a GPU every strategy, on the CPU with more and more threads. Checks
/// the answers
///
/// Times are medians: on a GPU by the device's clock with resident data, on the CPU by the wall
/// clock. GB/s count the bytes that must be moved. The share is relative to the bandwidth of a
/// kernel that only reads. Answers are compared with the CPU engine in f64, which is compared with
/// the reference engine. Tolerances are 5e-6 of the largest number in f32, and 1e-10 of the norm in
/// f64. Lumped volumes of prism strategies with 6, 12 or 36 sums are remainders of cancelling
/// gradients, which may err by eight roundings.
#[derive(Args)]
pub(super) struct Bench {
    #[command(flatten)]
    mesh: MeshOptions,
    /// Numbers; f32, and f64 where it is offered, if not given
    #[arg(long, value_parser = precision_parser(F64_HELP), value_delimiter = ',', value_name = "TYPE,...", help_heading = "Engine")]
    precision: Vec<Precision>,
    #[command(flatten)]
    engine: EngineOptions,
    /// Threads of the CPU engine; 1 and all if not given
    #[arg(long, value_delimiter = ',', value_name = "N,...", help_heading = "Engine", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Vec<u32>,
    /// Run the reference engine on this mesh, not on a smaller one, to compare the CPU engine with:
    /// slow
    #[arg(long, help_heading = "Engine")]
    reference: bool,
    #[command(flatten)]
    gpu: GpuLists,
    /// Rounds of each
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Prisms that the reference engine takes a second or two for.
const FEW_PRISMS: usize = 1_000_000;

impl Bench {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        let opened = self
            .engine
            .engine()
            .open(GpuOptions { optional_features: Features::TIMESTAMP_QUERY, ..GpuOptions::default() })?;
        let mesh = Arc::new(self.mesh.mesh(389)?);
        // Four fields to compare with, and four results.
        check_memory(80 * mesh.nodes() as u128, "the fields of a bench")?;
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            debug_build: cfg!(debug_assertions),
            engine: String::new(),
            mesh: MeshReport::of(&mesh),
            read_gb_per_s: None,
            measured: Vec::new(),
            reference: None,
            left_out: Vec::new(),
        };
        let mut printer = Printer { table: None, is_json: self.json };
        match opened {
            Opened::Gpu(gpu) => self.on_gpu(gpu, &mesh, &mut report, &mut printer)?,
            Opened::Cpu => self.on_cpu(&mesh, &mut report, &mut printer)?,
            Opened::Reference => {
                report.engine = "reference: one core, f64".to_owned();
                let (fields, serial) = by_reference(&mesh, &report.mesh)?;
                fields.check(&Wanted::by_cpu(&mesh)?, rounding::<f64>(), "reference")?;
                report.reference = Some(serial);
            }
        }
        for left_out in &report.left_out {
            messages.detail(format_args!("left out: {left_out}"));
        }
        let mut out = io::stdout().lock();
        if self.json {
            return Ok(write_json(&mut out, &report)?);
        }
        if printer.table.is_none() {
            print_heading(&mut out, &report)?;
        }
        Ok(print_rest(&mut out, &report)?)
    }

    fn precisions(&self) -> &[Precision] {
        if self.precision.is_empty() { &[Precision::F32, Precision::F64] } else { &self.precision }
    }

    fn on_gpu(&self, gpu: Gpu, mesh: &Arc<Mesh>, report: &mut Report, printer: &mut Printer) -> Result<(), Failure> {
        report.engine = gpu.summary().to_string();
        // More than caches hold, as far as a software adapter bears it.
        let wanted = if gpu.summary().kind == AdapterKind::Software { 1 << 26 } else { 1 << 30 };
        let bytes = wanted.min(gpu.limits().max_storage_buffer_binding_size);
        report.read_gb_per_s = read_bandwidth(&gpu, bytes)?.map(|read| read / 1e9);
        drop(gpu);
        let wanted = Wanted::by_cpu(mesh)?;
        for &precision in self.precisions() {
            for variant in self.gpu.variants() {
                let measured = match precision {
                    Precision::F32 => self.on_gpu_in::<f32>(variant, mesh, &wanted, report)?,
                    Precision::F64 => self.on_gpu_in::<f64>(variant, mesh, &wanted, report)?,
                };
                if let Some(measured) = measured {
                    printer.row(report, measured, true)?;
                }
            }
        }
        if report.measured.is_empty() {
            return Err(Failure::new(Code::Gpu, report.left_out.join("; ")));
        }
        Ok(())
    }

    fn on_gpu_in<T: Number>(
        &self,
        variant: Variant,
        mesh: &Arc<Mesh>,
        wanted: &Wanted,
        report: &mut Report,
    ) -> Result<Option<Measured>, Failure> {
        // A requested precision that the adapter lacks is an error.
        let is_named = !self.precision.is_empty() && self.gpu.names_strategies();
        let assembler = match variant.of(self.engine.builder()).build::<T>(mesh.clone()) {
            Ok(assembler) => assembler,
            Err(error @ (Error::NoF64 { .. } | Error::NoAtomics { .. })) if !is_named => {
                let what = format!("{}, {}: {error}", T::PRECISION, typed(variant.strategy));
                if !report.left_out.contains(&what) {
                    report.left_out.push(what);
                }
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let Assembled { forcing, mass, stiffness, lumped } = assembler.assemble()?;
        let mut variant = variant;
        let has_native = T::PRECISION == Precision::F32
            && assembler.gpu().is_some_and(|gpu| gpu.has(Features::SHADER_FLOAT32_ATOMIC));
        variant.resolve(has_native, mesh.unused_vertices() > 0);
        let is_cancelled = variant.strategy == Strategy::Gather || variant.accumulators == Accumulators::Factored;
        let cancelling = if is_cancelled { 0.0 } else { rounding::<T>() };
        let who = format!("{}, {}", assembler.description(), typed(variant.strategy));
        let distances = Fields([forcing, mass, stiffness, lumped]).check(wanted, cancelling, &who)?;
        let host_to_host = timed(1, || assembler.assemble())?;
        let times = assembler.time(self.rounds as usize)?.unwrap_or_default();
        let stages = times.into_iter().map(|time| Stage::of(time.stage, &time.rounds, time.bytes)).collect();
        let mut measured = Measured::of::<T>(stages, mesh, distances);
        measured.strategy = Some(typed(variant.strategy));
        measured.details = Some(variant.details());
        measured.host_to_host_ms = Some(ms(median(host_to_host)));
        measured.of_reading = measured.gb_per_s.zip(report.read_gb_per_s).map(|(rate, read)| rate / read);
        Ok(Some(measured))
    }

    fn on_cpu(&self, mesh: &Arc<Mesh>, report: &mut Report, printer: &mut Printer) -> Result<(), Failure> {
        let all = available_parallelism().map_or(1, |all| all.get() as u32);
        report.engine = format!("CPU of {all} threads");
        // The baseline comes first.
        let mut threads = vec![1];
        for &more in if self.threads.is_empty() { std::slice::from_ref(&all) } else { &self.threads } {
            if !threads.contains(&more) {
                threads.push(more);
            }
        }
        let few = if self.reference || mesh.prisms() <= FEW_PRISMS { mesh.clone() } else { few_prisms(mesh)? };
        let (by_reference, serial) = by_reference(&few, &report.mesh)?;
        let by_cpu = if Arc::ptr_eq(&few, mesh) { None } else { Some(Wanted::by_cpu(mesh)?) };
        let known = Known { by_reference: Wanted::new(&few, by_reference)?, few, by_cpu, serial };
        for &precision in self.precisions() {
            match precision {
                Precision::F32 => self.on_cpu_in::<f32>(mesh, &known, &threads, report, printer)?,
                Precision::F64 => self.on_cpu_in::<f64>(mesh, &known, &threads, report, printer)?,
            }
        }
        report.reference = Some(known.serial);
        Ok(())
    }

    fn on_cpu_in<T: Number>(
        &self,
        mesh: &Arc<Mesh>,
        known: &Known,
        threads: &[u32],
        report: &mut Report,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let who = format!("CPU, {}", T::PRECISION);
        Fields::<T>::by_cpu(&known.few)?.check(&known.by_reference, rounding::<f64>(), &who)?;
        let engine = CpuEngine::<T>::new(mesh.clone());
        let mut fields = Fields::zero(&engine);
        let mut one_thread = None;
        for &threads in threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build();
            let pool = pool.map_err(|error| Failure::new(Code::Data, format_args!("{threads} threads: {error}")))?;
            let rounds = pool.install(|| {
                // Memory is there from then on.
                fields.make(&engine, 1)?;
                fields.make(&engine, self.rounds as usize)
            })?;
            let wanted = known.by_cpu.as_ref().unwrap_or(&known.by_reference);
            // The reference engine's volumes are the ones that are off.
            let distances = fields.check(wanted, rounding::<f64>(), &who)?;
            let field = (mesh.nodes() * size_of::<T>()) as u64;
            let bytes = [field, 2 * field, 2 * field, field];
            let stages = STAGES.iter().zip(&rounds).zip(bytes);
            let stages = stages.map(|((stage, rounds), bytes)| Stage::of(stage, rounds, bytes)).collect();
            let mut measured = Measured::of::<T>(stages, mesh, distances);
            measured.threads = Some(threads);
            if let Some(total) = measured.total_ms {
                measured.times_one_thread = Some(*one_thread.get_or_insert(total) / total);
                measured.times_reference = Some(known.serial.scaled_ms / total);
            }
            printer.row(report, measured, false)?;
        }
        Ok(())
    }
}

/// Prints rows as they are measured, unless the report is JSON.
struct Printer {
    table: Option<Table>,
    is_json: bool,
}

impl Printer {
    fn row(&mut self, report: &mut Report, measured: Measured, on_gpu: bool) -> Result<(), Failure> {
        if !self.is_json {
            let mut out = io::stdout().lock();
            let table = match self.table.take() {
                Some(table) => table,
                None => Table::new(&mut out, report, on_gpu)?,
            };
            table.row(&mut out, &measured)?;
            self.table = Some(table);
        }
        report.measured.push(measured);
        Ok(())
    }
}

/// Answers with which the CPU engine is compared.
struct Known {
    few: Arc<Mesh>,
    /// Of that.
    by_reference: Wanted,
    /// Of the whole mesh, where that is another.
    by_cpu: Option<Wanted>,
    serial: Serial,
}

/// As high a mesh, of a square of cells.
fn few_prisms(mesh: &Mesh) -> Result<Arc<Mesh>, Error> {
    let squares = (FEW_PRISMS / (2 * (mesh.levels() - 1))).isqrt().max(1);
    Ok(Arc::new(Mesh::new(generate::unit_square(squares)?, mesh.extrusion())?))
}

fn by_reference(few: &Arc<Mesh>, mesh: &MeshReport) -> Result<(Fields<f64>, Serial), Error> {
    let reference = Reference::new(few.clone());
    let (mut times, mut start) = (Vec::new(), Instant::now());
    let mut done = |field: Vec<f64>| {
        times.push(ms(start.elapsed()));
        start = Instant::now();
        field
    };
    let forcing = done(reference.forcing());
    let mass = done(reference.mass(&forcing)?);
    let stiffness = done(reference.stiffness(&mass)?);
    let lumped = done(reference.lumped());
    let total_ms = times.iter().sum();
    let scaled_ms = total_ms * mesh.prisms as f64 / few.prisms() as f64;
    let serial = Serial { prisms: few.prisms(), stages_ms: times, total_ms, scaled_ms };
    Ok((Fields([forcing, mass, stiffness, lumped]), serial))
}
