//! A charged particle on its way out through the layers.

use std::f64::consts::FRAC_PI_2;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::tracker::{Sensor, Tracker};
use crate::spacepoint::{Spacepoint, normalised};

/// Material of one layer at right angles, in radiation lengths: about that of the detector's pixel and strip layers
/// with their supports (ATLAS Collaboration, JINST 3 (2008) S08003).
const RADIATION_LENGTHS: f64 = 0.03;
/// Scale of multiple scattering \[GeV\]: theta = 13.6 MeV / p * sqrt(x / X0), the logarithm left out (PDG, *Passage of
/// particles through matter*).
const SCATTERING_GEV: f64 = 0.0136;

/// A helix from the beam line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track {
    /// Where it starts \[mm\].
    pub(super) z0: f64,
    /// Its direction there \[rad\].
    pub(super) phi0: f64,
    /// dz over the length of its projection on the transverse plane: sinh(eta).
    pub(super) cot: f64,
    pub(super) pt_gev: f64,
    /// Diameter of its circle \[mm\].
    pub(super) diameter: f64,
    /// +1 or -1: which way phi moves.
    pub(super) turn: f64,
}

/// The track behind the layers that it has crossed: straight in (s, z) between layers, with s \[mm\] the length of its
/// projection on the transverse plane; and how far scattering has moved it sideways from the helix there.
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

    /// Turns by a gaussian angle in each of two planes, as matter of `x0` radiation lengths on the way does.
    fn scatter(&mut self, pt_gev: f64, x0: f64, rng: &mut ChaCha8Rng) {
        // p = pT / sin(theta), and sin(theta)^-2 = 1 + cot(theta)^2.
        let stretch = (1.0 + self.cot * self.cot).sqrt();
        let angle = SCATTERING_GEV / (pt_gev * stretch) * x0.sqrt();
        self.side_slope += stretch * angle * normal(rng);
        self.cot += stretch * stretch * angle * normal(rng);
    }
}

impl Track {
    /// How far phi moves, at most, until the track has left the tracker or turned back \[rad\].
    pub(super) fn bend(&self, tracker: &Tracker) -> f64 {
        (tracker.r_max / self.diameter).min(1.0).asin()
    }

    /// Gives every layer on the way its spacepoint, unless it fails to see the track. A track that curls up is
    /// followed until it turns back.
    pub(super) fn walk(
        &self,
        tracker: &Tracker,
        efficiency: f64,
        rng: &mut ChaCha8Rng,
        mut hit: impl FnMut(Spacepoint),
    ) {
        let mut state = State { s: 0.0, z: self.z0, cot: self.cot, side: 0.0, side_slope: 0.0 };
        let end = self.diameter * FRAC_PI_2;
        // At distance rho from the beam its phi has moved by asin(rho / diameter) = s / diameter.
        let to_radius = |radius: f64| {
            if radius < self.diameter { self.diameter * (radius / self.diameter).asin() } else { f64::INFINITY }
        };
        let mut barrels = tracker.barrels.iter();
        // A collision far out on the beam has disks behind it.
        let mut disks = tracker.disks.iter().skip_while(|d| (d.z.copysign(self.cot) - self.z0) / self.cot < 0.0);
        let (mut barrel, mut disk) = (barrels.next(), disks.next());
        let mut to_barrel = barrel.map_or(f64::INFINITY, |b| to_radius(b.radius));
        loop {
            let to_disk = disk.map_or(f64::INFINITY, |d| {
                let s = state.s + (d.z.copysign(state.cot) - state.z) / state.cot;
                // Behind the track only after scattering has turned it back: then it meets no more disks.
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
                to_barrel = barrel.map_or(f64::INFINITY, |b| to_radius(b.radius));
                if state.z.abs() > b.half_length {
                    continue;
                }
                if rng.random_bool(efficiency) {
                    let (across, along) = smear(b.sensor, rng);
                    let phi = self.phi_at(&state) + (state.side + across) / b.radius;
                    hit(Spacepoint { rho: b.radius, phi: normalised(phi), z: state.z + along, layer: b.layer });
                }
                state.scatter(self.pt_gev, RADIATION_LENGTHS * stretch, rng);
            } else if let Some(d) = disk {
                disk = disks.next();
                let rho = self.diameter * (s / self.diameter).sin();
                if rho > tracker.r_max {
                    return;
                }
                if rho < d.r_min || rho > d.r_max {
                    continue;
                }
                if rng.random_bool(efficiency) {
                    let (across, along) = smear(d.sensor, rng);
                    let phi = self.phi_at(&state) + (state.side + across) / rho;
                    let z = d.z.copysign(state.z);
                    hit(Spacepoint { rho: rho + along, phi: normalised(phi), z, layer: d.layer });
                }
                state.scatter(self.pt_gev, RADIATION_LENGTHS * stretch / state.cot.abs(), rng);
            }
        }
    }

    fn phi_at(&self, state: &State) -> f64 {
        self.phi0 + self.turn * state.s / self.diameter
    }
}

/// Errors of a measurement \[mm\]: along r-phi; along z in a barrel or r in a disk.
pub(super) fn smear(sensor: Sensor, rng: &mut ChaCha8Rng) -> (f64, f64) {
    (sensor.across * normal(rng), sensor.along * normal(rng))
}

pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    rng.sample(StandardNormal)
}
