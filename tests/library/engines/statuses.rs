//! Tests of statuses: a failure of one RoI does not affect its neighbours in the batch.

use super::{finders, toys};
use zfinder::thesis::ThesisOptions;
use zfinder::{Config, PhiWindow, Preset, Results, Roi, RoiBatch, RoiDescriptor, RoiId, Spacepoint, Status};
use zfinder_testing::engines::{batch, bits, build, build_with, engines, find, find_one, gpus};
use zfinder_testing::toy::Toy;

#[test]
fn every_status_is_told_and_neighbours_are_answered() {
    let good = toys(9)[0].roi.clone();
    let point = |rho, phi, z, layer| Spacepoint { rho, phi, z, layer };
    let with = |spacepoint| {
        let mut roi = good.clone();
        roi.spacepoints.insert(roi.spacepoints.len() / 2, spacepoint);
        roi
    };
    let of = |spacepoints: Vec<Spacepoint>| Roi { spacepoints, ..good.clone() };
    // A window of [-0.15, 1.55].
    let cases = [
        ("good", good.clone(), Status::Ok),
        ("nothing", of(vec![]), Status::Empty),
        ("all outside", of(vec![point(50.0, -2.0, 1.0, 0), point(90.0, 3.0, 1.0, 1)]), Status::Empty),
        ("one", of(vec![point(50.0, 0.1, 1.0, 0)]), Status::NoPeak),
        ("a single pair", of(vec![point(50.0, 0.1, 1.0, 0), point(90.0, 0.1, 1.0, 1)]), Status::NoPeak),
        ("no pair", of(vec![point(50.0, 0.1, 1.0, 0), point(90.0, 1.1, 1.0, 1)]), Status::NoPeak),
        ("z12 outside", of((0..4).map(|i| point(50.0 + 9.0 * f64::from(i), 0.1, 900.0, i)).collect()), Status::NoPeak),
        ("rho NaN", with(point(f64::NAN, 0.1, 1.0, 0)), Status::BadSpacepoint),
        ("phi NaN", with(point(50.0, f64::NAN, 1.0, 0)), Status::BadSpacepoint),
        ("z infinite", with(point(50.0, 0.1, f64::NEG_INFINITY, 0)), Status::BadSpacepoint),
        ("rho 0", with(point(0.0, 0.1, 1.0, 0)), Status::BadSpacepoint),
        ("rho < 0", with(point(-50.0, 0.1, 1.0, 0)), Status::BadSpacepoint),
        ("layer 19", with(point(50.0, 0.1, 1.0, 19)), Status::BadSpacepoint),
        ("layer 200", with(point(50.0, 0.1, 1.0, 200)), Status::BadSpacepoint),
        ("layer 2^32 - 1", with(point(50.0, 0.1, 1.0, u32::MAX)), Status::BadSpacepoint),
        ("good again", good.clone(), Status::Ok),
    ];
    let all: RoiBatch = cases.iter().map(|(_, roi, _)| roi.clone()).collect();
    for (name, finder) in finders() {
        let wanted = find_one(name, finder, &good);
        assert_eq!(find(name, finder, &RoiBatch::new()), Results::new(), "{name}: an empty batch");
        assert_eq!(find(name, finder, &batch(&[of(vec![]), of(vec![])])).roi(1).status(), Status::Empty, "{name}");
        for (result, (case, roi, status)) in find(name, finder, &all).iter().zip(&cases) {
            assert_eq!(result.status(), *status, "{name}: {case}");
            assert_eq!(result.vertices().is_empty(), *status != Status::Ok, "{name}: {case}: {result:?}");
            if *status == Status::Ok {
                assert_eq!(bits([result]), bits(&wanted), "{name}: {case}");
            }
            if *status != Status::BadSpacepoint {
                let inside = roi.spacepoints.len() as u64 - result.summary().outside_window;
                assert_eq!(result.summary().spacepoints, inside, "{name}: {case}");
            }
        }
    }
}

#[test]
fn what_is_beyond_capacity_is_told_and_neighbours_are_answered() {
    let rng = &mut fastrand::Rng::with_seed(10);
    // With small buffers, the full circle is too large.
    let narrow = Toy { window: Some((0.7, 0.3)), ..Toy::default() };
    let wide = Toy { window: None, ..Toy::default() };
    let all = [narrow.event(rng, 0).roi, wide.event(rng, 1).roi, narrow.event(rng, 2).roi];
    for (name, engine) in &gpus() {
        let free = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = bits(&find(name, free, &batch(&all)));
        let finder = build_with(name, engine, &Config::preset(Preset::Default), |builder| {
            builder.most_buffer_bytes(1 << 20).thesis(ThesisOptions::numbered_pairs(8))
        });
        let found = find(name, &finder, &batch(&all));
        let statuses: Vec<Status> = found.iter().map(|result| result.status()).collect();
        assert_eq!(statuses, [Status::Ok, Status::CapacityExceeded, Status::Ok], "{name}");
        assert!(found.roi(1).vertices().is_empty(), "{name}");
        assert_eq!(bits([found.roi(0)]), wanted[..1], "{name}");
        assert_eq!(bits([found.roi(2)]), wanted[2..], "{name}");
        assert_eq!(find(name, &finder, &batch(&all[1..2])).roi(0).status(), Status::CapacityExceeded, "{name}: alone");
    }
    // 2^22 pairs in one bin, from 16 slices far apart, are one more than its words hold.
    let full = |each: usize, event_id| {
        let mut spacepoints = Vec::new();
        for slice in (0..128).step_by(8) {
            for layer in 0..2 {
                let phi = (f64::from(slice) + 0.5) * 0.2f64.to_radians();
                let point = Spacepoint { rho: 50.0 * f64::from(layer + 1), phi, z: 3.1, layer };
                spacepoints.extend(std::iter::repeat_n(point, each));
            }
        }
        let window = Some(PhiWindow::new(0.0, 0.5).expect("a window"));
        let id = RoiId { event_id, roi_id: 0 };
        Roi { descriptor: RoiDescriptor { id, window, ..RoiDescriptor::default() }, spacepoints }
    };
    let all = [all[0].clone(), full(512, 3), full(30, 4)];
    for (name, finder) in finders() {
        let found = find(name, finder, &batch(&all));
        // The reference engine counts in 64 bits.
        let expected = if name == "reference" { Status::Ok } else { Status::CapacityExceeded };
        assert_eq!(found.roi(1).status(), expected, "{name}");
        assert_eq!(found.roi(1).vertices().is_empty(), name != "reference", "{name}");
        assert_eq!((found.roi(0).status(), found.roi(2).status()), (Status::Ok, Status::Ok), "{name}");
        assert_eq!(found.roi(2).vertices().weight()[0], 16.0 * 900.0, "{name}");
    }
}

/// Histograms above the memory limit give a status on every engine.
#[test]
fn too_many_histograms_are_told() {
    let config = Config::preset(Preset::Default).with(|c| {
        c.histogram_per_slice = true;
        c.phi_slice_deg = 0.01;
        c.z_bin_mm = 0.01;
    });
    let point = Spacepoint { rho: 50.0, phi: 0.1, z: 1.0, layer: 0 };
    let roi = Roi { descriptor: RoiDescriptor::default(), spacepoints: vec![point; 3] };
    for (engine, choice) in engines() {
        let found = find_one(&engine, &build(&engine, &choice, &config), &roi);
        assert_eq!((found.roi(0).status(), found.vertices().len()), (Status::CapacityExceeded, 0), "{engine}");
    }
}
