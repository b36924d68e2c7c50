//! Follows a charged particle outwards through the layers.

use std::f64::consts::FRAC_PI_2;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::Simulation;
use super::tracker::{Sensor, Tracker};
use zfinder::Spacepoint;
use zfinder::internals::normalised;

/// Scale of multiple scattering \[GeV\]: theta = 13.6 MeV / p * sqrt(x / X0), without the logarithm
/// (PDG, *Passage of particles through matter*).
const SCATTERING_GEV: f64 = 0.0136;

/// A helix from near the beam line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track {
    /// z of the start \[mm\].
    pub(super) z0: f64,
    /// x and y of the start \[mm\].
    pub(super) start: (f64, f64),
    /// Direction at the start \[rad\].
    pub(super) phi0: f64,
    /// dz over the length of its projection on the transverse plane: sinh(eta).
    pub(super) cot: f64,
    pub(super) pt_gev: f64,
    /// Diameter of its circle \[mm\].
    pub(super) diameter: f64,
    /// +1 or -1: the direction in which phi changes.
    pub(super) turn: f64,
}

/// State of the track after a layer. Between layers it is straight in (s, z), where s \[mm\] is the
/// length of its projection on the transverse plane. Scattering moves it sideways from the helix.
struct State {
    s: f64,
    z: f64,
    cot: f64,
    side: f64,
    side_slope: f64,
}

impl State {
    fn go_to(&mut self, s: f64) {
        self.z += self.cot * (s - self.s);
        self.side += self.side_slope * (s - self.s);
        self.s = s;
    }

    /// Scatters by a gaussian angle in each of two planes, for matter of `x0` radiation lengths.
    fn scatter(&mut self, pt_gev: f64, x0: f64, rng: &mut ChaCha8Rng) {
        // p = pT / sin(theta), and sin(theta)^-2 = 1 + cot(theta)^2.
        let stretch = (1.0 + self.cot * self.cot).sqrt();
        let angle = SCATTERING_GEV / (pt_gev * stretch) * x0.sqrt();
        self.side_slope += stretch * angle * normal(rng);
        self.cot += stretch * stretch * angle * normal(rng);
    }
}

/// The circle of a track in the transverse plane, relative to the z axis.
struct Circle {
    /// Start of the track: coordinate along its initial direction, and to the left of it \[mm\].
    along: f64,
    left: f64,
    /// Distance of its centre from the axis, and its excess over the radius \[mm\].
    distance: f64,
    excess: f64,
    /// Twice the geometric mean of distance and radius \[mm\].
    scale: f64,
    diameter: f64,
    /// Half the angle at the centre, from the point of the circle that is nearest to the axis to
    /// the track's start.
    half_angle: f64,
}

impl Circle {
    fn new(track: &Track) -> Self {
        let (sin, cos) = track.phi0.sin_cos();
        let (x, y) = track.start;
        let (along, left) = (x * cos + y * sin, y * cos - x * sin);
        let radius = 0.5 * track.diameter;
        let inward = track.turn * left;
        // A difference of squares, because radii are large compared with offsets.
        let squares = along * along + left * left + 2.0 * inward * radius;
        let distance = (radius * radius + squares).max(0.0).sqrt();
        Self {
            along,
            left,
            distance,
            excess: squares / (distance + radius),
            scale: 2.0 * (distance * radius).sqrt(),
            diameter: track.diameter,
            half_angle: 0.5 * along.atan2(radius + inward),
        }
    }

    /// Returns the length of the track up to `radius` about the axis; infinite if it turns back
    /// before. On a circle through the axis it is diameter * asin(radius / diameter).
    fn to_radius(&self, radius: f64) -> f64 {
        if radius >= self.distance + 0.5 * self.diameter {
            return f64::INFINITY;
        }
        let squared = (radius - self.excess) / self.scale * ((radius + self.excess) / self.scale);
        // The square leaves 0 to 1 only by rounding, or for a start outside this radius.
        (self.diameter * (squared.clamp(0.0, 1.0).sqrt().asin() - self.half_angle)).max(0.0)
    }

    /// Returns the length of the track up to the point where it turns back.
    fn end(&self) -> f64 {
        self.diameter * (FRAC_PI_2 - self.half_angle)
    }

    /// Returns rho and phi of the helix at the current state. The chord from the start has the
    /// length diameter * sin(s / diameter), in a direction turned by s / diameter.
    /// * sin(s / diameter) in a direction turned by s / diameter.
    fn place(&self, track: &Track, state: &State) -> (f64, f64) {
        let turned = track.turn * state.s / self.diameter;
        let (sin, cos) = turned.sin_cos();
        let forward = self.diameter * sin.abs() + (self.along * cos + self.left * sin);
        let sideways = self.left * cos - self.along * sin;
        ((forward * forward + sideways * sideways).sqrt(), track.phi0 + turned + sideways.atan2(forward))
    }
}

impl Track {
    /// Returns the largest change of phi until the track leaves the tracker or turns back \[rad\].
    pub(super) fn bend(&self, tracker: &Tracker) -> f64 {
        (tracker.r_max / self.diameter).min(1.0).asin()
    }

    /// Gives every layer on the way a spacepoint, unless the layer misses the track. A track that
    /// curls up is followed until it turns back.
    pub(super) fn walk(
        &self,
        tracker: &Tracker,
        knobs: &Simulation,
        rng: &mut ChaCha8Rng,
        mut hit: impl FnMut(Spacepoint),
    ) {
        let mut state = State { s: 0.0, z: self.z0, cot: self.cot, side: 0.0, side_slope: 0.0 };
        let circle = Circle::new(self);
        let end = circle.end();
        let mut barrels = tracker.barrels.iter();
        // A collision far out on the beam has disks behind it.
        let mut disks = tracker.disks.iter().skip_while(|d| (d.z.copysign(self.cot) - self.z0) / self.cot < 0.0);
        let (mut barrel, mut disk) = (barrels.next(), disks.next());
        let mut to_barrel = barrel.map_or(f64::INFINITY, |b| circle.to_radius(b.radius));
        loop {
            let to_disk = disk.map_or(f64::INFINITY, |d| {
                let s = state.s + (d.z.copysign(state.cot) - state.z) / state.cot;
                // The disk is behind the track only if scattering has turned it back: it meets no
                // more disks.
                if s >= state.s { s } else { f64::INFINITY }
            });
            let s = to_barrel.min(to_disk);
            if s >= end {
                return;
            }
            state.go_to(s);
            let stretch = (1.0 + state.cot * state.cot).sqrt();
            if let (Some(b), true) = (barrel, to_barrel <= to_disk) {
                barrel = barrels.next();
                to_barrel = barrel.map_or(f64::INFINITY, |b| circle.to_radius(b.radius));
                if state.z.abs() > b.half_length {
                    continue;
                }
                if rng.random_bool(knobs.efficiency) {
                    let (across, along) = smear(b.sensor, knobs.resolution, rng);
                    let phi = circle.place(self, &state).1 + (state.side + across) / b.radius;
                    hit(Spacepoint { rho: b.radius, phi: normalised(phi), z: state.z + along, layer: b.layer });
                }
                state.scatter(self.pt_gev, knobs.radiation_lengths * stretch, rng);
            } else if let Some(d) = disk {
                disk = disks.next();
                let (rho, phi) = circle.place(self, &state);
                if rho > tracker.r_max {
                    return;
                }
                if rho < d.r_min || rho > d.r_max {
                    continue;
                }
                if rng.random_bool(knobs.efficiency) {
                    let (across, along) = smear(d.sensor, knobs.resolution, rng);
                    let phi = phi + (state.side + across) / rho;
                    let z = d.z.copysign(state.z);
                    hit(Spacepoint { rho: rho + along, phi: normalised(phi), z, layer: d.layer });
                }
                state.scatter(self.pt_gev, knobs.radiation_lengths * stretch / state.cot.abs(), rng);
            }
        }
    }
}

/// Draws errors of measurement \[mm\]: along r-phi, and along z in a barrel or r in a disk.
pub(super) fn smear(sensor: Sensor, scale: f64, rng: &mut ChaCha8Rng) -> (f64, f64) {
    (scale * sensor.across * normal(rng), scale * sensor.along * normal(rng))
}

pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    rng.sample(StandardNormal)
}
