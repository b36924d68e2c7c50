//! Toy events in the pixel layers of the detector `generic`, for tests.

use std::f64::consts::{PI, TAU};

use crate::detector::{Detector, Layer};
use crate::spacepoint::{Spacepoint, normalised};

/// The detector `generic` with layers of this thickness in radiation lengths. Layers 0 and 11 are
/// followed by the next layer alone.
pub(crate) fn uneven_detector(radiation_lengths: impl Fn(usize) -> f64) -> Detector {
    let generic = Detector::generic();
    let uneven = |(number, layer): (usize, &Layer)| Layer {
        radiation_lengths: Some(radiation_lengths(number)),
        next: [0, 11].contains(&number).then(|| vec![number as u32 + 1]),
        ..layer.clone()
    };
    let layers = generic.layers().iter().enumerate().map(uneven).collect();
    Detector::new("uneven", layers, None).expect("valid")
}

/// A track from the beam.
#[derive(Clone, Copy)]
pub(crate) struct Track {
    pub(crate) z0: f64,
    pub(crate) cot: f64,
    pub(crate) phi0: f64,
    pub(crate) pt: f64,
    pub(crate) charge: f64,
}

const BARREL_MM: [f64; 4] = [32.0, 72.0, 116.0, 172.0];
const DISK_MM: [f64; 7] = [600.0, 700.0, 820.0, 960.0, 1100.0, 1300.0, 1500.0];

impl Track {
    pub(crate) fn kappa(&self) -> f64 {
        self.charge * 0.0006 / self.pt
    }

    /// Its spacepoints on the pixel layers of the detector `generic`: points on a helix.
    pub(crate) fn spacepoints(&self) -> Vec<Spacepoint> {
        let half = 0.5 * self.kappa();
        let arc = |rho: f64| (half * rho).asin() / half;
        let at = |rho: f64, z: f64, layer: usize| Spacepoint {
            rho,
            phi: normalised(self.phi0 + (half * rho).asin()),
            z,
            layer: layer as u32,
        };
        let on_barrel = |(layer, &rho): (usize, &f64)| {
            let z = self.z0 + self.cot * arc(rho);
            (z.abs() < 590.0).then(|| at(rho, z, layer))
        };
        let on_disk = |(disk, &z): (usize, &f64)| {
            let z = z.copysign(self.cot);
            let rho = (half * (z - self.z0) / self.cot).sin() / half;
            (30.0..175.0).contains(&rho).then(|| at(rho, z, 10 + disk))
        };
        let barrel = BARREL_MM.iter().enumerate().filter_map(on_barrel);
        barrel.chain(DISK_MM.iter().enumerate().filter_map(on_disk)).collect()
    }
}

pub(crate) fn random_track(rng: &mut fastrand::Rng, z0: f64) -> Track {
    Track {
        z0,
        cot: (5.0 * (rng.f64() - 0.5)).sinh(),
        phi0: TAU * (rng.f64() - 0.5),
        pt: 0.6 / (0.05 + 0.95 * rng.f64()),
        charge: if rng.bool() { 1.0 } else { -1.0 },
    }
}

/// A normal deviate.
pub(crate) fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (TAU * rng.f64()).cos()
}

/// Moves a spacepoint by the resolution of the detector.
pub(crate) fn smear(s: &Spacepoint, rng: &mut fastrand::Rng) -> Spacepoint {
    let (across, along) = (0.0144 * normal(rng), 0.0144 * normal(rng));
    let phi = normalised(s.phi + across / s.rho);
    if s.layer < 4 { Spacepoint { phi, z: s.z + along, ..*s } } else { Spacepoint { phi, rho: s.rho + along, ..*s } }
}

/// A toy event: tracks of several vertices, smeared, and noise.
pub(crate) fn event(rng: &mut fastrand::Rng, vertices: &[f64]) -> Vec<Spacepoint> {
    let mut spacepoints = Vec::new();
    for &z in vertices {
        for _ in 0..12 {
            spacepoints.extend(random_track(rng, z).spacepoints().iter().map(|s| smear(s, rng)));
        }
    }
    for _ in 0..200 {
        let layer = rng.u32(0..4);
        let (rho, phi, z) = (BARREL_MM[layer as usize], 2.0 * PI * rng.f64(), 1000.0 * (rng.f64() - 0.5));
        spacepoints.push(Spacepoint { rho, phi, z, layer });
    }
    spacepoints
}

/// Vertices that overlap, hits that several tracks share, and noise where no track is.
pub(crate) fn crowd(rng: &mut fastrand::Rng) -> Vec<Spacepoint> {
    let mut spacepoints = event(rng, &[1.0, 1.05, 1.3, 1.31, -2.0, -1.8]);
    for _ in 0..300 {
        let layer = rng.u32(0..4);
        let (rho, phi, z) = (BARREL_MM[layer as usize] + rng.f64(), 0.3 * rng.f64(), 100.0 * (rng.f64() - 0.5));
        spacepoints.push(Spacepoint { rho, phi, z, layer });
    }
    spacepoints
}

/// A track whose spacepoints are there twice, in any order.
pub(crate) fn doubled_track(rng: &mut fastrand::Rng) -> Vec<Spacepoint> {
    let z = 100.0 * (rng.f64() - 0.5);
    let track = random_track(rng, z);
    let own: Vec<Spacepoint> = track.spacepoints().iter().map(|s| smear(s, rng)).collect();
    let mut spacepoints = [own.clone(), own].concat();
    rng.shuffle(&mut spacepoints);
    spacepoints
}

/// Spacepoints that make no tracklet, alone and with a track.
pub(crate) fn hostile() -> Vec<(String, Vec<Spacepoint>)> {
    let at = |rho, phi, z, layer| Spacepoint { rho, phi, z, layer };
    let same = vec![at(32.0, 0.5, 1.0, 0); 200];
    let track = Track { z0: 5.0, cot: 0.3, phi0: 3.1, pt: 1.0, charge: 1.0 }.spacepoints();
    let far = [1e-6, 1e9, 3e5].map(|rho| [0, 1, 2, 10].map(|layer| at(rho, -3.0, 1e9, layer))).concat();
    let bad = vec![at(f64::NAN, 0.0, 0.0, 0), at(32.0, 0.0, f64::INFINITY, 0), at(32.0, 0.0, 0.0, 200)];
    let flat: Vec<_> = (10..17).map(|layer| at(40.0 + 10.0 * f64::from(layer - 10), 0.0, 0.0, layer)).collect();
    let kinds = [("none", vec![]), ("same", same), ("far", far), ("bad", bad), ("flat", flat)];
    let both = |(what, alone): (&str, Vec<Spacepoint>)| {
        let with_track = [alone.clone(), track.clone()].concat();
        [(what.to_owned(), alone), (format!("{what}, and a track"), with_track)]
    };
    kinds.into_iter().flat_map(both).collect()
}
