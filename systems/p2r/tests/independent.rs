//! Fits against the truth, and against a plain Kalman filter that shares no formula with the
//! engines: its helices cross radii in closed form, and its Jacobians are finite differences.

use std::f64::consts::{PI, TAU};

use p2r::{Batch, Engine, FIELD, Fitted, Fitter, Hit, Layout, PULLS, Quality, Simulation, Spread, Track, pulls};

const LAYERS: usize = 20;

fn layout(tracks: usize) -> Layout {
    Layout { events: 1, tracks, layers: LAYERS, bsize: 16 }
}

fn helices(seed: u64, tracks: usize) -> (Batch<f64>, Vec<[f64; 6]>) {
    let simulation = Simulation { layout: layout(tracks), spread: Spread::Helices, seed, ..Simulation::default() };
    simulation.simulate_with_truth().expect("a batch")
}

fn fit(batch: &Batch<f64>) -> Fitted<f32> {
    let narrow: Batch<f32> = batch.relaid(16, LAYERS).expect("the same");
    let fitter = Fitter::builder().engine(Engine::Cpu).chi2(true).build::<f32>().expect("the CPU");
    fitter.fit(&narrow).expect("fitted")
}

/// Returns the state where the helix of a state crosses a radius, nearest to it along the path.
fn at_radius(state: &[f64; 6], charge: f64, radius: f64) -> [f64; 6] {
    let [x, y, z, ipt, phi, theta] = *state;
    // The signed radius of curvature [cm]: above zero, phi grows along the path.
    let k = -charge / (ipt * 0.002_997_924_58 * FIELD);
    // The centre of the circle, and its crossings with the radius.
    let (cx, cy) = (x - k * phi.sin(), y + k * phi.cos());
    let d = cx.hypot(cy);
    let along = (radius * radius - k * k + d * d) / (2.0 * d);
    let across = (radius * radius - along * along).sqrt();
    let crossing = |sign: f64| {
        let (ux, uy) = (cx / d, cy / d);
        let (px, py) = (along * ux - sign * across * uy, along * uy + sign * across * ux);
        // The direction is perpendicular to the way from the centre.
        let direction = ((px - cx) / k).atan2(-(py - cy) / k);
        let turned = (direction - phi + PI).rem_euclid(TAU) - PI;
        let path = k * turned;
        [px, py, z + path / theta.tan(), ipt, phi + turned, theta]
    };
    let [a, b] = [crossing(1.0), crossing(-1.0)];
    let far = |to: &[f64; 6]| (to[0] - x).hypot(to[1] - y);
    if far(&a) < far(&b) { a } else { b }
}

type Matrix = [[f64; 6]; 6];

fn jacobian(state: &[f64; 6], charge: f64, radius: f64) -> Matrix {
    let mut j = [[0.0; 6]; 6];
    for (n, step) in [1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 1e-6].into_iter().enumerate() {
        let moved = |by: f64| {
            let mut moved = *state;
            moved[n] += by;
            at_radius(&moved, charge, radius)
        };
        let (high, low) = (moved(step), moved(-step));
        (0..6).for_each(|row| j[row][n] = (high[row] - low[row]) / (2.0 * step));
    }
    j
}

/// The Kalman filter: dense matrices, an update along and across the beam.
fn plain(track: &Track, hits: &[Hit]) -> ([f64; 6], Matrix) {
    let entry = |i: usize, j: usize| track.cov[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
    let mut state = track.par;
    let mut cov: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)));
    for hit in hits {
        let radius = hit.pos[0].hypot(hit.pos[1]);
        let j = jacobian(&state, track.charge, radius);
        state = at_radius(&state, track.charge, radius);
        let old = cov;
        for (row, column) in (0..36).map(|n| (n / 6, n % 6)) {
            let terms = (0..36).map(|n| j[row][n / 6] * old[n / 6][n % 6] * j[column][n % 6]);
            cov[row][column] = terms.sum();
        }
        // Two updates one after the other, because the errors of hits along and across do not
        // correlate.
        let (sin, cos) = (hit.pos[1] / radius, hit.pos[0] / radius);
        let across = [-sin, cos, 0.0, 0.0, 0.0, 0.0];
        let noise = sin * sin * hit.cov[0] - 2.0 * sin * cos * hit.cov[1] + cos * cos * hit.cov[2];
        for (h, noise) in [(across, noise), ([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], hit.cov[5])] {
            let ph: [f64; 6] = std::array::from_fn(|i| (0..6).map(|n| cov[i][n] * h[n]).sum());
            let s = noise + (0..6).map(|n| h[n] * ph[n]).sum::<f64>();
            let residual: f64 = (0..3).map(|n| h[n] * (hit.pos[n] - state[n])).sum();
            (0..6).for_each(|i| state[i] += ph[i] * residual / s);
            (0..36).for_each(|n| cov[n / 6][n % 6] -= ph[n / 6] * ph[n % 6] / s);
        }
    }
    (state, cov)
}

/// Stated rounding: parameters within 0.7 of their errors, errors within 15 %. The mini-app's
/// derivatives of the path are those of its first step, and its direction of measurement is the
/// mean of hit and track.
#[test]
fn a_plain_filter_agrees() {
    let tracks = 150;
    let (batch, _) = helices(77, tracks);
    let fitted = fit(&batch);
    let mut worst = [0.0_f64; 2];
    for i in 0..tracks {
        let hits: Vec<Hit> = (0..LAYERS).map(|layer| batch.hit(0, i, layer)).collect();
        let (state, cov) = plain(&batch.track(0, i), &hits);
        let found = fitted.state(0, i);
        assert!(fitted.status(0, i).is_ok(), "track {i}: {}", fitted.status(0, i));
        let off = pulls(&found, &state);
        worst[0] = off.into_iter().map(f64::abs).fold(worst[0], f64::max);
        for (variance, n) in [(11, 2), (15, 3), (20, 4), (26, 5)] {
            worst[1] = worst[1].max(((found[variance] / cov[n][n]).sqrt() - 1.0).abs());
        }
    }
    assert!(worst[0] < 0.7, "parameters are off by {} of their errors", worst[0]);
    assert!(worst[1] < 0.15, "errors are off by {}", worst[1]);
}

/// The pulls of sound input have no bias and unit width, and chi2 has its degrees of freedom.
#[test]
fn pulls_are_of_unit_width() {
    let (batch, truth) = helices(78, 4000);
    let quality = Quality::of(&fit(&batch), p2r::Mode::Sequential, 4000, Some(&truth));
    assert!(quality.tracks > 3990, "{quality:?}");
    assert_eq!((quality.pulls.len(), quality.hits), (PULLS, LAYERS as f64));
    for (name, pull) in p2r::PULL_NAMES.iter().zip(&quality.pulls) {
        assert!(pull.mean.abs() < 0.1 && (pull.spread - 1.0).abs() < 0.1, "{name}: {quality:?}");
    }
    assert!((quality.chi2_per_ndf.expect("chi2") - 1.0).abs() < 0.05, "{quality:?}");
}
