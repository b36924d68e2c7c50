//! Cross sections of photons and atoms \[barn\]. Energies in MeV.

use super::rates::ELECTRON_MASS;

/// Coefficients of [`pair`] \[microbarn\]: the powers of the logarithm of the energy, for the
/// powers 0, 1 and -1 of the atomic number.
const PAIR: [[f64; 6]; 3] = [
    [878.42, -1962.5, 1294.9, -200.28, 12.575, -0.283_33],
    [-10.342, 17.692, -8.2381, 1.3063, -0.090_815, 0.002_358_6],
    [-452.63, 1116.1, -867.49, 217.73, -20.467, 0.653_72],
];
/// The range of [`PAIR`].
const PAIR_ENERGIES: [f64; 2] = [1.5, 1e5];

/// Returns the cross section of an atom for pairs, in the field of the nucleus and of the
/// electrons, with screening and the Coulomb correction.
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

/// Coefficients of the logarithm of the photoelectric cross section \[barn\]: rows are powers of
/// ln(E / m), and columns powers of ln(Z / 60). Fits to XCOM (Berger, Hubbell and others, NIST)
/// from 10 keV on, within 4 % up to 200 keV for Z from 6 to 82: above the K edge, between the K and
/// the L edges, and below the L edges.
const ABOVE_K: [&[f64]; 5] = [
    &[1.9602, 4.3893, -0.2473, -0.0726, -0.0119],
    &[-2.5154, 0.2582, 0.11, 0.0147],
    &[0.1932, -0.0657, -0.0078],
    &[0.0543, 0.0002],
    &[0.0024],
];
const ABOVE_L: [&[f64]; 3] = [&[-0.564, 5.393, -0.37], &[-3.215, 0.407], &[-0.077]];
const BELOW_L: [&[f64]; 2] = [&[-0.746, 4.085], &[-2.578]];
/// From this energy on the cross section falls with 1 / E.
const INVERSE_FROM: f64 = 5.0;
/// The cross section above the L1 edge, divided by those between the edges L1, L2 and L3.
const BELOW_L1: f64 = 1.158;
const BELOW_L2: f64 = 1.58;
/// Coefficients of the logarithm of the energy of the edges K, L1, L2 and L3: powers of ln(Z / 60).
/// Fits to XCOM, within 0.1 % from 10 keV on.
const EDGES: [&[f64]; 4] = [
    &[-3.1339, 2.2044, 0.1018, 0.1468, 0.0999],
    &[-4.937, 2.388, 0.486],
    &[-4.995, 2.443, 0.466],
    &[-5.079, 2.335, 0.093],
];

/// Returns the energies of the edges K, L1, L2 and L3 of an atom. Below sodium the fits diverge;
/// lighter elements have the edges of sodium, which are below 2 keV.
pub(crate) fn edges(z: f64) -> [f64; 4] {
    EDGES.map(|powers| polynomial(powers, (z.max(11.0) / 60.0).ln()).exp())
}

/// Returns the cross section of an atom for the photoelectric effect.
pub(crate) fn photoelectric(z: f64, energy: f64) -> f64 {
    let [k, l1, l2, l3] = edges(z);
    let (rows, jump) = match energy {
        e if e >= k => (&ABOVE_K[..], 1.0),
        e if e >= l1 => (&ABOVE_L[..], 1.0),
        e if e >= l2 => (&ABOVE_L[..], BELOW_L1),
        e if e >= l3 => (&ABOVE_L[..], BELOW_L2),
        _ => (&BELOW_L[..], 1.0),
    };
    let least = energy.min(INVERSE_FROM);
    let of_z: Vec<f64> = rows.iter().map(|powers| polynomial(powers, (z / 60.0).ln())).collect();
    polynomial(&of_z, (least / ELECTRON_MASS).ln()).exp() / jump * least / energy
}

/// Returns the cross section of the electrons of an atom for Compton scattering, divided by Klein
/// and Nishina's for free electrons: a fit to XCOM from 10 keV on. For Z from 6 on its errors are
/// below 1 % of the total attenuation.
pub(crate) fn incoherent_ratio(z: f64, energy: f64) -> f64 {
    1.0 / (1.0 + (1.467e-3 * z.powf(0.633) / energy).powf(1.312))
}

/// Returns the sum of coefficients times the powers of x, from 0 on.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_rise_with_the_atomic_number() {
        for z in 1..92 {
            let [k, l1, l2, l3] = edges(f64::from(z));
            assert!(k > l1 && l1 > l2 && l2 > l3 && l3 > 0.0, "{z}: {k} {l1} {l2} {l3} MeV");
            let next = edges(f64::from(z + 1));
            assert!(if z < 11 { next[0] == k } else { next[0] > k }, "{z}: {k} MeV");
        }
        // Published: 115.61 keV in uranium. No edge of hydrogen is in the tables.
        assert!((edges(92.0)[0] / 0.115_61 - 1.0).abs() < 1e-3 && edges(1.0)[0] < 2e-3);
        // XCOM at 10 keV: 0.1941 b.
        assert!((photoelectric(2.0, 0.01) / 0.1941 - 1.0).abs() < 0.1, "{}", photoelectric(2.0, 0.01));
    }
}
