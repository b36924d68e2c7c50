//! Paths of the reference engine: fields, and the specification's driver of classical fourth-order
//! Runge-Kutta steps.

use super::world::Places;
use super::{V, dot, unit};
use crate::field::{AnyField, Map};
use crate::geometry::Cell;
use crate::world::Settings;

/// Position \[mm\] and momentum \[MeV/c\].
type State = (V, V);

/// The end of a path.
pub(super) struct Path {
    pub(super) place: V,
    pub(super) momentum: V,
    pub(super) length: f64,
    pub(super) stop: Stop,
}

/// Why a path ends.
pub(super) enum Stop {
    Length,
    Boundary(Cell),
    TooManySteps,
}

fn field(field: &AnyField, [x, y, z]: V) -> V {
    let r = x.hypot(y);
    let [bz, br] = match field {
        AnyField::Uniform(value) => return *value,
        AnyField::Parametrised => solenoid(r / 1000.0, z / 1000.0),
        AnyField::Map(map) => on_map(map, r, z),
    };
    if r > 0.0 { [br * x / r, br * y / r, bz] } else { [0.0, 0.0, bz] }
}

/// The parametrised solenoid of the specification, Bz and Br \[T\] at r and z \[m\].
fn solenoid(r: f64, z: f64) -> [f64; 2] {
    const P: [f64; 9] = [4.24326, 15.0201, 3.81492, 0.0178712, 0.000656527, 2.45818, 0.00778695, 2.12500, 1.77436];
    let z = z - P[3];
    let a = 4.0 * P[0] * P[0] / (P[1] * P[1]);
    let h = 0.5 * P[2] * (1.0 + a).sqrt();
    let l = 1.0 / a.sqrt();
    let scale = 2.0 * l / P[1];
    let f = |u: f64| {
        let s = 1.0 + u * u;
        let f0 = u / s.sqrt();
        let f1 = s.powf(-1.5);
        let f2 = -3.0 * u * f1 / s;
        // f2 (1 / u - 4 u) / s, also at u = 0.
        [f0, f1, f2, -3.0 * f1 / s * (1.0 - 4.0 * u * u) / s]
    };
    let (u, v) = (f(l - z * scale), f(l + z * scale));
    let rho = 0.5 * r * scale;
    let end = |z: f64| (-((z - P[7]) / P[8]).powi(2)).exp();
    let br = h * rho * (u[1] - v[1] - 0.5 * (u[3] - v[3]) * rho * rho) + P[4] * r * z * (z.abs() - P[5]).powi(2);
    let bz = h * (u[0] + v[0] - (u[2] + v[2]) * rho * rho) - P[6] * (end(z) + end(-z));
    [bz, br]
}

/// Bilinear in r and z; nothing outside of the map.
fn on_map(map: &Map, r: f64, z: f64) -> [f64; 2] {
    let [points_r, points_z] = map.points();
    let (i, j) = (r / map.step(), z / map.step() + 0.5 * (points_z as f64 - 1.0));
    if !(i <= points_r as f64 - 1.0 && j >= 0.0 && j <= points_z as f64 - 1.0) {
        return [0.0; 2];
    }
    let (a, b) = ((i as usize).min(points_r - 2), (j as usize).min(points_z - 2));
    let (s, t) = (i - a as f64, j - b as f64);
    let value = |a: usize, b: usize, axis: usize| f64::from(map.values()[a * points_z + b][axis]);
    [0, 1].map(|axis| {
        let low = value(a, b, axis) * (1.0 - t) + value(a, b + 1, axis) * t;
        let high = value(a + 1, b, axis) * (1.0 - t) + value(a + 1, b + 1, axis) * t;
        low * (1.0 - s) + high * s
    })
}

/// The derivatives with respect to the length of the path.
fn derivative(settings: &Settings, charge: f64, (x, p): State) -> State {
    let b = field(&settings.field, x);
    let size = dot(p, p).sqrt();
    let force = [p[1] * b[2] - p[2] * b[1], p[2] * b[0] - p[0] * b[2], p[0] * b[1] - p[1] * b[0]];
    (p.map(|p| p / size), force.map(|f| 0.299_792_458 * charge * f / size))
}

fn moved((x, p): State, h: f64, (dx, dp): State) -> State {
    ([0, 1, 2].map(|i| x[i] + h * dx[i]), [0, 1, 2].map(|i| p[i] + h * dp[i]))
}

fn runge_kutta(settings: &Settings, charge: f64, from: State, h: f64) -> State {
    let slope = |state| derivative(settings, charge, state);
    let k1 = slope(from);
    let k2 = slope(moved(from, h / 2.0, k1));
    let k3 = slope(moved(from, h / 2.0, k2));
    let k4 = slope(moved(from, h, k3));
    [k1, k2, k2, k3, k3, k4].into_iter().fold(from, |state, k| moved(state, h / 6.0, k))
}

fn minus(a: V, b: V) -> V {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Follows a particle for a length, or to the boundary of its cell.
pub(super) fn propagate(
    settings: &Settings,
    places: &Places,
    charge: f64,
    cell: Cell,
    from: State,
    wanted: f64,
) -> Path {
    let ended = |(place, momentum): State, length, stop| Path { place, momentum, length, stop };
    if charge == 0.0 {
        let direction = unit(from.1);
        let (distance, to) = places.exit(cell, from.0, direction);
        let length = distance.min(wanted);
        let stop = if distance <= wanted { Stop::Boundary(to) } else { Stop::Length };
        return ended(moved(from, length, (direction, [0.0; 3])), length, stop);
    }
    const AT_BOUNDARY: f64 = 0.01;
    let accuracy = &settings.accuracy;
    let p = dot(from.1, from.1).sqrt();
    let (mut state, mut length, mut next) = (from, 0.0, wanted);
    for _ in 0..accuracy.steps {
        if length >= wanted {
            return ended(state, length, Stop::Length);
        }
        let h = next.min(wanted - length);
        let middle = runge_kutta(settings, charge, state, h / 2.0);
        let halves = runge_kutta(settings, charge, middle, h / 2.0);
        let whole = runge_kutta(settings, charge, state, h);
        let error = (minus(halves.0, whole.0), minus(halves.1, whole.1));
        let end = moved(halves, 1.0 / 15.0, error);
        let allowed = (accuracy.step_error / h).clamp(accuracy.relative[0], accuracy.relative[1]);
        let of_place = dot(error.0, error.0).sqrt() / (allowed * h.max(accuracy.least_step));
        let excess = of_place.max(dot(error.1, error.1).sqrt() / (allowed * p));
        let chord = minus(end.0, state.0);
        let reach = dot(chord, chord).sqrt();
        let aside = minus(middle.0, state.0);
        let along = dot(aside, chord) / (reach * reach);
        let off = minus(aside, chord.map(|c| along * c));
        let sagitta = dot(off, off).sqrt();
        if h > accuracy.least_step && excess > 1.0 {
            next = (h * (0.9 * excess.powf(-0.25)).max(0.1)).max(accuracy.least_step);
            continue;
        }
        if h > accuracy.least_step && sagitta > accuracy.sagitta {
            next = (0.98 * h * (accuracy.sagitta / sagitta).sqrt()).max(accuracy.least_step);
            continue;
        }
        let (distance, to) = places.exit(cell, state.0, chord.map(|c| c / reach));
        if distance < reach {
            if distance <= AT_BOUNDARY {
                return ended(state, length, Stop::Boundary(to));
            }
            if reach - distance > AT_BOUNDARY {
                next = h * (distance + AT_BOUNDARY / 2.0) / reach;
                continue;
            }
            return ended(end, length + h, Stop::Boundary(to));
        }
        length = if h == wanted - length { wanted } else { length + h };
        state = end;
        let growth = if excess > 0.0 { 0.9 * excess.powf(-0.2) } else { 5.0 };
        next = (h * growth.min(5.0)).max(accuracy.least_step);
    }
    let stop = if length >= wanted { Stop::Length } else { Stop::TooManySteps };
    ended(state, length, stop)
}
