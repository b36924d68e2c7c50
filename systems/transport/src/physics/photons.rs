//! Cross sections of photons and atoms \[barn\]. Energies in MeV.

use super::rates::ELECTRON_MASS;

/// Coefficients of [`pair`] \[microbarn\]: the powers of the logarithm of the energy, for the powers
/// 0, 1 and -1 of the atomic number.
const PAIR: [[f64; 6]; 3] = [
    [878.42, -1962.5, 1294.9, -200.28, 12.575, -0.283_33],
    [-10.342, 17.692, -8.2381, 1.3063, -0.090_815, 0.002_358_6],
    [-452.63, 1116.1, -867.49, 217.73, -20.467, 0.653_72],
];
/// The range of [`PAIR`].
const PAIR_ENERGIES: [f64; 2] = [1.5, 1e5];

/// Returns the cross section of an atom for pairs, in the field of the nucleus and of the electrons,
/// with screening and the Coulomb correction.
///
/// The parametrisation of Geant4's Bethe-Heitler model (Physics Reference Manual), of the tables of
/// Hubbell, Gimm and Overbo (J. Phys. Chem. Ref. Data 9, 1023, 1980). From 100 GeV on it is
/// constant: screening is complete.
pub(crate) fn pair(z: f64, energy: f64) -> f64 {
    let threshold = 2.0 * ELECTRON_MASS;
    let [low, high] = PAIR_ENERGIES;
    let x = (energy.clamp(low, high) / ELECTRON_MASS).ln();
    let [free, linear, inverse] = PAIR.map(|powers| polynomial(&powers, x));
    let rise = ((energy.min(low) - threshold) / (low - threshold)).max(0.0);
    1e-6 * z * (z + 1.0) * (free + linear * z + inverse / z) * rise * rise
}

/// Returns the sum of coefficients times the powers of x, from 0 on.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}
