//! The report of `bench` as `--json` writes it. docs/reference/bench.md documents each key.

use serde::Serialize;
use zfinder::Config;

use super::super::engine::DesignName;
use super::words::{CaseName, CoordinatesName, EncodingName, EngineName};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    /// A build without optimisation, whose figures are meaningless.
    pub(super) debug_build: bool,
    pub(super) host: Host,
    pub(super) settings: Settings,
    pub(super) adapters: Vec<Adapter>,
    pub(super) not_measured: Vec<NotMeasured>,
    pub(super) samples: Vec<SampleReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct Host {
    pub(super) os: &'static str,
    pub(super) arch: &'static str,
    pub(super) threads: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Settings {
    pub(super) quick: bool,
    pub(super) rounds: usize,
    pub(super) seconds: f64,
    pub(super) in_flight: usize,
    pub(super) encoding: EncodingName,
    pub(super) coordinates: CoordinatesName,
    pub(super) spin_us: u64,
    pub(super) precision: String,
    pub(super) accumulate: String,
    #[serde(skip)]
    pub(super) design: DesignName,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Adapter {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) backend: String,
    pub(super) pci: String,
    pub(super) driver: String,
    /// From host to device.
    pub(super) bus_gb_per_s: f64,
    #[serde(skip)]
    pub(super) hardware: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct NotMeasured {
    pub(super) engine: EngineName,
    pub(super) reason: String,
}

#[derive(Debug, Serialize)]
pub(super) struct SampleReport {
    pub(super) name: String,
    /// None for files.
    pub(super) seed: Option<u64>,
    pub(super) files: Vec<String>,
    pub(super) detector: String,
    pub(super) rois: usize,
    pub(super) spacepoints: usize,
    pub(super) batch_rois: usize,
    pub(super) results: Vec<CaseReport>,
}

/// A case on an engine.
#[derive(Debug, Serialize)]
pub(super) struct CaseReport {
    pub(super) case: CaseName,
    pub(super) engine: EngineName,
    /// Indices of GPUs.
    pub(super) adapters: Vec<usize>,
    pub(super) description: String,
    pub(super) config: Config,
    pub(super) check: Option<CheckReport>,
    pub(super) streamed: Option<Rate>,
    pub(super) end_to_end: Option<Rate>,
    pub(super) resident: Option<Rate>,
    pub(super) latency: Option<Latency>,
    pub(super) one_core: Option<OneCore>,
    pub(super) kernels: Vec<KernelTime>,
    pub(super) transfer: Option<Transfer>,
    pub(super) long_streams: Vec<LongStream>,
}

/// Result of the comparison with the reference engine.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct CheckReport {
    pub(super) rois: usize,
    pub(super) max_weight_difference: f64,
    pub(super) max_z_difference_mm: f64,
    pub(super) ties: usize,
    pub(super) shifted: usize,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Rate {
    /// Number of RoIs of a round.
    pub(super) rois: usize,
    pub(super) batch_rois: usize,
    /// Number of batches in flight.
    pub(super) in_flight: usize,
    pub(super) rounds: usize,
    pub(super) roi_per_s: f64,
    pub(super) slowest_roi_per_s: f64,
    pub(super) fastest_roi_per_s: f64,
}

impl Rate {
    /// Returns None without a round.
    pub(super) fn of(rois: usize, batch_rois: usize, in_flight: usize, mut seconds_per_roi: Vec<f64>) -> Option<Self> {
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

#[derive(Clone, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) calls: usize,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct OneCore {
    pub(super) rois: usize,
    pub(super) us_per_roi: f64,
    /// Ratio of the reference engine's time for the same RoIs, measured alternately; None for the
    /// reference engine.
    pub(super) times_faster_than_reference: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct KernelTime {
    pub(super) name: String,
    pub(super) us_per_roi: f64,
}

/// Bytes that are uploaded, compared with the bandwidth of the bus.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Transfer {
    pub(super) bytes_per_roi: f64,
    pub(super) gb_per_s: f64,
    pub(super) fraction_of_bus: f64,
    /// Host time on one thread.
    pub(super) packing_us_per_roi: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct LongStream {
    pub(super) rois: usize,
    pub(super) us_per_roi: f64,
    pub(super) peak_memory_bytes: Option<u64>,
    pub(super) memory_bytes: Option<u64>,
}

/// Returns the median of a sorted list.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) })
}

/// Returns the smallest value that is not below this fraction of a sorted list.
pub(super) fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Returns a rate. A duration of zero would give infinity, which JSON cannot represent.
pub(super) fn per_second(seconds: f64) -> f64 {
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
        let rate = Rate::of(10, 5, 1, vec![0.5, 0.1, 0.25]).expect("three rounds");
        assert_eq!((rate.roi_per_s, rate.slowest_roi_per_s, rate.fastest_roi_per_s), (4.0, 2.0, 10.0));
        assert!(Rate::of(1, 1, 1, Vec::new()).is_none());
        assert!(per_second(0.0).is_finite());
    }
}
