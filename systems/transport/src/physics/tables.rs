//! Rates, losses and ranges at nodes of energy, as the prototype's physics vectors have them.

use super::Cuts;
use super::rates::{bremsstrahlung_rate, compton_rate, energy_loss, moller_rate, pair_rate, photoelectric_rate};
use crate::material::Material;
use crate::number::Number;

/// Nodes: seven a decade, from 100 eV to 10 TeV.
pub(crate) const NODES: usize = 78;
pub(crate) const PER_DECADE: f64 = 7.0;
/// MeV.
pub(crate) const LOWEST: f64 = 1e-4;

/// Straight in the logarithm of the energy between nodes; the range in both logarithms, so that it
/// can be turned round exactly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tables<T> {
    /// Bremsstrahlung and Moller \[1/mm\], loss \[MeV/mm\] and the logarithm of the range \[mm\].
    pub(crate) electron: Vec<[T; 4]>,
    /// Compton, pairs and photoelectric effect \[1/mm\]; the radiation length \[mm\].
    pub(crate) photon: Vec<[T; 4]>,
}

/// The energy of a node \[MeV\].
fn energy(node: usize) -> f64 {
    LOWEST * 10_f64.powf(node as f64 / PER_DECADE)
}

impl<T: Number> Tables<T> {
    pub(crate) fn new(material: &Material, cuts: &Cuts) -> Self {
        // Below the first node the loss is what it is there.
        let mut range = energy(0) / energy_loss(material, energy(0), cuts);
        let electron = |node: usize| {
            let e = energy(node);
            if node > 0 {
                range += range_between(material, energy(node - 1), e, cuts);
            }
            [
                bremsstrahlung_rate(material, e, cuts),
                moller_rate(material, e, cuts),
                energy_loss(material, e, cuts),
                range.ln(),
            ]
            .map(T::of)
        };
        let photon = |node: usize| {
            let e = energy(node);
            [
                compton_rate(material, e),
                pair_rate(material, e),
                photoelectric_rate(material, e),
                material.radiation_length(),
            ]
            .map(T::of)
        };
        Self { electron: (0..NODES).map(electron).collect(), photon: (0..NODES).map(photon).collect() }
    }

    /// The node below an energy \[MeV\], and how far above it the energy is; no further than the
    /// last.
    fn place(energy: T) -> (usize, T) {
        let most = T::of((NODES - 1) as f64);
        let along = ((energy.ln() - T::of(LOWEST.ln())) * T::of(PER_DECADE / std::f64::consts::LN_10)).most(T::of(0.0));
        let along = along.least(most);
        let node = along.down().least(T::of((NODES - 2) as f64));
        (Into::<f64>::into(node) as usize, along - node)
    }

    /// Of an electron or positron of a kinetic energy \[MeV\]: bremsstrahlung and Moller \[1/mm\],
    /// loss \[MeV/mm\], logarithm of the range.
    pub(crate) fn of_electron(&self, kinetic: T) -> [T; 4] {
        let (node, part) = Self::place(kinetic);
        between(self.electron[node], self.electron[node + 1], part)
    }

    /// The radiation length \[mm\].
    pub(crate) fn radiation_length(&self) -> T {
        self.photon[0][3]
    }

    /// Of a photon of an energy \[MeV\]: Compton, pairs, photoelectric effect \[1/mm\].
    pub(crate) fn of_photon(&self, energy: T) -> [T; 4] {
        let (node, part) = Self::place(energy);
        between(self.photon[node], self.photon[node + 1], part)
    }

    /// The kinetic energy \[MeV\] whose range has a logarithm.
    pub(crate) fn energy_of_range(&self, logarithm: T) -> T {
        // Finds the last node that is not beyond, except for the final one.
        let (mut low, mut high) = (0, NODES - 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.electron[middle][3] <= logarithm {
                low = middle;
            } else {
                high = middle;
            }
        }
        let [before, after] = [self.electron[low][3], self.electron[high][3]];
        let along = T::of(low as f64) + (logarithm - before) / (after - before);
        (T::of(LOWEST.ln()) + along * T::of(std::f64::consts::LN_10 / PER_DECADE)).exp()
    }
}

fn between<T: Number>(low: [T; 4], high: [T; 4], part: T) -> [T; 4] {
    [0, 1, 2, 3].map(|i| low[i] + part * (high[i] - low[i]))
}

/// Returns the path of an electron from one energy down to another \[mm\]: Simpson's rule in the
/// logarithm.
fn range_between(material: &Material, low: f64, high: f64, cuts: &Cuts) -> f64 {
    let parts = 32;
    let step = (high / low).ln() / f64::from(parts);
    let at = |i: i32| {
        let e = low * (f64::from(i) * step).exp();
        e / energy_loss(material, e, cuts)
    };
    let inner: f64 = (1..parts).map(|i| if i % 2 == 1 { 4.0 * at(i) } else { 2.0 * at(i) }).sum();
    (at(0) + inner + at(parts)) * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold<T: Number>(within: f64) {
        let (cuts, material) = (Cuts::default(), Material::lead_tungstate());
        let tables = Tables::<T>::new(&material, &cuts);
        // At nodes they are what they are made of.
        for node in [30, 40, 50] {
            let e = energy(node);
            let found = tables.of_electron(T::of(e)).map(|x| x.into());
            let wanted = [
                bremsstrahlung_rate(&material, e, &cuts),
                moller_rate(&material, e, &cuts),
                energy_loss(&material, e, &cuts),
            ];
            for (found, wanted) in found.into_iter().zip(wanted) {
                assert!((found - wanted).abs() <= within * wanted.max(0.01), "{}: {found}, not {wanted}", T::PRECISION);
            }
            let found: f64 = tables.of_photon(T::of(e))[0].into();
            assert!((found / compton_rate(&material, e) - 1.0).abs() < within);
        }
        // Ranges are turned round.
        for e in [2e-4, 0.1, 0.3, 1.0, 7.7, 1000.0, 9e6] {
            let [.., range] = tables.of_electron(T::of(e));
            let back: f64 = tables.energy_of_range(range).into();
            assert!((back / e - 1.0).abs() < 10.0 * within, "{}: {back}, not {e}", T::PRECISION);
        }
        // An electron that loses at least 1.1 MeV/mm stops within this path.
        let range = Into::<f64>::into(tables.of_electron(T::of(1.0))[3]).exp();
        assert!((0.5..1.0).contains(&range), "{range} mm");
        // Beyond the ends, the ends.
        assert_eq!(tables.of_photon(T::of(1e9)), tables.photon[NODES - 1]);
        assert_eq!(tables.of_photon(T::of(0.0)), tables.photon[0]);
    }

    #[test]
    fn tables_hold_what_they_are_made_of() {
        hold::<f64>(1e-10);
        hold::<f32>(3e-5);
    }
}
