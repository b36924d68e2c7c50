use super::*;
use crate::Error;
use crate::simulate::{Geometry, Simulation};
use zfinder::detector::{Layer, LayerKind, Sensor};
use zfinder::{Preset, Roi, Spacepoint};

fn sample(rois: usize, geometry: Geometry) -> Simulation {
    let beam = Simulation { beam_sigma_x_mm: 0.015, beam_sigma_y_mm: 0.015, ..Simulation::lowlum() };
    Simulation { rois, geometry, ..beam }.whole_events()
}

fn found(sample: &Simulation) -> Result<BeamSpot> {
    let mut finder = BeamSpotFinder::new(&sample.geometry.detector(), &Config::preset(Preset::Default))?;
    sample.chunks().flatten().for_each(|event| finder.add(&event.roi));
    finder.fit()
}

/// Asserts agreement within five standard errors, which must be small.
fn assert_found(sample: &Simulation, most_error_mm: f64) {
    let beam = found(sample).expect("a beam spot");
    let BeamSpotErrors { x_mm, y_mm, dx_dz, dy_dz, width_mm } = beam.errors;
    let [x, y] = sample.beam_spot_mm;
    let [slope_x, slope_y] = sample.beam_spot_tilt;
    let width = width_mm.expect("tracks of one vertex");
    let [dx_dz, dy_dz] = [dx_dz, dy_dz].map(|error| error.expect("vertices at several z"));
    for (name, value, wanted, error) in [
        ("x", beam.x_mm, x, x_mm),
        ("y", beam.y_mm, y, y_mm),
        ("slope in x", beam.dx_dz, slope_x, dx_dz),
        ("slope in y", beam.dy_dz, slope_y, dy_dz),
        ("width", beam.width_mm, sample.beam_sigma_x_mm, width),
    ] {
        assert!((value - wanted).abs() < 5.0 * error, "{name}: {value} for {wanted}, {beam}");
    }
    assert!(x_mm.max(y_mm) < most_error_mm, "{beam}");
}

#[test]
fn beams_are_found_wherever_they_are() {
    for geometry in [Geometry::Atlas2010, Geometry::Generic] {
        for (beam_spot_mm, beam_spot_tilt) in
            [([0.0, 0.0], [0.0, 0.0]), ([0.6, -0.4], [2e-4, -1e-4]), ([-5.0, 3.0], [-5e-4, 8e-4])]
        {
            assert_found(&Simulation { beam_spot_mm, beam_spot_tilt, ..sample(100, geometry) }, 0.01);
        }
    }
}

#[test]
fn a_wide_beam_is_told_from_a_narrow_one() {
    for geometry in [Geometry::Atlas2010, Geometry::Generic] {
        for width in [0.0, 0.015, 0.05, 0.1] {
            let sample = Simulation { beam_sigma_x_mm: width, beam_sigma_y_mm: width, ..sample(150, geometry) };
            assert_found(&sample, 0.02);
        }
    }
}

/// Neither pile-up nor windows that show a part of each event bias the fit.
#[test]
fn pile_up_and_windows_do_not_bias() {
    let beam_spot_mm = [1.2, -2.3];
    let crowded = Simulation { beam_spot_mm, pile_up: 60.0, ..sample(4, Geometry::Generic) };
    assert_found(&crowded, 0.01);
    let windows = Simulation { beam_spot_mm, window_deg: 30.0, ..sample(400, Geometry::Atlas2010) };
    assert_found(&windows, 0.02);
}

/// Many of 150 vertices are closer together than the resolution of tracks in z.
#[test]
fn vertices_near_each_other_do_not_narrow_the_width() {
    let width = 0.05;
    let crowded = Simulation {
        pile_up: 150.0,
        beam_sigma_x_mm: width,
        beam_sigma_y_mm: width,
        ..sample(12, Geometry::Atlas2010)
    };
    let beam = found(&crowded).expect("a beam spot");
    let error = beam.errors.width_mm.expect("tracks of one vertex");
    assert!(error < 0.1 * width && (beam.width_mm - width).abs() < 3.0 * error, "{beam}");
}

#[test]
fn the_order_of_spacepoints_changes_nothing() {
    let sample = Simulation { beam_spot_mm: [0.3, 0.2], ..sample(60, Geometry::Atlas2010) };
    let mut finder = BeamSpotFinder::new(&Detector::atlas2010(), &Config::preset(Preset::Default)).expect("barrels");
    for event in sample.chunks().flatten() {
        let mut roi = event.roi;
        roi.spacepoints.reverse();
        finder.add(&roi);
    }
    assert_eq!(finder.fit().expect("a beam spot"), found(&sample).expect("a beam spot"));
}

#[test]
fn few_tracks_are_an_error_that_counts_them() {
    let error = found(&Simulation { pile_up: 0.0, ..sample(1, Geometry::Atlas2010) }).expect_err("too few");
    assert!(matches!(error, Error::FewTracks { wanted: 50, rois: 1, found } if found < 50), "{error}");
    assert!(error.to_string().starts_with("no beam spot was found: 50 tracks from one place are needed"), "{error}");
    let finder = BeamSpotFinder::new(&Detector::generic(), &Config::preset(Preset::Default)).expect("barrels");
    assert!(matches!(finder.fit(), Err(Error::FewTracks { found: 0, rois: 0, .. })));
}

fn barrels(radii: &[f64]) -> Detector {
    let layer = |&radius_mm: &f64| Layer {
        kind: LayerKind::Barrel { radius_mm },
        sensor: Some(Sensor::Pixel),
        z_resolution_mm: None,
        radiation_lengths: None,
        next: None,
        ids: vec![],
    };
    Detector::new("telescope", radii.iter().map(layer).collect(), None).expect("a detector")
}

#[test]
fn two_barrel_layers_are_too_few() {
    let error = BeamSpotFinder::new(&barrels(&[30.0, 60.0]), &Config::preset(Preset::Default)).expect_err("two layers");
    assert!(matches!(&error, Error::FewBarrels { barrels: 2, .. }), "{error}");
}

/// Exact straight tracks from one line through three layers.
#[test]
fn three_barrel_layers_are_enough() {
    let mut finder =
        BeamSpotFinder::new(&barrels(&[30.0, 60.0, 90.0]), &Config::preset(Preset::Default)).expect("three layers");
    let mut roi = Roi::default();
    for track in 0..80 {
        let (sin, cos) = (0.0785 * f64::from(track)).sin_cos();
        let z0 = f64::from(track % 7) * 10.0 - 30.0;
        let (x0, y0) = (2.0 + 1e-3 * z0, -1.0);
        for (layer, length) in [(0, 30.0), (1, 60.0), (2, 90.0)] {
            let (x, y) = (x0 + length * cos, y0 + length * sin);
            roi.spacepoints.push(Spacepoint::from_xyz(x, y, z0 + 0.3 * length, layer));
        }
    }
    finder.add(&roi);
    let beam = finder.fit().expect("a beam spot");
    assert_eq!((beam.x_mm, beam.y_mm, beam.tracks), (2.0, -1.0, 80));
    assert!((beam.dx_dz - 1e-3).abs() < 1e-6 && beam.dy_dz.abs() < 1e-6, "{beam}");
}

/// If all tracks have one direction, the position along it is unknown.
#[test]
fn tracks_of_one_direction_are_an_error() {
    let detector = barrels(&[30.0, 60.0, 90.0]);
    let mut finder = BeamSpotFinder::new(&detector, &Config::preset(Preset::Default)).expect("three layers");
    for number in 0..80 {
        let z0 = f64::from(number) - 40.0;
        let mut roi = Roi::default();
        for (layer, x) in [(0, 30.0), (1, 60.0), (2, 90.0)] {
            let y = 0.01 * f64::from((7 * number + 3 * layer) % 11);
            roi.spacepoints.push(Spacepoint::from_xyz(x, y, z0 + 0.1 * x, layer as u32));
        }
        finder.add(&roi);
    }
    let error = finder.fit().expect_err("one direction");
    assert!(matches!(error, Error::UncertainBeamSpot { tracks } if tracks >= 50), "{error}");
}

/// Spacepoints that are not finite, far away, or all in one place.
#[test]
fn bad_spacepoints_are_left_out() {
    let mut finder = BeamSpotFinder::new(&Detector::atlas2010(), &Config::preset(Preset::Default)).expect("barrels");
    let mut roi = Roi::default();
    for layer in [0, 1, 2, 3, 99] {
        for (rho, phi, z) in [(f64::NAN, 0.0, 0.0), (50.5, f64::INFINITY, 0.0), (1e300, 0.0, 1e300), (50.5, 1e9, 0.0)] {
            roi.spacepoints.push(Spacepoint { rho, phi, z, layer });
        }
        roi.spacepoints.extend(vec![Spacepoint { rho: 88.5, phi: 1.0, z: 0.0, layer }; 1000]);
    }
    finder.add(&roi);
    assert!(matches!(finder.fit(), Err(Error::FewTracks { .. })));
}

#[test]
fn a_beam_spot_is_the_configurations_and_reads_well() {
    let errors =
        BeamSpotErrors { x_mm: 0.001, y_mm: 0.002, dx_dz: Some(1e-5), dy_dz: Some(2e-5), width_mm: Some(0.0004) };
    let beam = BeamSpot { x_mm: 0.6, y_mm: -0.4, dx_dz: 1e-4, dy_dz: 0.0, width_mm: 0.03, errors, tracks: 900 };
    let mut config = Config::preset(Preset::Default);
    beam.apply(&mut config);
    assert_eq!((config.beam_spot_mm, config.beam_spot_tilt), ([0.6, -0.4], [1e-4, 0.0]));
    assert_eq!(config.beam_width_mm, 0.03);
    let unknown = BeamSpot { errors: BeamSpotErrors { width_mm: None, ..errors }, ..beam };
    let mut config = Config::preset(Preset::Default);
    unknown.apply(&mut config);
    assert_eq!(config.beam_width_mm, Config::BEAM_WIDTH_MM);
    let text = "x 0.6 +- 0.0010 mm, y -0.4 +- 0.0020 mm, slopes 1e-4 +- 1.0e-5 and 0e0 +- 2.0e-5, \
                width 0.0300 +- 0.0004 mm, from 900 tracks";
    assert_eq!(beam.to_string(), text);
}

/// Thousands of soft tracks of one vertex, as in a collision of heavy ions.
fn crowded_vertices(rois: usize, tracks_per_eta: f64) -> Simulation {
    let soft = Simulation::lowlum().pt;
    Simulation {
        pile_up: 0.0,
        hard_tracks_per_eta: tracks_per_eta,
        hard_pt: soft,
        beam_spot_mm: [0.6, -0.4],
        ..sample(rois, Geometry::Generic)
    }
}

/// One z fixes no slope, and chance tracks far away in z must not fix it.
#[test]
fn one_crowded_vertex_gives_a_position_without_a_slope() {
    let config = Config::preset(Preset::Default).with(|c| c.beam_spot_tilt = [1e-4, -2e-4]);
    let sample = crowded_vertices(6, 600.0);
    let mut squares = Vec::new();
    for event in sample.chunks().flatten() {
        let mut finder = BeamSpotFinder::new(&Detector::generic(), &config).expect("barrels");
        finder.add(&event.roi);
        let beam = finder.fit().expect("a beam spot");
        let BeamSpotErrors { x_mm, y_mm, dx_dz, dy_dz, width_mm } = beam.errors;
        assert_eq!((dx_dz, dy_dz, width_mm), (None, None, None), "{beam}");
        assert_eq!([beam.dx_dz, beam.dy_dz], config.beam_spot_tilt);
        assert!(beam.to_string().contains("not fitted: one z does not fix a slope, from "), "{beam}");
        // The configured slope moves the position from the vertex to z = 0.
        let z = event.truth[0].z_mm;
        let [x, y] = [0, 1].map(|axis| sample.beam_spot_mm[axis] - z * config.beam_spot_tilt[axis]);
        assert!((0.01..0.03).contains(&x_mm) && (0.01..0.03).contains(&y_mm), "{beam}");
        squares.extend([(beam.x_mm - x) / x_mm, (beam.y_mm - y) / y_mm].map(|pull| pull * pull));
    }
    let pull = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    assert!((0.4..1.6).contains(&pull), "{pull}: {squares:?}");
}

/// Vertices at several z fix the slope, in crowded events too.
#[test]
fn several_crowded_vertices_fix_the_slope() {
    let sample = Simulation { beam_spot_tilt: [5e-4, -8e-4], ..crowded_vertices(6, 400.0) };
    let beam = found(&sample).expect("a beam spot");
    let errors = [beam.errors.dx_dz, beam.errors.dy_dz].map(|error| error.expect("a fitted slope"));
    for (axis, (slope, error)) in [beam.dx_dz, beam.dy_dz].into_iter().zip(errors).enumerate() {
        assert!((slope - sample.beam_spot_tilt[axis]).abs() < 4.0 * error && error < 5e-4, "{beam}");
    }
    let off = (beam.x_mm - 0.6).hypot(beam.y_mm + 0.4);
    assert!(off < 4.0 * beam.errors.x_mm.hypot(beam.errors.y_mm), "{beam}");
}
