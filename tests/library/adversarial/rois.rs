//! RoIs that are hard to answer, with their expected answers.

use std::f64::consts::PI;

use zfinder::{PhiWindow, Roi, Spacepoint, Status};
use zfinder_testing::toy::{Toy, between};

use super::{Hostile, Known, SLICE, point, roi, window};

/// Returns phi, and its neighbours in f64 and in f32.
fn around(phi: f64) -> [f64; 5] {
    let single = phi as f32;
    [phi, phi.next_up(), phi.next_down(), f64::from(single.next_up()), f64::from(single.next_down())]
}

/// Returns straight tracks from z = 3 mm at and around these azimuths, with five spacepoints each.
fn tracks_at(azimuths: impl IntoIterator<Item = f64>) -> Vec<Spacepoint> {
    let layers = [50.5, 88.5, 122.5, 299.0, 371.0].into_iter().zip(0..);
    let each = |(i, phi): (usize, f64)| layers.clone().map(move |(rho, layer)| (i, phi, rho, layer));
    let all = azimuths.into_iter().flat_map(around).enumerate().flat_map(each);
    all.map(|(i, phi, rho, layer)| point(rho, phi, 3.03 + rho * (0.1 * (i % 7) as f64 - 0.3), layer)).collect()
}

/// Returns a spacepoint at a random position in a window of 0.3 rad.
fn anywhere(rng: &mut fastrand::Rng, layer: u32) -> Spacepoint {
    point(between(rng, 30.0, 600.0), between(rng, 0.0, 0.3), between(rng, -300.0, 300.0), layer)
}

/// Returns valid RoIs.
pub(super) fn hostile() -> Vec<Hostile> {
    let rng = &mut fastrand::Rng::with_seed(7);
    let event = Toy { window: Some((0.7, 0.5)), ..Toy::default() }.event(rng, 0).roi;
    let event = Hostile { name: "an event", roi: event, known: Known::Alike };
    [vec![event], concentrated(rng), on_edges(), at_ends_of_ranges()].concat()
}

/// Returns RoIs whose spacepoints share a slice, a layer, a bin or a radius.
fn concentrated(rng: &mut fastrand::Rng) -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name, known, roi| all.push(Hostile { name, roi, known });
    let narrow = || window(0.0, 0.3);
    let one_slice = (0..300u32).map(|i| Spacepoint { phi: 0.1 * SLICE, ..anywhere(rng, i % 19) }).collect();
    add("one slice", Known::Alike, roi(narrow(), one_slice));
    let one_layer = (0..300).map(|_| anywhere(rng, 3)).collect();
    add("one layer", Known::Is(Status::NoPeak), roi(narrow(), one_layer));
    let one_bin = (0..240u32).map(|i| point(50.0 + 3.0 * f64::from(i), 0.001 * f64::from(i / 12), 33.07, i % 12));
    add("one bin", Known::Alike, roi(narrow(), one_bin.collect()));
    let twelve: Vec<_> = (0..12u32).map(|i| anywhere(rng, i % 6)).map(|s| Spacepoint { phi: 0.1, ..s }).collect();
    add("each 60 times", Known::Alike, roi(narrow(), twelve.repeat(60)));
    let equal_rho = (0..90u32).map(|i| Spacepoint { rho: 100.0, ..anywhere(rng, i % 4) }).collect();
    add("equal rho", Known::Is(Status::NoPeak), roi(narrow(), equal_rho));
    let pixels_equal =
        (0..90u32).map(|i| Spacepoint { rho: if i % 4 < 3 { 88.5 } else { 299.0 }, ..anywhere(rng, i % 4) });
    add("equal rho of three layers", Known::Alike, roi(narrow(), pixels_equal.collect()));
    let nearly = (0..60u32).map(|i| point(100.0 + 1e-5 * f64::from(i), 0.01, 1e-3 * f64::from(i % 7), i % 4)).collect();
    add("nearly equal rho", Known::BeyondF32, roi(narrow(), nearly));

    // Counts that exceed a packed word of a workgroup.
    add("2,048 in a bin", Known::Alike, crossing(narrow(), 64, 32));
    add("70,000 in a bin", Known::Alike, crossing(narrow(), 250, 280));
    all
}

/// Returns tracks on the edges of slices, windows and the circle: twelve, including the first and
/// the last edge.
fn on_edges() -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name, known, roi| all.push(Hostile { name, roi, known });
    let narrow = || window(0.0, 0.3);
    let edges = |low: f64, every: u32| (0..=12).map(move |i| low + f64::from(i * every) * SLICE);
    add("edges of slices", Known::Alike, roi(narrow(), tracks_at(edges(0.0, 7))));
    add("edges of slices, of the circle", Known::Alike, roi(Some(PhiWindow::FullScan), tracks_at(edges(-PI, 150))));
    let ends = [PI, -PI, PI - SLICE, SLICE - PI, 0.0, -0.0];
    add("+-pi in full scan", Known::Alike, roi(Some(PhiWindow::FullScan), tracks_at(ends)));
    add(
        "+-pi in a window across it",
        Known::Alike,
        roi(window(3.0, -3.0), tracks_at(ends.into_iter().chain([3.0, -3.0]))),
    );
    add("a window that ends at pi", Known::Alike, roi(window(3.0, PI), tracks_at(ends.into_iter().chain([3.0, -3.0]))));
    add("a window from -pi on", Known::Alike, roi(window(-PI, -3.0), tracks_at(ends.into_iter().chain([3.0, -3.0]))));
    add("edges of a window", Known::Alike, roi(window(-0.1, 0.1), tracks_at([-0.1, 0.1, 0.0, -0.0])));
    add("own window of both signs", Known::Alike, roi(Some(PhiWindow::FromSpacepoints), tracks_at([-0.2, 0.2, 0.0])));
    add("own window across pi", Known::Alike, roi(Some(PhiWindow::FromSpacepoints), tracks_at([PI, -PI, 3.1, -3.1])));
    add("own window of a single azimuth", Known::Alike, roi(Some(PhiWindow::FromSpacepoints), tracks_at([0.3; 3])));
    add("a window narrower than a slice", Known::Alike, roi(window(0.1, 0.1001), tracks_at([0.1, 0.10005, 0.1001])));
    let turned = tracks_at([0.1, 0.11]).into_iter().map(|s| Spacepoint { phi: s.phi + 8.0 * PI, ..s }).collect();
    add("turned four times", Known::Alike, roi(narrow(), turned));
    let far_turned = tracks_at([0.1]).into_iter().map(|s| Spacepoint { phi: 1e300, ..s }).collect();
    add("phi of 1e300", Known::Alike, roi(Some(PhiWindow::FullScan), far_turned));
    all
}

/// Returns RoIs with z and rho at both ends of their valid ranges.
fn at_ends_of_ranges() -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name, known, roi| all.push(Hostile { name, roi, known });
    let narrow = || window(0.0, 0.3);
    for z in [
        1e6,
        -1e6,
        1e9,
        -1e9,
        200.1,
        -200.1,
        200.0,
        -200.0,
        199.9,
        0.1,
        -0.0,
        f64::MIN_POSITIVE,
        5e-324,
        f64::from(f32::MIN_POSITIVE),
    ] {
        let inside = z.abs() < 200.0;
        let line = [50.5, 88.5, 122.5, 299.0].into_iter().zip(0..).map(|(rho, layer)| point(rho, 0.01, z, layer));
        let known = if inside { Known::Alike } else { Known::Is(Status::NoPeak) };
        let known = if z.abs() == 200.0 { Known::OnAnEdge } else { known };
        add("z on one line", known, roi(narrow(), line.collect()));
    }
    for rho in [1e-6, 1e-3, 1.0, 1e6, 1e9] {
        let line =
            (0..5u32).map(|layer| point(rho * (1.0 - 0.1 * f64::from(4 - layer)).max(1e-6 / rho), 0.01, 1.5, layer));
        add("rho of one size", Known::Alike, roi(narrow(), line.collect()));
    }
    let sizes = [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9].into_iter().zip(0..).map(|(rho, layer)| point(rho, 0.01, 1.5, layer));
    add("rho of all sizes", Known::Alike, roi(narrow(), sizes.collect()));
    all
}

/// Returns spacepoints on the two ends of a line: all pairs are in one bin.
fn crossing(window: Option<PhiWindow>, inner: usize, outer: usize) -> Roi {
    let on = |layer: u32, count| vec![point(50.0 * f64::from(layer + 1), 0.5 * SLICE, 3.15, layer); count];
    roi(window, [on(0, inner), on(1, outer)].concat())
}

/// Returns RoIs with an invalid spacepoint among valid ones.
pub(super) fn bad() -> Vec<Hostile> {
    let rng = &mut fastrand::Rng::with_seed(8);
    let good = Toy { tracks: 5, noise: 5, window: Some((0.7, 0.2)), ..Toy::default() }.event(rng, 0).roi;
    let mut all = vec![Hostile { name: "an event", roi: good.clone(), known: Known::Alike }];
    let mut add_bad = |name, bad: Spacepoint| {
        let mut with = good.clone();
        with.spacepoints.insert(40, bad);
        all.push(Hostile { name, roi: with, known: Known::Is(Status::BadSpacepoint) });
    };
    for nonsense in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        add_bad("rho that is no number", point(nonsense, 0.7, 1.0, 0));
        add_bad("phi that is no number", point(50.5, nonsense, 1.0, 0));
        add_bad("z that is no number", point(50.5, 0.7, nonsense, 0));
    }
    for far in [1e9f64.next_up(), 1e30, f64::from(f32::MAX), f64::MAX] {
        add_bad("z too far", point(50.5, 0.7, far, 0));
        add_bad("z too far back", point(50.5, 0.7, -far, 0));
        add_bad("rho too far", point(far, 0.7, 0.0, 0));
    }
    for near in [0.0, -0.0, -50.5, 1e-6f64.next_down(), f64::MIN_POSITIVE, 5e-324] {
        add_bad("rho too small", point(near, 0.7, 0.0, 0));
    }
    for layer in [19, 63, 64, 254, 255, 256, 1 << 24, u32::MAX] {
        add_bad("a layer that there is not", point(50.5, 0.7, 0.0, layer));
    }
    // A bad spacepoint far outside the window counts too.
    add_bad("a bad one outside of the window", point(50.5, -2.0, f64::NAN, 0));
    all
}
