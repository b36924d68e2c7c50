use std::f64::consts::{PI, TAU};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::event::inside;
use super::track::Track;
use super::*;
use zfinder::{Config, Engine, Preset, RoiResult, Spacepoint, ZFinder};

fn edges(window: Option<PhiWindow>) -> (f64, f64) {
    match window {
        Some(PhiWindow::Range { phi_min, phi_max }) => PhiWindow::edges(phi_min, phi_max),
        _ => (-PI, TAU),
    }
}

/// Mean spacepoints of an RoI, rms over mean, and mean slices of 0.2 degrees.
fn means(batch: &RoiBatch) -> (f64, f64, f64) {
    let rois = batch.len() as f64;
    let mean = batch.count_spacepoints() as f64 / rois;
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
        let SimulatedRoi { roi, truth: vertices, .. } = simulation.event(index as u64);
        assert_eq!(alone.roi(index).descriptor, &roi.descriptor);
        assert_eq!(alone.roi(index).spacepoints().collect::<Vec<_>>(), roi.spacepoints);
        assert_eq!((roi.descriptor.id.event_id, truth[index]), (index as u64, vertices[0].z_mm));
    }
    assert_ne!(Simulation { seed: 2, ..simulation.clone() }.batch().0, alone);
}

/// `zfinder bench` rests on these samples: new knobs must not change their bits.
#[test]
fn the_presets_stay_what_they_are() {
    let point = |rho, phi, z, layer| Spacepoint { rho, phi, z, layer };
    let (low, high) = (Simulation::lowlum(), Simulation::highlum());
    for (simulation, index, count, last) in [
        (&low, 0, 197, point(371.0, 2.9623226866539425, 600.0783811839868, 4)),
        (&low, 649, 420, point(299.0, 0.3687307648438326, 172.15931279141614, 3)),
        (&high, 0, 6438, point(50.5, -1.929749490431809, 36.95851653198235, 0)),
        (&high, 1, 5229, point(469.1129856198168, 2.5584529227862425, 853.8, 10)),
    ] {
        let spacepoints = simulation.event(index).roi.spacepoints;
        assert_eq!(spacepoints.len(), count);
        let s = spacepoints[count - 1];
        // Sines differ in the last digit between platforms.
        approx::assert_relative_eq!(s.rho, last.rho, max_relative = 1e-9);
        approx::assert_relative_eq!(s.phi, last.phi, max_relative = 1e-9);
        approx::assert_relative_eq!(s.z, last.z, max_relative = 1e-9);
        assert_eq!(s.layer, last.layer);
    }
}

/// Table 4.2 of the thesis.
#[test]
fn samples_have_the_size_of_the_thesis() {
    assert_eq!((Simulation::lowlum().rois, Simulation::highlum().rois), (650, 1177));
    let (low, truth) = Simulation::lowlum().batch();
    assert_eq!((low.len(), truth.len()), (650, 650));
    let (spacepoints, _, slices) = means(&low);
    approx::assert_relative_eq!(spacepoints, 333.0, max_relative = 0.05);
    approx::assert_relative_eq!(slices, 517.0, max_relative = 0.05);

    let (spacepoints, spread, slices) = means(&Simulation { rois: 300, ..Simulation::highlum() }.batch().0);
    approx::assert_relative_eq!(spacepoints, 8104.0, max_relative = 0.05);
    approx::assert_relative_eq!(slices, 542.0, max_relative = 0.05);
    assert!((0.1..0.3).contains(&spread), "{spread}");
}

#[test]
fn chunks_are_the_sample_in_order() {
    for rois in [0, 1, 300] {
        let simulation = Simulation { rois, ..Simulation::lowlum() };
        let ids: Vec<u64> = simulation.chunks().flatten().map(|made| made.roi.descriptor.id.event_id).collect();
        assert_eq!(ids, (0..rois as u64).collect::<Vec<_>>());
    }
    // Chunks of busy events stay small.
    let busy = Simulation { pile_up: 2000.0, rois: 1000, ..Simulation::highlum() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    assert_eq!(pool.install(|| busy.chunks().next()).expect("a chunk").len(), 3);
}

#[test]
fn spacepoints_lie_in_their_window_and_on_their_layers() {
    let samples = [
        Simulation::lowlum(),
        Simulation { rois: 4, ..Simulation::highlum() },
        Simulation { rois: 300, geometry: Geometry::Generic, eta_centre_max: 2.0, ..Simulation::lowlum() },
        Simulation { rois: 10, geometry: Geometry::Generic, ..Simulation::lowlum() }.whole_events(),
    ];
    let mut wrapping = 0;
    let mut layers = [[0; 29]; 2];
    for sample in &samples {
        let tracker = sample.geometry.tracker();
        for SimulatedRoi { roi, tracks, .. } in sample.chunks().flatten() {
            let (phi_min, width) = edges(roi.descriptor.window);
            wrapping += usize::from(phi_min + width > PI + 1e-9);
            for s in &roi.spacepoints {
                assert!(s.phi.abs() <= PI && inside(phi_min, width, s.phi), "{s:?} outside {phi_min} + {width}");
                // Six standard deviations of the coarsest sensor beyond an edge.
                let on_barrel = |&b: &tracker::Barrel| {
                    b.layer == s.layer && s.rho == b.radius && s.z.abs() < b.half_length + 6.0 * b.sensor.along
                };
                let on_disk = |&d: &tracker::Disk| {
                    let edge = 6.0 * d.sensor.along;
                    d.layer == s.layer && s.z.abs() == d.z && (d.r_min - edge..d.r_max + edge).contains(&s.rho)
                };
                assert!(tracker.barrels.iter().any(on_barrel) || tracker.disks.iter().any(on_disk), "{s:?}");
                layers[sample.geometry as usize][s.layer as usize] += 1;
            }
            let own = tracks.iter().map(|track| track.spacepoints as usize).sum::<usize>();
            assert!(own <= roi.spacepoints.len() && own > roi.spacepoints.len() / 2, "the rest is noise");
        }
    }
    assert!((50..500).contains(&wrapping), "{wrapping} of 954 windows cross pi; 0.29 of them should");
    let [atlas, generic] = layers;
    assert!(atlas[..19].iter().chain(&generic).all(|&count| count > 0), "{layers:?}");
}

#[test]
fn tracks_are_helices() {
    let diameter = 2.0 * 5.0 / (0.0003 * 2.0);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let knobs = Simulation { efficiency: 1.0, ..Simulation::lowlum() };
    // Layers that a straight line from z = 40 mm crosses.
    let central: &[u32] = &[0, 1, 2, 3, 4, 5, 6];
    let forward: &[u32] = &[0, 1, 7, 8, 13, 14, 15, 16];
    for (cot, turn, layers) in [(0.3, 1.0, central), (-1.2, -1.0, central), (4.0, 1.0, forward)] {
        let track = Track { z0: 40.0, start: (0.0, 0.0), phi0: 1.0, cot, pt_gev: 5.0, diameter, turn };
        let mut seen = Vec::new();
        track.walk(knobs.geometry.tracker(), &knobs, &mut rng, |s| seen.push(s));
        assert_eq!(seen.iter().map(|s| s.layer).collect::<Vec<_>>(), layers);
        for s in seen {
            // The rest is error of measurement and scattering.
            let turned = (s.rho / diameter).asin();
            approx::assert_relative_eq!(s.phi, 1.0 + turn * turned, epsilon = 0.006);
            approx::assert_relative_eq!(s.z, 40.0 + cot * diameter * turned, epsilon = 4.0 + 15.0 * cot.abs());
        }
    }
}

/// Without errors and scattering, spacepoints lie on the circle through the start, and z grows with
/// its arc.
#[test]
fn tracks_may_start_beside_the_axis() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let knobs = Simulation {
        geometry: Geometry::Generic,
        efficiency: 1.0,
        resolution: 0.0,
        radiation_lengths: 0.0,
        ..Simulation::lowlum()
    };
    for (pt_gev, cot) in [(0.2, 0.2), (0.4, 1.5), (1.0, 0.5), (30.0, -0.4), (1.0, -3.0)] {
        for (along, left, turn) in [(5.0, 0.0, 1.0), (-3.0, 4.0, -1.0), (0.0, -6.0, 1.0), (2.0, 7.0, -1.0)] {
            let radius = pt_gev / (0.0003 * 2.0);
            let (sin, cos) = 2.5f64.sin_cos();
            let start = (along * cos - left * sin, along * sin + left * cos);
            let track = Track { z0: -20.0, start, phi0: 2.5, cot, pt_gev, diameter: 2.0 * radius, turn };
            let (mut seen, mut layers) = (0, 0u32);
            track.walk(knobs.geometry.tracker(), &knobs, &mut rng, |s| {
                // In a frame whose x axis is the initial direction of the track, the centre is left
                // or right of the start.
                let (x, y) = (s.rho * (s.phi - 2.5).cos() - along, s.rho * (s.phi - 2.5).sin() - left);
                approx::assert_relative_eq!(x.hypot(y - turn * radius), radius, max_relative = 1e-9);
                let arc = radius * x.atan2(radius - turn * y);
                approx::assert_relative_eq!(s.z, -20.0 + cot * arc, epsilon = 1e-6);
                seen += 1;
                layers |= 1 << s.layer;
            });
            assert!(seen >= 6 && seen == layers.count_ones(), "{seen} spacepoints of {pt_gev} GeV, cot {cot}");
        }
    }
}

#[test]
fn the_beam_may_be_off_tilted_and_wide() {
    let knobs = Simulation {
        rois: 40,
        geometry: Geometry::Generic,
        beam_spot_mm: [1.5, -0.75],
        beam_spot_tilt: [5e-4, 0.0],
        beam_z_mm: 10.0,
        beam_sigma_y_mm: 0.1,
        ..Simulation::lowlum()
    };
    let events: Vec<SimulatedRoi> = knobs.clone().whole_events().chunks().flatten().collect();
    let vertices: Vec<SimulatedVertex> = events.iter().flat_map(|event| event.truth.clone()).collect();
    let mean = |f: &dyn Fn(&SimulatedVertex) -> f64| vertices.iter().map(f).sum::<f64>() / vertices.len() as f64;
    let (y, z) = (mean(&|v| v.y_mm), mean(&|v| v.z_mm));
    approx::assert_relative_eq!(y, -0.75, epsilon = 0.05);
    approx::assert_relative_eq!(z, 10.0, epsilon = 15.0);
    approx::assert_relative_eq!(mean(&|v| (v.y_mm - y).powi(2)).sqrt(), 0.1, max_relative = 0.2);
    assert!(vertices.iter().all(|v| (v.x_mm - (1.5 + 5e-4 * v.z_mm)).abs() < 1e-12));
    // An engine with the correct beam spot finds the collisions.
    let config = Config::preset(Preset::Default).with(|c| {
        c.beam_spot_mm = [1.5, -0.75];
        c.beam_spot_tilt = [5e-4, 0.0];
    });
    assert!(first_right(&events, config, Geometry::Generic) >= 36);
}

/// Returns the number of RoIs whose first vertex is within 1 mm of the hard scatter.
fn first_right(events: &[SimulatedRoi], config: Config, geometry: Geometry) -> usize {
    let builder = ZFinder::builder(geometry.detector()).config(config).engine(Engine::Cpu);
    let batch: RoiBatch = events.iter().map(|event| event.roi.clone()).collect();
    let found = builder.build().and_then(|finder| finder.find_batch(&batch)).expect("answers");
    let right = |(roi, event): &(RoiResult<'_>, &SimulatedRoi)| {
        roi.vertices().first().is_some_and(|vertex| (vertex.z_mm - event.truth[0].z_mm).abs() < 1.0)
    };
    found.iter().zip(events).filter(right).count()
}

#[test]
fn whole_events_at_low_pile_up_are_found() {
    for geometry in [Geometry::Atlas2010, Geometry::Generic] {
        let events: Vec<_> = Simulation { geometry, rois: 100, pile_up: 2.0, ..Simulation::lowlum() }
            .whole_events()
            .chunks()
            .flatten()
            .collect();
        assert!(events.iter().all(|event| event.roi.descriptor.window == Some(PhiWindow::FullScan)));
        assert_eq!(events[0].window_width(), TAU);
        let right = first_right(&events, Config::preset(Preset::Default), geometry);
        assert!(right > 90, "{geometry:?}: {right} of 100");
    }
}

/// A harder hard scatter is more often the highest peak among many collisions.
#[test]
fn hardness_shows() {
    let right = |hard_tracks_per_eta| {
        let sample = Simulation { rois: 60, pile_up: 20.0, hard_tracks_per_eta, ..Simulation::lowlum() };
        first_right(
            &sample.chunks().flatten().collect::<Vec<_>>(),
            Config::preset(Preset::Default),
            Geometry::Atlas2010,
        )
    };
    let (soft, hard) = (right(6.0), right(60.0));
    assert!(hard > soft + 20, "{soft} and {hard} of 60");
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
        let builder = ZFinder::builder(Detector::atlas2010()).config(Config::preset(preset)).engine(Engine::Reference);
        let found = builder.build().and_then(|finder| finder.find_batch(&batch)).expect("answers");
        assert!(found.iter().all(|roi| roi.summary().outside_window == 0));
        let near = |z: f64, truth: f64| (z - truth).abs() < 1.0;
        let good =
            found.iter().zip(&truth).filter(|(roi, z)| roi.vertices().first().is_some_and(|v| near(v.z_mm, **z)));
        let good = good.count();
        assert!(good >= 18, "{preset:?}: {good} of 20");
    }
}

#[test]
fn knobs_out_of_range_are_named_and_harmless() {
    let sample = Simulation::lowlum();
    assert!(sample.validate().is_ok() && Simulation::highlum().validate().is_ok());
    for knob in 0..sample.clone().ranges().len() {
        for bad in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
            let mut simulation = sample.clone();
            let (key, value, low, _) = simulation.ranges().into_iter().nth(knob).expect("counted");
            *value = if bad == f64::NEG_INFINITY { low - 1.0 } else { bad };
            let error = simulation.validate().expect_err(key).to_string();
            assert!(error.contains(key), "{error}");
            assert!(simulation.event(0).roi.spacepoints.iter().all(|s| s.rho.is_finite() && s.z.is_finite()));
        }
    }
    let (batch, truth) = Simulation { rois: 0, ..sample }.batch();
    assert!(batch.is_empty() && truth.is_empty());
}
