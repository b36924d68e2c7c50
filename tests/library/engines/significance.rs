//! Tests of the order of vertices: a vertex at the level of the background is not the first one.

use std::f64::consts::TAU;

use zfinder::{Config, Detector, Preset, Results, Roi, Spacepoint, ZFinder};
use zfinder_testing::engines::{bits, engines, find_one, fixed_engines};
use zfinder_testing::toy::turned;

const SOFT_Z_MM: f64 = -20.0;

/// Adds a track in the barrel of the generic detector, in a field of 2 T.
fn add_track(roi: &mut Roi, (z_mm, phi, cot): (f64, f64, f64), pt_gev: f64, layers: usize) {
    let radii = [32.0, 72.0, 116.0, 172.0, 260.1, 360.1, 500.1, 660.1];
    for (layer, rho) in (0..).zip(&radii[..layers]) {
        let bend = (rho * 0.0003 / pt_gev).asin();
        roi.spacepoints.push(Spacepoint { rho: *rho, phi: turned(phi + bend), z: z_mm + cot * rho, layer });
    }
}

/// An event of twelve tracks of 5 GeV from one vertex, and of straight tracks that cross five
/// layers, each from its own z. Chance tracks of a crowded event look like this. A straight track
/// alone has the highest rank, and no significance.
fn event(straight: &[f64]) -> Roi {
    let mut roi = Roi::default();
    for &z_mm in straight {
        add_track(&mut roi, (z_mm, 0.3 + z_mm, 0.2), 1000.0, 5);
    }
    for track in 0..12 {
        let part = f64::from(track) / 12.0;
        add_track(&mut roi, (SOFT_Z_MM, part * TAU - 3.0, 0.5 - part), 5.0, 8);
    }
    roi
}

fn auto(peaks: u32) -> Config {
    Config::preset(Preset::Auto).with(|c| c.peaks = peaks)
}

fn assert_soft_vertex_first(place: &str, found: &Results, vertices: usize) {
    assert_eq!(found.vertices().len(), vertices, "{place}: {found:?}");
    let vertices: Vec<_> = found.vertices().iter().collect();
    let (first, others) = vertices.split_first().expect("a vertex");
    assert!((first.z_mm - SOFT_Z_MM).abs() < 0.1 && first.significance > Some(2.0), "{place}: {found:?}");
    for vertex in others {
        assert!(vertex.significance == Some(0.0) && vertex.rank > first.rank, "{place}: {found:?}");
    }
    assert!(others.is_sorted_by(|a, b| a.rank >= b.rank), "{place}: {found:?}");
}

#[test]
fn an_insignificant_vertex_follows_a_significant_one() {
    // The soft vertex has the second rank, and the seventh, which is beyond four vertices.
    let cases =
        [(vec![40.0, 40.2], 4, 2), (vec![40.0, 70.0, 100.0, 130.0, -70.0, -100.0], 4, 4), (vec![40.0, 40.2], 1, 1)];
    for (straight, peaks, vertices) in cases {
        let roi = event(&straight);
        let mut answers = Vec::new();
        for (name, engine) in engines() {
            let place = format!("{name}, {straight:?}, {peaks} peaks");
            let finder = ZFinder::builder(Detector::generic()).config(auto(peaks)).engine(engine.clone()).build();
            let finder = finder.unwrap_or_else(|error| panic!("{name}: {error}"));
            let found = find_one(&place, &finder, &roi);
            assert_soft_vertex_first(&place, &found, vertices);
            if fixed_engines().iter().any(|(fixed, _)| *fixed == name) {
                answers.push(bits(&found));
            }
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{straight:?}: {answers:?}");
    }
}
