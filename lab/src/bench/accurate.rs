//! `zfinder-lab bench --against accurate`: errors of engines and number types, as in Table 5.1 of
//! the thesis.

use command_host::{Failure, note, table};
use kernel_host::{AdapterChoice, wgpu};
use rayon::prelude::*;
use serde::Serialize;
use zfinder::config::Extrapolation;
use zfinder::{Config, Engine, Precision, Preset, Results, Roi, RoiBatch, ZFinder};

use super::LabBench;
use zfinder_cli::bench::sample::Sample;
use zfinder_cli::bench::words::CoordinatesName;
use zfinder_cli::bench::written;

/// Default number of compared RoIs of a busy sample, because the reference engine is serial.
const BUSY_ROIS: usize = 64;

/// Vertices further apart \[mm\] are different peaks.
const SAME_PEAK_MM: f64 = 1.0;

#[derive(Serialize)]
struct Report {
    version: &'static str,
    half_bin_offset: bool,
    samples: Vec<SampleErrors>,
}

#[derive(Serialize)]
struct SampleErrors {
    name: String,
    seed: Option<u64>,
    rois: usize,
    engines: Vec<EngineErrors>,
    not_measured: Vec<String>,
}

/// First vertices of an engine with the linear extrapolation, minus those of the reference engine
/// with the accurate one.
#[derive(Serialize)]
struct EngineErrors {
    engine: String,
    /// Number of RoIs in which both have a vertex.
    vertices: usize,
    /// Number of these in which the peaks differ.
    other_peaks: usize,
    /// rms of the differences of equal peaks.
    rms_mm: f64,
    mean_absolute_mm: f64,
    mean_mm: f64,
    max_mm: f64,
}

impl LabBench {
    pub(super) fn against_accurate(&self) -> Result<(), Failure> {
        let bar = self.bench.bar();
        let gpus = match self.bench.single_gpus() {
            // Without a hardware GPU the table has the CPU alone.
            Err(failure) if self.bench.adapter.is_empty() => {
                note(&format!("GPU not measured: {failure}"));
                Vec::new()
            }
            gpus => gpus?,
        };
        let mut report =
            Report { version: env!("CARGO_PKG_VERSION"), half_bin_offset: self.half_bin_offset, samples: Vec::new() };
        for source in self.bench.sources() {
            let sample = self.bench.sample_of(source, CoordinatesName::F64)?;
            bar.set_message(format!("{}: accurate extrapolation", sample.name()));
            let most =
                self.bench.limit.map_or(if sample.is_busy() { BUSY_ROIS } else { usize::MAX }, |limit| limit.get());
            let rois: Vec<Roi> = (0..sample.len().min(most)).map(|index| sample.roi(index)).collect();
            let expected = accurate(&sample, &rois)?;
            let (offsets, shifted) = self.shifted(&rois);
            let mut errors = SampleErrors {
                name: sample.name().to_owned(),
                seed: sample.seed(),
                rois: rois.len(),
                engines: Vec::new(),
                not_measured: Vec::new(),
            };
            let cpu =
                [Precision::F64, Precision::F32].map(|precision| ("CPU".to_owned(), Engine::Cpu, precision, true));
            let gpu = gpus.iter().flat_map(|gpu| {
                let index = gpu.summary().index;
                [Precision::F64, Precision::F32].map(|precision| {
                    let has = precision == Precision::F32 || gpu.has(wgpu::Features::SHADER_F64);
                    (gpu.name().to_owned(), Engine::Gpu(AdapterChoice::Index(index)), precision, has)
                })
            });
            for (name, engine, precision, has) in cpu.into_iter().chain(gpu) {
                let name = format!("{name}, {precision:?}").replace(", F", ", f");
                if !has {
                    errors.not_measured.push(format!("{name}: the adapter has no SHADER_F64"));
                    continue;
                }
                bar.set_message(format!("{}: {name}", sample.name()));
                let is_gpu = engine != Engine::Cpu;
                let builder = ZFinder::builder(sample.detector().clone()).config(config()).engine(engine);
                let builder = if is_gpu { self.bench.design.apply(builder, None) } else { builder };
                let found = builder.precision(precision).build()?.find_batch(&shifted)?;
                errors.engines.push(EngineErrors::new(name, &found, &offsets, &expected));
            }
            if !self.bench.json {
                let text = errors.table();
                bar.suspend(|| written(&text))?;
            }
            report.samples.push(errors);
        }
        bar.finish_and_clear();
        if !self.bench.json {
            return Ok(());
        }
        let json = serde_json::to_string_pretty(&report).map_err(std::io::Error::from);
        written(&(json.map_err(|source| Failure::output("standard output", &source))? + "\n"))
    }

    /// Returns the shift of z of each RoI and the shifted RoIs: half a bin, so that bins begin half
    /// a bin later.
    fn shifted(&self, rois: &[Roi]) -> (Vec<f64>, RoiBatch) {
        let mut batch = RoiBatch::new();
        let mut offsets = Vec::new();
        for roi in rois {
            let bin = config().z_bin_mm + config().z_bin_eta_coeff * roi.descriptor.eta.abs();
            let offset = if self.half_bin_offset { 0.5 * bin } else { 0.0 };
            let points = roi.spacepoints.iter().map(|&point| zfinder::Spacepoint { z: point.z + offset, ..point });
            batch.push(roi.descriptor, points);
            offsets.push(offset);
        }
        (offsets, batch)
    }
}

fn config() -> Config {
    Config::preset(Preset::Thesis)
}

/// Returns the answers of the reference engine with the accurate extrapolation. Threads search
/// different RoIs.
fn accurate(sample: &Sample, rois: &[Roi]) -> Result<Results, Failure> {
    let finder = ZFinder::builder(sample.detector().clone())
        .config(config().with(|c| c.extrapolation = Extrapolation::Accurate))
        .engine(Engine::Reference)
        .build()?;
    let found: zfinder::Result<Vec<Results>> = rois.par_iter().map(|roi| finder.find(roi)).collect();
    Ok(found?.iter().flatten().collect())
}

impl EngineErrors {
    fn new(engine: String, found: &Results, offsets: &[f64], expected: &Results) -> Self {
        let pairs = found.iter().zip(offsets).zip(expected);
        let differences: Vec<f64> = pairs
            .filter_map(|((found, offset), expected)| {
                Some(found.vertices().first()?.z_mm - offset - expected.vertices().first()?.z_mm)
            })
            .collect();
        let same: Vec<f64> = differences.iter().copied().filter(|error| error.abs() <= SAME_PEAK_MM).collect();
        let mean = |of: fn(f64) -> f64| same.iter().map(|&error| of(error)).sum::<f64>() / same.len().max(1) as f64;
        Self {
            engine,
            vertices: differences.len(),
            other_peaks: differences.len() - same.len(),
            rms_mm: mean(|error| error * error).sqrt(),
            mean_absolute_mm: mean(f64::abs),
            mean_mm: mean(|error| error),
            max_mm: same.iter().copied().map(f64::abs).fold(0.0, f64::max),
        }
    }
}

impl SampleErrors {
    fn table(&self) -> String {
        let mut table =
            table(["engine", "vertices", "other\npeaks", "rms\nmm", "mean abs\nmm", "mean\nmm", "largest\nmm"], 1);
        for errors in &self.engines {
            let number = |value: f64| format!("{value:.6}");
            table.add_row([
                errors.engine.clone(),
                errors.vertices.to_string(),
                errors.other_peaks.to_string(),
                number(errors.rms_mm),
                number(errors.mean_absolute_mm),
                number(errors.mean_mm),
                number(errors.max_mm),
            ]);
        }
        let missing: String = self.not_measured.iter().map(|missing| format!("not measured: {missing}\n")).collect();
        format!(
            "{}: {} RoIs; linear extrapolation less the reference engine's accurate one\n\n{}\n{missing}\n",
            self.name,
            self.rois,
            table.trim_fmt()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zfinder::results::RoiSummary;
    use zfinder::{RoiId, Status, Vertex};

    fn results(z_mm: [Option<f64>; 4]) -> Results {
        let mut results = Results::new();
        for z_mm in z_mm {
            results.push(RoiSummary::new(RoiId::default(), Status::Ok), z_mm.map(Vertex::at));
        }
        results
    }

    #[test]
    fn errors_are_of_the_same_peak() {
        let found = results([Some(1.3), Some(2.0), None, Some(50.0)]);
        let expected = results([Some(1.0), Some(2.2), Some(3.0), Some(4.0)]);
        let errors = EngineErrors::new("one".into(), &found, &[0.2, 0.2, 0.2, 0.2], &expected);
        assert_eq!((errors.vertices, errors.other_peaks), (3, 1));
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-12;
        assert!(near(errors.mean_mm, -0.15) && near(errors.mean_absolute_mm, 0.25) && near(errors.max_mm, 0.4));
        assert!(near(errors.rms_mm, (0.085f64).sqrt()), "{}", errors.rms_mm);
        let none = EngineErrors::new("none".into(), &Results::new(), &[], &Results::new());
        assert_eq!((none.vertices, none.rms_mm), (0, 0.0));
    }
}
