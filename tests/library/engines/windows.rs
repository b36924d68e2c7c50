//! Tests of windows of phi, the wrap at pi, and the position of the beam: every engine gives the
//! same answers.

use std::f64::consts::{PI, TAU};

use super::finders;
use zfinder::config::PairWeight;
use zfinder::{Config, Engine, PhiWindow, Preset, Roi, RoiDescriptor, Spacepoint, Status};
use zfinder_testing::engines::{build, close, engines, find_one, fixed_engines, rotated};
use zfinder_testing::toy::{Toy, turned};

#[test]
fn a_window_across_pi_is_a_window_like_others() {
    let rng = &mut fastrand::Rng::with_seed(11);
    let width = 0.8;
    let event = Toy { window: Some((0.0, width)), smear: (0.0, 0.02), ..Toy::default() }.event(rng, 0);
    let at = |centre: f64| {
        let window = PhiWindow::new(turned(centre - width / 2.0), turned(centre + width / 2.0)).expect("a window");
        let descriptor = RoiDescriptor { window: Some(window), ..event.roi.descriptor };
        Roi { descriptor, spacepoints: rotated(&event.roi, centre) }
    };
    for (name, finder) in finders() {
        let wanted = find_one(name, finder, &at(0.0));
        assert!((wanted.vertices().z_mm()[0] - event.truth[0]).abs() < 0.3, "{name}");
        for centre in [PI, -PI, PI - 0.3, -PI + 0.1, 1.0] {
            let found = find_one(name, finder, &at(centre));
            close(&format!("{name}, about {centre}"), found.roi(0), wanted.roi(0));
            assert_eq!(found.outside_window(), wanted.outside_window(), "{name}, about {centre}");
        }
        // A full turn of phi changes nothing.
        let mut more = at(0.5);
        more.spacepoints.iter_mut().for_each(|s| s.phi -= TAU.copysign(s.phi));
        close(&format!("{name}, turned once"), find_one(name, finder, &more).roi(0), wanted.roi(0));
    }
}

#[test]
fn full_scan_goes_round() {
    let rng = &mut fastrand::Rng::with_seed(12);
    let event = Toy { window: None, tracks: 40, smear: (0.0, 0.02), ..Toy::default() }.event(rng, 0);
    let slice = 0.2f64.to_radians();
    for (name, finder) in finders() {
        let wanted = find_one(name, finder, &event.roi);
        for slices in [1, 450, 900, -1234] {
            let spacepoints = rotated(&event.roi, f64::from(slices) * slice);
            let found = find_one(name, finder, &Roi { spacepoints, ..event.roi.clone() });
            close(&format!("{name}, turned by {slices} slices"), found.roi(0), wanted.roi(0));
        }
    }
}

/// Returns tracks along +pi, with their spacepoints alternately on either side.
fn along_pi() -> Roi {
    let points = (0..12u32).map(|i| {
        let (rho, track) = ([50.5, 88.5, 122.5][i as usize % 3], i / 3);
        let side = if i % 2 == 0 { PI - 1e-4 } else { -PI + 1e-4 };
        Spacepoint { rho, phi: side, z: 20.05 + rho * (f64::from(track) - 1.5), layer: i % 3 }
    });
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
    Roi { descriptor, spacepoints: points.collect() }
}

#[test]
fn wrapping_joins_pairs_across_pi_and_can_be_off() {
    let joined = along_pi();
    // Tracks of three spacepoints have three pairs each, one of them on one side.
    for (name, finder) in finders() {
        let found = find_one(name, finder, &joined);
        assert_eq!(found.vertices().weight()[0], 12.0, "{name}");
        assert!((found.vertices().z_mm()[0] - 20.05).abs() < 0.01, "{name}: {found:?}");
    }
    let apart = Config::preset(Preset::Default).with(|c| c.wrap_full_scan = false);
    for (name, engine) in &engines() {
        let found = find_one(name, &build(name, engine, &apart), &joined);
        assert_eq!(found.vertices().weight()[0], 4.0, "{name}: not wrapped");
        // Triplets keep k and p across the seam.
        for pair_weight in [PairWeight::Any, PairWeight::Count] {
            let config = Config::preset(Preset::Default).with(|c| {
                c.pair_weight = pair_weight;
                c.triplet_dp = 2e-3;
                c.triplet_dk = 1e-4;
                c.triplet_dz_mm = 0.1;
            });
            let found = find_one(name, &build(name, engine, &config), &joined);
            // One pair of each track has a third spacepoint further out.
            assert_eq!(found.vertices().weight()[0], 4.0, "{name}: {pair_weight:?}");
        }
    }
}

/// Ranges of metres have more bins than a workgroup's memory, and positions that f32 cannot
/// distinguish.
#[test]
fn vertices_metres_away_are_found_where_they_are() {
    let mut points = Vec::new();
    for (i, (z, tracks)) in [(-2400.05, 7), (1900.05, 5), (-1700.05, 4), (0.05, 3)].into_iter().enumerate() {
        for track in 0..tracks {
            let phi = 0.8 * f64::from(i as u32) + 0.1 * f64::from(track);
            let layers = [50.0, 90.0, 130.0].into_iter().zip(0..);
            points.extend(layers.map(|(rho, layer)| Spacepoint { rho, phi, z, layer }));
        }
    }
    let z_range = Some((-2500.0, 2500.0));
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), z_range, ..RoiDescriptor::default() };
    let config = Config::preset(Preset::Default).with(|c| c.peaks = 4);
    let roi = Roi { descriptor, spacepoints: points };
    let wanted = find_one("reference", &build("reference", &Engine::Reference, &config), &roi);
    assert_eq!(wanted.vertices().weight(), [21.0, 15.0, 12.0, 9.0]);
    for (name, engine) in &fixed_engines() {
        close(name, find_one(name, &build(name, engine, &config), &roi).roi(0), wanted.roi(0));
    }
}

/// From one slice to the opposite one of a ring both directions are equally long. The upward
/// direction is used, whichever of the two slices comes first. A track that continues in this
/// direction therefore bends alike in both of its pairs.
#[test]
fn half_way_round_is_upwards() {
    let config = Config::preset(Preset::Default).with(|c| {
        c.phi_slice_deg = 90.0;
        c.neighbour_multiplier = 1000.0;
        c.pair_weight = PairWeight::Any;
        c.triplet_dk = 1e-3;
        c.triplet_dp = 0.01;
        c.peaks = 1;
    });
    // Two slices of 3.2 rad forward, and two more across the end of the ring.
    let track = |from: f64| {
        let points = [(50.0, 0.0), (90.0, 3.2), (110.0, 4.8)].into_iter().zip(0..);
        let points = points.map(|((rho, turn), layer)| Spacepoint { rho, phi: turned(from + turn), z: 7.05, layer });
        let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
        Roi { descriptor, spacepoints: points.collect() }
    };
    for (name, engine) in &engines() {
        let finder = build(name, engine, &config);
        for slice in 0..4 {
            let edge = f64::from(slice) * PI / 2.0 - PI;
            let upwards = find_one(name, &finder, &track(edge + 0.1));
            assert_eq!(upwards.vertices().weight().first(), Some(&1.0), "{name}, slice {slice}");
        }
    }
}

#[test]
fn a_spacepoint_at_pi_is_kept() {
    for phi in [PI, -PI, PI.next_down(), (-PI).next_up()] {
        let points =
            [50.5, 88.5, 122.5].into_iter().zip(0..).map(|(rho, layer)| Spacepoint { rho, phi, z: 7.0, layer });
        let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
        let roi = Roi { descriptor, spacepoints: points.collect() };
        for (name, finder) in finders() {
            let found = find_one(name, finder, &roi);
            assert_eq!(
                (found.spacepoint_counts(), found.outside_window()),
                (&[3][..], &[0][..]),
                "{name}: phi = {phi}"
            );
            assert_eq!(found.vertices().weight()[0], 3.0, "{name}: phi = {phi}");
        }
    }
}

#[test]
fn the_beam_spot_is_the_middle() {
    let rng = &mut fastrand::Rng::with_seed(13);
    let event = Toy { window: Some((0.7, 1.2)), smear: (0.0, 0.02), ..Toy::default() }.event(rng, 0);
    let (x0, y0) = (1.3, -0.8);
    let moved = event
        .roi
        .spacepoints
        .iter()
        .map(|s| Spacepoint::from_xyz(s.rho * s.phi.cos() + x0, s.rho * s.phi.sin() + y0, s.z, s.layer));
    let moved = Roi { spacepoints: moved.collect(), ..event.roi.clone() };
    let config = Config::preset(Preset::Default).with(|c| c.beam_spot_mm = [x0, y0]);
    for (name, engine) in &engines() {
        let unmoved = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = find_one(name, unmoved, &event.roi);
        let finder = build(name, engine, &config);
        let found = find_one(name, &finder, &moved);
        close(name, found.roi(0), wanted.roi(0));
        // A spacepoint on the beam spot itself has no azimuth.
        let mut on_it = moved.clone();
        on_it.spacepoints[0] = Spacepoint::from_xyz(x0, y0, 0.0, 0);
        let status = find_one(name, &finder, &on_it).statuses()[0];
        assert!(matches!(status, Status::Ok | Status::BadSpacepoint), "{name}: {status:?}");
    }
}
