//! Batches, histograms and slices at the limits of their sizes, and beyond.

use zfinder::config::PairWeight;
use zfinder::gpu::AdapterKind;
use zfinder::thesis::ThesisOptions;
use zfinder::{
    Config, Preset, Results, Roi, RoiBatch, RoiDescriptor, RoiId, Spacepoint, Status, ZFinder, ZFinderBuilder,
};
use zfinder_testing::engines::{agree, batch, bits, find};
use zfinder_testing::toy::{Toy, between};

use super::{Finders, Hostile, Known, SLICE, point, roi, window};

/// Returns RoIs of two to six spacepoints on a track; all RoIs outside `filled` are empty.
fn small_rois(count: usize, filled: usize) -> RoiBatch {
    let rng = &mut fastrand::Rng::with_seed(9);
    let mut batch = RoiBatch::new();
    for i in 0..count {
        let (z, phi, slope) = (between(rng, -15.0, 15.0), between(rng, 0.0, 0.05), between(rng, -1.0, 1.0));
        let on = |layer: usize| {
            let rho = [50.5, 88.5, 122.5, 299.0, 371.0, 443.0][layer];
            point(rho, phi, z + slope * rho, layer as u32)
        };
        let layers = if i % filled == 0 { 2 + i / filled % 5 } else { 0 };
        let id = RoiId { event_id: i as u64, roi_id: 3 };
        batch.push(RoiDescriptor { id, window: window(0.0, 0.05), ..RoiDescriptor::default() }, (0..layers).map(on));
    }
    batch
}

/// The first RoIs of a batch.
fn first_of(batch: &RoiBatch, count: usize) -> RoiBatch {
    let mut first = RoiBatch::new();
    batch.iter().take(count).for_each(|roi| first.push(*roi.descriptor, roi.spacepoints()));
    first
}

/// Searches the first RoIs of the batch on every GPU, for each size: the bits are the CPU's.
fn check_sizes(all: &RoiBatch, sizes: &[usize]) {
    let config = Config::preset(Preset::Default).with(|c| {
        c.z_min_mm = -20.0;
        c.z_max_mm = 20.0;
        c.z_bin_mm = 0.4;
    });
    let finders = Finders::new(&config, |builder| builder);
    let wanted = find("CPU", &finders.single, all);
    agree("CPU", &wanted, &find("reference", &finders.reference, all), 1);
    let filled = all.iter().filter(|roi| !roi.is_empty()).count();
    let count = |status| wanted.iter().filter(|result| result.status() == status).count();
    // A single pair is not a peak.
    assert_eq!((count(Status::Empty), count(Status::Ok)), (all.len() - filled, filled - filled.div_ceil(5)));
    for (adapter, finder) in &finders.gpus {
        for &size in sizes {
            let place = format!("{}, batch of {size}", adapter.name);
            let found = find(&place, finder, &first_of(all, size));
            let wanted: Results = wanted.iter().take(size).collect();
            agree(&place, &found, &wanted, 1);
            let wrong = bits(&found).into_iter().zip(bits(&wanted)).find(|(found, wanted)| found != wanted);
            assert!(adapter.kind != AdapterKind::Software || wrong.is_none(), "{place}, GPU and CPU: {wrong:?}");
        }
    }
}

/// Batches up to the limit of one workgroup for each RoI, and beyond.
#[test]
fn batches_of_few_rois_are_answered() {
    check_sizes(&small_rois(600, 1), &[0, 1, 2, 255, 256, 257, 600]);
}

/// More workgroups than a dispatch allows, most of them empty: 0.5 ms each in software.
#[test]
fn batches_of_many_rois_are_answered() {
    check_sizes(&small_rois(70_000, 100), &[65_535, 65_536, 70_000]);
}

/// The same without empty RoIs: minutes in software, seconds on hardware.
#[test]
#[ignore = "long form of `batches_of_many_rois_are_answered`: scripts/test full"]
fn batches_of_many_filled_rois_are_answered() {
    check_sizes(&small_rois(70_000, 1), &[65_535, 65_536, 70_000]);
}

/// More rows of histograms than a dispatch allows workgroups in one dimension.
#[test]
#[ignore = "minutes on software adapters: scripts/test full"]
fn more_rows_than_a_dimension_has_are_filled() {
    let coarse = Config::preset(Preset::Default).with(|c| {
        c.z_min_mm = -20.0;
        c.z_max_mm = 20.0;
        c.z_bin_mm = 0.5;
    });
    let rng = &mut fastrand::Rng::with_seed(10);
    let mut event = Toy { window: None, vertices: 1, noise: 100, ..Toy::default() }.event(rng, 0);
    event.roi.spacepoints.iter_mut().for_each(|s| s.z -= event.truth[0]);
    let full_circle = || Hostile { name: "full circle", roi: event.roi.clone(), known: Known::Alike };
    let finders = Finders::new(&coarse.with(|c| c.phi_slice_deg = 0.01), |builder| {
        builder.thesis(ThesisOptions::numbered_pairs(1))
    });
    finders.compare("36,000 rows each", &[full_circle(), full_circle()]);
}

/// Returns an RoI with these numbers of spacepoints on each layer, at one azimuth on a line along
/// the beam.
fn column(counts: &[usize]) -> Roi {
    let on = |(layer, &count): (u32, &usize)| vec![point(50.0 * f64::from(layer + 1), 0.5 * SLICE, 3.15, layer); count];
    roi(window(0.0, 0.02), (0..).zip(counts).flat_map(on).collect())
}

/// The fullest bin that words can hold, and one entry more: the excess gives a status, and other
/// RoIs are answered. The reference engine counts in 64 bits.
#[test]
fn counts_beyond_words_are_told() {
    // 2^22 - 1 = 2047 * 2049.
    let pairs = [column(&[2047, 2049]), column(&[2048, 2048]), column(&[30, 30])];
    // Three more layers confirm each pair with the greatest weight, 1,042.
    let heavy = [column(&[63, 63, 1, 1, 1]), column(&[64, 64, 1, 1, 1]), column(&[3, 3, 1, 1, 1])];
    let by_pt = Config::preset(Preset::HardScatter).with(|c| {
        c.first_layers = 1;
        c.triplet_dz_mm = 10.0;
    });
    for (case, config, rois, most) in [
        ("pairs", Config::preset(Preset::Default), &pairs, [4_194_303.0, 4_194_304.0, 900.0]),
        // A pair with the third layer, which two confirm, weighs 1.
        ("by pT", by_pt, &heavy, [63.0, 64.0, 3.0].map(|each| 1042.0 * each * each + each)),
    ] {
        let weights = |name: &str, finder: &ZFinder| {
            let found = find(&format!("{case}, {name}"), finder, &batch(rois));
            [0, 1, 2].map(|i| {
                let told = found.roi(i).status() == Status::CapacityExceeded;
                assert_eq!(told, found.roi(i).vertices().is_empty(), "{case}, {name}: {:?}", found.roi(i));
                found.roi(i).vertices().first().map(|vertex| vertex.weight)
            })
        };
        let finders = Finders::new(&config, |builder| builder);
        assert_eq!(weights("reference", &finders.reference), most.map(Some), "{case}");
        let words = [Some(most[0]), None, Some(most[2])];
        for finder in [&finders.single, &finders.double] {
            assert_eq!(weights("CPU", finder), words, "{case}");
        }
        for (adapter, finder) in &finders.gpus {
            assert_eq!(weights(&adapter.name, finder), words, "{case}, {}", adapter.name);
        }
    }
}

/// Returns an RoI with this many spacepoints of every layer in one slice. Their z12 cover 8,000
/// bins.
fn crowded(each: usize) -> Hostile {
    let rng = &mut fastrand::Rng::with_seed(11);
    let layers = (0..19u32).flat_map(|layer| std::iter::repeat_n(layer, each));
    let spacepoints =
        layers.map(|layer| point(50.0 * f64::from(layer + 1), 0.5 * SLICE, between(rng, -300.0, 300.0), layer));
    let mut roi = roi(window(0.0, 0.02), spacepoints.collect());
    roi.descriptor.z_range = Some((-1600.0, 1600.0));
    Hostile { name: "crowded", roi, known: Known::Crowded }
}

/// Checks a crowded slice, with spacepoints distributed to workgroups or with numbered pairs.
fn check_crowded(each: usize, numbered: bool) {
    let options =
        |builder: ZFinderBuilder| if numbered { builder.thesis(ThesisOptions::numbered_pairs(1)) } else { builder };
    let finders = Finders::new(&Config::preset(Preset::Thesis), options);
    finders.compare(&format!("{each} on each layer, numbered: {numbered}"), &[crowded(each)]);
}

/// 171 pairs of layers: four million pairs of spacepoints.
#[test]
fn a_crowded_slice_is_answered() {
    check_crowded(150, false);
    check_crowded(150, true);
}

/// 100,016 spacepoints in one slice: 4.7 thousand million pairs, more than 32 bits number.
#[test]
#[ignore = "ten minutes of the serial engines, and longer on software adapters"]
fn a_slice_of_a_hundred_thousand_is_answered() {
    check_crowded(5264, false);
}

#[test]
#[ignore = "ten minutes of the serial engines, and longer on software adapters"]
fn numbered_pairs_of_a_hundred_thousand_are_answered() {
    check_crowded(5264, true);
}

/// More histograms than the memory limit: a status, except for empty or invalid RoIs.
#[test]
fn what_never_fits_is_told_alike() {
    let too_many = Config::preset(Preset::Default).with(|c| {
        c.histogram_per_slice = true;
        c.phi_slice_deg = 0.01;
        c.z_bin_mm = 0.01;
    });
    let finders = Finders::new(&too_many, |builder| builder);
    let inside = point(50.5, 0.1, 1.0, 0);
    let outside = Spacepoint { phi: -2.0, ..inside };
    let rois =
        [vec![], vec![inside; 3], vec![outside; 3], vec![inside, point(50.5, 0.1, f64::NAN, 0)], vec![inside, outside]];
    let rois = rois.map(|spacepoints| roi(window(0.0, 3.0), spacepoints));
    let wanted = bits(&find("reference", &finders.reference, &batch(&rois)));
    let statuses =
        [Status::Empty, Status::CapacityExceeded, Status::Empty, Status::BadSpacepoint, Status::CapacityExceeded];
    assert_eq!(wanted.iter().map(|roi| roi.1).collect::<Vec<_>>(), statuses);
    assert_eq!(bits(&find("CPU", &finders.single, &batch(&rois))), wanted);
    for (adapter, finder) in &finders.gpus {
        assert_eq!(bits(&find(&adapter.name, finder, &batch(&rois))), wanted, "{}", adapter.name);
    }
}

/// llvmpipe silently ends all loops of an invocation after 65,535 rounds together. The status must
/// report it. Here the limit falls near the end of the third spacepoints on one layer.
#[test]
fn what_a_driver_cuts_short_is_told() {
    let config = Config::preset(Preset::Default).with(|c| {
        c.first_layers = 1;
        c.pair_weight = PairWeight::Count;
        c.z_bin_mm = 4.0;
    });
    let finders = Finders::new(&config, |builder| builder);
    let all = [52_342, 52_366].map(|thirds| column(&[1, 1, thirds, 1, 1]));
    let wanted = find("CPU", &finders.single, &batch(&all));
    for (adapter, finder) in &finders.gpus {
        for (found, wanted) in find(&adapter.name, finder, &batch(&all)).iter().zip(&wanted) {
            let told = found.status() == Status::CapacityExceeded;
            assert!(told || found == wanted, "{}: {found:?}, the CPU's {wanted:?}", adapter.name);
        }
    }
}
