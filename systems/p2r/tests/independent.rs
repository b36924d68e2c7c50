//! Fits against the truth; against a plain Kalman filter that shares no formula with the engines:
//! its helices cross radii and planes in closed form, and its Jacobians are finite differences; and
//! against the published formulas, written for this test.

// Each program of tests uses a part of it.
#[allow(dead_code)]
mod forward;

use std::f64::consts::{PI, TAU};

use p2r::{
    Batch, Engine, FIELD, Fitted, Fitter, Formulas, Hit, Layout, Mode, PERIGEE, PULLS, Perigee, Quality, Simulation,
    Spread, Track, pulls,
};

const LAYERS: usize = 20;

fn layout(tracks: usize) -> Layout {
    Layout { events: 1, tracks, layers: LAYERS, bsize: 16 }
}

fn helices(seed: u64, tracks: usize) -> (Batch<f64>, Vec<[f64; 6]>) {
    let simulation = Simulation { layout: layout(tracks), spread: Spread::Helices, seed, ..Simulation::default() };
    simulation.simulate_with_truth().expect("a batch")
}

fn fit(batch: &Batch<f64>) -> Fitted<f32> {
    let narrow: Batch<f32> = batch.relaid(16, batch.layout().layers).expect("the same");
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

/// Returns the state where the helix of a state crosses the plane of a disk.
fn at_plane(state: &[f64; 6], charge: f64, plane: f64) -> [f64; 6] {
    let [x, y, z, ipt, phi, theta] = *state;
    let k = -charge / (ipt * 0.002_997_924_58 * FIELD);
    let turned = (plane - z) * theta.tan() / k;
    let after = phi + turned;
    [x + k * (after.sin() - phi.sin()), y - k * (after.cos() - phi.cos()), plane, ipt, after, theta]
}

/// Returns the state where the helix of a state crosses the surface of a hit.
fn at_hit(state: &[f64; 6], charge: f64, hit: &Hit) -> [f64; 6] {
    match hit.cov[5] == 0.0 {
        true => at_plane(state, charge, hit.pos[2]),
        false => at_radius(state, charge, hit.pos[0].hypot(hit.pos[1])),
    }
}

type Matrix = [[f64; 6]; 6];

fn jacobian(state: &[f64; 6], charge: f64, hit: &Hit) -> Matrix {
    let mut j = [[0.0; 6]; 6];
    for (n, step) in [1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 1e-6].into_iter().enumerate() {
        let moved = |by: f64| {
            let mut moved = *state;
            moved[n] += by;
            at_hit(&moved, charge, hit)
        };
        let (high, low) = (moved(step), moved(-step));
        (0..6).for_each(|row| j[row][n] = (high[row] - low[row]) / (2.0 * step));
    }
    j
}

/// Returns j cov j^T.
fn transported(j: &Matrix, cov: &Matrix) -> Matrix {
    let entry = |row: usize, column: usize| -> f64 {
        (0..36).map(|n| j[row][n / 6] * cov[n / 6][n % 6] * j[column][n % 6]).sum()
    };
    std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)))
}

fn covariance(track: &Track) -> Matrix {
    let entry = |i: usize, j: usize| track.cov[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

/// The Kalman filter: dense matrices, an update across the direction from the beam and another one
/// along the beam, or on a disk along that direction.
fn plain(track: &Track, hits: &[Hit]) -> ([f64; 6], Matrix) {
    let (mut state, mut cov) = (track.par, covariance(track));
    for hit in hits {
        let radius = hit.pos[0].hypot(hit.pos[1]);
        let j = jacobian(&state, track.charge, hit);
        state = at_hit(&state, track.charge, hit);
        cov = transported(&j, &cov);
        // Two updates one after the other, because the errors of hits along and across do not
        // correlate.
        let (sin, cos) = (hit.pos[1] / radius, hit.pos[0] / radius);
        let noise = |[a, b]: [f64; 2]| a * a * hit.cov[0] + 2.0 * a * b * hit.cov[1] + b * b * hit.cov[2];
        let across = ([-sin, cos, 0.0, 0.0, 0.0, 0.0], noise([-sin, cos]));
        let along = match hit.cov[5] == 0.0 {
            true => ([cos, sin, 0.0, 0.0, 0.0, 0.0], noise([cos, sin])),
            false => ([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], hit.cov[5]),
        };
        for (h, noise) in [across, along] {
            let ph: [f64; 6] = std::array::from_fn(|i| (0..6).map(|n| cov[i][n] * h[n]).sum());
            let s = noise + (0..6).map(|n| h[n] * ph[n]).sum::<f64>();
            let residual: f64 = (0..3).map(|n| h[n] * (hit.pos[n] - state[n])).sum();
            (0..6).for_each(|i| state[i] += ph[i] * residual / s);
            (0..36).for_each(|n| cov[n / 6][n % 6] -= ph[n / 6] * ph[n % 6] / s);
        }
    }
    (state, cov)
}

/// Parameters agree within 0.05 of their errors, and errors within 1 %. The direction of
/// measurement of the engines is the mean of hit and track, and the plain filter's is the hit's.
#[test]
fn a_plain_filter_agrees() {
    let (batch, _) = helices(77, 150);
    agrees(&batch, &fit(&batch), [0.05, 0.01]);
}

/// Holds states to the plain filter's: parameters in their errors, and errors in parts of them.
fn agrees(batch: &Batch<f64>, fitted: &Fitted<f32>, most: [f64; 2]) {
    let Layout { tracks, layers, .. } = batch.layout();
    let mut worst = [0.0_f64; 2];
    for i in 0..tracks {
        let hits: Vec<Hit> = (0..layers).map(|layer| batch.hit(0, i, layer)).collect();
        let (state, cov) = plain(&batch.track(0, i), &hits);
        let found = fitted.state(0, i);
        assert!(fitted.status(0, i).is_ok(), "track {i}: {}", fitted.status(0, i));
        let off = pulls(&found, &state);
        worst[0] = off.into_iter().map(f64::abs).fold(worst[0], f64::max);
        for (variance, n) in [(11, 2), (15, 3), (20, 4), (26, 5)] {
            worst[1] = worst[1].max(((found[variance] / cov[n][n]).sqrt() - 1.0).abs());
        }
    }
    assert!(worst[0] < most[0], "parameters are off by {} of their errors", worst[0]);
    assert!(worst[1] < most[1], "errors are off by {}", worst[1]);
}

/// With cylinders the tolerances are those above.
#[test]
fn a_plain_filter_agrees_on_disks() {
    for (layers, most) in [(12, [0.05, 0.01]), (2, [0.02, 1e-3])] {
        let (batch, _) = forward::batch(79, Layout { events: 1, tracks: 150, layers, bsize: 16 });
        agrees(&batch, &fit(&batch), most);
    }
}

/// The pulls of sound input have no bias and unit width, and chi2 has its degrees of freedom.
#[test]
fn pulls_are_of_unit_width() {
    let disks = |layers: usize| forward::batch(80, Layout { events: 1, tracks: 4000, layers, bsize: 16 });
    // Cylinders; disks and cylinders; disks alone, where the second pull is the radius's.
    for (batch, truth) in [helices(78, 4000), disks(12), disks(2)] {
        has_sound_pulls(&batch, &truth);
    }
}

fn has_sound_pulls(batch: &Batch<f64>, truth: &[[f64; 6]]) {
    has_sound_pulls_of(&fit(batch), batch, truth);
}

fn has_sound_pulls_of(fitted: &Fitted<f32>, batch: &Batch<f64>, truth: &[[f64; 6]]) {
    let tracks = batch.layout().tracks;
    let quality = Quality::of(fitted, Mode::Sequential, tracks, Some(truth));
    assert!(quality.tracks as usize * 1000 > 997 * tracks, "{quality:?}");
    assert_eq!((quality.pulls.len(), quality.hits), (PULLS, batch.layout().layers as f64));
    for (name, pull) in p2r::PULL_NAMES.iter().zip(&quality.pulls) {
        assert!(pull.mean.abs() < 0.1 && (pull.spread - 1.0).abs() < 0.1, "{name}: {quality:?}");
    }
    assert!((quality.chi2_per_ndf.expect("chi2") - 1.0).abs() < 0.05, "{quality:?}");
}

const BARRELS: [f64; 10] = [3.2, 7.2, 11.6, 17.2, 26.0, 36.0, 50.0, 66.0, 82.0, 102.0];

/// Returns a helix from the beam line that scatters in 2 % of a radiation length at each barrel:
/// its true states there, and its true parameters at the beam line.
fn scattering_helix(rng: &mut fastrand::Rng) -> (Vec<[f64; 6]>, [f64; PERIGEE], f64) {
    let charge = if rng.bool() { 1.0 } else { -1.0 };
    let (pt, phi) = (0.8 + 2.0 * rng.f64(), TAU * rng.f64() - PI);
    let theta = PI / 2.0 + (2.0 * rng.f64() - 1.0).sinh().atan();
    let p: f64 = pt / theta.sin();
    let beta = p / p.hypot(0.139_570_39);
    // At the beam line both crossings are equally near.
    let mut state = [1e-9 * phi.cos(), 1e-9 * phi.sin(), 0.0, 1.0 / pt, phi, theta];
    let states = BARRELS.map(|radius| {
        let at = at_radius(&state, charge, radius);
        // The path in the layer is longer where the track does not cross it straight on.
        let [x, y, .., phi, theta] = at;
        let straight = (x * phi.cos() + y * phi.sin()) / radius * theta.sin();
        let lengths: f64 = 0.02 / straight;
        let angle = 0.0136 / (beta * p) * lengths.sqrt() * (1.0 + 0.038 * lengths.ln());
        state = at;
        state[4] += angle * forward::normal(rng) / theta.sin();
        state[5] += angle * forward::normal(rng);
        state[3] = 1.0 / (p * state[5].sin());
        at
    });
    (states.to_vec(), [0.0, 0.0, phi, theta, charge / p], charge)
}

/// Tracks that scatter have sound pulls, at the last hit and at the beam line, if the fit knows the
/// material.
#[test]
fn scattering_is_in_the_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("detector.toml");
    let layer = |radius: f64| {
        format!("[[layer]]\nkind = \"barrel\"\nradius_mm = {}\nradiation_lengths = 0.02\n", 10.0 * radius)
    };
    std::fs::write(&file, BARRELS.map(layer).concat()).expect("written");
    let material = p2r::io::Material::read(&file).expect("a detector");
    let tracks = 1500;
    let mut rng = fastrand::Rng::with_seed(17);
    let layout = Layout { events: 1, tracks, layers: BARRELS.len(), bsize: 16 };
    let mut batch = Batch::<f64>::new(layout).expect("a batch");
    let (mut ends, mut perigees, mut charges) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..tracks {
        let (states, perigee, charge) = scattering_helix(&mut rng);
        let (start, hits) = forward::measured(states.iter().rev().map(|&state| (state, false)), charge, &mut rng);
        batch.set_track(0, i, &start);
        hits.iter().enumerate().for_each(|(layer, hit)| batch.set_hit(0, i, layer, hit));
        ends.push(states[0]);
        perigees.push(perigee);
        charges.push(charge);
    }
    let blind = Quality::of(&fit(&batch), Mode::Sequential, tracks, Some(&ends));
    assert!(blind.chi2_per_ndf > Some(2.0), "{blind:?}");
    assert_eq!(material.set(&mut batch).expect("room"), 0);
    let fitted = fit(&batch);
    has_sound_pulls_of(&fitted, &batch, &ends);
    let mut widths = [0.0; PERIGEE];
    for (found, truth) in Perigee::all(&batch, &fitted, &charges).iter().zip(&perigees) {
        for n in 0..PERIGEE {
            let off = found.par[n] - truth[n];
            let off = if n == 2 { (off + PI).rem_euclid(TAU) - PI } else { off };
            widths[n] += (off / found.errors()[n]).powi(2) / tracks as f64;
        }
    }
    assert!(widths.iter().all(|width| (width.sqrt() - 1.0).abs() < 0.1), "{:?}", widths.map(f64::sqrt));
}

/// The published step to a radius: the path and its derivatives by the published recurrences, and
/// the helix and its other derivatives in closed form and by differences.
fn published(state: &[f64; 6], charge: f64, radius: f64) -> ([f64; 6], Matrix) {
    let k = -charge / (0.002_997_924_58 * FIELD);
    let moved = |[x, y, z, ipt, phi, theta]: [f64; 6], path: f64| {
        let (a, r) = (path * ipt / k, k / ipt);
        [
            x + r * ((phi + a).sin() - phi.sin()),
            y - r * ((phi + a).cos() - phi.cos()),
            z + path / theta.tan(),
            ipt,
            phi + a,
            theta,
        ]
    };
    let ipt = state[3];
    let start = state[0].hypot(state[1]);
    let (mut path, mut slopes) = (0.0, [-state[0] / start, -state[1] / start, 0.0, 0.0]);
    for step in 0..5 {
        let [x, y, _, _, phi, _] = moved(*state, path);
        let r0 = x.hypot(y);
        let d = radius - r0;
        path += d;
        if step < 4 && d.abs() < 1e-4 {
            let (o, a) = (1.0 / r0, d * ipt / k);
            let (px, py) = (phi.cos() / ipt, phi.sin() / ipt);
            let (s, c) = a.sin_cos();
            let (u, v) = (px * c - py * s, py * c + px * s);
            let (ax, ay) = (-x * ipt * o / k, -y * ipt * o / k);
            slopes[0] -= (x * (1.0 + k * ax * u) + y * k * ax * v) * o;
            slopes[1] -= (x * k * ay * u + y * (1.0 + k * ay * v)) * o;
            slopes[2] -= k / ipt * o * (x * (a * u - v + py) + y * (a * v + u - px));
            slopes[3] += k * o * (x * (py * s - px + px * c) - y * (px * s - py + py * c));
        }
    }
    // Of the path with respect to the state; theta and z do not change it.
    let path_slopes = [slopes[0], slopes[1], 0.0, slopes[2], slopes[3], 0.0];
    let mut j = [[0.0; 6]; 6];
    let difference = |high: [f64; 6], low: [f64; 6], step: f64| -> [f64; 6] {
        std::array::from_fn(|row| (high[row] - low[row]) / (2.0 * step))
    };
    let along = difference(moved(*state, path + 1e-4), moved(*state, path - 1e-4), 1e-4);
    for n in 0..6 {
        let by = |step: f64| {
            let mut other = *state;
            other[n] += step;
            moved(other, path)
        };
        let column = difference(by(1e-5), by(-1e-5), 1e-5);
        (0..6).for_each(|row| j[row][n] = column[row] + along[row] * path_slopes[n]);
    }
    (moved(*state, path), j)
}

/// The filter of the published formulas: the step above, and an update across the mean direction to
/// hit and track and along the beam.
fn published_filter(track: &Track, hits: &[Hit], mode: Mode) -> ([f64; 6], Matrix) {
    let (mut state, mut cov) = (track.par, covariance(track));
    for hit in hits {
        if mode == Mode::SeedState {
            (state, cov) = (track.par, covariance(track));
        }
        let radius = hit.pos[0].hypot(hit.pos[1]);
        let (at, j) = published(&state, track.charge, radius);
        (state, cov) = (at, transported(&j, &cov));
        let r = [-(hit.pos[1] + state[1]) / (2.0 * radius), (hit.pos[0] + state[0]) / (2.0 * radius)];
        let p = cov;
        let ph: [[f64; 2]; 6] = std::array::from_fn(|i| [r[0] * p[i][0] + r[1] * p[i][1], p[i][2]]);
        let v = hit.cov;
        let s00 = r[0] * (ph[0][0] + r[0] * v[0] + r[1] * v[1]) + r[1] * (ph[1][0] + r[0] * v[1] + r[1] * v[2]);
        let (s01, s11) = (ph[2][0] + r[0] * v[3] + r[1] * v[4], ph[2][1] + v[5]);
        let det = s00 * s11 - s01 * s01;
        let gain = ph.map(|[a, b]| [(a * s11 - b * s01) / det, (b * s00 - a * s01) / det]);
        let residual = [r[0] * (hit.pos[0] - state[0]) + r[1] * (hit.pos[1] - state[1]), hit.pos[2] - state[2]];
        for i in 0..6 {
            state[i] += gain[i][0] * residual[0] + gain[i][1] * residual[1];
            (0..6).for_each(|n| cov[i][n] -= gain[i][0] * ph[n][0] + gain[i][1] * ph[n][1]);
        }
    }
    (state, cov)
}

/// On fresh helices the reference engine with [`Formulas::P2r`] has the published formulas' states
/// and errors, in both modes. The engine takes series for sines of small angles, which also moves
/// steps across the bound of small steps.
#[test]
fn the_published_formulas_agree() {
    let tracks = 60;
    let (batch, _) = helices(81, tracks);
    for mode in [Mode::Sequential, Mode::SeedState] {
        let builder = Fitter::builder().engine(Engine::Reference).formulas(Formulas::P2r).mode(mode);
        let fitted = builder.build::<f64>().expect("the reference").fit(&batch).expect("fitted");
        // From the outermost radius to the innermost the angle of slow tracks is no small one.
        let is_apt = |i: &usize| mode == Mode::Sequential || batch.track(0, *i).par[3] < 0.1;
        let chosen: Vec<usize> = (0..tracks).filter(is_apt).collect();
        assert!(chosen.len() > 5);
        for i in chosen {
            let hits: Vec<Hit> = (0..LAYERS).map(|layer| batch.hit(0, i, layer)).collect();
            let (state, cov) = published_filter(&batch.track(0, i), &hits, mode);
            let found = fitted.state(0, i);
            let off = pulls(&found, &state).map(f64::abs).into_iter().fold(0.0, f64::max);
            assert!(off < 0.05, "{mode:?}, track {i}: {off} of the errors");
            for (variance, n) in [(11, 2), (15, 3), (20, 4), (26, 5)] {
                let off = (found[variance] / cov[n][n]).sqrt() - 1.0;
                assert!(off.abs() < 5e-3, "{mode:?}, track {i}, error {n}: off by {off}");
            }
        }
    }
}
