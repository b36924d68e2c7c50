use std::f64::consts::PI;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::event::inside;
use super::track::Track;
use super::tracker::TRACKER;
use super::*;
use crate::config::{Config, Preset};
use crate::finder::{Engine, ZFinder};
use crate::spacepoint::PhiWindow;

fn edges(window: Option<PhiWindow>) -> (f64, f64) {
    let Some(PhiWindow::Range { phi_min, phi_max }) = window else { panic!("{window:?} is no range") };
    PhiWindow::edges(phi_min, phi_max)
}

/// Mean spacepoints of an RoI, rms over mean, and mean slices of 0.2 degrees.
fn means(batch: &RoiBatch) -> (f64, f64, f64) {
    let rois = batch.len() as f64;
    let mean = batch.spacepoints() as f64 / rois;
    let variance = batch.iter().map(|roi| (roi.len() as f64 - mean).powi(2)).sum::<f64>() / rois;
    let slices = batch.iter().map(|roi| (edges(roi.descriptor.window).1.to_degrees() / 0.2).ceil()).sum::<f64>() / rois;
    (mean, variance.sqrt() / mean, slices)
}

#[test]
fn a_seed_gives_the_same_bits_on_any_number_of_threads() {
    let simulation = Simulation { rois: 300, ..Simulation::lowlum() };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| simulation.batch())
    };
    let (alone, truth) = on(1);
    assert_eq!(on(3), (alone.clone(), truth.clone()));
    for index in [0, 17, 299] {
        let SimulatedRoi { roi, truth: vertices } = simulation.event(index as u64);
        assert_eq!(alone.roi(index).descriptor, &roi.descriptor);
        assert_eq!(alone.roi(index).spacepoints().collect::<Vec<_>>(), roi.spacepoints);
        assert_eq!((roi.descriptor.id.event_id, truth[index]), (index as u64, vertices[0]));
    }
    assert_ne!(Simulation { seed: 2, ..simulation.clone() }.batch().0, alone);
}

#[test]
fn samples_have_the_size_of_the_thesis() {
    let (low, truth) = Simulation::lowlum().batch();
    assert_eq!((low.len(), truth.len()), (650, 650));
    let (spacepoints, _, slices) = means(&low);
    approx::assert_relative_eq!(spacepoints, 340.0, max_relative = 0.02);
    approx::assert_relative_eq!(slices, 517.0, max_relative = 0.02);

    assert_eq!(Simulation::highlum().rois, 1177);
    let (spacepoints, spread, slices) = means(&Simulation { rois: 60, ..Simulation::highlum() }.batch().0);
    approx::assert_relative_eq!(spacepoints, 7805.0, max_relative = 0.06);
    approx::assert_relative_eq!(slices, 542.0, max_relative = 0.02);
    assert!((0.1..0.3).contains(&spread), "{spread}");
}

#[test]
fn spacepoints_lie_in_their_window_and_on_their_layers() {
    let (low, _) = Simulation::lowlum().batch();
    let (high, _) = Simulation { rois: 4, ..Simulation::highlum() }.batch();
    let (mut wrapping, mut layers) = (0, [0; 19]);
    for roi in low.iter().chain(high.iter()) {
        let (phi_min, width) = edges(roi.descriptor.window);
        wrapping += usize::from(phi_min + width > PI);
        for s in roi.spacepoints() {
            assert!(s.phi.abs() <= PI && inside(phi_min, width, s.phi), "{s:?} outside {phi_min} + {width}");
            // Six standard deviations of the coarsest sensor beyond an edge.
            let on_barrel = |&b: &tracker::Barrel| {
                b.layer == s.layer && s.rho == b.radius && s.z.abs() < b.half_length + 6.0 * b.sensor.along
            };
            let on_disk = |&d: &tracker::Disk| {
                let edge = 6.0 * d.sensor.along;
                d.layer == s.layer && s.z.abs() == d.z && (d.r_min - edge..d.r_max + edge).contains(&s.rho)
            };
            assert!(TRACKER.barrels.iter().any(on_barrel) || TRACKER.disks.iter().any(on_disk), "{s:?}");
            layers[s.layer as usize] += 1;
        }
    }
    assert!((50..350).contains(&wrapping), "{wrapping} of 654 windows cross pi; 0.29 of them should");
    assert!(layers.iter().all(|&count| count > 0), "{layers:?}");
}

#[test]
fn tracks_are_helices() {
    let diameter = 2.0 * 5.0 / (0.0003 * 2.0);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    // Which layers a straight line from z = 40 mm crosses.
    let central: &[u32] = &[0, 1, 2, 3, 4, 5, 6];
    let forward: &[u32] = &[0, 1, 7, 8, 13, 14, 15, 16];
    for (cot, turn, layers) in [(0.3, 1.0, central), (-1.2, -1.0, central), (4.0, 1.0, forward)] {
        let track = Track { z0: 40.0, phi0: 1.0, cot, pt_gev: 5.0, diameter, turn };
        let mut seen = Vec::new();
        track.walk(&TRACKER, 1.0, &mut rng, |s| seen.push(s));
        assert_eq!(seen.iter().map(|s| s.layer).collect::<Vec<_>>(), layers);
        for s in seen {
            // What is left is the measurement's error and scattering.
            let turned = (s.rho / diameter).asin();
            approx::assert_relative_eq!(s.phi, 1.0 + turn * turned, epsilon = 0.006);
            approx::assert_relative_eq!(s.z, 40.0 + cot * diameter * turned, epsilon = 4.0 + 15.0 * cot.abs());
        }
    }
}

#[test]
fn momenta_have_the_documented_mean() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for (scale_gev, power) in [(0.96, 6.6), (2.0, 9.0)] {
        let spectrum = PtSpectrum { scale_gev, power };
        let mean = (0..100_000).map(|_| spectrum.sample(&mut rng)).sum::<f64>() / 1e5;
        approx::assert_relative_eq!(mean, 2.0 * scale_gev / (power - 3.0), max_relative = 0.02);
    }
}

#[test]
fn the_reference_engine_finds_the_hard_scatter() {
    let (batch, truth) = Simulation { rois: 20, ..Simulation::lowlum() }.batch();
    for preset in [Preset::Thesis, Preset::Default] {
        let builder = ZFinder::builder().config(Config::preset(preset)).engine(Engine::Reference);
        let found = builder.build().and_then(|finder| finder.find_batch(&batch)).expect("answers");
        assert!(found.iter().all(|roi| roi.outside_window == 0));
        let near = |z: f64, truth: f64| (z - truth).abs() < 1.0;
        let good = found.iter().zip(&truth).filter(|(roi, z)| roi.vertices.first().is_some_and(|v| near(v.z_mm, **z)));
        let good = good.count();
        assert!(good >= 18, "{preset:?}: {good} of 20");
    }
}

#[test]
fn knobs_out_of_range_are_named_and_harmless() {
    let sample = Simulation::lowlum();
    assert!(sample.validate().is_ok() && Simulation::highlum().validate().is_ok());
    for knob in 0..sample.clone().ranges().len() {
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            let mut simulation = sample.clone();
            let (key, value, ..) = simulation.ranges().into_iter().nth(knob).expect("counted");
            *value = bad;
            let error = simulation.validate().expect_err(key).to_string();
            assert!(error.contains(key), "{error}");
            assert!(simulation.event(0).roi.spacepoints.iter().all(|s| s.rho.is_finite() && s.z.is_finite()));
        }
    }
    let (batch, truth) = Simulation { rois: 0, ..sample }.batch();
    assert!(batch.is_empty() && truth.is_empty());
}
