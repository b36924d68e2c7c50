//! Materials: mixtures of elements by mass fractions.

use crate::error::{Error, Result};

/// Symbols and relative atomic masses of the elements from hydrogen on (IUPAC, abridged). For
/// elements without a standard mass it is that of the longest-lived isotope.
#[rustfmt::skip]
const ELEMENTS: [(&str, f64); 92] = [
    ("H", 1.008), ("He", 4.0026), ("Li", 6.94), ("Be", 9.0122), ("B", 10.81), ("C", 12.011), ("N", 14.007),
    ("O", 15.999), ("F", 18.998), ("Ne", 20.180), ("Na", 22.990), ("Mg", 24.305), ("Al", 26.982), ("Si", 28.085),
    ("P", 30.974), ("S", 32.06), ("Cl", 35.45), ("Ar", 39.95), ("K", 39.098), ("Ca", 40.078), ("Sc", 44.956),
    ("Ti", 47.867), ("V", 50.942), ("Cr", 51.996), ("Mn", 54.938), ("Fe", 55.845), ("Co", 58.933), ("Ni", 58.693),
    ("Cu", 63.546), ("Zn", 65.38), ("Ga", 69.723), ("Ge", 72.630), ("As", 74.922), ("Se", 78.971), ("Br", 79.904),
    ("Kr", 83.798), ("Rb", 85.468), ("Sr", 87.62), ("Y", 88.906), ("Zr", 91.224), ("Nb", 92.906), ("Mo", 95.95),
    ("Tc", 97.0), ("Ru", 101.07), ("Rh", 102.91), ("Pd", 106.42), ("Ag", 107.87), ("Cd", 112.41), ("In", 114.82),
    ("Sn", 118.71), ("Sb", 121.76), ("Te", 127.60), ("I", 126.90), ("Xe", 131.29), ("Cs", 132.91), ("Ba", 137.33),
    ("La", 138.91), ("Ce", 140.12), ("Pr", 140.91), ("Nd", 144.24), ("Pm", 145.0), ("Sm", 150.36), ("Eu", 151.96),
    ("Gd", 157.25), ("Tb", 158.93), ("Dy", 162.50), ("Ho", 164.93), ("Er", 167.26), ("Tm", 168.93), ("Yb", 173.05),
    ("Lu", 174.97), ("Hf", 178.49), ("Ta", 180.95), ("W", 183.84), ("Re", 186.21), ("Os", 190.23), ("Ir", 192.22),
    ("Pt", 195.08), ("Au", 196.97), ("Hg", 200.59), ("Tl", 204.38), ("Pb", 207.2), ("Bi", 208.98), ("Po", 209.0),
    ("At", 210.0), ("Rn", 222.0), ("Fr", 223.0), ("Ra", 226.0), ("Ac", 227.0), ("Th", 232.04), ("Pa", 231.04),
    ("U", 238.03),
];

/// 1/mol.
const AVOGADRO: f64 = 6.022_140_76e23;

/// An element of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    z: f64,
    /// g/mol.
    mass: f64,
    /// Of the mass of the material.
    fraction: f64,
}

/// A material.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    name: String,
    /// g/cm^3.
    density: f64,
    parts: Vec<Part>,
    /// mm.
    radiation_length: f64,
    /// MeV.
    mean_excitation: f64,
    /// The density effect: C, x0, x1, a, k.
    sternheimer: [f64; 5],
}

impl Material {
    /// Returns lead tungstate, the material of the prototype, with the constants of the Particle
    /// Data Group.
    #[must_use]
    pub fn lead_tungstate() -> Self {
        let part = |z, mass, fraction| Part { z, mass, fraction };
        Self {
            name: "lead tungstate".to_owned(),
            density: 8.28,
            parts: vec![
                part(82.0, 207.2, 0.455_326_61),
                part(74.0, 183.84, 0.404_033_97),
                part(8.0, 15.999, 0.140_639_42),
            ],
            radiation_length: 8.9,
            mean_excitation: 600.7e-6,
            sternheimer: [5.8528, 0.4068, 3.0023, 0.227_58, 3.0],
        }
    }

    /// Makes a mixture of elements by mass fractions, with its density \[g/cm^3\].
    ///
    /// The radiation length is that of Tsai's fit (PDG), added by mass. The mean excitation energy
    /// follows Bragg's rule, and the density effect is that of Sternheimer and Peierls.
    ///
    /// # Errors
    /// [`Error::Options`] for an unknown element, a density out of range, or fractions that do not
    /// add up to 1 within 1 %.
    pub fn mixture(name: &str, density: f64, fractions: &[(&str, f64)]) -> Result<Self> {
        let wrong = |what: String| Error::Options { what: format!("material `{name}`: {what}") };
        let total = fractions.iter().fold(0.0, |sum, &(_, fraction)| sum + fraction);
        if !(0.99..=1.01).contains(&total) || fractions.iter().any(|&(_, fraction)| fraction <= 0.0) {
            return Err(wrong(format!("mass fractions add up to {total}; positive ones that add up to 1 are wanted")));
        }
        let part = |&(symbol, fraction): &(&str, f64)| {
            let element = ELEMENTS.iter().position(|&(other, _)| other == symbol);
            let element = element.ok_or_else(|| wrong(format!("there is no element `{symbol}`")))?;
            Ok(Part { z: element as f64 + 1.0, mass: ELEMENTS[element].1, fraction: fraction / total })
        };
        let parts = fractions.iter().map(part).collect::<Result<Vec<_>>>()?;
        let sum = |of: &dyn Fn(&Part) -> f64| parts.iter().map(|part| part.fraction * of(part)).sum::<f64>();
        let per_length = sum(&|part| part.z * (part.z + 1.0) * (287.0 / part.z.sqrt()).ln() / (716.4 * part.mass));
        let electrons = sum(&|part| part.z / part.mass);
        let excitation = (sum(&|part| part.z / part.mass * element_excitation(part.z).ln()) / electrons).exp();
        let material = Self {
            name: name.to_owned(),
            density,
            radiation_length: 10.0 / (density * per_length),
            mean_excitation: 1e-6 * excitation,
            sternheimer: density_effect(excitation, 28.816 * (density * electrons).sqrt(), density),
            parts,
        };
        material.check()?;
        Ok(material)
    }

    /// Replaces the name.
    #[must_use]
    pub fn with_name(mut self, name: String) -> Self {
        self.name = name;
        self
    }

    /// Replaces the radiation length \[mm\] by a measured one.
    #[must_use]
    pub fn with_radiation_length(mut self, length: f64) -> Self {
        self.radiation_length = length;
        self
    }

    /// Replaces the mean excitation energy \[eV\] by a measured one.
    #[must_use]
    pub fn with_mean_excitation(mut self, energy: f64) -> Self {
        self.mean_excitation = 1e-6 * energy;
        let electrons: f64 = self.parts.iter().map(|part| part.fraction * part.z / part.mass).sum();
        self.sternheimer = density_effect(energy, 28.816 * (self.density * electrons).sqrt(), self.density);
        self
    }

    /// Checks the constants.
    ///
    /// # Errors
    /// [`Error::Options`] if they are out of range.
    pub fn check(&self) -> Result<()> {
        for (what, value, range) in [
            ("density [g/cm3]", self.density, 1e-5..=30.0),
            ("radiation length [mm]", self.radiation_length, 1.0..=1e9),
            ("mean excitation energy [eV]", 1e6 * self.mean_excitation, 5.0..=2000.0),
        ] {
            if !range.contains(&value) {
                let (low, high) = (range.start(), range.end());
                let what = format!("material `{}`: {what}: {value}; {low} to {high} are wanted", self.name);
                return Err(Error::Options { what });
            }
        }
        Ok(())
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the radiation length \[mm\].
    #[must_use]
    pub fn radiation_length(&self) -> f64 {
        self.radiation_length
    }

    /// Returns the number of atoms \[1/mm^3\] of each element, with its atomic number.
    pub fn atoms(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let density = 1e-3 * self.density;
        self.parts.iter().map(move |part| (part.z, AVOGADRO * density * part.fraction / part.mass))
    }

    /// Returns the number of electrons \[1/mm^3\].
    #[must_use]
    pub fn electrons(&self) -> f64 {
        self.atoms().map(|(z, atoms)| z * atoms).sum()
    }

    pub(crate) fn mean_excitation(&self) -> f64 {
        self.mean_excitation
    }

    pub(crate) fn sternheimer(&self) -> [f64; 5] {
        self.sternheimer
    }
}

/// The mean excitation energy of an element \[eV\], an approximation.
fn element_excitation(z: f64) -> f64 {
    if z < 13.0 { 12.0 * z + 7.0 } else { z * (9.76 + 58.8 * z.powf(-1.19)) }
}

/// Sternheimer and Peierls: C, x0, x1, a and k for a mean excitation energy and a plasma energy
/// \[eV\]. Materials of less than 0.05 g/cm^3 are gases.
fn density_effect(excitation: f64, plasma: f64, density: f64) -> [f64; 5] {
    let c = 2.0 * (excitation / plasma).ln() + 1.0;
    let (x0, x1) = if density < 0.05 {
        match c {
            c if c < 10.0 => (1.6, 4.0),
            c if c < 10.5 => (1.7, 4.0),
            c if c < 11.0 => (1.8, 4.0),
            c if c < 11.5 => (1.9, 4.0),
            c if c < 12.25 => (2.0, 4.0),
            c if c < 13.804 => (2.0, 5.0),
            c => (0.326 * c - 2.5, 5.0),
        }
    } else if excitation < 100.0 {
        if c < 3.681 { (0.2, 2.0) } else { (0.326 * c - 1.0, 2.0) }
    } else if c < 5.215 {
        (0.2, 3.0)
    } else {
        (0.326 * c - 1.5, 3.0)
    };
    let k = 3.0;
    [c, x0, x1, (c - 2.0 * std::f64::consts::LN_10 * x0) / (x1 - x0).powf(k), k]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the Particle Data Group: radiation lengths \[mm\] and mean excitation energies
    /// \[eV\].
    #[test]
    fn mixtures_have_published_constants() {
        let near = |found: f64, wanted: f64, within: f64| {
            assert!((found / wanted - 1.0).abs() < within, "{found}, not {wanted}");
        };
        for (density, fractions, length, excitation) in [
            (11.35, &[("Pb", 1.0)][..], 5.612, 823.0),
            (7.874, &[("Fe", 1.0)], 17.57, 286.0),
            (2.329, &[("Si", 1.0)], 93.70, 173.0),
            (1.0, &[("H", 0.111_894), ("O", 0.888_106)], 360.8, 79.7),
            (8.3, &[("Pb", 0.455), ("W", 0.404), ("O", 0.141)], 8.903, 600.7),
        ] {
            let material = Material::mixture("tested", density, fractions).expect("a mixture");
            near(material.radiation_length(), length, 0.03);
            near(1e6 * material.mean_excitation(), excitation, 0.16);
        }
        let tungstate = Material::lead_tungstate();
        let [c, x0, ..] = density_effect(600.7, 28.816 * (8.28 * 0.41315_f64).sqrt(), 8.28);
        near(c, tungstate.sternheimer()[0], 0.02);
        near(x0, tungstate.sternheimer()[1], 0.1);
    }

    #[test]
    fn invalid_mixtures_are_errors() {
        for (density, fractions, message) in [
            (1.0, &[("Pb", 0.5)][..], "add up to 0.5"),
            (1.0, &[("Xx", 1.0)], "no element `Xx`"),
            (f64::NAN, &[("Pb", 1.0)], "NaN"),
            (-1.0, &[("Pb", 1.0)], "density"),
            (1.0, &[], "add up to 0"),
        ] {
            let error = Material::mixture("odd", density, fractions).expect_err("invalid").to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
