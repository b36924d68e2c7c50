//! Report of the staircase: JSON and tables. docs/thesis.md documents the keys.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use command_host::{Failure, table};
use kernel_host::Gpu;
use serde::Serialize;
use zfinder_thesis_steps::{Difference, Step, StepTimes, staircase};

use super::Load;
use zfinder_cli::bench::report::median;
use zfinder_cli::bench::sample::Sample;

#[derive(Serialize)]
pub(super) struct StaircaseReport {
    version: &'static str,
    debug_build: bool,
    quick: bool,
    rounds: usize,
    pub(super) samples: Vec<SampleStairs>,
}

/// A sample on an adapter.
#[derive(Serialize)]
pub(super) struct SampleStairs {
    pub(super) name: String,
    seed: Option<u64>,
    pub(super) adapter: String,
    backend: String,
    driver: String,
    /// RoIs of a batch, with their mean spacepoints and slices.
    pub(super) rois: usize,
    spacepoints_per_roi: f64,
    slices_per_roi: f64,
    rois_checked: usize,
    pub(super) serial_us_per_roi: f64,
    pub(super) steps: Vec<StepReport>,
    /// Of the last step, by one choice each.
    pub(super) variations: Vec<StepReport>,
    pub(super) not_measured: Vec<String>,
    pub(super) library: Vec<Flight>,
}

#[derive(Serialize)]
pub(super) struct StepReport {
    pub(super) step: &'static str,
    section: Option<&'static str>,
    choices: BTreeMap<&'static str, String>,
    /// RoIs of a batch, and the time of the reference engine for them.
    rois: usize,
    serial_us_per_roi: f64,
    /// Measured by the device's clock; None if it has none.
    pub(super) find_z_us_per_roi: Option<f64>,
    find_z_gb_per_s: Option<f64>,
    pub(super) sum_histos_us_per_roi: Option<f64>,
    sum_histos_gb_per_s: Option<f64>,
    pub(super) with_copies_us_per_roi: f64,
    upload_gb_per_s: f64,
    entries_checked: u64,
    entries_moved: u64,
    max_z_difference_mm: f64,
}

/// The library with one of its designs.
#[derive(Serialize)]
pub(super) struct Flight {
    pub(super) design: String,
    pub(super) us_per_roi: f64,
}

impl StaircaseReport {
    pub(super) fn new(quick: bool, rounds: usize) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            debug_build: cfg!(debug_assertions),
            quick,
            rounds,
            samples: Vec::new(),
        }
    }

    pub(super) fn json(&self) -> Result<String, Failure> {
        let json = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        json.map(|json| json + "\n").map_err(|source| Failure::output("standard output", &source))
    }

    /// The lines below all tables.
    pub(super) fn closing(&self) -> String {
        let last = staircase().pop().map_or("", |step| step.name);
        format!(
            "Medians of {} rounds. Each step changes one choice of the step above it; below {last}, each changes\none \
             choice of {last}. find_z and sum_histos: the device's clock. With copies: from sorted spacepoints in host \
             memory to sums in\nhost memory. GB/s: bytes that a kernel must read and write at least. x one core: the \
             reference engine, serial, f64,\nover with copies. Every step's answers were checked.\n",
            self.rounds
        )
    }
}

impl SampleStairs {
    pub(super) fn new(sample: &Sample, gpu: &Gpu, load: &Load) -> Self {
        let rois = load.sliced.rois.len();
        let mean = |all: usize| all as f64 / rois.max(1) as f64;
        Self {
            name: sample.name().to_owned(),
            seed: sample.seed(),
            adapter: gpu.name().to_owned(),
            backend: gpu.summary().backend.clone(),
            driver: gpu.summary().driver.clone(),
            rois,
            spacepoints_per_roi: mean(load.sliced.points.len()),
            slices_per_roi: mean(load.sliced.rows.len()),
            rois_checked: load.expected.len(),
            serial_us_per_roi: 1e6 * load.serial,
            steps: Vec::new(),
            variations: Vec::new(),
            not_measured: Vec::new(),
            library: Vec::new(),
        }
    }

    /// Returns the thesis's speed-up of a step with copies, over one core of a processor of 2010.
    /// The thesis states it for one and for two streams.
    fn thesis(&self, step: &StepReport) -> &'static str {
        match (self.name.as_str(), step.step) {
            ("lowlum", "two-stage-sums" | "two-in-flight") => "1",
            ("highlum", "two-stage-sums") => "9 to 12",
            ("highlum", "two-in-flight") => "15 to 35",
            _ => "-",
        }
    }

    /// Returns the RoIs of a batch in words.
    pub(super) fn condition(&self) -> String {
        if self.rois == 1 { "one RoI at a time".to_owned() } else { format!("batches of {} RoIs", self.rois) }
    }

    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{} on {} ({}): {} of {:.0} spacepoints and {:.0} slices; reference engine {:.0} us/RoI.\n",
            self.name,
            self.adapter,
            self.backend,
            self.condition(),
            self.spacepoints_per_roi,
            self.slices_per_roi,
            self.serial_us_per_roi
        );
        let mut table = table(
            [
                "section",
                "step",
                "find_z\nus/RoI",
                "\nGB/s",
                "sum_histos\nus/RoI",
                "\nGB/s",
                "with copies\nus/RoI",
                "\nRoI/s",
                "x one\ncore",
                "thesis,\nx one core",
            ],
            2,
        );
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let row = |step: &StepReport| {
            let with_copies = step.with_copies_us_per_roi;
            [
                step.section.unwrap_or("-").to_owned(),
                step.step.to_owned(),
                number(step.find_z_us_per_roi),
                number(step.find_z_gb_per_s),
                number(step.sum_histos_us_per_roi),
                number(step.sum_histos_gb_per_s),
                number(Some(with_copies)),
                format!("{:.0}", 1e6 / with_copies),
                number(Some(step.serial_us_per_roi / with_copies)),
                self.thesis(step).to_owned(),
            ]
        };
        for step in self.steps.iter().chain(&self.variations) {
            table.add_row(row(step));
        }
        for flight in &self.library {
            let mut row = vec!["-".to_owned(), format!("library, {}", flight.design)];
            row.extend(["-"; 4].map(str::to_owned));
            row.push(number(Some(flight.us_per_roi)));
            row.push(format!("{:.0}", 1e6 / flight.us_per_roi));
            row.push(number(Some(self.serial_us_per_roi / flight.us_per_roi)));
            row.push("-".to_owned());
            table.add_row(row);
        }
        let _ = writeln!(text, "{}\n", table.trim_fmt());
        for missing in &self.not_measured {
            let _ = writeln!(text, "not measured: {missing}");
        }
        let steps = || self.steps.iter().chain(&self.variations);
        let moved: u64 = steps().map(|step| step.entries_moved).max().unwrap_or(0);
        let entries: u64 = steps().map(|step| step.entries_checked).max().unwrap_or(0);
        let z = steps().map(|step| step.max_z_difference_mm).fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "checked: {} RoIs a step; at most {moved} differences of {entries} entries, {z:.4} mm in z\n",
            self.rois_checked
        );
        text
    }
}

impl StepReport {
    pub(super) fn new(step: &Step, load: &Load) -> Self {
        Self {
            step: step.name,
            section: step.section,
            choices: step.choices().into_iter().collect(),
            rois: load.sliced.rois.len(),
            serial_us_per_roi: 1e6 * load.serial,
            find_z_us_per_roi: None,
            find_z_gb_per_s: None,
            sum_histos_us_per_roi: None,
            sum_histos_gb_per_s: None,
            with_copies_us_per_roi: 0.0,
            upload_gb_per_s: 0.0,
            entries_checked: 0,
            entries_moved: 0,
            max_z_difference_mm: 0.0,
        }
    }

    pub(super) fn include(&mut self, difference: &Difference) {
        self.entries_checked += difference.entries;
        self.entries_moved += difference.moved;
        self.max_z_difference_mm = self.max_z_difference_mm.max(difference.z_mm);
    }

    pub(super) fn set_times(&mut self, times: &StepTimes) {
        let middle = |seconds: &[f64]| {
            let mut sorted = seconds.to_vec();
            sorted.sort_by(f64::total_cmp);
            median(&sorted).filter(|&seconds| seconds > 0.0)
        };
        let rois = self.rois.max(1) as f64;
        let per_roi = |seconds: f64| 1e6 * seconds / rois;
        let rate = |bytes: u64, seconds: f64| bytes as f64 / seconds / 1e9;
        let (find_z, sum_histos) = (middle(&times.find_z), middle(&times.sum_histos));
        let with_copies = middle(&times.with_copies).unwrap_or(f64::MIN_POSITIVE);
        self.find_z_us_per_roi = find_z.map(per_roi);
        self.find_z_gb_per_s = find_z.map(|seconds| rate(times.find_z_bytes, seconds));
        self.sum_histos_us_per_roi = sum_histos.map(per_roi);
        self.sum_histos_gb_per_s = sum_histos.map(|seconds| rate(times.sum_histos_bytes, seconds));
        self.with_copies_us_per_roi = per_roi(with_copies);
        self.upload_gb_per_s = rate(times.upload_bytes, with_copies);
    }
}
