//! Rates \[1/mm\] and losses \[MeV/mm\] in a material, in f64, as the formulas are written.

use super::{Cuts, photons};
use crate::material::Material;

/// The rest energy of an electron \[MeV\].
pub(crate) const ELECTRON_MASS: f64 = 0.510_998_95;
/// The classical radius of the electron \[mm\].
const ELECTRON_RADIUS: f64 = 2.817_940_326_2e-12;
/// mm^2.
const BARN: f64 = 1e-22;

/// (T / m + 1)^2 and beta^2.
fn speed(kinetic: f64) -> (f64, f64) {
    let gamma = kinetic / ELECTRON_MASS + 1.0;
    (gamma * gamma, 1.0 - 1.0 / (gamma * gamma))
}

/// Photons of more than the cut that an electron of a kinetic energy radiates: complete screening,
/// as the Particle Data Group gives it.
pub(super) fn bremsstrahlung_rate(material: &Material, kinetic: f64, cuts: &Cuts) -> f64 {
    let part = cuts.photon / kinetic;
    if part >= 1.0 {
        return 0.0;
    }
    (-4.0 / 3.0 * part.ln() - 4.0 / 3.0 * (1.0 - part) + 0.5 * (1.0 - part * part)) / material.radiation_length()
}

/// Electrons of more than the cut that an electron of a kinetic energy knocks out: Moller's cross
/// section, the specification's D5.
pub(super) fn moller_rate(material: &Material, kinetic: f64, cuts: &Cuts) -> f64 {
    let low = cuts.electron / kinetic;
    if low >= 0.5 {
        return 0.0;
    }
    let (gamma2, beta2) = speed(kinetic);
    let (high, g) = (0.5, (2.0 * gamma2.sqrt() - 1.0) / gamma2);
    let sum = (high - low) * (1.0 - g + 1.0 / (low * high) + 1.0 / ((1.0 - low) * (1.0 - high)))
        - g * (high * (1.0 - low) / (low * (1.0 - high))).ln();
    let factor = std::f64::consts::TAU * ELECTRON_MASS * ELECTRON_RADIUS * ELECTRON_RADIUS / kinetic;
    material.electrons() * factor * sum / beta2
}

/// Returns the energy loss of an electron \[MeV/mm\] by collisions that transfer less than the cut
/// (Berger and Seltzer), and by photons below the cut.
pub(super) fn energy_loss(material: &Material, kinetic: f64, cuts: &Cuts) -> f64 {
    // Below, the formula ends; nothing is tracked there.
    let kinetic = kinetic.max(0.01);
    let (gamma2, beta2) = speed(kinetic);
    let tau = kinetic / ELECTRON_MASS;
    let most = (cuts.electron / ELECTRON_MASS).min(tau / 2.0);
    let excitation = material.mean_excitation() / ELECTRON_MASS;
    let f = -1.0 - beta2
        + ((tau - most) * most).ln()
        + tau / (tau - most)
        + (most * most / 2.0 + (2.0 * tau + 1.0) * (1.0 - most / tau).ln()) / gamma2;
    let x = (gamma2 * beta2).log10() / 2.0;
    let [c, x0, x1, a, k] = material.sternheimer();
    let density = if x < x0 {
        0.0
    } else {
        let tail = if x < x1 { a * (x1 - x).powf(k) } else { 0.0 };
        2.0 * std::f64::consts::LN_10 * x - c + tail
    };
    let factor = std::f64::consts::TAU * ELECTRON_RADIUS * ELECTRON_RADIUS * ELECTRON_MASS * material.electrons();
    let collisions = factor / beta2 * ((2.0 * (tau + 2.0) / (excitation * excitation)).ln() + f - density);
    // Of k dN/dk, from 0 to the cut.
    let y = (cuts.photon / kinetic).min(1.0);
    let radiation = kinetic / material.radiation_length() * (4.0 / 3.0 * y - 2.0 / 3.0 * y * y + y * y * y / 3.0);
    collisions + radiation
}

/// Klein and Nishina's cross section of a free electron for a photon of an energy \[mm^2\].
fn klein_nishina(energy: f64) -> f64 {
    let k = energy / ELECTRON_MASS;
    let two = 1.0 + 2.0 * k;
    let of_radius = (1.0 + k) / (k * k) * (2.0 * (1.0 + k) / two - two.ln() / k) + two.ln() / (2.0 * k)
        - (1.0 + 3.0 * k) / (two * two);
    std::f64::consts::TAU * ELECTRON_RADIUS * ELECTRON_RADIUS * of_radius
}

/// Klein and Nishina for electrons in atoms, for a photon of an energy.
pub(super) fn compton_rate(material: &Material, energy: f64) -> f64 {
    let electrons = material.atoms().map(|(z, atoms)| z * atoms * photons::incoherent_ratio(z, energy));
    electrons.sum::<f64>() * klein_nishina(energy)
}

/// Pairs of a photon of an energy.
pub(super) fn pair_rate(material: &Material, energy: f64) -> f64 {
    BARN * material.atoms().map(|(z, atoms)| atoms * photons::pair(z, energy)).sum::<f64>()
}

/// The photoelectric effect for a photon of an energy.
pub(super) fn photoelectric_rate(material: &Material, energy: f64) -> f64 {
    BARN * material.atoms().map(|(z, atoms)| atoms * photons::photoelectric(z, energy)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matter() -> Material {
        Material::lead_tungstate()
    }

    /// A sum over so many equal parts of a logarithm.
    fn integral(low: f64, high: f64, of: impl Fn(f64) -> f64) -> f64 {
        let n = 20_000;
        let step = (high / low).ln() / f64::from(n);
        (0..n).map(|i| low * ((f64::from(i) + 0.5) * step).exp()).map(|x| of(x) * x * step).sum()
    }

    fn near(found: f64, wanted: f64, within: f64) {
        assert!((found / wanted - 1.0).abs() < within, "{found}, not {wanted}");
    }

    #[test]
    fn rates_are_integrals_of_their_spectra() {
        let cuts = Cuts::default();
        for kinetic in [3.0, 50.0, 900.0] {
            let spectrum = |k: f64| {
                (4.0 / 3.0 - 4.0 / 3.0 * k / kinetic + (k / kinetic).powi(2)) / (k * matter().radiation_length())
            };
            near(bremsstrahlung_rate(&matter(), kinetic, &cuts), integral(cuts.photon, kinetic, spectrum), 1e-6);
            // Moller's spectrum of x = T' / T, which is the same for both electrons.
            let (gamma2, beta2) = speed(kinetic);
            let g = (2.0 * gamma2.sqrt() - 1.0) / gamma2;
            let moller = |x: f64| {
                let y = 1.0 - x;
                1.0 - g + 1.0 / (x * x) - g / x + 1.0 / (y * y) - g / y
            };
            let factor = std::f64::consts::TAU * ELECTRON_MASS * ELECTRON_RADIUS.powi(2) * matter().electrons()
                / (kinetic * beta2);
            near(moller_rate(&matter(), kinetic, &cuts), factor * integral(cuts.electron / kinetic, 0.5, moller), 1e-6);
        }
        assert_eq!(moller_rate(&matter(), 2.0, &cuts), 0.0);
        assert_eq!(bremsstrahlung_rate(&matter(), 0.1, &cuts), 0.0);
        // The loss above a cut is the difference of the losses below two cuts.
        let (low, high) = (Cuts { electron: 1.0, ..cuts }, Cuts { electron: 5.0, ..cuts });
        let kinetic = 100.0;
        let (gamma2, beta2) = speed(kinetic);
        let g = (2.0 * gamma2.sqrt() - 1.0) / gamma2;
        let lost = |x: f64| {
            let y = 1.0 - x;
            x * (1.0 - g + 1.0 / (x * x) - g / x + 1.0 / (y * y) - g / y)
        };
        let factor = std::f64::consts::TAU * ELECTRON_MASS * ELECTRON_RADIUS.powi(2) * matter().electrons() / beta2;
        let between = factor * integral(0.01, 0.05, lost);
        near(energy_loss(&matter(), kinetic, &high) - energy_loss(&matter(), kinetic, &low), between, 1e-4);
    }

    #[test]
    fn values_are_those_of_tables() {
        // Muons lose 10.2 MeV/cm at the least, and electrons some nine tenths of what muons do in
        // heavy matter.
        let all = Cuts { electron: 1e4, photon: 0.1, stop: 0.1 };
        let least = (1..40).map(|i| energy_loss(&matter(), 0.1 * f64::from(i), &all)).fold(f64::INFINITY, f64::min);
        near(least, 0.93, 0.03);
        // Klein and Nishina at 511 keV: 0.2866 b an electron.
        near(klein_nishina(ELECTRON_MASS), 0.2866e-22, 2e-3);
        // At low energies Thomson's 0.665 b.
        near(klein_nishina(1e-3), 0.6652e-22 * (1.0 - 2e-3 / ELECTRON_MASS), 1e-4);
        assert_eq!(pair_rate(&matter(), 1.0), 0.0);
        assert!(pair_rate(&matter(), 1.03) > 0.0 && pair_rate(&matter(), 1.03) < 1e-6);
        // With complete screening 7/9 of the radiation length.
        near(pair_rate(&matter(), 1e6), 7.0 / 9.0 / 8.9, 0.04);
    }
}
