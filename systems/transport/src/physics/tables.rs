//! Rates, losses and ranges at nodes of energy, as the prototype's physics vectors have them.

use super::rates::{bremsstrahlung_rate, compton_rate, energy_loss, moller_rate, pair_rate, photoelectric_rate};
use super::{Cuts, photons};
use crate::material::Material;
use crate::number::Number;

/// Nodes of electrons: seven a decade, from 100 eV to 10 TeV.
pub(crate) const NODES: usize = 78;
pub(crate) const PER_DECADE: f64 = 7.0;
/// MeV.
pub(crate) const LOWEST: f64 = 1e-4;

/// The range of nodes of photons \[MeV\], their number a decade, and their number without edges.
pub(crate) const PHOTON_RANGE: [f64; 2] = [1e-3, 1e7];
pub(crate) const PHOTONS_PER_DECADE: f64 = 10.0;
pub(crate) const PHOTON_NODES: usize = 101;
/// Edges below this energy \[MeV\] are between nodes.
const LEAST_EDGE: f64 = 0.01;
/// The two nodes at an edge are this part of its energy below and above it.
const EDGE_GAP: f64 = 1e-5;

/// Straight in the logarithm of the energy between nodes. The range and the photoelectric effect
/// are straight in both logarithms, so that the range can be turned round exactly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tables<T> {
    /// Bremsstrahlung and Moller \[1/mm\], loss \[MeV/mm\] and the logarithm of the range \[mm\].
    pub(crate) electron: Vec<[T; 4]>,
    /// Compton and pairs \[1/mm\], the logarithms of the photoelectric effect \[1/mm\] and of the
    /// energy.
    pub(crate) photon: Vec<[T; 4]>,
    /// mm.
    pub(crate) radiation_length: T,
}

/// Returns the nodes of photons \[MeV\]. All materials have the same: evenly in the logarithm, and
/// at both sides of the edges of all elements.
pub(crate) fn photon_nodes(materials: &[Material]) -> Vec<f64> {
    let even = (0..PHOTON_NODES).map(|node| PHOTON_RANGE[0] * 10_f64.powf(node as f64 / PHOTONS_PER_DECADE));
    let edges = materials.iter().flat_map(Material::atoms).flat_map(|(z, _)| photons::edges(z));
    let edges = edges.filter(|&edge| edge > LEAST_EDGE);
    let mut nodes: Vec<f64> = even.chain(edges.flat_map(|e| [e * (1.0 - EDGE_GAP), e * (1.0 + EDGE_GAP)])).collect();
    nodes.sort_by(f64::total_cmp);
    // Logarithms rise, also in f32.
    nodes.dedup_by(|next, node| next.ln() as f32 <= node.ln() as f32);
    nodes
}

/// The energy of a node \[MeV\].
fn energy(node: usize) -> f64 {
    LOWEST * 10_f64.powf(node as f64 / PER_DECADE)
}

impl<T: Number> Tables<T> {
    /// The tables of a material, with the nodes of photons.
    pub(crate) fn new(material: &Material, cuts: &Cuts, photon_nodes: &[f64]) -> Self {
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
        let photon = |&e: &f64| {
            [compton_rate(material, e), pair_rate(material, e), photoelectric_rate(material, e).ln(), e.ln()].map(T::of)
        };
        Self {
            electron: (0..NODES).map(electron).collect(),
            photon: photon_nodes.iter().map(photon).collect(),
            radiation_length: T::of(material.radiation_length()),
        }
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

    /// Of a photon of an energy \[MeV\]: Compton, pairs, photoelectric effect \[1/mm\].
    pub(crate) fn of_photon(&self, energy: T) -> [T; 3] {
        let rows = &self.photon;
        let [low, high] = PHOTON_RANGE.map(|energy| T::of(energy.ln()));
        let logarithm = energy.ln().most(low).least(high);
        let along = (logarithm - low) * T::of(PHOTONS_PER_DECADE / std::f64::consts::LN_10);
        // Above all edges this is the row.
        let edges = rows.len().saturating_sub(PHOTON_NODES);
        let mut row = (Into::<f64>::into(along) as usize + edges).min(rows.len() - 2);
        while row > 0 && rows[row][3] > logarithm {
            row -= 1;
        }
        while row + 2 < rows.len() && rows[row + 1][3] <= logarithm {
            row += 1;
        }
        let (before, after) = (rows[row], rows[row + 1]);
        let [compton, pair, photoelectric, _] =
            between(before, after, (logarithm - before[3]) / (after[3] - before[3]));
        [compton, pair, photoelectric.exp()]
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
        let nodes = photon_nodes(std::slice::from_ref(&material));
        let tables = Tables::<T>::new(&material, &cuts, &nodes);
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
        }
        // Three K and L edges of tungsten and lead each are above 10 keV, and L3 of tungsten.
        assert_eq!(nodes.len(), PHOTON_NODES + 2 * 8);
        assert!((nodes[nodes.len() - 1] / PHOTON_RANGE[1] - 1.0).abs() < 1e-9);
        for &e in &nodes {
            let wanted = [compton_rate(&material, e), pair_rate(&material, e), photoelectric_rate(&material, e)];
            for (found, wanted) in tables.of_photon(T::of(e)).into_iter().zip(wanted) {
                let found: f64 = found.into();
                assert!((found - wanted).abs() <= 20.0 * within * wanted.max(1e-4), "{e} MeV: {found}, not {wanted}");
            }
        }
        // Between nodes, but not in edges: the curvature of the rates.
        for e in nodes.windows(2).filter(|pair| pair[1] > 1.001 * pair[0]).map(|pair| (pair[0] * pair[1]).sqrt()) {
            let wanted = [compton_rate(&material, e), photoelectric_rate(&material, e)];
            let [compton, _, photoelectric] = tables.of_photon(T::of(e)).map(|x| x.into());
            for (found, wanted) in [compton, photoelectric].into_iter().zip(wanted) {
                assert!((found / wanted - 1.0).abs() < 0.01, "{e} MeV: {found}, not {wanted}");
            }
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
        assert_eq!(tables.of_photon(T::of(1e9)), tables.of_photon(T::of(1e7)));
        assert_eq!(tables.of_photon(T::of(0.0)), tables.of_photon(T::of(1e-3)));
    }

    #[test]
    fn tables_hold_what_they_are_made_of() {
        hold::<f64>(1e-10);
        hold::<f32>(3e-5);
    }
}
