//! Tests of regions of whole events: windows of several RoIs, and tubes about objects.

use std::f64::consts::{PI, TAU};

use zfinder::region::{Calorimeter, ObjectKind, Region, SeedObject};
use zfinder::{Config, Engine, PhiWindow, Preset, RoiBatch, RoiDescriptor, Spacepoint, Status};
use zfinder_testing::engines::{agree, bits, build, find};
use zfinder_testing::toy::Toy;

use crate::engines::finders;

fn object(eta: f64, phi: f64, et_gev: f64, kind: ObjectKind) -> SeedObject {
    SeedObject::new(eta, phi, et_gev, kind).expect("a valid object")
}

fn tubes(objects: &[SeedObject], config: &Config) -> Region {
    Region::of_objects(objects, &Calorimeter::default(), config).expect("a valid calorimeter")
}

/// Returns an angle in [-pi, pi).
fn angle(random: &mut fastrand::Rng) -> f64 {
    TAU * random.f64() - PI
}

/// Helices from the beam line to the calorimeter, of either charge, which have 60 % or more of the
/// object's energy.
#[test]
fn a_tube_holds_the_track_of_its_object() {
    let random = &mut fastrand::Rng::with_seed(38);
    let config = Config::preset(Preset::Default).with(|c| c.beam_spot_mm = [0.6, -0.4]);
    let calorimeter = Calorimeter::default();
    for _ in 0..500 {
        let (z0, slope, phi0) = (300.0 * random.f64() - 150.0, 4.0 * random.f64() - 2.0, angle(random));
        let et = 5.0 + 50.0 * random.f64();
        let charge = if random.bool() { 1.0 } else { -1.0 };
        let curvature = charge * 0.0003 * config.field_t / (et * (0.6 + 0.4 * random.f64()));
        let phi_at = |rho: f64| {
            let inside = rho.min(calorimeter.field_rho_mm);
            phi0 + curvature * inside * (1.0 - 0.5 * inside / rho)
        };
        let rho = calorimeter.barrel_rho_mm.min((calorimeter.endcap_z_mm - z0 * slope.signum()) / slope.abs());
        let eta = ((z0 + slope * rho) / rho).asinh();
        let turned = (phi_at(rho) + PI).rem_euclid(TAU) - PI;
        let region = tubes(&[object(eta, turned, et, ObjectKind::Electron)], &config);
        for step in 1..=8 {
            let at = 0.1 * f64::from(step) * rho;
            let (x, y) = (at * phi_at(at).cos() + 0.6, at * phi_at(at).sin() - 0.4);
            let on_track = Spacepoint::from_xyz(x, y, z0 + slope * at, 0);
            assert!(region.contains(on_track), "{on_track:?} of {eta}, {turned}, {et} GeV");
            let behind = Spacepoint::from_xyz(-x, -y, z0 + slope * at, 0);
            assert!(!region.contains(behind), "{behind:?}");
            let beside = Spacepoint::from_xyz(x, y, z0 + slope * at + 450.0, 0);
            assert!(!region.contains(beside), "{beside:?}");
        }
    }
}

/// Photons alone are balanced by tracks opposite to them.
#[test]
fn photons_open_the_opposite_half() {
    let at = |phi| Spacepoint { rho: 88.5, phi, z: 10.0, layer: 1 };
    let photons = [object(0.3, 3.0, 60.0, ObjectKind::Photon), object(-0.2, -3.0, 40.0, ObjectKind::Photon)];
    let region = tubes(&photons, &Config::preset(Preset::Default));
    let circle = [0.0, 1.4, -1.4, 1.8, -1.8, 3.0];
    assert_eq!(circle.map(|phi| region.contains(at(phi))), [true, true, true, false, false, true]);
    let with_muon = [photons[0], photons[1], object(0.0, 1.0, 20.0, ObjectKind::Muon)];
    let region = tubes(&with_muon, &Config::preset(Preset::Default));
    assert_eq!(circle.map(|phi| region.contains(at(phi))), [false, false, false, false, false, true]);
}

/// Returns whole toy events with a region of each: joint windows, or tubes about random objects.
fn events() -> (RoiBatch, Vec<Option<Region>>) {
    let random = &mut fastrand::Rng::with_seed(5);
    let (mut batch, mut regions) = (RoiBatch::new(), Vec::new());
    for number in 0..8 {
        let event = Toy { window: None, tracks: 60, ..Toy::default() }.event(random, number);
        batch.push(event.roi.descriptor, event.roi.spacepoints);
        let low = angle(random);
        regions.push(match number % 4 {
            0 => None,
            1 => {
                let windows = [PhiWindow::new(low, low + 1.2), PhiWindow::new(low + 2.0, low + 3.0)];
                Some(Region::of_windows(
                    &windows.map(|window| window.expect("a window")),
                    &Config::preset(Preset::Default),
                ))
            }
            _ => {
                let kinds = [ObjectKind::Photon, ObjectKind::Jet];
                let objects = kinds.map(|kind| object(2.0 * random.f64() - 1.0, angle(random), 40.0, kind));
                Some(tubes(&objects[number as usize % 4 - 2..], &Config::preset(Preset::Default)))
            }
        });
    }
    (batch, regions)
}

#[test]
fn regions_have_the_same_answers_on_every_engine() {
    let (events, regions) = events();
    let selected = Region::select_batch(&events, &regions).expect("a region an event");
    assert!(selected.count_spacepoints() < events.count_spacepoints() * 3 / 4, "{}", selected.count_spacepoints());
    let backwards: RoiBatch = selected.iter().fold(RoiBatch::new(), |mut batch, roi| {
        let mut spacepoints: Vec<Spacepoint> = roi.spacepoints().collect();
        spacepoints.reverse();
        batch.push(*roi.descriptor, spacepoints);
        batch
    });
    let answers: Vec<_> = finders().iter().map(|(name, finder)| (name, find(name, finder, &selected))).collect();
    // One more vertex shows which peaks are clearly higher than the next one.
    let two = Config::preset(Preset::Default).with(|c| c.peaks = 2);
    let reference = find("reference", &build("reference", &Engine::Reference, &two), &selected);
    let (_, cpu) = answers.iter().find(|(name, _)| *name == "CPU").expect("the CPU engine");
    for (name, found) in answers.iter().filter(|(name, _)| *name != "reference") {
        assert_eq!(bits(found), bits(cpu), "{name}");
        assert!(agree(name, found, &reference, 1) >= 4, "{name}");
    }
    for (name, finder) in finders().iter().filter(|(name, _)| name != "reference") {
        assert_eq!(bits(&find(name, finder, &backwards)), bits(cpu), "{name}, backwards");
    }
}

#[test]
fn a_region_of_everything_changes_nothing() {
    let (events, _) = events();
    let circle = Region::of_windows(&[PhiWindow::FullScan], &Config::preset(Preset::Default));
    let selected = Region::select_batch(&events, &vec![Some(circle.clone()); events.len()]).expect("a region an event");
    assert_eq!(selected.count_spacepoints(), events.count_spacepoints());
    assert!(circle.contains(Spacepoint { rho: 50.5, phi: -1e-17, z: 0.0, layer: 0 }));
    let (name, finder) = finders().iter().find(|(name, _)| name == "CPU").expect("the CPU engine");
    let whole: RoiBatch = events.iter().fold(RoiBatch::new(), |mut batch, roi| {
        batch.push(Region::descriptor(*roi.descriptor), roi.spacepoints());
        batch
    });
    assert_eq!(bits(&find(name, finder, &selected)), bits(&find(name, finder, &whole)));
}

/// Invalid spacepoints are never selected away, and a region without a track leaves its event
/// whole.
#[test]
fn what_a_region_cannot_judge_it_keeps() {
    let config = Config::preset(Preset::Default);
    let region = tubes(&[object(0.5, 1.0, 30.0, ObjectKind::Electron)], &config);
    let good = |layer| Spacepoint { rho: 50.5 + f64::from(layer), phi: 1.0, z: 20.0, layer };
    let invalid = Spacepoint { rho: f64::NAN, ..good(0) };
    assert!(region.contains(invalid) && region.contains(Spacepoint { phi: f64::INFINITY, ..good(0) }));
    assert_eq!(region.select([good(0), good(0), good(1), good(1)]), None, "two layers");
    assert_eq!(region.select([0, 1, 2].map(good)).map(|selected| selected.len()), Some(3));
    let mut batch = RoiBatch::new();
    batch.push(RoiDescriptor::default(), [good(0), good(1), good(2), invalid]);
    let selected = Region::select_batch(&batch, &[Some(region)]).expect("a region an event");
    for (name, finder) in finders() {
        assert_eq!(find(name, finder, &selected).roi(0).status(), Status::BadSpacepoint, "{name}");
    }
    let nothing = tubes(&[], &config);
    assert!(!nothing.contains(good(0)));
}

#[test]
fn wrong_objects_and_sizes_are_refused() {
    let nan = f64::NAN;
    for (eta, phi, et, key) in [
        (nan, 0.0, 1.0, "eta"),
        (21.0, 0.0, 1.0, "eta"),
        (0.0, 7.0, 1.0, "phi"),
        (0.0, nan, 1.0, "phi"),
        (0.0, 0.0, 0.0, "et"),
    ] {
        let error = SeedObject::new(eta, phi, et, ObjectKind::Jet).expect_err(key).to_string();
        assert!(error.starts_with(&format!("`{key}` of an object: ")), "{error}");
    }
    assert!(SeedObject::new(0.0, 0.0, f64::INFINITY, ObjectKind::Jet).is_err());
    let error = "tau".parse::<ObjectKind>().expect_err("no such kind").to_string();
    assert!(error.contains("tau is not one of electron, photon, muon, jet"), "{error}");
    let calorimeter = Calorimeter { endcap_z_mm: -1.0, ..Calorimeter::default() };
    let error = Region::of_objects(&[], &calorimeter, &Config::preset(Preset::Default))
        .expect_err("a negative length")
        .to_string();
    assert!(error.contains("endcap_z_mm"), "{error}");
    let error = Region::select_batch(&RoiBatch::new(), &[None]).expect_err("no event").to_string();
    assert!(error.contains("1 regions for 0 events"), "{error}");
}

/// Objects at the limits of validity give tubes with finite numbers, and no panic.
#[test]
fn extreme_objects_make_regions() {
    let random = &mut fastrand::Rng::with_seed(7);
    for _ in 0..2000 {
        let eta = [0.0, -0.0, 1e-300, 20.0, -20.0, 1.0][random.usize(..6)];
        let et = [1e-300, 1e-3, 1.0, SeedObject::MAX_ET_GEV][random.usize(..4)];
        let kind = ObjectKind::ALL[random.usize(..4)];
        let region = tubes(&[object(eta, angle(random), et, kind)], &Config::preset(Preset::Default));
        let spacepoint = Spacepoint {
            rho: [1e-6, 1.0, 50.5, 1e9][random.usize(..4)],
            phi: 20.0 * random.f64() - 10.0,
            z: [0.0, -1e9, 1e9, 30.0][random.usize(..4)],
            layer: 0,
        };
        let again = region.contains(spacepoint);
        assert_eq!(region.contains(Spacepoint { layer: 5, ..spacepoint }), again);
    }
}
