//! How far the rate of pairs is from the published cross section, for a warning.
//!
//! [`pair_rate`](super::rates::pair_rate) has neither screening nor Coulomb correction below
//! complete screening. In heavy matter photons of 10 to 500 MeV therefore convert too often.

use super::rates::{ELECTRON_MASS, ELECTRON_RADIUS, FINE_STRUCTURE, pair_rate};
use crate::material::Material;

/// The energy at which the excess is computed \[MeV\]: near its maximum in heavy matter.
const ENERGY: f64 = 100.0;
/// Parts of the integral over the energy of the electron.
const PARTS: u32 = 200;

/// Returns the rate of pairs of photons of 100 MeV, divided by Bethe and Heitler's with screening
/// and Coulomb correction, minus 1.
pub(crate) fn conversion_excess(material: &Material) -> f64 {
    let published: f64 = material.atoms().map(|(z, atoms)| atoms * cross_section(z, ENERGY)).sum();
    pair_rate(material, ENERGY) / published - 1.0
}

/// Returns the cross section of an atom for pairs \[mm^2\] above 50 MeV.
///
/// Bethe and Heitler with the screening functions of Butcher and Messel, and the Coulomb correction
/// of Davies, Bethe and Maximon; the Physics Reference Manual of Geant4 has the formulas. From
/// aluminium on it is within 3 % of the tables of Hubbell, Gimm and Overbo.
fn cross_section(z: f64, energy: f64) -> f64 {
    let coulomb = coulomb_correction(z);
    // Pairs in the field of the electrons.
    let electrons = (1440.0 * z.powf(-2.0 / 3.0)).ln() / ((183.0 * z.powf(-1.0 / 3.0)).ln() - coulomb);
    let least = ELECTRON_MASS / energy;
    let correction = 4.0 / 3.0 * z.ln() + 4.0 * coulomb;
    let differential = |e: f64| {
        let (first, second) = screening(136.0 * z.powf(-1.0 / 3.0) * least / (e * (1.0 - e)));
        let (square, product) = (e * e + (1.0 - e) * (1.0 - e), e * (1.0 - e));
        (square * (first - correction) + 2.0 / 3.0 * product * (second - correction)).max(0.0)
    };
    let step = (1.0 - 2.0 * least) / f64::from(PARTS);
    let sum: f64 = (0..PARTS).map(|i| differential(least + step * (f64::from(i) + 0.5))).sum();
    FINE_STRUCTURE * ELECTRON_RADIUS * ELECTRON_RADIUS * z * (z + electrons) * sum * step
}

/// The function f of the fine structure constant and the atomic number.
fn coulomb_correction(z: f64) -> f64 {
    let a = (FINE_STRUCTURE * z).powi(2);
    a * (1.0 / (1.0 + a) + 0.202_06 - 0.0369 * a + 0.0083 * a * a - 0.0020 * a.powi(3))
}

/// The screening functions of both parts of the cross section.
fn screening(delta: f64) -> (f64, f64) {
    if delta <= 1.0 {
        (20.867 - 3.242 * delta + 0.625 * delta * delta, 20.209 - 1.930 * delta - 0.086 * delta * delta)
    } else {
        let both = 21.12 - 4.184 * (delta + 0.952).ln();
        (both, both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photons_convert_too_often_in_heavy_matter() {
        let excess = |density, element| {
            conversion_excess(&Material::mixture("tested", density, &[(element, 1.0)]).expect("an element"))
        };
        for (element, density, wanted) in
            [("Pb", 11.35, 0.32), ("W", 19.3, 0.29), ("Sn", 7.3, 0.20), ("Cu", 8.96, 0.13), ("Si", 2.329, 0.07)]
        {
            let found = excess(density, element);
            assert!((found - wanted).abs() < 0.02, "{element}: {found}, not {wanted}");
        }
        let tungstate = conversion_excess(&Material::lead_tungstate());
        assert!((tungstate - 0.30).abs() < 0.02, "{tungstate}");
    }

    /// The cross section of Hubbell, Gimm and Overbo for lead: 30.6 b at 100 MeV, 39.9 b at 1 GeV.
    #[test]
    fn the_published_cross_section_is_reached() {
        for (energy, barn) in [(100.0, 30.6), (1000.0, 39.9)] {
            // A barn is 1e-22 mm^2.
            let found = 1e22 * cross_section(82.0, energy);
            assert!((found / barn - 1.0).abs() < 0.03, "{energy} MeV: {found} b, not {barn} b");
        }
    }
}
