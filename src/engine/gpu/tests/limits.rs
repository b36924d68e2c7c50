//! Overflow of words, numbers and buffers: it is reported, never wrapped or lost.

use super::*;
use crate::reach::TrackModel;

/// The error flags of each RoI. The status words are zero again, for the next batch.
fn flags<R: Real>(stages: &Readbacks<R>) -> Vec<u32> {
    assert!(stages.status.iter().all(|status| status.flags == 0), "{:?}", stages.status);
    (0..stages.status.len()).map(|i| stages.flags(i)).collect()
}

/// `counts` spacepoints on two layers in every `apart`-th slice, all pairs at `z`.
fn crossings(counts: &[[u32; 2]], apart: u32, z: f64) -> Roi {
    let slice = 0.2f64.to_radians();
    let mut points = Vec::new();
    for (i, counts) in counts.iter().enumerate() {
        let phi = (f64::from(i as u32 * apart) + 0.5) * slice;
        for layer in 0..2 {
            let point = Spacepoint { rho: 50.0 * f64::from(layer + 1), phi, z, layer };
            points.extend((0..counts[layer as usize]).map(|_| point));
        }
    }
    roi(window(0.0, 0.2), points)
}

/// More pairs in a slice than can be numbered: said in the status word of that RoI, and of no
/// other.
#[test]
fn too_many_pairs_are_reported() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        let batch = [[10, 10], [65_536, 65_536], [3, 3]].map(|counts| crossings(&[counts], 1, 5.0));
        let batch = RoiBatch::from_iter(batch);
        for checked in [false, true] {
            let (config, options) = pairing_options(Pairing::Numbered, PairWeight::One);
            let config = config.with(|c| c.max_pairs = 1e18);
            let mut engine = build::<f32>(&gpu, &config, &EngineOptions { checked, ..options });
            engine.capacity.work = f64::INFINITY;
            let stages = engine.stages(&batch).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
            assert_eq!(flags(&stages), [0, 1, 0], "{}, checked: {checked}", adapter.name);
            let weight = |i: usize| stages.peaks(i)[0].n.iter().sum::<u32>();
            assert_eq!((weight(0), weight(2)), (100, 9), "{}, checked: {checked}", adapter.name);
        }
    }
}

/// The fullest bin that words hold, each entry at the bin's upper edge, is counted; one entry more
/// is reported.
#[test]
fn counts_up_to_the_last_are_exact() {
    // 16 slices of 2^18 pairs are one too many.
    let over = [[512, 512]; 16];
    let mut exact = over;
    exact[5] = [511, 513];
    let pairs = |counts: &[[u32; 2]]| counts.iter().map(|[a, b]| a * b).sum::<u32>();
    assert_eq!((pairs(&exact), pairs(&over)), (MAX_COUNT, MAX_COUNT + 1));
    let batch = RoiBatch::from_iter([crossings(&exact, 3, 0.1), crossings(&over, 3, 0.1)]);
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for pairing in PAIRINGS {
            let (config, mut options) = pairing_options(pairing, PairWeight::One);
            options.thesis.slices_per_histogram = options.thesis.slices_per_histogram.map(|_| 3);
            let mut engine = build::<f32>(&gpu, &config, &options);
            let place = format!("{}, {pairing:?}", adapter.name);
            let stages = engine.stages(&batch).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(flags(&stages), [0, 2], "{place}");
            let peak = stages.peaks(0)[0];
            assert_eq!(peak.n.iter().sum::<u32>(), MAX_COUNT, "{place}");
            let tracks = TrackModel { entries: 1.0, z_resolution_mm: None, precision: 1.0 };
            let vertex = peak.vertex(
                &stages.planned[0].0.bins,
                Accumulate::Fixed,
                None,
                tracks,
                &Config::preset(Preset::Default),
            );
            assert!((vertex.z_mm - 0.1).abs() < 1e-3, "{place}: {vertex:?}");
        }
    }
}

/// The same in the walk: so many spacepoints on one line through three layers that each pair weighs
/// as many.
#[test]
fn walked_counts_up_to_the_last_are_exact() {
    // Lines through so many spacepoints a layer, each far in phi from the others: as many pairs of
    // the first two layers, that each weigh as many as there are in the third.
    let lines = |lines: &[[u32; 3]]| {
        let mut points = Vec::new();
        for (line, counts) in (0..).zip(lines) {
            for (layer, &count) in (0..).zip(counts) {
                let on =
                    Spacepoint { rho: 50.0 * f64::from(layer + 1), phi: 0.001 + 0.05 * f64::from(line), z: 5.1, layer };
                points.extend(std::iter::repeat_n(on, count as usize));
            }
        }
        roi(window(0.0, 0.16), points)
    };
    let weight = |lines: &[[u32; 3]]| lines.iter().map(|counts| counts.iter().product::<u32>()).sum::<u32>();
    let exact = [[155, 164, 165], [1; 3], [1, 1, 2]];
    let over = [exact[0], exact[1], [1, 1, 3]];
    assert_eq!((weight(&exact), weight(&over)), (MAX_COUNT, MAX_COUNT + 1));
    let batch = RoiBatch::from_iter([lines(&exact), lines(&over), lines(&[[3; 3]])]);
    let (mut walked, adapters) = (0, on_adapters());
    for adapter in &adapters {
        let gpu = open(adapter);
        use Accumulate::{CompareExchange as Exchanged, Fixed};
        // The last two are not walked: histograms of each charge, and f32 sums.
        for (pairing, charge_aware, accumulate) in [
            (Pairing::TwoSlices, false, Fixed),
            (Pairing::ByLayer, false, Fixed),
            (Pairing::ByLayer, true, Fixed),
            (Pairing::Numbered, false, Exchanged),
        ] {
            let (config, options) = pairing_options(pairing, PairWeight::Count);
            // Few bins leave room for spacepoints.
            let config = Config { z_bin_mm: 2.0, charge_aware, ..config };
            let mut engine = build::<f32>(
                &gpu,
                &config,
                &EngineOptions { thesis: ThesisOptions { accumulate, ..options.thesis }, ..options },
            );
            let place = format!("{}, {pairing:?}, {charge_aware}, {accumulate:?}", adapter.name);
            if accumulate == Fixed {
                walked += u32::from(check_walk::<f32, FixedPoint>(&place, &mut engine, &batch));
            }
            let found = engine.answers(&batch);
            let found = found.unwrap_or_else(|error| panic!("{place}: {error}"));
            let weight = |i: usize| found.roi(i).vertices().first().map(|vertex| vertex.weight);
            assert_eq!([weight(0), weight(1), weight(2)], [Some(f64::from(MAX_COUNT)), None, Some(27.0)], "{place}");
            assert_eq!(found.roi(1).status(), crate::Status::CapacityExceeded, "{place}");
        }
    }
    assert!(walked > 0 || adapters.is_empty(), "no adapter here has room for the walk");
}

/// Weights that go straight to an RoI's totals, and those of f32 sums, whose rows have words
/// enough: the last count is reached by the last of them.
#[test]
fn weights_up_to_the_last_are_exact() {
    let counts = [69, 89, 683];
    assert_eq!(counts.iter().product::<u32>(), MAX_COUNT);
    let on = |layer: u32| Spacepoint { rho: 50.0 * f64::from(layer + 1), phi: 0.001, z: 5.1, layer };
    let points = (0..3).flat_map(|layer| std::iter::repeat_n(on(layer), counts[layer as usize] as usize)).collect();
    let batch = RoiBatch::from_iter([roi(window(0.0, 0.1), points)]);
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, accumulate) in
            [(Pairing::ByLayer, Accumulate::Fixed), (Pairing::Numbered, Accumulate::CompareExchange)]
        {
            let (config, options) = pairing_options(pairing, PairWeight::Count);
            let mut engine = build::<f32>(
                &gpu,
                &config,
                &EngineOptions { thesis: ThesisOptions { accumulate, ..options.thesis }, ..options },
            );
            let place = format!("{}, {pairing:?}", adapter.name);
            let stages = engine.stages(&batch).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(flags(&stages), [0], "{place}");
            assert_eq!(stages.peaks(0)[0].n.iter().sum::<u32>(), MAX_COUNT, "{place}");
        }
    }
}

/// A pair with very many third spacepoints, and a slice with very many pairs: all are counted, or
/// the RoI's status says otherwise. (llvmpipe ends the loops of an invocation after 65,535 rounds
/// altogether, without a word.)
#[test]
fn what_takes_long_is_counted_or_reported() {
    let thirds = {
        let point = |layer| Spacepoint { rho: 50.0 * f64::from(layer + 1), phi: 0.001, z: 5.0, layer };
        let mut points = vec![point(0), point(1)];
        points.extend((0..100_000).map(|_| point(2)));
        roi(window(0.0, 0.1), points)
    };
    let cases = [
        ("thirds", PairWeight::Count, Config { first_layers: 1, ..Config::preset(Preset::Default) }, thirds, 100_000),
        ("pairs", PairWeight::One, Config::preset(Preset::Default), crossings(&[[3000, 1500]], 1, 5.0), 4_500_000),
    ];
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (case, pair_weight, config, roi, wanted) in cases.clone() {
            let mut engine = build::<f32>(
                &gpu,
                &Config { pair_weight, ..Config::preset(Preset::Default) },
                &EngineOptions::default(),
            );
            engine.take_case(&Case::new(case, config, Vec::new()));
            engine.capacity.work = f64::INFINITY;
            let batch = RoiBatch::from_iter([roi, crossings(&[[3, 3]], 1, 5.0)]);
            let place = format!("{}, {case}", adapter.name);
            let stages = engine.stages(&batch).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(stages.flags(1), 0, "{place}");
            let found = stages.peaks(0).first().map_or(0, |peak| peak.n.iter().sum::<u32>());
            assert!(
                stages.flags(0) != 0 || found == wanted,
                "{place}: {found} of {wanted} entries, and nothing in the status word"
            );
        }
    }
}

/// In one dispatch or in many, an RoI's answer is the same.
#[test]
fn work_beyond_a_dispatch_is_split() {
    let rng = &mut fastrand::Rng::with_seed(5);
    let toy = Toy { window: Some((0.0, 0.6)), tracks: 150, noise: 300, ..Toy::default() };
    let batch = RoiBatch::from_iter([toy.event(rng, 0).roi, crossings(&[[700, 600], [0, 0], [90, 50]], 1, 5.0)]);
    let numbered = Some(2);
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pair_weight, slices_per_histogram) in
            [(PairWeight::One, None), (PairWeight::Any, None), (PairWeight::One, numbered)]
        {
            let thesis = ThesisOptions { slices_per_histogram, ..ThesisOptions::default() };
            let options = EngineOptions { thesis, ..EngineOptions::default() };
            let mut engine = build::<f32>(&gpu, &Config { pair_weight, ..Config::preset(Preset::Default) }, &options);
            let mut answers = [f64::INFINITY, 2e5, 1.0].map(|work| {
                engine.capacity.work = work;
                let sharing = |i| {
                    let plans = [engine.search.plan(batch.roi(i)).expect("a plan")];
                    let method = choose_method(&engine.shape, plans.iter());
                    Sharing::new::<f32>(method, plans.iter(), &engine.capacity, &engine.shape).dispatches
                };
                let dispatches = [sharing(0), sharing(1)];
                let answer = engine.answers(&batch);
                (dispatches, answer.unwrap_or_else(|error| panic!("{}: {error}", adapter.name)))
            });
            let place = format!("{}, {pair_weight:?}, {slices_per_histogram:?}", adapter.name);
            assert_eq!(answers[0].0, [1, 1], "{place}");
            assert!(answers[1].0.iter().all(|&count| (2..64).contains(&count)), "{place}: {:?}", answers[1].0);
            assert_eq!(answers[2].0, [64, 64], "{place}");
            let [once, others @ ..] = answers.each_mut();
            assert!(!once.1.roi(0).vertices().is_empty(), "{place}");
            assert!(others.iter().all(|(_, results)| *results == once.1), "{place}");
        }
    }
}

/// The smallest buffers that a user allows are never exceeded, not by growth either.
#[test]
fn buffers_stay_within_what_is_allowed() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        let bytes = 1 << 20;
        let options = EngineOptions {
            most_buffer_bytes: Some(bytes),
            thesis: ThesisOptions::numbered_pairs(4),
            ..EngineOptions::default()
        };
        let engine = build::<f32>(&gpu, &Config::preset(Preset::Default), &options);
        // Histograms of 0.6 MB, then of 0.9 MB: twice the first would be too much.
        for width in [1.0, 1.5] {
            let rng = &mut fastrand::Rng::with_seed(1);
            let event = Toy { window: Some((0.0, width)), ..Toy::default() }.event(rng, 0);
            let batch = RoiBatch::from_iter([event.roi]);
            let results = engine.answers(&batch);
            results.unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
        }
        let idle = engine.workspaces.take_idle();
        assert_eq!(idle.len(), 1, "{}", adapter.name);
        for workspace in idle {
            let sizes = [
                workspace.input.len_bytes(),
                workspace.cells.len_bytes(),
                workspace.histograms.len_bytes(),
                workspace.partials.len_bytes(),
                workspace.totals.len_bytes(),
                workspace.peaks.len_bytes(),
            ];
            assert!(sizes.iter().all(|&size| size <= bytes), "{}: {sizes:?} of {bytes}", adapter.name);
        }
    }
}

/// An RoI that several threads pack in pieces: none of its spacepoints is lost or moved, and one
/// that is invalid or too far counts for all of the RoI, in whichever piece it lies.
#[test]
fn rois_packed_in_pieces_are_whole() {
    let filler = Spacepoint { rho: 300.0, phi: 2.0, z: 0.0, layer: 5 };
    let mut points = vec![filler; 70_001];
    for track in 0..50u32 {
        let slope = 0.02 * (f64::from(track) - 25.0);
        for (layer, rho) in (0u32..).zip([50.5, 88.5, 122.5]) {
            let (phi, z) = (0.015 * f64::from(track) + 0.1, 12.0 + slope * rho);
            points[(1400 * track + 9 + layer) as usize] = Spacepoint { rho, phi, z, layer };
        }
    }
    let with = |at: usize, change: &dyn Fn(&mut Spacepoint)| {
        let mut points = points.clone();
        change(&mut points[at]);
        roi(window(0.0, 1.0), points)
    };
    let invalid = |s: &mut Spacepoint| s.rho = f64::NAN;
    let far = |s: &mut Spacepoint| (s.phi, s.z) = (0.5, 1e5);
    let rois = [
        with(0, &|_| {}),
        with(70_000, &invalid),
        with(20_000, &invalid),
        with(70_000, &far),
        with(0, &far),
        crossings(&[[3, 3]], 1, 5.0),
    ];
    let config = Config { pair_weight: PairWeight::One, ..Config::preset(Preset::Default) };
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for encoding in [Encoding::Compact, Encoding::Lossless] {
            let engine = build::<f32>(&gpu, &config, &EngineOptions { encoding, ..EngineOptions::default() });
            let cpu = crate::engine::cpu::CpuEngine::new(
                engine.search.clone(),
                &EngineOptions { encoding, ..EngineOptions::default() },
            );
            let cpu = cpu.expect("a CPU engine");
            // One by one and together, the RoIs are parts of one or of several.
            let batches = rois.iter().map(std::slice::from_ref).chain([&rois[..]]);
            for batch in batches.map(|rois| RoiBatch::from_iter(rois.iter().cloned())) {
                let mut wanted = Results::new();
                cpu.find_batch((&batch).into(), &mut wanted).expect("an answer");
                let found = engine.answers(&batch).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
                assert_eq!(found, wanted, "{}, {encoding:?}", adapter.name);
            }
            let one = engine.answers(&RoiBatch::from_iter([rois[0].clone()])).expect("an answer");
            assert_eq!(
                (one.spacepoint_counts(), one.outside_window()),
                (&[150][..], &[70_001 - 150][..]),
                "{}",
                adapter.name
            );
            assert!((one.vertices().z_mm()[0] - 12.0).abs() < 0.05, "{}", adapter.name);
        }
    }
}
