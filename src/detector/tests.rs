//! Tables of detectors: built-in tables, and invalid tables.

use super::*;

#[test]
fn contradictions_are_named() {
    let barrel = |radius_mm| Layer {
        kind: LayerKind::Barrel { radius_mm },
        sensor: None,
        z_resolution_mm: None,
        radiation_lengths: None,
        next: None,
        ids: vec![(1, 1)],
    };
    let plain = |radius_mm| Layer { ids: Vec::new(), ..barrel(radius_mm) };
    let pair = |inner, outer| BendingPair { inner, outer, dphi_rad: 0.1, eta: None };
    // Every 50 mm, and one that is 1 mm behind another.
    let z_mm =
        |disk: u32| 700.0 + 50.0 * f64::from(disk.min(7)) + if disk > 7 { 50.0 * f64::from(disk) - 399.0 } else { 0.0 };
    let disk = |disk: u32| Layer { kind: LayerKind::Endcap { z_mm: z_mm(disk), r_max_mm: 300.0 }, ..plain(1.0) };
    let disks: Vec<Layer> = (0..70).map(disk).collect();
    let table = |pt_gev, pairs| Some(BendingTable { pt_gev, field_t: 2.0, pairs });
    for (layers, bending, word) in [
        (Vec::new(), None, "layers"),
        (vec![plain(1.0); 65], None, "has 65 layers; 2 to 64 are possible"),
        (disks.to_vec(), None, "the closest are layers 7 and 8 (|z| 1050 and 1051 mm)"),
        (vec![barrel(1.0), barrel(2.0)], None, "(1, 1)"),
        (vec![plain(-1.0), plain(2.0)], None, "layer 0"),
        (vec![plain(1.0), plain(f64::NAN)], None, "layer 1"),
        (vec![plain(1.0), plain(2.0)], table(0.0, Vec::new()), "pt_gev"),
        (vec![plain(1.0), plain(2.0)], table(6.0, vec![pair(0, 2)]), "[0, 2"),
        (vec![plain(1.0), plain(2.0)], table(6.0, vec![pair(1, 0)]), "[1, 0"),
    ] {
        let error = Detector::new("x", layers, bending).expect_err(word).to_string();
        assert!(error.contains(word) && error.contains("detector `x`"), "{error}");
    }
}

#[test]
fn built_ins_are_valid() {
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

#[test]
fn the_layer_graph_follows_tracks() {
    let graph = Detector::generic().layer_graph([-200.0, 200.0]);
    let wanted = "0 -> 1, 2, 10, 11\n1 -> 2, 3, 10, 11\n2 -> 3, 10, 11\n3 -> 10\n10 -> 11, 12\n11 -> 12, 13\n\
                  12 -> 13, 14\n13 -> 14, 15\n14 -> 15, 16\n15 -> 16\n";
    assert_eq!(graph.to_string(), wanted);
    assert_eq!(graph.inner(10), [0, 1, 2, 3]);
    assert!(graph.has(2, 3) && !graph.has(3, 2) && !graph.has(0, 3));
    let strips = Detector::new("strips", Detector::generic().layers()[4..10].to_vec(), None).expect("valid");
    assert_eq!(strips.layer_graph([-200.0, 200.0]).edges().count(), 0);
}

#[test]
fn a_layer_may_name_those_that_follow_it() {
    let of = |change: &dyn Fn(&mut Vec<Layer>)| {
        let mut layers = Detector::generic().layers().to_vec();
        change(&mut layers);
        Detector::new("named", layers, None)
    };
    let named = of(&|layers| layers[0].next = Some(vec![1, 10])).expect("valid");
    let graph = named.layer_graph([-200.0, 200.0]);
    assert!(graph.to_string().starts_with("0 -> 1, 10\n1 -> 2, 3, 10, 11\n"), "{graph}");
    let none = of(&|layers| layers[0].next = Some(Vec::new())).expect("valid");
    assert!(none.layer_graph([-200.0, 200.0]).to_string().starts_with("1 -> 2"));
    for (inner, next) in [(0, 0), (0, 29), (0, 4), (4, 5)] {
        let refused = of(&|layers| layers[inner].next = Some(vec![next])).expect_err("no pixel layers");
        let wanted = format!("layer {inner}: next = [.. {next} ..] needs");
        assert!(refused.to_string().contains(&wanted), "{refused}");
    }
    for lengths in [0.0, 1e-7, -0.01, 1.5, f64::NAN] {
        let refused = of(&|layers| layers[2].radiation_lengths = Some(lengths)).expect_err("a bad thickness");
        assert!(refused.to_string().contains("layer 2: radiation_lengths = "), "{refused}");
    }
}
