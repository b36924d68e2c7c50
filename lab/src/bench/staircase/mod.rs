//! `zfinder-lab bench --staircase`: measures the steps that lead to the thesis's design one by one.

mod plot;
mod report;

use std::time::Instant;

use command_host::Failure;
use kernel_host::{AdapterChoice, AdapterKind, Gpu, wgpu};
use zfinder::Precision;
use zfinder::internals::{FilledRoi, ReferenceEngine};
use zfinder::{Engine, Error, Results, RoiBatch, ZFinder};
use zfinder_cli::bench::report::median;
use zfinder_cli::bench::sample::Sample;
use zfinder_cli::bench::words::word;
use zfinder_cli::bench::written;
use zfinder_cli::engine::DesignName;
use zfinder_cli::failure::WRONG_ANSWER;
use zfinder_thesis_steps::{SlicedBatch, StepEngine, compare, staircase};

use super::LabBench;
use report::{Flight, SampleStairs, StaircaseReport, StepReport};

/// Most bytes of the histograms of a batch.
const MOST_BYTES: u64 = 1 << 30;

/// RoIs of a batch on hardware, and on a software adapter: of lowlum and of busier samples.
const HARDWARE_ROIS: usize = 128;
const SOFTWARE_ROIS: [usize; 2] = [8, 2];

/// Batches of a round on hardware, and on a software adapter.
const HARDWARE_BATCHES: usize = 8;
const SOFTWARE_BATCHES: usize = 2;

/// The RoIs of a measurement on one adapter.
struct Load {
    rois: RoiBatch,
    sliced: SlicedBatch,
    /// Histograms of the reference engine for the first RoIs.
    expected: Vec<FilledRoi>,
    /// Seconds of the reference engine per RoI: one core, serial, f64.
    serial: f64,
    hardware: bool,
}

impl Load {
    fn batches(&self) -> usize {
        if self.hardware { HARDWARE_BATCHES } else { SOFTWARE_BATCHES }
    }
}

impl LabBench {
    pub(super) fn staircase(&self) -> Result<(), Failure> {
        let picture = self.picture.open_optional(self.plot.as_deref(), "zfinder")?;
        let gpus = self.bench.single_gpus()?;
        let bar = self.bench.bar();
        let mut report = StaircaseReport::new(self.bench.quick, self.staircase_rounds());
        for source in self.bench.sources() {
            let sample = self.bench.sample(source)?;
            for gpu in &gpus {
                let place = format!("{} on {}", sample.name(), gpu.name());
                bar.set_message(format!("{place}: reference engine"));
                let load = self.load(&sample, gpu)?;
                let measured = self.climb(&sample, gpu, &load, &|step| bar.set_message(format!("{place}: {step}")))?;
                if !self.bench.json {
                    let text = measured.table();
                    bar.suspend(|| written(&text))?;
                }
                report.samples.push(measured);
            }
        }
        bar.finish_and_clear();
        if let Some(picture) = picture {
            picture.draw(&plot::figure(&report.samples))?;
        }
        if self.bench.json { written(&report.json()?) } else { written(&report.closing()) }
    }

    fn staircase_rounds(&self) -> usize {
        self.bench.rounds.map_or(if self.bench.quick { 3 } else { 7 }, std::num::NonZeroUsize::get)
    }

    /// Returns as many sorted RoIs of the sample as the adapter has memory for histograms, with the
    /// answers of the reference engine.
    fn load(&self, sample: &Sample, gpu: &Gpu) -> Result<Load, Failure> {
        let hardware = gpu.summary().kind != AdapterKind::Software;
        let usual = if hardware { HARDWARE_ROIS } else { SOFTWARE_ROIS[usize::from(sample.is_busy())] };
        let wanted = self.bench.limit.map_or(usual, std::num::NonZeroUsize::get).min(sample.len());
        let limits = gpu.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(MOST_BYTES);
        let mut count = wanted.min(256);
        let (rois, sliced) = loop {
            let rois = sample.batch(0, count);
            let sliced = SlicedBatch::new(&rois, sample.detector()).map_err(failure)?;
            if count == 1 || StepEngine::largest_buffer(&sliced) <= most {
                break (rois, sliced);
            }
            count = count.div_ceil(2);
        };
        let engine = ReferenceEngine::new(&SlicedBatch::config(), sample.detector())?;
        let check = self.bench.check.map_or(16, std::num::NonZeroUsize::get).min(count);
        let start = Instant::now();
        let expected: zfinder::Result<Vec<FilledRoi>> = rois.iter().take(check).map(|roi| engine.fill(roi)).collect();
        let serial = start.elapsed().as_secs_f64() / check as f64;
        Ok(Load { rois, sliced, expected: expected?, serial, hardware })
    }

    fn climb(&self, sample: &Sample, gpu: &Gpu, load: &Load, say: &dyn Fn(&str)) -> Result<SampleStairs, Failure> {
        let mut stairs = SampleStairs::new(sample, gpu, load);
        for step in staircase() {
            say(step.name);
            if step.precision == Precision::F64 && !gpu.has(wgpu::Features::SHADER_F64) {
                stairs.not_measured.push(format!("{}: the adapter has no SHADER_F64", step.name));
                continue;
            }
            let mut engine = StepEngine::new(gpu, step, &load.sliced).map_err(failure)?;
            let found = engine.find(&load.sliced).map_err(failure)?;
            let mut report = StepReport::new(&step);
            for (roi, (found, expected)) in found.iter().zip(&load.expected).enumerate() {
                let difference = compare(found, expected, step.precision).map_err(|reason| {
                    Failure::wrong_answer(format!("{}, {}, RoI {roi}: {reason}", sample.name(), step.name))
                        .with_help(WRONG_ANSWER)
                })?;
                report.include(&difference);
            }
            let times = engine.time(&load.sliced, self.staircase_rounds(), load.batches()).map_err(failure)?;
            report.set_times(&times, load.sliced.rois.len());
            stairs.steps.push(report);
        }
        for design in [DesignName::Thesis, DesignName::Product] {
            say(&format!("the library, design {}", word(design)));
            stairs.library.push(self.library(sample, gpu, load, design)?);
        }
        Ok(stairs)
    }

    /// Measures the library on the same RoIs, from host memory to vertices.
    fn library(&self, sample: &Sample, gpu: &Gpu, load: &Load, design: DesignName) -> Result<Flight, Failure> {
        let builder = ZFinder::builder(sample.detector().clone())
            .config(SlicedBatch::config())
            .engine(Engine::Gpu(AdapterChoice::Index(gpu.summary().index)));
        let finder = design.apply(builder, None).build()?;
        let mut results = Results::new();
        finder.find_batch_into(&load.rois, &mut results)?;
        let mut seconds = Vec::new();
        for _ in 0..self.staircase_rounds() {
            let start = Instant::now();
            for _ in 0..load.batches() {
                finder.find_batch_into(&load.rois, &mut results)?;
            }
            seconds.push(start.elapsed().as_secs_f64() / (load.batches() * load.rois.len()) as f64);
        }
        seconds.sort_by(f64::total_cmp);
        Ok(Flight { design: word(design), us_per_roi: 1e6 * median(&seconds).unwrap_or(0.0) })
    }
}

fn failure(error: zfinder_thesis_steps::Error) -> Failure {
    match error {
        zfinder_thesis_steps::Error::Finder(error) => error.into(),
        zfinder_thesis_steps::Error::Gpu(error) => Error::from(error).into(),
        error => Failure::wrong_answer(error),
    }
}
