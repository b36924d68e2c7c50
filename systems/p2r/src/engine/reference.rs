//! The reference engine: serial, in f64, written from the formulas. All other engines are checked
//! against it.
//!
//! A helix is propagated to a hit's cylinder or disk in closed form, with its exact Jacobian. A
//! Kalman filter updates the state with the hit. With [`Formulas::P2r`] the propagation to
//! cylinders has the formulas of the public mini-app p2r (Front. Big Data 7:1485344), which took
//! them from mkFit. Shaders: propagate/exact.wgsl, propagate/p2r.wgsl, update.wgsl,
//! surfaces/any.wgsl.

use crate::batch::{Batch, Hit, Number, PARAMETERS, STATE, Track};
use crate::engine::{Fitted, Formulas, Mode, Task};
use crate::status::{Status, UPDATE};

/// The magnetic field \[T\] in which a track of unit charge has the charge 1.
pub const FIELD: f64 = 3.8112;
/// The radius of the helix of unit charge and transverse momentum \[cm/GeV\]: 100 cm/m /
/// (0.299792458 GeV/(T m) FIELD).
pub(crate) const CURVATURE: f64 = -100.0 / (0.299_792_458 * FIELD);
/// Steps to a radius.
pub(crate) const STEPS: usize = 5;
/// \[cm\]: a step below which it corrects the derivatives of the path.
pub(crate) const SMALL_STEP: f64 = 1e-4;
/// A hit's radius is between these \[cm\].
pub(crate) const RADII: [f64; 2] = [1e-6, 1e9];
/// A radius is reached if the last step is no more than this part of it.
pub(crate) const REACHED: f64 = 1e-3;
/// The mass of a pion \[GeV\].
pub(crate) const PION: f64 = 0.139_570_39;
/// The largest angle by which a track turns on its way to a disk.
pub(crate) const MOST_TURN: f64 = std::f64::consts::PI;

pub(crate) type Matrix = [[f64; PARAMETERS]; PARAMETERS];

pub(crate) fn fit<T: Number>(batch: &Batch<T>, task: Task, fitted: &mut Fitted<T>) {
    let layout = batch.layout();
    for event in 0..layout.events {
        for i in 0..layout.tracks {
            let layers = 0..layout.layers;
            let hits: Vec<(Hit, f64)> =
                layers.map(|layer| (batch.hit(event, i, layer), batch.scattering(event, i, layer))).collect();
            let done = fit_track(&batch.track(event, i), &hits, task);
            let slot = layout.slot(event, i);
            for (n, &number) in done.state.iter().enumerate() {
                fitted.states[layout.at(slot, n, STATE)] = T::from_f64(number);
            }
            fitted.statuses[slot] = done.status.bits() + done.updates * UPDATE;
            if let Some(sum) = fitted.layer_sums.get_mut(slot) {
                *sum = T::from_f64(done.layer_sum);
            }
            if let Some(chi2) = fitted.chi2s.get_mut(slot) {
                *chi2 = T::from_f64(done.chi2);
            }
        }
    }
}

/// A fitted track.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) state: [f64; STATE],
    pub(crate) status: Status,
    pub(crate) layer_sum: f64,
    pub(crate) chi2: f64,
    pub(crate) updates: u32,
}

/// Parameters and their covariance.
#[derive(Clone, Copy, Debug)]
struct State {
    par: [f64; PARAMETERS],
    cov: Matrix,
}

impl State {
    fn of(track: &Track) -> Self {
        Self { par: track.par, cov: full(&track.cov) }
    }

    fn words(&self) -> [f64; STATE] {
        let mut words = [0.0; STATE];
        words[..PARAMETERS].copy_from_slice(&self.par);
        let entries = (0..PARAMETERS).flat_map(|i| (0..=i).map(move |j| (i, j)));
        for (word, (i, j)) in words[PARAMETERS..].iter_mut().zip(entries) {
            *word = self.cov[i][j];
        }
        words
    }
}

/// Returns the matrix of a lower triangle.
fn full(triangle: &[f64]) -> Matrix {
    let entry = |i: usize, j: usize| triangle[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

/// Returns the covariance of a state.
pub(crate) fn covariance_of(state: &[f64; STATE]) -> Matrix {
    full(&state[PARAMETERS..])
}

/// Fits a track to its hits, each with the scattering behind it.
pub(crate) fn fit_track(track: &Track, hits: &[(Hit, f64)], Task { mode, formulas, .. }: Task) -> Done {
    let seed = State::of(track);
    let came = seed.words();
    let mut done = Done { state: came, status: Status::default(), layer_sum: 0.0, chi2: 0.0, updates: 0 };
    let finite = came.iter().chain([&track.charge]).all(|number| number.is_finite());
    if !finite || [track.par[3], track.charge].iter().any(|&number| number == 0.0 || !(1.0 / number).is_finite()) {
        done.status.add(Status::BAD_TRACK);
        return done;
    }
    let mut state = seed;
    for (hit, scattering) in hits.iter().filter(|(hit, _)| !hit.is_missing()) {
        let from = if mode == Mode::SeedState { &seed } else { &state };
        let radius = hit.pos[0].hypot(hit.pos[1]);
        if !(radius > RADII[0] && radius < RADII[1]) {
            done.status.add(Status::BAD_HIT);
            continue;
        }
        let reached = match (hit.is_on_disk(), formulas) {
            (true, _) => propagate(from, track.charge, Surface::Plane(hit.pos[2])),
            (false, Formulas::Exact) => propagate(from, track.charge, Surface::Cylinder(radius)),
            (false, Formulas::P2r) => propagate_p2r(from, track.charge, radius),
        };
        let Some(mut at) = reached else {
            done.status.add(Status::UNREACHABLE);
            continue;
        };
        match update(&mut at, hit, radius) {
            Ok(chi2) => {
                done.updates += 1;
                done.chi2 = if mode == Mode::SeedState { chi2 } else { done.chi2 + chi2 };
            }
            Err(fault) => done.status.add(fault),
        }
        done.layer_sum += at.words().iter().sum::<f64>();
        state = if mode == Mode::SeedState { at } else { scatter(&at, *scattering) };
    }
    done.state = state.words();
    if done.status.is_ok() && done.updates == 0 {
        done.status.add(Status::NO_HITS);
    }
    if !done.state.iter().all(|number| number.is_finite()) {
        done.status.add(Status::NOT_FINITE);
        return Done { state: came, status: done.status, layer_sum: 0.0, chi2: 0.0, updates: 0 };
    }
    if has_negative_variance(&state) {
        done.status.add(Status::NOT_POSITIVE);
    }
    done
}

/// Returns whether a variance is below zero: of the position across the direction from the beam, of
/// z, 1/pt, phi or theta.
fn has_negative_variance(State { par, cov }: &State) -> bool {
    let [x, y, ..] = *par;
    let across = y * y * cov[0][0] - 2.0 * x * y * cov[1][0] + x * x * cov[1][1];
    across < 0.0 || (2..PARAMETERS).any(|i| cov[i][i] < 0.0)
}

/// Sine and cosine of small angles.
fn small(a: f64) -> (f64, f64) {
    let square = a * a;
    (a - 0.166_666_67 * a * square, 1.0 - 0.5 * square + 0.041_666_67 * square * square)
}

/// With the formulas of the mini-app to a radius \[cm\]; None if it is not reached.
fn propagate_p2r(from: &State, charge: f64, radius: f64) -> Option<State> {
    let [x, y, z, ipt, phi, theta] = from.par;
    let k = charge * CURVATURE;
    let pt = 1.0 / ipt;
    let (cos_phi, sin_phi) = (phi.cos(), phi.sin());
    let (mut px, mut py) = (pt * cos_phi, pt * sin_phi);
    let (mut xx, mut yy) = (x, y);
    // The path, and its derivatives with respect to x, y, 1/pt and phi.
    let mut path = 0.0;
    let start = x.hypot(y);
    let (mut dx, mut dy) = if start == 0.0 { (0.0, 0.0) } else { (-x / start, -y / start) };
    let (mut di, mut dphi) = (0.0, 0.0);
    for step in 0..STEPS {
        let r0 = xx.hypot(yy);
        let d = radius - r0;
        path += d;
        let a = d * ipt / k;
        let (s, c) = small(a);
        if step + 1 < STEPS {
            let o = if d.abs() < SMALL_STEP { 1.0 / r0 } else { 0.0 };
            let (ax, ay) = (-xx * ipt * o / k, -yy * ipt * o / k);
            let (u, v) = (px * c - py * s, py * c + px * s);
            let t = (d / k) * ipt;
            dx -= (xx * (1.0 + k * ax * u) + yy * k * ax * v) * o;
            dy -= (xx * k * ay * u + yy * (1.0 + k * ay * v)) * o;
            di -= k * pt * o * (xx * (t * u - py * c - px * s + py) + yy * (t * v - py * s + px * c - px));
            dphi += k * o * (xx * (py * s - px + px * c) - yy * (px * s - py + py * c));
        }
        xx += k * (px * s - py * (1.0 - c));
        yy += k * (py * s + px * (1.0 - c));
        (px, py) = (px * c - py * s, py * c + px * s);
    }
    let is_reached = (radius - xx.hypot(yy)).abs() <= REACHED * radius;
    if !is_reached {
        return None;
    }
    let a = path * ipt / k;
    let (ax, ay, ai, aphi) = (dx * ipt / k, dy * ipt / k, (ipt * di + path) / k, dphi * ipt / k);
    let (s, c) = small(a);
    let (cc, ss) = (cos_phi, sin_phi);
    let cot = theta.cos() / theta.sin();
    let mut j: Matrix = std::array::from_fn(|i| std::array::from_fn(|n| f64::from(u8::from(i == n))));
    j[0][0] = 1.0 + k * ax * pt * (cc * c - ss * s);
    j[0][1] = k * ay * pt * (cc * c - ss * s);
    j[0][3] = k * pt * pt * (cc * (ipt * ai * c - s) + ss * ((1.0 - c) - ipt * ai * s));
    j[0][4] = k * pt * (cc * aphi * c - ss * aphi * s - ss * s + cc * c - cc);
    j[1][0] = k * ax * pt * (ss * c + cc * s);
    j[1][1] = 1.0 + k * ay * pt * (ss * c + cc * s);
    j[1][3] = k * pt * pt * (ss * (ipt * ai * c - s) + cc * (ipt * ai * s - (1.0 - c)));
    j[1][4] = k * pt * (ss * aphi * c + cc * aphi * s + ss * c + cc * s - ss);
    j[2][0] = k * ax * pt * cot;
    j[2][1] = k * ay * pt * cot;
    j[2][3] = k * pt * pt * cot * (ipt * ai - a);
    j[2][4] = k * aphi * pt * cot;
    j[2][5] = -k * a * pt / (theta.sin() * theta.sin());
    j[4][0] = ax;
    j[4][1] = ay;
    j[4][3] = ai;
    j[4][4] = 1.0 + aphi;
    let turned = product(&product(&j, &from.cov), &transposed(&j));
    Some(State { par: [xx, yy, z + k * a * pt * cot, ipt, phi + a, theta], cov: turned })
}

/// A surface that a helix crosses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Surface {
    /// A cylinder around the beam: its radius \[cm\].
    Cylinder(f64),
    /// A plane across the beam: its z \[cm\].
    Plane(f64),
    /// The plane through the beam line and the point of the helix that is closest to it.
    Perigee,
}

impl Surface {
    /// Returns the way along the helix to the surface, across the beam \[cm\], at the nearest
    /// crossing within half a turn. `bend` is the curvature: the turn of the direction per way.
    fn path(self, [x, y, z, _, phi, theta]: [f64; PARAMETERS], bend: f64) -> Option<f64> {
        match self {
            Self::Plane(plane) => {
                let path = (plane - z) * theta.tan();
                ((path * bend).abs() < MOST_TURN).then_some(path)
            }
            Self::Perigee => {
                let (along, across) = (x * phi.cos() + y * phi.sin(), x * phi.sin() - y * phi.cos());
                let angle = -(along * bend).atan2(1.0 - across * bend);
                Some(if angle == 0.0 { -along } else { angle / bend })
            }
            Self::Cylinder(radius) => {
                // Components of the position along and across the direction, here and there.
                let growth = radius * radius - x * x - y * y;
                let along = x * phi.cos() + y * phi.sin();
                let across = x * phi.sin() - y * phi.cos() + bend * growth / 2.0;
                let there = ((radius - across) * (radius + across)).sqrt();
                // A track near the beam goes forward.
                let is_near = 2.0 * x.hypot(y) < radius;
                let there = if along >= 0.0 || is_near { there } else { -there };
                let straight = growth / (along + there);
                let angle = 2.0 * (bend * straight / 2.0).atan();
                let is_reached = there * (along + there) > 0.0;
                is_reached.then_some(if angle == 0.0 { straight } else { angle / bend })
            }
        }
    }

    /// Returns the derivatives of the surface's equation with respect to the state.
    fn normal(self, [x, y, _, _, phi, _]: [f64; PARAMETERS]) -> [f64; PARAMETERS] {
        match self {
            // At right angles: x cos(phi) + y sin(phi) = 0.
            Self::Perigee => [phi.cos(), phi.sin(), 0.0, 0.0, y * phi.cos() - x * phi.sin(), 0.0],
            Self::Cylinder(_) => [x, y, 0.0, 0.0, 0.0, 0.0],
            Self::Plane(_) => [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        }
    }
}

/// Returns the parameters where a helix crosses a surface, and their Jacobian; None if it does not.
pub(crate) fn cross(from: [f64; PARAMETERS], charge: f64, surface: Surface) -> Option<([f64; PARAMETERS], Matrix)> {
    let [x, y, z, ipt, phi, theta] = from;
    let bend = ipt / (charge * CURVATURE);
    let path = surface.path(from, bend)?;
    let (cot, angle) = (1.0 / theta.tan(), path * bend);
    let direction = [(phi + angle).cos(), (phi + angle).sin()];
    // The chord, without cancellation: its length, and its mean direction.
    let chord = path * if angle == 0.0 { 1.0 } else { (angle / 2.0).sin() / (angle / 2.0) };
    let way = [chord * (phi + angle / 2.0).cos(), chord * (phi + angle / 2.0).sin()];
    let at = [x + way[0], y + way[1], z + path * cot, ipt, phi + angle, theta];
    // After a path that is always the same.
    let mut free: Matrix = std::array::from_fn(|i| std::array::from_fn(|n| f64::from(u8::from(i == n))));
    (0..2).for_each(|i| free[i][3] = (path * direction[i] - way[i]) / ipt);
    (free[0][4], free[1][4]) = (-way[1], way[0]);
    free[2][5] = -path / theta.sin().powi(2);
    free[4][3] = angle / ipt;
    // The path changes so that the end stays on the surface.
    let slope = [direction[0], direction[1], cot, 0.0, bend, 0.0];
    let normal = surface.normal(at);
    let sum = |of: &dyn Fn(usize) -> f64| (0..PARAMETERS).map(of).sum::<f64>();
    let closing = sum(&|n| normal[n] * slope[n]);
    let path_slopes: [f64; PARAMETERS] = std::array::from_fn(|n| -sum(&|i| normal[i] * free[i][n]) / closing);
    let j = std::array::from_fn(|i| std::array::from_fn(|n| free[i][n] + slope[i] * path_slopes[n]));
    Some((at, j))
}

/// To a surface; None if it is not reached.
fn propagate(from: &State, charge: f64, surface: Surface) -> Option<State> {
    let (mut par, mut j) = cross(from.par, charge, surface)?;
    if let Surface::Plane(plane) = surface {
        (par[2], j[2]) = (plane, [0.0; PARAMETERS]);
    }
    Some(State { par, cov: product(&product(&j, &from.cov), &transposed(&j)) })
}

/// Returns the two directions that a hit measures: x and y on a disk; on a cylinder across the mean
/// direction to the hit and to the track, and z.
fn directions(par: &[f64; PARAMETERS], hit: &Hit, radius: f64) -> [[f64; 3]; 2] {
    match hit.is_on_disk() {
        true => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        false => {
            let across = [-(hit.pos[1] + par[1]), hit.pos[0] + par[0]].map(|sum| sum / (2.0 * radius));
            [[across[0], across[1], 0.0], [0.0, 0.0, 1.0]]
        }
    }
}

/// Adds the multiple scattering in a layer: the direction changes by the same variance along theta
/// and across it, and the momentum p stays.
fn scatter(from: &State, scattering: f64) -> State {
    let [.., ipt, _, theta] = from.par;
    let mass = PION * ipt * theta.sin();
    let variance = scattering * (ipt * theta.sin()).powi(2) * (1.0 + mass * mass);
    // The changes of 1/pt, phi and theta by an angle along theta, and by one across it.
    let along = [0.0, 0.0, 0.0, -ipt / theta.tan(), 0.0, 1.0];
    let across = [0.0, 0.0, 0.0, 0.0, 1.0 / theta.sin(), 0.0];
    let entry = |i: usize, j: usize| variance * (along[i] * along[j] + across[i] * across[j]);
    let cov = std::array::from_fn(|i| std::array::from_fn(|j| from.cov[i][j] + entry(i, j)));
    State { par: from.par, cov }
}

/// Updates a state with a hit and returns chi2, or the fault of the residual's covariance.
fn update(state: &mut State, hit: &Hit, radius: f64) -> Result<f64, Status> {
    let h = directions(&state.par, hit, radius);
    let v = |i: usize, j: usize| hit.cov[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
    let p = &state.cov;
    let sum = |of: &dyn Fn(usize) -> f64| (0..3).map(of).sum::<f64>();
    let hp: [[f64; PARAMETERS]; 2] = std::array::from_fn(|i| std::array::from_fn(|j| sum(&|n| h[i][n] * p[n][j])));
    let noise = |i: usize, j: usize| sum(&|n| h[i][n] * sum(&|m| v(n, m) * h[j][m]));
    let s: [[f64; 2]; 2] = std::array::from_fn(|i| std::array::from_fn(|j| sum(&|n| hp[i][n] * h[j][n]) + noise(i, j)));
    let det = s[0][0] * s[1][1] - s[0][1] * s[1][0];
    if !(det > 0.0 && det.is_finite() && s[0][0] >= 0.0) {
        let is_negative = [det, s[0][0]].iter().any(|number| *number < 0.0 && number.is_finite());
        return Err(if is_negative { Status::NOT_POSITIVE } else { Status::SINGULAR });
    }
    let inverse = [[s[1][1] / det, -s[0][1] / det], [-s[1][0] / det, s[0][0] / det]];
    let gain: [[f64; 2]; PARAMETERS] =
        std::array::from_fn(|i| std::array::from_fn(|j| hp[0][i] * inverse[0][j] + hp[1][i] * inverse[1][j]));
    let residual: [f64; 2] = std::array::from_fn(|i| sum(&|n| h[i][n] * (hit.pos[n] - state.par[n])));
    for i in 0..PARAMETERS {
        state.par[i] += gain[i][0] * residual[0] + gain[i][1] * residual[1];
    }
    // Of the lower triangle: rounding makes the matrix asymmetric, and updates amplify that.
    let updated = |i: usize, j: usize| state.cov[i][j] - gain[i][0] * hp[0][j] - gain[i][1] * hp[1][j];
    state.cov = std::array::from_fn(|i| std::array::from_fn(|j| updated(i.max(j), i.min(j))));
    let weighted = |i: usize| inverse[i][0] * residual[0] + inverse[i][1] * residual[1];
    Ok(residual[0] * weighted(0) + residual[1] * weighted(1))
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..PARAMETERS).map(|n| a[i][n] * b[n][j]).sum()))
}

fn transposed(a: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state of random direction at a random place, and its charge in a random field.
    fn state(rng: &mut fastrand::Rng) -> ([f64; PARAMETERS], f64) {
        let mut between = |low: f64, high: f64| low + (high - low) * rng.f64();
        let (radius, place) = (between(0.1, 100.0), between(-3.0, 3.0));
        let phi = place + between(-3.0, 3.0);
        let par = [
            radius * f64::cos(place),
            radius * f64::sin(place),
            between(-50.0, 50.0),
            1.0 / between(0.4, 20.0),
            phi,
            between(0.4, 2.7),
        ];
        (par, FIELD / between(0.5, 3.8) * f64::copysign(1.0, between(-1.0, 1.0)))
    }

    /// The Jacobian is the central difference of the parameters, for any state and surface.
    #[test]
    fn the_jacobian_is_the_difference_of_crossings() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut reached = [0; 3];
        for n in 0..3000 {
            let (par, charge) = state(&mut rng);
            let surface = match n % 3 {
                2 => Surface::Perigee,
                0 => Surface::Cylinder(1.0 + 100.0 * rng.f64()),
                _ => Surface::Plane(200.0 * rng.f64() - 100.0),
            };
            let Some((at, j)) = cross(par, charge, surface) else { continue };
            if let Surface::Perigee = surface {
                let along = at[0] * at[4].cos() + at[1] * at[4].sin();
                assert!(along.abs() < 1e-9 && at[0].hypot(at[1]) <= par[0].hypot(par[1]), "{par:?}: {at:?}");
            }
            if let Surface::Cylinder(radius) = surface {
                assert!((at[0].hypot(at[1]) - radius).abs() < 1e-9 * radius, "{par:?}, {surface:?}: {at:?}");
                // Close to a tangent the differences are far from the derivative.
                let along = at[0] * at[4].cos() + at[1] * at[4].sin();
                if along.abs() < 0.2 * radius {
                    continue;
                }
            }
            reached[n % 3] += 1;
            for (column, step) in [1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 1e-6].into_iter().enumerate() {
                let moved = |by: f64| {
                    let mut moved = par;
                    moved[column] += by;
                    cross(moved, charge, surface).expect("as near as before").0
                };
                let (high, low) = (moved(step), moved(-step));
                for row in 0..PARAMETERS {
                    let slope = (high[row] - low[row]) / (2.0 * step);
                    let most = 1e-5 * slope.abs().max(1.0) * at[0].hypot(at[1]).max(1.0);
                    let off = (j[row][column] - slope).abs();
                    assert!(off < most, "{row}, {column}: {}, not {slope}; {par:?}, {surface:?}", j[row][column]);
                }
            }
        }
        assert!(reached.iter().all(|&count| count > 500), "{reached:?}");
    }
}
