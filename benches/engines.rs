//! How fast each engine is: RoIs a second and, on a GPU, time by stage.
//!
//! `cargo bench --bench engines -- [--engine gpu|cpu|reference] [--adapter A] [--sample lowlum|highlum] [--rois N]
//! [--spacepoints FILE] [--case pairs|triplets|thesis] [--slices-per-histogram N]`
//!
//! Samples are toys (tests/common/toy.rs) of the size of the thesis's Table 4.2, or `--spacepoints FILE`, repeated to
//! N RoIs. Inside the clock: planning and packing on the host, upload, kernels, read-back, decoding. Not inside:
//! making the finder, and its first batch. Medians of rounds, with the fastest and slowest. Every engine's answers are
//! checked against the reference engine's before it is timed.

#[path = "../tests/common/toy.rs"]
mod toy;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use zfinder::{
    AdapterChoice, Config, DefaultWindow, Detector, Engine, Preset, Roi, RoiBatch, RoiResult, Status, Triplets, ZFinder,
};

#[derive(Parser)]
struct Args {
    /// gpu, cpu, reference; may be repeated. All of them if not given, the gpu only if there is hardware
    #[arg(long)]
    engine: Vec<String>,
    /// Adapter of the gpu engine: index, name or PCI id
    #[arg(long)]
    adapter: Option<AdapterChoice>,
    /// lowlum, highlum; may be repeated
    #[arg(long)]
    sample: Vec<String>,
    /// RoIs of a batch
    #[arg(long, default_value_t = 256)]
    rois: usize,
    /// Spacepoints of the 19-layer detector to use as the sample
    #[arg(long)]
    spacepoints: Option<PathBuf>,
    /// pairs, triplets, thesis; may be repeated
    #[arg(long)]
    case: Vec<String>,
    /// Slices that share a histogram on the GPU, instead of as many as fill it; may be repeated
    #[arg(long)]
    slices_per_histogram: Vec<u32>,
    /// 8 bytes a spacepoint on the way to a GPU
    #[arg(long)]
    compact: bool,
    /// Rounds timed
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// `cargo bench` says so
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("engines: {error}");
            ExitCode::FAILURE
        }
    }
}

fn or_all(given: &[String], all: &[&str]) -> Vec<String> {
    if given.is_empty() { all.iter().map(|&word| word.to_owned()).collect() } else { given.to_vec() }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    for sample in or_all(&args.sample, if args.spacepoints.is_some() { &["file"] } else { &["lowlum", "highlum"] }) {
        let rois = match (&args.spacepoints, sample.as_str()) {
            (Some(path), _) => zfinder::io::SpacepointReader::new(vec![path.clone()], Detector::atlas2010(), None)
                .collect::<Result<Vec<_>, _>>()?,
            // About 333 and 8104 spacepoints in 100 degrees.
            (None, "lowlum") => toys(16, &toy::Toy { tracks: 25, vertices: 4, noise: 60, ..toy::Toy::default() }),
            (None, "highlum") => toys(8, &toy::Toy { tracks: 40, vertices: 70, noise: 2000, ..toy::Toy::default() }),
            (None, other) => return Err(format!("--sample {other}: lowlum or highlum").into()),
        };
        if rois.is_empty() {
            return Err("there is no RoI in the sample".into());
        }
        let mean = rois.iter().map(|roi| roi.spacepoints.len()).sum::<usize>() / rois.len();
        println!("{sample}: {} RoIs of {mean} spacepoints in the mean", rois.len());
        let batch: RoiBatch = rois.iter().cycle().take(args.rois).cloned().collect();
        for case in or_all(&args.case, &["pairs", "triplets", "thesis"]) {
            let config = match case.as_str() {
                "pairs" => Config::default(),
                "triplets" => Config { triplets: Triplets::Any, ..Config::default() },
                "thesis" => Config::preset(Preset::Thesis),
                "thesis-triplets" => Config { triplets: Triplets::Any, ..Config::preset(Preset::Thesis) },
                other => return Err(format!("--case {other}: pairs, triplets or thesis").into()),
            };
            let config = Config { phi_window: DefaultWindow::Spacepoints, ..config };
            time_case(args, &case, config, &rois, &batch)?;
        }
    }
    Ok(())
}

fn toys(count: u64, toy: &toy::Toy) -> Vec<Roi> {
    let mut rng = fastrand::Rng::with_seed(2010);
    (0..count).map(|event| toy.event(&mut rng, event).roi).collect()
}

fn time_case(args: &Args, case: &str, config: Config, rois: &[Roi], batch: &RoiBatch) -> Result<(), Box<dyn Error>> {
    let build = |engine: Engine, slices: Option<u32>| {
        let encoding = if args.compact { zfinder::Encoding::Compact } else { zfinder::Encoding::Lossless };
        let builder = ZFinder::builder().config(config.clone()).engine(engine).encoding(encoding);
        slices.into_iter().fold(builder, |builder, slices| builder.slices_per_histogram(slices)).build()
    };
    let few: RoiBatch = rois.iter().cloned().collect();
    let expected = build(Engine::Reference, None)?.find_batch(&few)?;
    for name in or_all(&args.engine, &["gpu", "cpu", "reference"]) {
        let engine = match name.as_str() {
            "gpu" => Engine::Gpu(args.adapter.clone().unwrap_or_default()),
            "cpu" => Engine::Cpu,
            "reference" => Engine::Reference,
            other => return Err(format!("--engine {other}: gpu, cpu or reference").into()),
        };
        let on_gpu = matches!(engine, Engine::Gpu(_));
        let given = args.slices_per_histogram.iter().copied().map(Some);
        let groups: Vec<_> = if on_gpu && given.len() > 0 { given.collect() } else { vec![None] };
        for slices in groups {
            let finder = match build(engine.clone(), slices) {
                Err(error) if args.engine.is_empty() => {
                    println!("  {case:9} {name}: not measured: {}", error.to_string().lines().next().unwrap_or(""));
                    continue;
                }
                finder => finder?,
            };
            let timed = if name == "reference" { &few } else { batch };
            check(&finder.find_batch(timed)?, &expected)?;
            let mut rates: Vec<f64> = Vec::new();
            for _ in 0..args.rounds.max(1) {
                let start = Instant::now();
                finder.find_batch(timed)?;
                rates.push(timed.len() as f64 / start.elapsed().as_secs_f64());
            }
            rates.sort_by(f64::total_cmp);
            let (low, median, high) = (rates[0], rates[rates.len() / 2], rates[rates.len() - 1]);
            print!(
                "  {case:9} {median:9.0} RoI/s ({low:.0} to {high:.0}) in batches of {}: {}",
                timed.len(),
                finder.description()
            );
            if let Some(slices) = slices {
                print!(", {slices} slices a histogram");
            }
            println!();
            if let Some(mut times) = finder.time_on_device(timed, args.rounds)? {
                times.resident.sort_by(f64::total_cmp);
                let median = times.resident[times.resident.len() / 2];
                println!("              resident {:.0} RoI/s, {} at once", 1.0 / median, times.rois);
                for (stage, seconds) in times.stages {
                    println!("              {stage:18} {:9.3} us an RoI", seconds * 1e6);
                }
            }
        }
    }
    Ok(())
}

/// Answers that are fast and wrong count for nothing. A batch repeats the sample's RoIs, of which these are expected.
fn check(found: &[RoiResult], expected: &[RoiResult]) -> Result<(), String> {
    for (found, expected) in found.iter().zip(expected.iter().cycle()) {
        let close = match (found.vertices.first(), expected.vertices.first()) {
            (Some(a), Some(b)) => (a.weight - b.weight).abs() <= 2.0,
            (a, b) => a.is_none() && b.is_none(),
        };
        if !close || found.status != expected.status || found.status == Status::CapacityExceeded {
            return Err(format!("{:?}: found {found:?}, the reference engine {expected:?}", found.id));
        }
    }
    Ok(())
}
