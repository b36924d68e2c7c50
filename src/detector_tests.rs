//! Tables of detectors: what is built in, what is refused, and the neighbours that follow.

use super::*;

#[test]
fn barrel_bending_follows_from_radii() {
    // 6 GeV in 2 T: R = 10 m; specification, section 2.
    let text = "name = \"two\"\n[[layer]]\nkind = \"barrel\"\nradius_mm = 50.5\n[[layer]]\nkind = \"barrel\"\nradius_mm = 514.0";
    let two = Detector::from_toml("two", text).expect("valid");
    let (dphi, _) = two.dphi(&Config::default(), 0, 1).expect("two barrels");
    approx::assert_relative_eq!(dphi, (514.0f64 / 20_000.0).asin() - (50.5f64 / 20_000.0).asin(), epsilon = 1e-12);
    assert_eq!(two.neighbours(&Config::default())[0][1], 7);
    assert_eq!(two.neighbours(&Config { neighbour_max: Some(3), ..Config::default() })[0][1], 3);
}

#[test]
fn the_table_gives_the_reference_programs_counts() {
    let n = Detector::atlas2010().neighbours(&Config::default());
    // Rows of the reference program at 0.2 degrees (conformance data; the whole table is compared there).
    assert_eq!(n[0], [0, 1, 2, 4, 5, 6, 7, 7, 7, 8, 9, 10, 11, 11, 12, 13, 14, 15, 16]);
    assert_eq!(n[2][16], 1);
    let single = Detector::atlas2010().neighbours(&Config { neighbours: Neighbours::Single, ..Config::default() });
    assert!(single.iter().flatten().all(|&n| n <= 1));
}

#[test]
fn contradictions_are_named() {
    for (text, word) in [
        ("name = \"x\"\nlayer = []", "layers"),
        (
            "name = \"x\"\n[[layer]]\nkind = \"barrel\"\nradius_mm = 1.0\nids = [[1, 1]]\n[[layer]]\nkind = \"barrel\"\nradius_mm = 2.0\nids = [[1, 1]]",
            "(1, 1)",
        ),
        (
            "name = \"x\"\n[[layer]]\nkind = \"barrel\"\nradius_mm = -1.0\n[[layer]]\nkind = \"barrel\"\nradius_mm = 2.0",
            "layer 0",
        ),
        ("name = \"x\"\n[[layer]]\nkind = \"cone\"", "cone"),
    ] {
        let error = Detector::from_toml("x.toml", text).expect_err(text).to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn built_ins_parse() {
    for name in Detector::BUILT_IN {
        assert_eq!(Detector::built_in(name).expect("built in").name(), name);
    }
    assert_eq!(Detector::generic().layers().len(), 29);
    assert_eq!(Detector::generic().layer_by_id(14, 12), Some(22));
}

#[test]
fn the_open_data_detector_has_the_ids_of_acts() {
    let odd = Detector::odd();
    assert_eq!(odd.volumes(), [16, 17, 18, 23, 24, 25, 28, 29, 30].into());
    // Disks by volume at -z and at +z; the numbers of layers at -z begin at the second.
    let endcaps = [(16, 18, 4, [620.0, 720.0, 840.0, 980.0, 1120.0, 1320.0, 1520.0].as_slice())];
    let strips = [1300.0, 1550.0, 1850.0, 2200.0, 2550.0, 2950.0];
    let long = [1300.0, 1600.0, 1900.0, 2250.0, 2600.0, 3000.0];
    for (back, front, first, disks) in endcaps.into_iter().chain([(23, 25, 2, &strips[..]), (28, 30, 2, &long)]) {
        for (i, &z) in disks.iter().enumerate() {
            let at = odd.layer_by_id(front, 2 * i as u32 + 2).expect("a layer at +z");
            assert!(matches!(odd.layers()[at as usize].kind, LayerKind::Endcap { z_mm, .. } if z_mm == z), "{z}");
            let behind = first + 2 * (disks.len() - 1 - i) as u32;
            assert_eq!(odd.layer_by_id(back, behind), Some(at), "({back}, {behind})");
        }
    }
    assert_eq!(odd.layer_by_id(16, 2), None, "the endplate");
    // Barrels come first, from the beam outwards.
    for (layer, (volume, id, radius)) in [
        (17, 2, 34.0),
        (17, 4, 70.0),
        (17, 6, 116.0),
        (17, 8, 172.0),
        (24, 2, 260.0),
        (24, 4, 360.0),
        (24, 6, 500.0),
        (24, 8, 660.0),
        (29, 2, 820.0),
        (29, 4, 1020.0),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(odd.layer_by_id(volume, id), Some(layer as u32));
        assert_eq!(odd.layers()[layer].kind, LayerKind::Barrel { radius_mm: radius });
    }
    assert_eq!(odd.layer_at(32.5, -300.0, 10.0), Some(0));
    assert_eq!(odd.layer_at(100.0, -1516.0, 10.0), Some(16));
    assert_eq!(odd.layer_at(500.0, 1305.0, 10.0), Some(17));
}
