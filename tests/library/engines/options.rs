//! Tests of options of the search: every engine gives the same answers, at extreme values too.

use super::{rois, toys};
use zfinder::config::{
    DefaultWindow, Extrapolation, Fallback, MaxLayer, Neighbours, PairWeight, Ranking, Significance, ZEstimate,
};
use zfinder::detector::Sensor;
use zfinder::{
    Config, Engine, PhiWindow, Preset, Results, Roi, RoiDescriptor, Spacepoint, Status, StreamOptions, Vertex, ZFinder,
};
use zfinder_testing::engines::{agree, batch, bits, build, close, engines, find, find_one, fixed_engines, gpus};
use zfinder_testing::toy::{Toy, between};

/// Settings at the ends of their ranges give answers, and no panic.
#[test]
fn extreme_settings_are_answered_alike() {
    let rng = &mut fastrand::Rng::with_seed(14);
    let event = Toy { tracks: 15, noise: 10, window: Some((0.7, 0.5)), ..Toy::default() }.event(rng, 0);
    let defaults = Config::preset(Preset::Default);
    let configs = [
        (
            "narrow slices",
            defaults.clone().with(|c| {
                c.phi_slice_deg = 0.01;
                c.neighbour_multiplier = 1.5;
            }),
        ),
        ("one slice", defaults.clone().with(|c| c.phi_slice_deg = 360.0)),
        ("two bins", defaults.clone().with(|c| c.z_bin_mm = 300.0)),
        (
            "many peaks",
            defaults.clone().with(|c| {
                c.peaks = Config::MAX_PEAKS;
                c.neighbours = Neighbours::Single;
            }),
        ),
        ("own window", defaults.with(|c| c.phi_window = DefaultWindow::Spacepoints)),
    ];
    for (case, config) in &configs {
        let mut roi = event.roi.clone();
        if *case == "own window" {
            roi.descriptor.window = None;
        }
        let one_more = config.clone().with(|c| c.peaks = (config.peaks + 1).min(Config::MAX_PEAKS));
        let reference = find_one("reference", &build("reference", &Engine::Reference, &one_more), &roi);
        for (name, engine) in &fixed_engines() {
            let place = format!("{name}, {case}");
            let found = find_one(&place, &build(name, engine, config), &roi);
            agree(&place, &found, &reference, config.peaks as usize);
        }
    }
}

/// The order of peaks of equal height is the same everywhere.
#[test]
fn ties_are_broken_alike() {
    let mut rng = fastrand::Rng::with_seed(15);
    let mut points = Vec::new();
    for z in [-150.05, -80.05, -3.95, 4.15, 60.05, 170.05] {
        for (layer, rho) in [50.5, 88.5, 122.5].into_iter().enumerate() {
            let phi = between(&mut rng, 0.0, 0.001) + 0.5 + z / 400.0;
            points.push(Spacepoint { rho, phi: 0.001 * (phi / 0.001).round(), z: z + 0.0 * rho, layer: layer as u32 });
        }
    }
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
    let roi = Roi { descriptor, spacepoints: points };
    for prefer_central in [true, false] {
        let config = Config::preset(Preset::Default).with(|c| {
            c.peaks = 6;
            c.prefer_central = prefer_central;
        });
        let wanted = find_one("reference", &build("reference", &Engine::Reference, &config), &roi);
        let z: Vec<f64> = wanted.vertices().iter().map(|vertex| (vertex.z_mm * 100.0).round() / 100.0).collect();
        let expected = if prefer_central {
            vec![-3.95, 4.15, 60.05, -80.05, -150.05, 170.05]
        } else {
            vec![-150.05, -80.05, -3.95, 4.15, 60.05, 170.05]
        };
        assert_eq!(z, expected, "prefer_central: {prefer_central}");
        for (name, engine) in &fixed_engines() {
            let found = find_one(name, &build(name, engine, &config), &roi);
            close(&format!("{name}, {prefer_central}"), found.roi(0), wanted.roi(0));
        }
    }
}

/// Peaks near a vertex are mixed into it on every engine, even if this takes more peaks than first
/// requested.
#[test]
fn near_peaks_are_mixed_alike() {
    let mut points = Vec::new();
    // Tracks of three spacepoints, far from each other in phi: three pairs for each track.
    let mut track = |z: f64, count: usize| {
        for _ in 0..count {
            let phi = 0.02 * (points.len() / 3) as f64 - 3.0;
            points.extend([50.5, 88.5, 122.5].iter().zip(0..).map(|(&rho, layer)| Spacepoint { rho, phi, z, layer }));
        }
    };
    for (z, tracks) in [(10.05, 7), (14.65, 6), (-80.35, 5), (16.05, 4), (-81.15, 3), (30.05, 2)] {
        track(z, tracks);
    }
    for i in 0..40 {
        track(50.05 + 3.0 * f64::from(i), 1);
    }
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
    let roi = Roi { descriptor, spacepoints: points };
    let config = Config::preset(Preset::Default).with(|c| c.peaks = 4);
    for (case, config, wanted) in [
        ("none", config.clone(), vec![(10.05, 21.0), (14.65, 18.0), (-80.35, 15.0), (16.05, 12.0)]),
        (
            "bins",
            config.clone().with(|c| {
                c.vertex_separation_bins = 10.0;
                c.vertex_mixing = 0.25;
            }),
            // 16.05 is mixed into 14.65 and -81.15 into -80.35, before 30.05 is found.
            vec![(10.05, 21.0), (15.0, 16.5), (-80.55, 13.5), (30.05, 6.0)],
        ),
        (
            "distance",
            config.clone().with(|c| c.vertex_distance_cut = 0.4),
            // 14.65 and 16.05 are near 10.05, 50.05 is near 30.05.
            vec![(10.05, 21.0), (-80.35, 15.0), (30.05, 6.0), (53.05, 3.0)],
        ),
        (
            "everything",
            config.clone().with(|c| {
                c.vertex_separation_bins = 1e4;
                c.vertex_mixing = 0.0;
            }),
            vec![(10.05, 21.0)],
        ),
    ] {
        let reference = find_one("reference", &build("reference", &Engine::Reference, &config), &roi);
        let near = |found: Vertex, wanted: &(f64, f64)| {
            (found.z_mm - wanted.0).abs() < 1e-3 && (found.weight - wanted.1).abs() < 1e-9
        };
        let same = reference.vertices().iter().zip(&wanted).all(|(found, wanted)| near(found, wanted));
        assert!(same && reference.vertices().len() == wanted.len(), "{case}: {:?}", reference.vertices());
        for (name, engine) in &fixed_engines() {
            let found = find_one(name, &build(name, engine, &config), &roi);
            close(&format!("{name}, {case}"), found.roi(0), reference.roi(0));
        }
    }
}

/// RoIs without a peak have the answers of the fallback, other RoIs those of the first search, in
/// every call.
#[test]
fn rois_without_a_peak_are_searched_again() {
    // Six tracks of two spacepoints: no third spacepoint confirms a pair.
    let track = |i: u32| {
        let (phi, slope) = (0.4 + 0.3 * f64::from(i), 0.2 * f64::from(i) - 0.5);
        [(0, 50.5), (1, 88.5)].map(|(layer, rho)| Spacepoint { rho, phi, z: 12.5 + slope * rho, layer })
    };
    let mut soft = Roi { spacepoints: (0..6).flat_map(track).collect(), ..Roi::default() };
    soft.descriptor.id.event_id = 77;
    let lone = Roi { spacepoints: soft.spacepoints[..1].to_vec(), ..Roi::default() };
    let mut rois = rois(&toys(21));
    rois.splice(3..3, [soft, lone]);
    let auto = Config::preset(Preset::Auto);
    let first = auto.clone().with(|c| c.fallback = Fallback::None);
    let again = auto.fallback_config().expect("a fallback");
    assert_eq!(again, Config::preset(Preset::FullScan).with(|c| c.peaks = 4));
    for (name, engine) in &engines() {
        let [auto, first, again] = [&auto, &first, &again].map(|config| build(name, engine, config));
        let [first, again] = [first, again].map(|finder| find(name, &finder, &batch(&rois)));
        let mut wanted = Results::new();
        for (first, again) in first.iter().zip(&again) {
            let is_fallback = first.status() == Status::NoPeak;
            let chosen = if is_fallback { again } else { first };
            let mut summary = chosen.summary();
            summary.is_fallback = is_fallback;
            wanted.push(summary, chosen.vertices());
        }
        assert_eq!((first.roi(3).status(), wanted.roi(3).status()), (Status::NoPeak, Status::Ok), "{name}");
        assert!((wanted.roi(3).vertices().z_mm()[0] - 12.5).abs() < 0.01, "{name}: {:?}", wanted.roi(3));
        assert_eq!(wanted.roi(4).status(), Status::NoPeak, "{name}");
        assert!(first.iter().filter(|result| result.status() == Status::Ok).count() >= 4, "{name}");
        let wanted = bits(&wanted);
        // In blocking calls, futures and streams, one by one and together.
        assert_eq!(bits(&find(name, &auto, &batch(&rois))), wanted, "{name}");
        let one_by_one: Vec<Results> = rois.iter().map(|roi| auto.find(roi).expect("an answer")).collect();
        assert_eq!(bits(one_by_one.iter().flatten()), wanted, "{name}, one by one");
        let awaited = pollster::block_on(auto.find_batch_async(&rois[3])).expect("an answer");
        assert_eq!(bits(&awaited), wanted[3..4], "{name}, awaited");
        let mut stream = auto.stream(StreamOptions::default()).expect("threads");
        assert!(stream.push(batch(&rois)).expect("room").is_none());
        let answered = stream.next().expect("a batch").expect("answers");
        assert_eq!(bits(&answered.results), wanted, "{name}, streamed");
    }
}

/// Background and significance equal the reference engine's, exactly if the counts do. The first
/// insignificant peak ends the search.
#[test]
fn backgrounds_are_alike_and_end_the_search() {
    let events = toys(16);
    for (significance, percentile, min_significance) in [
        (Significance::Gaussian, 1.0, 0.0),
        (Significance::Gaussian, 0.95, 20.0),
        (Significance::Poisson, 0.95, 3.0),
        (Significance::Poisson, 0.3, 0.0),
        (Significance::Poisson, 0.0, 1e6),
    ] {
        let config = Config::preset(Preset::Default).with(|c| {
            c.peaks = 12;
            c.significance = significance;
            c.percentile = percentile;
            c.min_significance = min_significance;
        });
        let reference = find("reference", &build("reference", &Engine::Reference, &config), &batch(&rois(&events)));
        for (name, engine) in &fixed_engines() {
            let place = format!("{name}, {significance:?} of {min_significance}, percentile {percentile}");
            let found = find(&place, &build(name, engine, &config), &batch(&rois(&events)));
            let mut compared = 0;
            for (found, wanted) in found.iter().zip(&reference) {
                for (a, b) in found.vertices().iter().zip(wanted.vertices()) {
                    assert_eq!(a.background.is_some(), percentile > 0.0, "{place}: {a:?}");
                    if (a.weight, a.background) != (b.weight, b.background) {
                        // An entry in the next bin.
                        let near = |a: f64, b: f64, most: f64| (a - b).abs() <= most;
                        let (of_a, of_b) = (a.background.unwrap_or(0.0), b.background.unwrap_or(0.0));
                        assert!(near(of_a, of_b, 0.05 * of_b + 0.05), "{place}: {a:?}, reference {b:?}");
                        continue;
                    }
                    compared += 1;
                    // The reference engine has its own formula.
                    match (a.significance, b.significance) {
                        (Some(of_a), Some(of_b)) => assert!((of_a - of_b).abs() < 1e-6, "{place}: {of_a}, {of_b}"),
                        none => assert_eq!(none, (None, None), "{place}"),
                    }
                    assert!((a.z_error_mm - b.z_error_mm).abs() < 1e-3 * b.z_error_mm, "{place}: {a:?}, {b:?}");
                    let least = a.significance.is_none_or(|significance| significance >= min_significance);
                    assert!(least, "{place}: {a:?}");
                }
                let ended = wanted.vertices().len() < config.peaks as usize;
                assert!(![3.0, 20.0].contains(&min_significance) || ended, "{place}: nothing was insignificant");
            }
            assert!(compared >= 8, "{place}: {compared} vertices with equal counts");
        }
    }
}

/// Engines agree for every option that changes the answers, and each option does change them. The
/// caller's own parallel loop may hold every thread of the pool that packs large batches.
#[test]
fn options_are_alike_on_every_engine() {
    let events = toys(31);
    let batch = batch(&rois(&events));
    let config = Config::preset(Preset::Default).with(|c| {
        c.peaks = 2;
        c.phi_slice_deg = 1.0;
        c.vertex_separation_bins = 5.0;
    });
    let any = config.clone().with(|c| c.pair_weight = PairWeight::Any);
    let by_pt = config.clone().with(|c| {
        c.pair_weight = PairWeight::Pt;
        c.bending_pt_gev = 2.0;
    });
    let plain = build("reference", &Engine::Reference, &config);
    let plain = find("reference", &plain, &batch);
    for (name, config) in [
        ("charge aware", config.clone().with(|c| c.charge_aware = true)),
        (
            "per slice",
            any.clone().with(|c| {
                c.histogram_per_slice = true;
                c.percentile = 0.95;
            }),
        ),
        (
            "charge aware, per slice, not wrapped",
            any.clone().with(|c| {
                c.charge_aware = true;
                c.histogram_per_slice = true;
                c.wrap_full_scan = false;
            }),
        ),
        ("pixels", config.clone().with(|c| c.max_layer = MaxLayer::Sensor(Sensor::Pixel))),
        ("four layers", config.clone().with(|c| c.max_layer = MaxLayer::Number(3))),
        (
            "accurate, of a beam that is tilted and off",
            config.clone().with(|c| {
                c.extrapolation = Extrapolation::Accurate;
                c.beam_spot_mm = [1.0, -2.0];
                c.beam_spot_tilt = [2e-3, -1e-3];
            }),
        ),
        ("by pT", by_pt.clone()),
        (
            "by pT, directions, densest",
            by_pt.with(|c| {
                c.ranking = Ranking::Directions;
                c.z_estimate = ZEstimate::Densest;
            }),
        ),
    ] {
        let further = config.clone().with(|c| c.peaks = config.peaks + 1);
        let reference = find(name, &build(name, &Engine::Reference, &further), &batch);
        let mut compared = 0;
        for (engine, choice) in fixed_engines() {
            let place = format!("{name}, {engine}");
            let found = find(&place, &build(&place, &choice, &config), &batch);
            compared = agree(&place, &found, &reference, config.peaks as usize);
        }
        assert!(compared >= 6, "{name}: {compared} vertices compared");
        let changed =
            reference.iter().zip(&plain).filter(|(a, b)| a.vertices().first() != b.vertices().first()).count();
        assert!(changed > 3, "{name} changes {changed} RoIs");
        if name == "by pT" {
            let heavy = reference.iter().filter(|roi| roi.vertices().iter().any(|v| v.weight > 2.0 * v.pairs as f64));
            assert!(heavy.count() > 3, "tracks are hard enough to weigh");
        }
    }
}

/// The weight of a pair by its pT is rounded to a whole number: 85.49999 and 85.50001, which differ
/// in a last digit, give two weights.
#[test]
fn weights_beside_a_half_are_alike() {
    let config = Config::preset(Preset::HardScatter);
    let window = PhiWindow::new(1.7252148491684247, 1.8242394852621242).ok();
    let descriptor = RoiDescriptor { window, eta: 1.9657475578008903, ..RoiDescriptor::default() };
    // A soak found the first: SwiftShader multiplied by 1 / 6 for a division by 6. For the second,
    // the CPU engine in f32 computed the weight in f64.
    for (rho, phi) in [(490.0, 1.8066086143331583), (480.01, 1.8064327543331584)] {
        let spacepoints = [
            (210.0, 1.8008113230714216, 4),
            (370.0, 1.8052330088894522, 8),
            (410.0, 1.8054225180160843, 9),
            (rho, phi, 11),
            (530.0, 1.816214301588964, 12),
        ];
        let spacepoints = spacepoints.map(|(rho, phi, layer)| Spacepoint { rho, phi, z: 7.0, layer }).to_vec();
        let roi = Roi { descriptor, spacepoints };
        let cpu = find_one("CPU", &build("CPU", &Engine::Cpu, &config), &roi);
        assert_eq!(
            cpu.vertices().iter().map(|vertex| (vertex.pairs, vertex.weight > 80.0)).collect::<Vec<_>>(),
            [(1, true)]
        );
        for (name, engine) in &gpus() {
            assert_eq!(find_one(name, &build(name, engine, &config), &roi), cpu, "{name}");
        }
    }
}

/// Spacepoints on unused layers change nothing.
#[test]
fn layers_beyond_the_last_take_no_part() {
    let events = toys(32);
    for (engine, choice) in engines() {
        let config = Config::preset(Preset::Default).with(|c| {
            c.max_layer = MaxLayer::Number(6);
            c.phi_window = DefaultWindow::Spacepoints;
        });
        let finder = build(&engine, &choice, &config);
        let all = find(&engine, &finder, &batch(&rois(&events)));
        let mut left = rois(&events);
        left.iter_mut().for_each(|roi| roi.spacepoints.retain(|point| point.layer <= 6));
        let kept = find(&engine, &finder, &batch(&left));
        for (a, b) in all.iter().zip(&kept) {
            assert_eq!(
                (&a.vertices(), a.summary().spacepoints),
                (&b.vertices(), b.summary().spacepoints),
                "{engine}: {:?}",
                a.id()
            );
        }
        assert!(
            all.iter().zip(&kept).any(|(a, b)| a.summary().outside_window > b.summary().outside_window),
            "{engine}"
        );
    }
    for (max_layer, word) in [(MaxLayer::Number(0), "two"), (MaxLayer::Sensor(Sensor::Pixel), "sensor")] {
        let text = "name = \"two\"\n[[layer]]\nkind = \"barrel\"\nradius_mm = 50.0\n[[layer]]\nkind = \"barrel\"\nradius_mm = 90.0";
        let detector = zfinder_io::detector_from_toml("two", text).expect("valid");
        let config = Config::preset(Preset::Default).with(|c| c.max_layer = max_layer);
        let error = ZFinder::builder(detector).config(config).engine(Engine::Cpu).build().err();
        let error = error.expect("refused").to_string();
        assert!(error.contains("max_layer") && error.contains(word), "{error}");
    }
}
