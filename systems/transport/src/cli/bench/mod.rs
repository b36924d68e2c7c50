//! `transport bench`.

mod classes;
mod layouts;
mod paths;
mod report;
mod steps;
mod table;

use std::io::{self, Write};
use std::sync::Arc;
use std::thread::available_parallelism;

use clap::{Args, ValueEnum};
use command_host::{Code, Failure, MessageOptions, bench_heading, write_json};
use kernel_host::{AdapterKind, Gpu, Opened, read_bandwidth};
use transport::{AnyField, Engine, Map, Process};

use self::report::Report;
use self::table::Printer;
use super::input::{BYTES_A_PARTICLE, check_memory};
use super::options::EngineOptions;

/// Times counting and sorting by process, steps in fields, the stages of a step and whole runs.
/// Checks the answers
///
/// Times are medians: of GPU kernels by the device's clock with resident data; on the CPU, and of
/// whole runs, by the wall clock. GB/s count the bytes that must be moved. The share is relative to
/// the bandwidth of a kernel that only reads. A GPU's steps are compared with those of the CPU
/// engine on one thread and on all. Timed results are checked: counts and orders exactly, paths
/// against f64, energies by their balance, and a GPU's steps by process against the CPU's.
#[derive(Args)]
pub(super) struct Bench {
    /// Parts to time [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,...")]
    part: Vec<Part>,
    /// Of classes: elements that are counted and sorted; 65536 and 67108864 (or as many as a buffer
    /// holds) if not given, 65536 and 262144 without a hardware GPU
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    elements: Vec<u64>,
    /// Of classes: how many there are
    #[arg(long, default_value_t = Process::COUNT as u32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    classes: u32,
    /// Of paths: electrons; 1048576 if not given, 4096 without a hardware GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 28))]
    states: Option<u64>,
    /// Of paths: steps of 5 mm that each makes; 100 if not given, 20 without a hardware GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    path_steps: Option<u32>,
    /// Of step: the prototype's particles; 65536 if not given, 4096 without a hardware GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    tracks: Option<u64>,
    /// Of run: particles that are followed to the end of their showers; 8192 if not given, 8
    /// without a hardware GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    showers: Option<u64>,
    /// Of run: steps of a track, at most
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    most_steps: u32,
    /// Of run: loops of a track, at most, as in `transport run`; 0 is never
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=255))]
    most_loops: u32,
    /// Of run: steps that one GPU workgroup makes in a dispatch when few tracks are left; 0
    /// disables this
    #[arg(long, default_value_t = 128, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    tail_steps: u32,
    /// Of step and run: threads of a GPU's workgroup; 128 if not given
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u32).range(8..=1024))]
    workgroup_size: Vec<u32>,
    /// Numbers of threads of the CPU; 1 and all if not given
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Vec<u32>,
    /// Rounds of each; 10 if not given, 3 without a hardware GPU. Whole runs on the CPU are timed
    /// once beside a GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    #[command(flatten)]
    engine: EngineOptions,
    /// JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Memory of the host for each element: classes, orders and their checks.
const BYTES_AN_ELEMENT: u64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Counting and sorting elements by class
    Classes,
    /// Runge and Kutta's steps alone, in each field
    Paths,
    /// Layouts of tracks in device memory, by one step in a uniform field
    Layouts,
    /// The stages of the first step of all tracks
    Step,
    /// Runs until no track is left
    Run,
}

/// The sizes of a bench, and its engine.
struct Plan {
    engine: Engine,
    /// Absent on the CPU.
    gpu: Option<Gpu>,
    /// Of the CPU.
    threads: usize,
    /// Bytes a second of a kernel that only reads.
    reading: Option<f64>,
    elements: Vec<usize>,
    classes: u32,
    states: usize,
    path_steps: u32,
    tracks: usize,
    showers: usize,
    most_steps: u32,
    most_loops: u32,
    tail_steps: u32,
    /// Of the GPU; None is the default.
    workgroup_sizes: Vec<Option<u32>>,
    thread_counts: Vec<usize>,
    rounds: usize,
}

impl Bench {
    fn times(&self, part: Part) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    pub(super) fn run(&self, messages: &MessageOptions) -> Result<(), Failure> {
        let plan = self.plan()?;
        messages.detail(format_args!("timing {}", plan.name()));
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            debug_build: cfg!(debug_assertions),
            engine: plan.name(),
            read_gb_per_s: plan.reading.map(|read| read / 1e9),
            printer: Printer::new(self.json),
            ..Report::default()
        };
        if !self.json {
            let mut out = io::stdout().lock();
            bench_heading(&mut out, &report.engine)?;
            if let Some(read) = report.read_gb_per_s {
                writeln!(out, "reading alone: {read:.1} GB/s")?;
            }
        }
        if self.times(Part::Classes) {
            classes::time(&plan, &mut report)?;
        }
        if self.times(Part::Paths) {
            paths::time(&plan, &mut report)?;
        }
        if self.times(Part::Layouts) {
            layouts::time(&plan, &mut report)?;
        }
        if self.times(Part::Step) {
            steps::time_first(&plan, &mut report)?;
        }
        if self.times(Part::Run) {
            steps::time_runs(&plan, &mut report)?;
        }
        let mut out = io::stdout().lock();
        if self.json {
            write_json(&mut out, &report)?;
        } else {
            for left_out in &report.left_out {
                writeln!(out, "\nleft out: {left_out}")?;
            }
        }
        Ok(())
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let most = self.elements.iter().copied().max().unwrap_or(0);
        check_memory(most * BYTES_AN_ELEMENT, &format!("{most} elements"))?;
        for (what, count) in [("states", self.states), ("tracks", self.tracks), ("showers", self.showers)] {
            let count = count.unwrap_or(0);
            check_memory(count * BYTES_A_PARTICLE, &format!("{count} {what}"))?;
        }
        let engine = self.engine.engine();
        let optional_features = kernel_host::wgpu::Features::TIMESTAMP_QUERY;
        let options = kernel_host::GpuOptions { optional_features, ..kernel_host::GpuOptions::default() };
        let gpu = match engine.clone().open(options)? {
            Opened::Gpu(gpu) => Some(gpu),
            Opened::Cpu => None,
            Opened::Reference => {
                let what =
                    "the reference engine is there to check the others, and not to be timed: --engine cpu or gpu";
                return Err(Failure::new(Code::Usage, what));
            }
        };
        let is_hardware = gpu.as_ref().is_some_and(|gpu| gpu.summary().kind != AdapterKind::Software);
        let or = |given: Option<u64>, hardware: usize, other: usize| match given {
            Some(given) => given as usize,
            None if is_hardware => hardware,
            None => other,
        };
        let reading = match &gpu {
            // More than caches hold. Of memory that is the host's, a share says nothing.
            Some(gpu) if is_hardware && self.times(Part::Classes) => {
                let bytes = (1 << 30).min(gpu.limits().max_storage_buffer_binding_size);
                read_bandwidth(gpu, bytes)?
            }
            _ => None,
        };
        let many = if is_hardware { 1 << 26 } else { 1 << 18 };
        // Groups of 16 bytes move with them.
        let most = gpu.as_ref().map_or(u64::MAX, |gpu| gpu.limits().max_storage_buffer_binding_size / 16);
        let usual = [1 << 16, many.min(1 << most.max(1 << 16).ilog2())];
        Ok(Plan {
            engine,
            threads: available_parallelism().map_or(1, Into::into),
            reading,
            elements: match &self.elements[..] {
                [] => usual.to_vec(),
                given => given.iter().map(|&elements| elements as usize).collect(),
            },
            classes: self.classes,
            states: or(self.states, 1 << 20, 1 << 12),
            path_steps: or(self.path_steps.map(u64::from), 100, 20) as u32,
            tracks: or(self.tracks, 1 << 16, 1 << 12),
            showers: or(self.showers, 1 << 13, 8),
            most_steps: self.most_steps,
            most_loops: self.most_loops,
            tail_steps: self.tail_steps,
            workgroup_sizes: match &self.workgroup_size[..] {
                [] => vec![None],
                sizes => sizes.iter().copied().map(Some).collect(),
            },
            thread_counts: self.threads.iter().map(|&threads| threads as usize).collect(),
            rounds: or(self.rounds.map(u64::from), 10, 3),
            gpu,
        })
    }
}

impl Plan {
    fn name(&self) -> String {
        match &self.gpu {
            Some(gpu) => gpu.summary().to_string(),
            None => format!("CPU of {} threads", self.threads),
        }
    }

    /// Returns the requested numbers of threads, or one and all.
    fn thread_counts(&self) -> Vec<usize> {
        if !self.thread_counts.is_empty() {
            return self.thread_counts.clone();
        }
        if self.threads > 1 { vec![1, self.threads] } else { vec![1] }
    }
}

/// Something on so many threads of the CPU.
fn on_threads<T: Send>(threads: usize, call: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::new(Code::Data, format_args!("{threads} threads: {error}")))?;
    Ok(pool.install(call))
}

/// All fields, with what they are called.
fn fields() -> Result<[(&'static str, AnyField); 3], Failure> {
    Ok([
        ("uniform", AnyField::Uniform([0.0, 0.0, 3.8])),
        ("parametrised", AnyField::Parametrised),
        ("map", AnyField::Map(Arc::new(Map::parametrised()?))),
    ])
}
