//! Toy collisions in the detector `atlas2010`: vertices along the beam, helices from each, and
//! spacepoints where they cross layers. Seeded, for tests only: layers are perfect cylinders and
//! disks, tracks lose no energy.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "included by unit tests of the library and by zfinder-testing"
)]

use std::f64::consts::{PI, TAU};

use zfinder::{PhiWindow, Roi, RoiDescriptor, RoiId, Spacepoint};

/// Barrel radii \[mm\] of layers 0 to 6, and half their lengths.
const BARREL: [(f64, f64); 7] =
    [(50.5, 400.0), (88.5, 400.0), (122.5, 400.0), (299.0, 750.0), (371.0, 750.0), (443.0, 750.0), (514.0, 750.0)];
/// Disks: layer, |z|, inner and outer radius \[mm\].
const DISKS: [(u32, f64, f64, f64); 5] = [
    (7, 495.0, 88.8, 149.6),
    (8, 580.0, 88.8, 149.6),
    (9, 650.0, 88.8, 149.6),
    (10, 853.8, 337.6, 560.0),
    (12, 1091.5, 275.0, 560.0),
];
/// Field \[T\].
const FIELD: f64 = 2.0;

/// Options of an event.
#[derive(Clone, Debug)]
pub struct Toy {
    /// Tracks of the first vertex. Every other vertex has a quarter as many.
    pub tracks: usize,
    pub vertices: usize,
    /// Spacepoints at random positions.
    pub noise: usize,
    /// Centre and width of the window \[rad\]; None: the full circle.
    pub window: Option<(f64, f64)>,
    /// Spread of spacepoints, along phi and z \[mm\].
    pub smear: (f64, f64),
}

impl Default for Toy {
    fn default() -> Self {
        Self { tracks: 25, vertices: 4, noise: 40, window: Some((0.7, 1.7)), smear: (0.02, 0.05) }
    }
}

/// One toy event in one RoI.
#[derive(Clone, Debug)]
pub struct Event {
    pub roi: Roi,
    /// True z of the vertices \[mm\]; the one with the most tracks comes first.
    pub truth: Vec<f64>,
}

impl Toy {
    pub fn event(&self, rng: &mut fastrand::Rng, event_id: u64) -> Event {
        let (centre, width) = self.window.unwrap_or((0.0, TAU));
        let mut spacepoints = Vec::new();
        let mut truth: Vec<f64> = Vec::new();
        while truth.len() < self.vertices {
            let z = between(rng, -120.0, 120.0);
            if truth.iter().all(|other| (other - z).abs() > 2.0) {
                truth.push(z);
            }
        }
        for (i, &z0) in truth.iter().enumerate() {
            for _ in 0..if i == 0 { self.tracks } else { self.tracks / 4 } {
                // A track may bend out of the window, as real tracks do.
                let phi0 = centre + width * between(rng, -0.49, 0.49);
                self.track(rng, z0, phi0, &mut spacepoints);
            }
        }
        for _ in 0..self.noise {
            let layer = rng.usize(0..BARREL.len());
            let (rho, half_length) = BARREL[layer];
            let phi = turned(centre + width * between(rng, -0.5, 0.5));
            spacepoints.push(Spacepoint { rho, phi, z: between(rng, -half_length, half_length), layer: layer as u32 });
        }
        rng.shuffle(&mut spacepoints);
        let window = match self.window {
            None => PhiWindow::FullScan,
            Some((centre, width)) => {
                PhiWindow::new(turned(centre - width / 2.0), turned(centre + width / 2.0)).expect("a window")
            }
        };
        let id = RoiId { event_id, roi_id: 0 };
        let descriptor = RoiDescriptor { id, window: Some(window), ..RoiDescriptor::default() };
        Event { roi: Roi { descriptor, spacepoints }, truth }
    }

    /// A helix from (0, 0, z0): at distance rho it has turned by asin(rho / 2R).
    fn track(&self, rng: &mut fastrand::Rng, z0: f64, phi0: f64, spacepoints: &mut Vec<Spacepoint>) {
        let pt = 2.0 / (1.0 - 0.97 * rng.f64());
        let diameter = 2.0 * pt / (0.0003 * FIELD);
        let sign = if rng.bool() { 1.0 } else { -1.0 };
        let cot = between(rng, -1.8, 1.8).sinh();
        let mut push = |rho: f64, z: f64, layer: u32| {
            let bend = (rho / diameter).min(1.0).asin();
            let phi = turned(phi0 + sign * bend + self.smear.0 * normal(rng) / rho);
            // A disk measures rho, a barrel z.
            let along = self.smear.1 * normal(rng);
            let (rho, z) = if layer < 7 { (rho, z + along) } else { (rho + along, z) };
            spacepoints.push(Spacepoint { rho, phi, z, layer });
        };
        for (layer, (rho, half_length)) in BARREL.into_iter().enumerate() {
            if rho < diameter {
                let z = z0 + cot * diameter * (rho / diameter).asin();
                if z.abs() < half_length {
                    push(rho, z, layer as u32);
                }
            }
        }
        for (layer, distance, inner, outer) in DISKS {
            let z = distance * cot.signum();
            let half_turn = (z - z0) / cot / diameter;
            let rho = diameter * half_turn.sin();
            if half_turn > 0.0 && half_turn < PI / 2.0 && rho > inner && rho < outer {
                push(rho, z, layer);
            }
        }
    }
}

pub fn between(rng: &mut fastrand::Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.f64()
}

/// phi in [-pi, pi).
pub fn turned(phi: f64) -> f64 {
    let turned = (phi + PI).rem_euclid(TAU) - PI;
    if turned >= PI { -PI } else { turned }
}

/// About a standard normal number: the sum of twelve flat ones.
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}
