//! The report of `bench` as `--json` writes it. docs/reference/bench.md documents each key.

use kernel_host::{AdapterKind, Gpu};
use serde::Serialize;
use zfinder::Config;

use super::super::engine::DesignName;
use super::words::{CaseName, CoordinatesName, EngineName};
use zfinder::Encoding;

#[derive(Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    /// A build without optimisation, whose figures are meaningless.
    pub debug_build: bool,
    pub host: Host,
    pub settings: Settings,
    pub adapters: Vec<Adapter>,
    pub not_measured: Vec<NotMeasured>,
    pub samples: Vec<SampleReport>,
}

#[derive(Debug, Serialize)]
pub struct Host {
    pub os: &'static str,
    pub arch: &'static str,
    pub threads: usize,
}

#[derive(Debug, Serialize)]
pub struct Settings {
    pub quick: bool,
    pub rounds: usize,
    pub seconds: f64,
    pub in_flight: usize,
    pub encoding: Encoding,
    pub coordinates: CoordinatesName,
    pub spin_us: u64,
    pub precision: String,
    pub accumulate: String,
    #[serde(skip)]
    pub design: DesignName,
}

#[derive(Clone, Debug, Serialize)]
pub struct Adapter {
    pub index: usize,
    pub name: String,
    pub kind: String,
    pub backend: String,
    pub pci: String,
    pub driver: String,
    #[serde(skip)]
    pub hardware: bool,
}

impl Adapter {
    pub fn new(gpu: &Gpu) -> Self {
        let summary = gpu.summary();
        Self {
            index: summary.index,
            name: summary.name.clone(),
            kind: summary.kind.to_string(),
            backend: summary.backend.clone(),
            pci: format!("{:04x}:{:04x}", summary.vendor, summary.device),
            driver: summary.driver.clone(),
            hardware: summary.kind != AdapterKind::Software,
        }
    }
}

#[derive(Debug, Serialize)]
pub struct NotMeasured {
    pub engine: EngineName,
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct SampleReport {
    pub name: String,
    /// None for files.
    pub seed: Option<u64>,
    pub files: Vec<String>,
    pub detector: String,
    pub rois: usize,
    pub spacepoints: usize,
    pub batch_rois: usize,
    pub results: Vec<CaseReport>,
}

/// A case on an engine.
#[derive(Debug, Serialize)]
pub struct CaseReport {
    pub case: CaseName,
    pub engine: EngineName,
    /// Indices of GPUs.
    pub adapters: Vec<usize>,
    pub description: String,
    pub config: Config,
    pub check: Option<CheckReport>,
    pub streamed: Option<Rate>,
    pub end_to_end: Option<Rate>,
    pub resident: Option<Rate>,
    pub latency: Option<Latency>,
    pub callers: Vec<CallerRate>,
    /// Empty without `--timeline`.
    pub timeline: Vec<TimelineReport>,
    pub one_core: Option<OneCore>,
    pub kernels: Vec<KernelTime>,
    pub transfer: Option<Transfer>,
    pub long_streams: Vec<LongStream>,
}

/// Result of the comparison with the reference engine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckReport {
    pub rois: usize,
    pub max_weight_difference: f64,
    pub max_z_difference_mm: f64,
    pub ties: usize,
    pub shifted: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    /// Number of RoIs of a round.
    pub rois: usize,
    pub batch_rois: usize,
    /// Number of batches in flight.
    pub in_flight: usize,
    pub rounds: usize,
    pub roi_per_s: f64,
    pub slowest_roi_per_s: f64,
    pub fastest_roi_per_s: f64,
}

impl Rate {
    /// Returns None without a round.
    pub fn new(rois: usize, batch_rois: usize, in_flight: usize, mut seconds_per_roi: Vec<f64>) -> Option<Self> {
        seconds_per_roi.sort_by(f64::total_cmp);
        Some(Self {
            rois,
            batch_rois,
            in_flight,
            rounds: seconds_per_roi.len(),
            roi_per_s: per_second(median(&seconds_per_roi)?),
            slowest_roi_per_s: per_second(*seconds_per_roi.last()?),
            fastest_roi_per_s: per_second(*seconds_per_roi.first()?),
        })
    }
}

/// Rate of threads that each search one RoI after another.
#[derive(Clone, Debug, Serialize)]
pub struct CallerRate {
    pub callers: usize,
    pub rate: Rate,
}

/// Steps of the calls of so many threads.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineReport {
    pub callers: usize,
    pub calls: usize,
    pub us_per_call: f64,
    /// In the order of their beginnings; one may lie within another.
    pub spans: Vec<SpanTime>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SpanTime {
    pub name: String,
    /// How often a call has it.
    pub per_call: f64,
    pub us_per_call: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    pub calls: usize,
    pub p50_us: f64,
    pub p99_us: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct OneCore {
    pub rois: usize,
    pub us_per_roi: f64,
    /// Ratio of the reference engine's time for the same RoIs, measured alternately; None for the
    /// reference engine.
    pub times_faster_than_reference: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct KernelTime {
    pub name: String,
    pub us_per_roi: f64,
    /// Of one RoI by itself.
    pub alone_us: Option<f64>,
}

/// Bytes that are uploaded.
#[derive(Clone, Debug, Serialize)]
pub struct Transfer {
    pub bytes_per_roi: f64,
    pub gb_per_s: f64,
    /// Host time on one thread.
    pub packing_us_per_roi: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LongStream {
    pub rois: usize,
    pub us_per_roi: f64,
    pub peak_memory_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
}

/// Returns the median of a sorted list.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) })
}

/// Returns the smallest value that is not below this fraction of a sorted list.
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Returns a rate. A duration of zero would give infinity, which JSON cannot represent.
pub fn per_second(seconds: f64) -> f64 {
    1.0 / seconds.max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles() {
        assert_eq!((median(&[]), percentile(&[], 0.5)), (None, None));
        assert_eq!((median(&[3.0]), median(&[1.0, 2.0, 9.0]), median(&[1.0, 3.0])), (Some(3.0), Some(2.0), Some(2.0)));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((percentile(&hundred, 0.5), percentile(&hundred, 0.99)), (Some(50.0), Some(99.0)));
        assert_eq!(percentile(&[7.0], 0.99), Some(7.0));
    }

    #[test]
    fn rates_go_with_the_median_time() {
        let rate = Rate::new(10, 5, 1, vec![0.5, 0.1, 0.25]).expect("three rounds");
        assert_eq!((rate.roi_per_s, rate.slowest_roi_per_s, rate.fastest_roi_per_s), (4.0, 2.0, 10.0));
        assert!(Rate::new(1, 1, 1, Vec::new()).is_none());
        assert!(per_second(0.0).is_finite());
    }
}
