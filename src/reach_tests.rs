//! Neighbour slices that follow from a detector and a configuration.

use super::*;
use crate::config::Preset;

#[test]
fn barrel_bending_follows_from_radii() {
    // 6 GeV in 2 T: R = 10 m; specification, section 2.
    let barrel = |radius_mm| Layer {
        kind: LayerKind::Barrel { radius_mm },
        sensor: None,
        z_resolution_mm: None,
        radiation_lengths: None,
        next: None,
        ids: Vec::new(),
    };
    let two = Detector::new("two", vec![barrel(50.5), barrel(514.0)], None).expect("valid");
    let (dphi, _) = two.dphi(&Config::preset(Preset::Default), 0, 1).expect("two barrels");
    approx::assert_relative_eq!(dphi, (514.0f64 / 20_000.0).asin() - (50.5f64 / 20_000.0).asin(), epsilon = 1e-12);
    assert_eq!(two.neighbours(&Config::preset(Preset::Default))[0][1], 7);
    assert_eq!(two.neighbours(&Config { neighbour_max: Some(3), ..Config::preset(Preset::Default) })[0][1], 3);
}

#[test]
fn the_table_gives_the_reference_programs_counts() {
    let n = Detector::atlas2010().neighbours(&Config::preset(Preset::Default));
    // Rows of the reference program at 0.2 degrees (conformance data; the whole table is compared
    // there).
    assert_eq!(n[0], [0, 1, 2, 4, 5, 6, 7, 7, 7, 8, 9, 10, 11, 11, 12, 13, 14, 15, 16]);
    assert_eq!(n[2][16], 1);
    let single =
        Detector::atlas2010().neighbours(&Config { neighbours: Neighbours::Single, ..Config::preset(Preset::Default) });
    assert!(single.iter().flatten().all(|&n| n <= 1));
}

#[test]
fn precisions_follow_from_resolutions() {
    let precisions = Detector::generic().pair_precisions();
    let pixels = precisions[..4].iter().map(|row| &row[..4]);
    // Pixels at 32, 72, 116 and 172 mm: (72^2 + 32^2) / 40^2 = 3.88 for the first two, 1.56 for the
    // best pair.
    let wanted = [[1, 6, 12, 16], [6, 1, 3, 7], [12, 3, 1, 2], [16, 7, 2, 1]];
    assert!(pixels.eq(wanted.iter().map(|row| &row[..])), "{precisions:?}");
    // A track: 6 + 12 + 16 of the innermost pixels, 25 of other pairs with two layers beyond.
    let auto = Config::preset(Preset::Auto);
    assert_eq!(Detector::generic().track_model(&auto).precision, 59.0);
    // Disks.
    assert!(precisions[10..].iter().flatten().all(|&one| one == 1));

    let barrel = |radius_mm, z_resolution_mm| Layer {
        kind: LayerKind::Barrel { radius_mm },
        sensor: None,
        z_resolution_mm,
        radiation_lengths: None,
        next: None,
        ids: Vec::new(),
    };
    let unknown = Detector::new("two", vec![barrel(30.0, Some(0.1)), barrel(60.0, None)], None).expect("valid");
    assert_eq!(unknown.pair_precisions(), [[1, 1], [1, 1]]);
}
