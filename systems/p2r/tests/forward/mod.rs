//! Helices that cross disks and then cylinders, from the outside to the beam, in closed form.

use std::f64::consts::{PI, TAU};

use p2r::{Batch, FIELD, Hit, Layout, Track};

/// Errors of hits \[cm\]: across the direction from the beam, and along it on disks or along the
/// beam on cylinders.
pub(crate) const ERRORS: [f64; 2] = [0.003, 0.02];
/// Errors of the start: across, z, part of 1/pt, phi and theta.
const START: [f64; 5] = [0.02, 0.1, 0.02, 0.002, 0.002];

/// A helix from the beam line.
pub(crate) struct Helix {
    pub(crate) charge: f64,
    pub(crate) pt: f64,
    phi: f64,
    theta: f64,
    z0: f64,
}

impl Helix {
    /// Returns a helix with |eta| from 1 to 2.5.
    pub(crate) fn random(rng: &mut fastrand::Rng) -> Self {
        let side = if rng.bool() { 1.0 } else { -1.0 };
        Self {
            charge: if rng.bool() { 1.0 } else { -1.0 },
            pt: 10.0_f64.powf(rng.f64()),
            phi: rng.f64() * TAU - PI,
            theta: PI / 2.0 - side * (1.0 + 1.5 * rng.f64()).sinh().atan(),
            z0: 2.0 * normal(rng),
        }
    }

    /// Returns the state where the helix has gone a path across the beam.
    fn at(&self, path: f64) -> [f64; 6] {
        // Above zero, phi grows along the path.
        let radius = -self.charge * self.pt / (0.002_997_924_58 * FIELD);
        let phi = self.phi + path / radius;
        [
            radius * (phi.sin() - self.phi.sin()),
            -radius * (phi.cos() - self.phi.cos()),
            self.z0 + path / self.theta.tan(),
            1.0 / self.pt,
            (phi + PI).rem_euclid(TAU) - PI,
            self.theta,
        ]
    }

    /// Returns the states in so many layers, two thirds of them disks, and which these are.
    pub(crate) fn crossings(&self, layers: usize) -> Vec<([f64; 6], bool)> {
        let disks = layers.div_ceil(3) * 2;
        let side = self.theta.cos().signum();
        let plane = |layer: usize| self.at((side * (160.0 - 5.0 * layer as f64) - self.z0) * self.theta.tan());
        let inner = |layer: usize| {
            let end = plane(disks);
            let radius = end[0].hypot(end[1]) * (1.0 - 0.1 * (layer + 1 - disks) as f64);
            let circle = self.pt / (0.002_997_924_58 * FIELD);
            self.at(2.0 * circle * (radius / (2.0 * circle)).asin())
        };
        (0..layers).map(|layer| if layer < disks { (plane(layer), true) } else { (inner(layer), false) }).collect()
    }
}

pub(crate) fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (TAU * rng.f64()).cos()
}

/// The covariance of x and y for errors across the direction from the beam and along it.
fn rotated(state: &[f64], across: f64, along: f64) -> [f64; 3] {
    let radius = state[0].hypot(state[1]);
    let (cos, sin) = (state[0] / radius, state[1] / radius);
    let (a, b) = (across * across, along * along);
    [sin * sin * a + cos * cos * b, sin * cos * (b - a), cos * cos * a + sin * sin * b]
}

/// Returns the smeared hit of a state.
fn hit(state: &[f64; 6], is_on_disk: bool, rng: &mut fastrand::Rng) -> Hit {
    let [across, along] = ERRORS;
    let radius = state[0].hypot(state[1]);
    let (cos, sin) = (state[0] / radius, state[1] / radius);
    let (off, more) = (across * normal(rng), along * normal(rng));
    let (radial, axial) = if is_on_disk { (more, 0.0) } else { (0.0, more) };
    let pos = [state[0] - sin * off + cos * radial, state[1] + cos * off + sin * radial, state[2] + axial];
    let [xx, yx, yy] = rotated(&pos, across, if is_on_disk { along } else { 1e-2 * across });
    Hit { pos, cov: [xx, yx, yy, 0.0, 0.0, if is_on_disk { 0.0 } else { along * along }] }
}

/// Returns the smeared start at the first of some states, and the hits of all. A state comes
/// with whether it lies on a disk.
pub(crate) fn measured(
    states: impl Iterator<Item = ([f64; 6], bool)> + Clone,
    charge: f64,
    rng: &mut fastrand::Rng,
) -> (Track, Vec<Hit>) {
    let (mut par, _) = states.clone().next().expect("a state");
    let mut cov = [0.0; 21];
    let sigma = [START[0], START[1], START[2] * par[3], START[3], START[4]];
    [cov[0], cov[1], cov[2]] = rotated(&par, sigma[0], 1e-2 * sigma[0]);
    let radius = par[0].hypot(par[1]);
    let off = sigma[0] * normal(rng);
    (par[0], par[1]) = (par[0] - par[1] / radius * off, par[1] + par[0] / radius * off);
    for n in 2..6 {
        cov[n * (n + 3) / 2] = sigma[n - 1].powi(2);
        par[n] += sigma[n - 1] * normal(rng);
    }
    (Track { par, cov, charge }, states.map(|(state, is_on_disk)| hit(&state, is_on_disk, rng)).collect())
}

/// Returns a batch of one event, and the true states at the last hits.
pub(crate) fn batch(seed: u64, layout: Layout) -> (Batch<f64>, Vec<[f64; 6]>) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut batch = Batch::new(layout).expect("a batch");
    let mut truths = Vec::new();
    for (event, i) in (0..layout.events).flat_map(|event| (0..layout.tracks).map(move |i| (event, i))) {
        let helix = Helix::random(&mut rng);
        let crossings = helix.crossings(layout.layers);
        let (start, hits) = measured(crossings.iter().copied(), helix.charge, &mut rng);
        batch.set_track(event, i, &start);
        hits.iter().enumerate().for_each(|(layer, hit)| batch.set_hit(event, i, layer, hit));
        truths.extend(crossings.last().map(|(state, _)| *state));
    }
    (batch, truths)
}
