//! Rates of the reference engine: integrals of the differential cross sections, at the nodes of the
//! specification's tables (seven a decade from 100 eV, linear in the logarithm of the energy).
//! Photons have ten nodes a decade from 1 keV, and two at each edge.
//! Energies in MeV, lengths in mm.

use std::f64::consts::{LN_10, PI, TAU};

use crate::material::Material;
use crate::physics::{Cuts, photons};

pub(super) const MASS: f64 = 0.510_998_95;
/// The classical radius of the electron \[mm\].
const R_E: f64 = 2.817_940_326_2e-12;

const NODES: usize = 78;
const PER_DECADE: f64 = 7.0;
const FIRST: f64 = 1e-4;

/// Simpson's rule in the logarithm of x.
fn integral(low: f64, high: f64, of: impl Fn(f64) -> f64) -> f64 {
    const PARTS: usize = 200;
    let step = (high / low).ln() / PARTS as f64;
    let weight = |i: usize| match i {
        0 | PARTS => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=PARTS).map(|i| (weight(i), low * (i as f64 * step).exp())).map(|(w, x)| w * x * of(x)).sum::<f64>() * step
        / 3.0
}

/// Moller's spectrum of the fraction x of the kinetic energy, up to a factor.
pub(super) fn moller(gamma: f64, x: f64) -> f64 {
    let g = (2.0 * gamma - 1.0) / (gamma * gamma);
    let term = |x: f64| (1.0 / x - g) / x;
    1.0 - g + term(x) + term(1.0 - x)
}

/// The tables of a material.
pub(super) struct Table {
    /// Bremsstrahlung and Moller \[1/mm\], loss \[MeV/mm\], logarithm of the range \[mm\].
    electron: Vec<[f64; 4]>,
    /// The energy of a node \[MeV\]; Compton and pairs \[1/mm\], logarithm of the photoelectric
    /// effect.
    photon: Vec<(f64, [f64; 3])>,
}

/// The nodes of photons in all materials.
pub(super) fn photon_nodes(materials: &[Material]) -> Vec<f64> {
    let mut nodes: Vec<f64> = (-30..=70).map(|tenth| 10_f64.powf(f64::from(tenth) / 10.0)).collect();
    for (z, _) in materials.iter().flat_map(Material::atoms) {
        let edges = photons::edges(z).into_iter().filter(|&edge| edge > 0.01);
        nodes.extend(edges.flat_map(|edge| [edge * 0.999_99, edge * 1.000_01]));
    }
    nodes.sort_by(f64::total_cmp);
    nodes.dedup();
    nodes
}

fn node(i: usize) -> f64 {
    FIRST * 10_f64.powf(i as f64 / PER_DECADE)
}

impl Table {
    pub(super) fn new(material: &Material, cuts: &Cuts, photon_nodes: &[f64]) -> Self {
        let mut range = node(0) / loss(material, cuts, node(0));
        let electron = (0..NODES).map(|i| {
            let e = node(i);
            if i > 0 {
                range += integral(node(i - 1), e, |t| 1.0 / loss(material, cuts, t));
            }
            [bremsstrahlung(material, cuts, e), knock(material, cuts, e), loss(material, cuts, e), range.ln()]
        });
        let photon = |&e: &f64| (e, [compton(material, e), pair(material, e), photoelectric(material, e).ln()]);
        Self { electron: electron.collect(), photon: photon_nodes.iter().map(photon).collect() }
    }

    pub(super) fn electron(&self, kinetic: f64) -> [f64; 4] {
        let at = ((kinetic / FIRST).log10() * PER_DECADE).clamp(0.0, NODES as f64 - 1.0);
        let low = (at as usize).min(NODES - 2);
        let [below, above] = [self.electron[low], self.electron[low + 1]];
        std::array::from_fn(|i| below[i] + (at - low as f64) * (above[i] - below[i]))
    }

    pub(super) fn photon(&self, energy: f64) -> [f64; 3] {
        let high = self.photon.partition_point(|&(e, _)| e <= energy).clamp(1, self.photon.len() - 1);
        let [(e0, below), (e1, above)] = [self.photon[high - 1], self.photon[high]];
        let part = ((energy / e0).ln() / (e1 / e0).ln()).clamp(0.0, 1.0);
        let [compton, pair, photoelectric] = std::array::from_fn(|i| below[i] + part * (above[i] - below[i]));
        [compton, pair, photoelectric.exp()]
    }

    pub(super) fn range(&self, kinetic: f64) -> f64 {
        self.electron(kinetic)[3].exp()
    }

    /// The energy loss along a step: more than 1 % of the energy comes from the range.
    pub(super) fn loss(&self, kinetic: f64, step: f64) -> f64 {
        let [_, _, loss, range] = self.electron(kinetic);
        if step * loss <= 0.01 * kinetic {
            return step * loss;
        }
        let left = range.exp() - step;
        let kept = if left > 0.0 { self.energy(left.ln()) } else { 0.0 };
        (kinetic - kept).clamp(0.0, kinetic)
    }

    /// The kinetic energy of a range.
    fn energy(&self, range: f64) -> f64 {
        let high = self.electron.iter().skip(1).position(|row| row[3] > range).map_or(NODES - 1, |i| i + 1);
        let [a, b] = [self.electron[high - 1][3], self.electron[high][3]];
        FIRST * ((high as f64 - 1.0 + (range - a) / (b - a)) * LN_10 / PER_DECADE).exp()
    }
}

/// Complete screening (PDG), above the cut.
fn bremsstrahlung(material: &Material, cuts: &Cuts, kinetic: f64) -> f64 {
    if kinetic <= cuts.photon {
        return 0.0;
    }
    let spectrum = |k: f64| (4.0 / 3.0 - 4.0 / 3.0 * k / kinetic + (k / kinetic).powi(2)) / k;
    integral(cuts.photon, kinetic, spectrum) / material.radiation_length()
}

fn knock(material: &Material, cuts: &Cuts, kinetic: f64) -> f64 {
    let least = cuts.electron / kinetic;
    if least >= 0.5 {
        return 0.0;
    }
    let gamma = 1.0 + kinetic / MASS;
    let factor = TAU * MASS * R_E * R_E / (kinetic * (1.0 - gamma.powi(-2)));
    material.electrons() * factor * integral(least, 0.5, |x| moller(gamma, x))
}

/// Berger and Seltzer's restricted loss, with Sternheimer's density effect, and the radiation below
/// the cut.
fn loss(material: &Material, cuts: &Cuts, kinetic: f64) -> f64 {
    let kinetic = kinetic.max(0.01);
    let tau = kinetic / MASS;
    let gamma = tau + 1.0;
    let beta2 = tau * (tau + 2.0) / (gamma * gamma);
    let d = (cuts.electron / MASS).min(tau / 2.0);
    let i = material.mean_excitation() / MASS;
    let f = -1.0 - beta2
        + ((tau - d) * d).ln()
        + tau / (tau - d)
        + (d * d / 2.0 + (2.0 * tau + 1.0) * (1.0 - d / tau).ln()) / gamma.powi(2);
    let x = (gamma * beta2.sqrt()).log10();
    let [c, x0, x1, a, k] = material.sternheimer();
    let delta = match x {
        x if x < x0 => 0.0,
        x if x < x1 => 2.0 * LN_10 * x - c + a * (x1 - x).powf(k),
        x => 2.0 * LN_10 * x - c,
    };
    let collisions =
        TAU * R_E * R_E * MASS * material.electrons() / beta2 * ((2.0 * (tau + 2.0) / (i * i)).ln() + f - delta);
    // The integral of the energies of soft photons.
    let y = (cuts.photon / kinetic).min(1.0);
    let radiated = kinetic * y * (4.0 / 3.0 - 2.0 / 3.0 * y + y * y / 3.0) / material.radiation_length();
    collisions + radiated
}

/// Klein and Nishina's spectrum of the fraction of the energy that the photon keeps, for bound
/// electrons.
fn compton(material: &Material, energy: f64) -> f64 {
    let k = energy / MASS;
    let spectrum = |part: f64| {
        let versine = (1.0 / part - 1.0) / k;
        1.0 / part + part - versine * (2.0 - versine)
    };
    let least = 1.0 / (1.0 + 2.0 * k);
    let electrons: f64 = material.atoms().map(|(z, atoms)| z * atoms * photons::incoherent_ratio(z, energy)).sum();
    electrons * PI * R_E * R_E / k * integral(least, 1.0, spectrum)
}

/// From cross sections of atoms in barns of 1e-22 mm^2.
fn pair(material: &Material, energy: f64) -> f64 {
    material.atoms().map(|(z, atoms)| atoms * 1e-22 * photons::pair(z, energy)).sum()
}

fn photoelectric(material: &Material, energy: f64) -> f64 {
    material.atoms().map(|(z, atoms)| atoms * 1e-22 * photons::photoelectric(z, energy)).sum()
}
