//! Tests every step on every adapter, with the plain twin and the reference engine as oracles.

use kernel_host::naga::valid::Capabilities;
use kernel_host::testing::shared_device;
use kernel_host::wgpu;
use zfinder::Precision;
use zfinder::internals::ReferenceEngine;
use zfinder::{Detector, PhiWindow, RoiBatch, RoiDescriptor, Spacepoint};
use zfinder_testing::on_adapters;
use zfinder_thesis_steps::{Histogram, SlicedBatch, StepEngine, compare, sources, staircase, twin};

/// Tracks from one vertex with noise, an empty RoI, one with an invalid spacepoint, one with all
/// spacepoints in one slice, and a window that wraps at pi. The full circle is optional, because
/// its 1,800 slices take long on software adapters.
fn rois(with_circle: bool) -> RoiBatch {
    let mut random = fastrand::Rng::with_seed(7);
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
    batch.push(of(range(-0.2, 0.2)), event(60, -0.25, 0.5, 12.3));
    batch.push(of(range(0.0, 1.0)), []);
    let mut invalid = event(2, 0.0, 0.1, 0.0);
    invalid[3].z = f64::NAN;
    batch.push(of(range(0.0, 0.1)), invalid);
    batch.push(of(range(0.1, 0.2)), event(25, 0.1501, 0.0, -80.0));
    if with_circle {
        batch.push(of(Some(PhiWindow::FullScan)), event(150, -3.1, 6.2, 5.0));
    }
    batch.push(of(range(3.0, -3.0)), event(40, 3.0, 0.28, -44.0));
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
    assert_eq!(sources.len(), 8, "find_z: four ways in storage, one in workgroup memory, f64; sum_histos: f32, f64");
    for source in sources {
        source.parse(Capabilities::FLOAT64).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_twin_sums_as_the_reference_engine() {
    let (batch, detector) = (rois(true), Detector::atlas2010());
    let sliced = SlicedBatch::new(&batch, &detector).expect("sliced");
    let reference = ReferenceEngine::new(&SlicedBatch::config(), &detector).expect("an engine");
    let mut entries = 0;
    for (i, roi) in batch.iter().enumerate() {
        let filled = reference.fill(roi).expect("filled");
        let difference = compare(&twin::sum_histos(&sliced, i), &filled, Precision::F32).expect("as the reference");
        entries += difference.entries;
    }
    assert!(entries > 1000, "{entries}");
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

#[test]
fn every_step_agrees_with_the_twin_and_the_reference_engine() {
    let (batch, detector) = (rois(false), Detector::atlas2010());
    let sliced = SlicedBatch::new(&batch, &detector).expect("sliced");
    let reference = ReferenceEngine::new(&SlicedBatch::config(), &detector).expect("an engine");
    let filled: Vec<_> = batch.iter().map(|roi| reference.fill(roi).expect("filled")).collect();
    let rows: Vec<Histogram> = (0..sliced.rows.len()).map(|row| twin::find_z(&sliced, row)).collect();
    let entries: u32 = rows.iter().flat_map(|row| &row.n).sum();
    for adapter in on_adapters() {
        let gpu = shared_device(&adapter);
        for step in staircase() {
            if step.precision == Precision::F64 && !gpu.has(wgpu::Features::SHADER_F64) {
                assert!(StepEngine::new(&gpu, step, &sliced).is_err(), "{}: f64 is refused", adapter.name);
                continue;
            }
            let place = format!("{}, {}", adapter.name, step.name);
            let mut engine = StepEngine::new(&gpu, step, &sliced).unwrap_or_else(|error| panic!("{place}: {error}"));
            let found = engine.find_rows(&sliced).unwrap_or_else(|error| panic!("{place}: {error}"));
            if step.precision == Precision::F32 {
                let moved: u32 = found.iter().zip(&rows).map(|(found, row)| differences(found, row)).sum();
                assert!(moved <= 4 + entries / 1000, "{place}: {moved} of {entries} entries are in other bins");
            }
            let sums = engine.find(&sliced).unwrap_or_else(|error| panic!("{place}: {error}"));
            for (i, (sum, filled)) in sums.iter().zip(&filled).enumerate() {
                compare(sum, filled, step.precision).unwrap_or_else(|error| panic!("{place}, RoI {i}: {error}"));
            }
        }
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    let (batch, detector) = (rois(false), Detector::atlas2010());
    let sliced = SlicedBatch::new(&batch, &detector).expect("sliced");
    let reference = ReferenceEngine::new(&SlicedBatch::config(), &detector).expect("an engine");
    let filled = reference.fill(batch.roi(0)).expect("filled");
    let sum = twin::sum_histos(&sliced, 0);
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
