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
use zfinder_thesis_steps::{
    Search, SlicedBatch, Step, StepEngine, Window, compare, full_circle, staircase, variations,
};

use super::LabBench;
use report::{Flight, SampleStairs, StaircaseReport, StepReport};

/// Most bytes of the histograms of a batch.
const MOST_BYTES: u64 = 1 << 30;

/// RoIs of a batch on hardware, and on a software adapter: of lowlum and of busier samples.
const HARDWARE_ROIS: usize = 128;
const SOFTWARE_ROIS: [usize; 2] = [2, 1];

/// Batches of a round on hardware and on a software adapter. Batches of few RoIs are sent more
/// often on hardware, because a lone one takes tens of microseconds.
const HARDWARE_BATCHES: usize = 8;
const HARDWARE_ROIS_OF_A_ROUND: usize = 256;
const SOFTWARE_BATCHES: usize = 2;

/// The RoIs of a measurement on one adapter.
struct Load {
    search: Search,
    window: Window,
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
        let rois = self.sliced.rois.len().max(1);
        if self.hardware { HARDWARE_BATCHES.max(HARDWARE_ROIS_OF_A_ROUND / rois) } else { SOFTWARE_BATCHES }
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
                let measured = self.climb(&sample, gpu, &|step| bar.set_message(format!("{place}: {step}")))?;
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
    fn load(&self, sample: &Sample, gpu: &Gpu, search: Search, window: Window) -> Result<Load, Failure> {
        let hardware = gpu.summary().kind != AdapterKind::Software;
        let usual = if hardware { HARDWARE_ROIS } else { SOFTWARE_ROIS[usize::from(sample.is_busy())] };
        let wanted = self.bench.limit.map_or(usual, std::num::NonZeroUsize::get).min(sample.len());
        let limits = gpu.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(MOST_BYTES);
        let mut count = wanted.min(256);
        let (rois, sliced) = loop {
            let rois = match window {
                Window::Roi => sample.batch(0, count),
                Window::FullCircle => full_circle(&sample.batch(0, count)),
            };
            let sliced = SlicedBatch::new(&rois, sample.detector()).map_err(failure)?;
            if count == 1 || StepEngine::largest_buffer(&sliced) <= most {
                break (rois, sliced);
            }
            count = count.div_ceil(2);
        };
        let engine = ReferenceEngine::new(&search.config(), sample.detector())?;
        let check = self.bench.check.map_or(16, std::num::NonZeroUsize::get).min(count);
        let start = Instant::now();
        let expected: zfinder::Result<Vec<FilledRoi>> = rois.iter().take(check).map(|roi| engine.fill(roi)).collect();
        let serial = start.elapsed().as_secs_f64() / check as f64;
        Ok(Load { search, window, rois, sliced, expected: expected?, serial, hardware })
    }

    fn climb(&self, sample: &Sample, gpu: &Gpu, say: &dyn Fn(&str)) -> Result<SampleStairs, Failure> {
        say("reference engine");
        let mut loads = vec![self.load(sample, gpu, Search::Pairs, Window::Roi)?];
        let mut stairs = SampleStairs::new(sample, gpu, &loads[0]);
        let steps = staircase().into_iter().map(|step| (step, false));
        for (step, is_side) in steps.chain(variations().into_iter().map(|step| (step, true))) {
            say(step.name);
            if step.precision == Precision::F64 && !gpu.has(wgpu::Features::SHADER_F64) {
                stairs.not_measured.push(format!("{}: the adapter has no SHADER_F64", step.name));
                continue;
            }
            let is_its = |load: &Load| (load.search, load.window) == (step.search, step.window);
            let place = match loads.iter().position(is_its) {
                Some(place) => place,
                None => {
                    loads.push(self.load(sample, gpu, step.search, step.window)?);
                    loads.len() - 1
                }
            };
            let report = self.step(sample, gpu, &loads[place], step)?;
            if is_side { &mut stairs.variations } else { &mut stairs.steps }.push(report);
        }
        for design in [DesignName::Thesis, DesignName::Product] {
            say(&format!("the library, design {}", word(design)));
            stairs.library.push(self.library(sample, gpu, &loads[0], design)?);
        }
        Ok(stairs)
    }

    /// Checks and measures a step.
    fn step(&self, sample: &Sample, gpu: &Gpu, load: &Load, step: Step) -> Result<StepReport, Failure> {
        let mut engine = StepEngine::new(gpu, step, &load.sliced).map_err(failure)?;
        let found = engine.find(&load.sliced).map_err(failure)?;
        let mut report = StepReport::new(&step, load);
        for (roi, (found, expected)) in found.iter().zip(&load.expected).enumerate() {
            let difference = compare(found, expected, step.precision).map_err(|reason| {
                Failure::wrong_answer(format!("{}, {}, RoI {roi}: {reason}", sample.name(), step.name))
                    .with_help(WRONG_ANSWER)
            })?;
            report.include(&difference);
        }
        let sort = || SlicedBatch::new(&load.rois, sample.detector());
        let times = engine.time(&sort, self.staircase_rounds(), load.batches()).map_err(failure)?;
        report.set_times(&times);
        Ok(report)
    }

    /// Measures the library on the same RoIs, from host memory to vertices.
    fn library(&self, sample: &Sample, gpu: &Gpu, load: &Load, design: DesignName) -> Result<Flight, Failure> {
        let builder = ZFinder::builder(sample.detector().clone())
            .config(load.search.config())
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
