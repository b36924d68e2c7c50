//! Tests every step on every adapter, with the plain twin and the reference engine as oracles.

use kernel_host::naga::valid::Capabilities;
use kernel_host::testing::shared_device;
use kernel_host::{Gpu, wgpu};
use zfinder::Precision;
use zfinder::internals::{FilledRoi, ReferenceEngine};
use zfinder::{Detector, PhiWindow, RoiBatch, RoiDescriptor, Spacepoint};
use zfinder_testing::on_adapters;
use zfinder_thesis_steps::{
    Histogram, Search, SlicedBatch, Step, StepEngine, Window, compare, full_circle, sources, staircase, twin,
    variations,
};

/// Tracks from one vertex with noise, an empty RoI, one with an invalid spacepoint, one with all
/// spacepoints in one slice, one with a single spacepoint, one with few bins, and a window that
/// wraps at pi. The full circle is optional, because its 1,800 slices take long on software
/// adapters.
fn rois(with_circle: bool) -> RoiBatch {
    let mut random = fastrand::Rng::with_seed(20_261_130);
    let radii = [50.5, 88.5, 122.5, 299.0, 371.0, 443.0, 514.0];
    let mut event = |tracks: usize, low: f64, width: f64, vertex: f64| -> Vec<Spacepoint> {
        let mut points = Vec::new();
        for track in 0..tracks {
            let phi = low + width * random.f64();
            let slope = 2.0 * random.f64() - 1.0;
            let z0 = if track % 3 == 0 { vertex } else { 300.0 * (random.f64() - 0.5) };
            for (layer, rho) in radii.into_iter().enumerate() {
                let z = z0 + slope * rho + 0.05 * (random.f64() - 0.5);
                points.push(Spacepoint { rho: rho + 0.01 * random.f64(), phi, z, layer: layer as u32 });
            }
        }
        points
    };
    let of = |window| RoiDescriptor { window, eta: 0.4, ..RoiDescriptor::default() };
    let range = |low, high| Some(PhiWindow::new(low, high).expect("a window"));
    let mut batch = RoiBatch::new();
    batch.push(of(range(-0.1, 0.1)), event(40, -0.12, 0.24, 12.3));
    batch.push(of(range(0.0, 1.0)), []);
    let mut invalid = event(2, 0.0, 0.1, 0.0);
    invalid[3].z = f64::NAN;
    batch.push(of(range(0.0, 0.1)), invalid);
    batch.push(of(range(0.13, 0.17)), event(25, 0.1501, 0.0, -80.0));
    batch.push(of(range(-1.0, -0.98)), event(1, -0.99, 0.0, 3.0).into_iter().take(1));
    let few_bins = RoiDescriptor { z_range: Some((-4.0, 9.0)), ..of(range(2.0, 2.04)) };
    batch.push(few_bins, event(30, 1.99, 0.06, 1.0));
    if with_circle {
        batch.push(of(Some(PhiWindow::FullScan)), event(150, -3.1, 6.2, 5.0));
    }
    batch.push(of(range(3.1, -3.1)), event(25, 3.08, 0.12, -44.0));
    batch.push(of(Some(PhiWindow::FromSpacepoints)), event(20, 1.0, 0.05, 100.0));
    batch
}

/// The example of the crate's front page.
mod example {
    include!("../src/example.rs");

    #[test]
    fn the_example_of_the_front_page_runs() {
        example().expect("the example runs");
    }
}

#[test]
fn every_kernel_is_valid_wgsl() {
    let sources = sources();
    assert_eq!(sources.len(), 16, "find_z: 8 on the staircase, storage, f64, triplets; sum_histos: 4 and f64");
    for source in sources {
        source.parse(Capabilities::FLOAT64).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_step_changes_one_choice() {
    let (stairs, sides) = (staircase(), variations());
    let changed = |from: &Step, to: &Step| from.choices().iter().zip(to.choices()).filter(|(a, b)| **a != *b).count();
    for pair in stairs.windows(2) {
        assert_eq!(changed(&pair[0], &pair[1]), 1, "{}", pair[1].name);
    }
    let last = &stairs[stairs.len() - 1];
    for side in &sides {
        assert_eq!(changed(last, side), 1, "{}", side.name);
    }
    let names: std::collections::HashSet<&str> = stairs.iter().chain(&sides).map(|step| step.name).collect();
    assert_eq!(names.len(), stairs.len() + sides.len(), "two steps have the same name");
}

#[test]
fn the_twin_sums_as_the_reference_engine() {
    let (batch, detector) = (rois(true), Detector::atlas2010());
    let sliced = SlicedBatch::new(&batch, &detector).expect("sliced");
    let entries = [Search::Pairs, Search::Triplets].map(|search| {
        let reference = ReferenceEngine::new(&search.config(), &detector).expect("an engine");
        let compared = batch.iter().enumerate().map(|(i, roi)| {
            let filled = reference.fill(roi).expect("filled");
            compare(&twin::sum_histos(&sliced, i, search), &filled, Precision::F32).expect("as the reference").entries
        });
        compared.sum::<u64>()
    });
    assert!(1000 < entries[1] && entries[1] < entries[0], "pairs, and those with a third spacepoint: {entries:?}");
}

/// Returns the number of entries that differ, and asserts that sums of z agree where entries do.
fn differences(found: &Histogram, expected: &Histogram) -> u32 {
    assert_eq!((found.n.len(), found.z.len()), (expected.n.len(), expected.z.len()));
    let mut differences = 0;
    for bin in 0..found.n.len() {
        differences += found.n[bin].abs_diff(expected.n[bin]);
        if found.n[bin] == expected.n[bin] {
            // The order of additions decides the last digits.
            let tolerance = 1e-4 * (1.0 + expected.z[bin].abs());
            assert!((found.z[bin] - expected.z[bin]).abs() <= tolerance, "{} {}", found.z[bin], expected.z[bin]);
        }
    }
    differences
}

/// The RoIs of some steps with the answers of the twin and the reference engine.
struct Expected {
    rois: RoiBatch,
    sliced: SlicedBatch,
    rows: Vec<Histogram>,
    filled: Vec<FilledRoi>,
}

impl Expected {
    fn new(search: Search, window: Window) -> Self {
        let detector = Detector::atlas2010();
        let rois = match window {
            Window::Roi => rois(false),
            Window::FullCircle => {
                let mut few = RoiBatch::new();
                // 1,800 slices of few bins.
                for roi in rois(false).iter().filter(|roi| roi.descriptor.z_range.is_some()) {
                    few.push(*roi.descriptor, roi.spacepoints());
                }
                full_circle(&few)
            }
        };
        let sliced = SlicedBatch::new(&rois, &detector).expect("sliced");
        let reference = ReferenceEngine::new(&search.config(), &detector).expect("an engine");
        let filled = rois.iter().map(|roi| reference.fill(roi).expect("filled")).collect();
        let rows = (0..sliced.rows.len()).map(|row| twin::find_z(&sliced, row, search)).collect();
        Self { rois, sliced, rows, filled }
    }

    /// Compares the answers of a step on an adapter.
    fn compare_step(&self, gpu: &Gpu, step: Step) {
        let place = format!("{}, {}", gpu.name(), step.name);
        let mut engine = StepEngine::new(gpu, step, &self.sliced).unwrap_or_else(|error| panic!("{place}: {error}"));
        let found = engine.find_rows(&self.sliced).unwrap_or_else(|error| panic!("{place}: {error}"));
        if step.precision == Precision::F32 {
            let entries: u32 = self.rows.iter().flat_map(|row| &row.n).sum();
            let moved: u32 = found.iter().zip(&self.rows).map(|(found, row)| differences(found, row)).sum();
            assert!(moved <= 4 + entries / 1000, "{place}: {moved} of {entries} entries are in other bins");
        }
        let sums = engine.find(&self.sliced).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(sums.len(), self.rois.len());
        for (i, (sum, filled)) in sums.iter().zip(&self.filled).enumerate() {
            let mut of_rows = Histogram { n: vec![0; sum.n.len()], z: vec![0.0; sum.n.len()] };
            for (row, _) in found.iter().zip(&self.sliced.rows).filter(|(_, row)| row[0] as usize == i) {
                of_rows.n.iter_mut().zip(&row.n).for_each(|(sum, n)| *sum += n);
                of_rows.z.iter_mut().zip(&row.z).for_each(|(sum, z)| *sum += z);
            }
            assert_eq!(differences(sum, &of_rows), 0, "{place}, RoI {i}: sums of the rows");
            compare(sum, filled, step.precision).unwrap_or_else(|error| panic!("{place}, RoI {i}: {error}"));
        }
    }
}

#[test]
fn every_step_agrees_with_the_twin_and_the_reference_engine() {
    let pairs = Expected::new(Search::Pairs, Window::Roi);
    let triplets = Expected::new(Search::Triplets, Window::Roi);
    let circle = Expected::new(Search::Pairs, Window::FullCircle);
    for adapter in on_adapters() {
        let gpu = shared_device(&adapter);
        for step in staircase().into_iter().chain(variations()) {
            let expected = match (step.search, step.window) {
                (Search::Triplets, _) => &triplets,
                (_, Window::FullCircle) => &circle,
                _ => &pairs,
            };
            if step.precision == Precision::F64 && !gpu.has(wgpu::Features::SHADER_F64) {
                let refused = StepEngine::new(&gpu, step, &expected.sliced).is_err();
                assert!(refused, "{}: f64 is refused", adapter.name);
                continue;
            }
            expected.compare_step(&gpu, step);
        }
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    let (batch, detector) = (rois(false), Detector::atlas2010());
    let sliced = SlicedBatch::new(&batch, &detector).expect("sliced");
    let reference = ReferenceEngine::new(&Search::Pairs.config(), &detector).expect("an engine");
    let filled = reference.fill(batch.roi(0)).expect("filled");
    let sum = twin::sum_histos(&sliced, 0, Search::Pairs);
    let wrong = |change: &dyn Fn(&mut Histogram)| {
        let mut sum = sum.clone();
        change(&mut sum);
        compare(&sum, &filled, Precision::F32).is_err()
    };
    assert!(!wrong(&|_| {}));
    assert!(wrong(&|sum| sum.n.rotate_right(1)), "a bin beside");
    assert!(wrong(&|sum| sum.z.iter_mut().for_each(|z| *z *= 1.01)), "sums of z");
    assert!(wrong(&|sum| sum.n.iter_mut().for_each(|n| *n *= 2)), "counted twice");
    assert!(wrong(&|sum| sum.n.truncate(5)), "bins are missing");
}
