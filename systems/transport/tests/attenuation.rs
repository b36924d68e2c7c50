//! Attenuation of photons against published values: XCOM (Berger, Hubbell and others, NIST).

use std::fmt::Write;

use transport::{Engine, Geometry, Kind, Material, Process, Simulation};

/// MeV.
const ENERGIES: [f64; 16] =
    [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10_000.0];

/// Mass attenuation without coherent scattering \[cm^2/g\].
#[rustfmt::skip]
const ELEMENTS: [(&str, [f64; ENERGIES.len()]); 7] = [
    ("H", [0.3608, 0.3628, 0.354, 0.3344, 0.2941, 0.2428, 0.1728, 0.1263, 0.08769, 0.05049, 0.03254, 0.02153, 0.01419,
        0.01194, 0.01164, 0.01224]),
    ("O", [5.697, 0.7664, 0.3254, 0.1916, 0.1492, 0.1221, 0.08705, 0.06365, 0.04458, 0.02777, 0.02089, 0.0177, 0.01706,
        0.01794, 0.02128, 0.02223]),
    ("Al", [25.66, 3.237, 1.019, 0.3214, 0.1572, 0.1188, 0.08388, 0.06131, 0.0432, 0.02836, 0.02318, 0.02168, 0.02306,
        0.02517, 0.03032, 0.03168]),
    ("Fe", [169.5, 25.17, 7.892, 1.833, 0.3341, 0.1357, 0.08241, 0.05951, 0.04254, 0.03144, 0.02994, 0.03224, 0.03828,
        0.04329, 0.05327, 0.05553]),
    ("Cu", [214.5, 33.19, 10.58, 2.466, 0.414, 0.1437, 0.08156, 0.05848, 0.04191, 0.03175, 0.03102, 0.03408, 0.04103,
        0.04659, 0.05717, 0.05947]),
    ("W", [92.46, 63.69, 21.53, 5.389, 4.256, 0.7316, 0.1283, 0.0637, 0.0437, 0.04093, 0.04745, 0.05892, 0.07619,
        0.08797, 0.1083, 0.1124]),
    ("Pb", [125.7, 84.04, 28.94, 7.387, 5.336, 0.936, 0.1499, 0.06803, 0.0453, 0.0426, 0.04969, 0.06205, 0.08056,
        0.0931, 0.1146, 0.119]),
];

/// Elements by mass.
type Fractions = &'static [(&'static str, f64)];

/// Names, densities \[g/cm^3\], and elements.
const MATERIALS: [(&str, f64, Fractions); 7] = [
    ("water", 1.0, &[("H", 0.111_894), ("O", 0.888_106)]),
    ("aluminium", 2.699, &[("Al", 1.0)]),
    ("iron", 7.874, &[("Fe", 1.0)]),
    ("copper", 8.96, &[("Cu", 1.0)]),
    ("tungsten", 19.3, &[("W", 1.0)]),
    ("lead", 11.35, &[("Pb", 1.0)]),
    ("lead tungstate", 8.28, &[("Pb", 0.455_327), ("W", 0.404_034), ("O", 0.140_639)]),
];

/// Energies \[MeV\] of the photoelectric effect.
const LOW_ENERGIES: [f64; 7] = [0.01, 0.015, 0.02, 0.03, 0.06, 0.1, 0.2];

/// Symbols, relative atomic masses, and photoelectric cross sections \[barn\].
const PHOTOELECTRIC: [(&str, f64, [f64; LOW_ENERGIES.len()]); 11] = [
    ("C", 12.011, [41.4, 11.14, 4.341, 1.138, 0.1131, 0.02057, 0.002121]),
    ("Si", 28.085, [1546.0, 459.3, 190.7, 54.13, 6.009, 1.165, 0.1276]),
    ("Ca", 40.078, [6150.0, 1937.0, 834.9, 248.2, 29.47, 5.944, 0.6803]),
    ("Fe", 55.845, [15_710.0, 5215.0, 2323.0, 719.9, 90.66, 18.96, 2.256]),
    ("Ge", 72.630, [4306.0, 10_900.0, 4996.0, 1610.0, 214.0, 46.24, 5.706]),
    ("Mo", 95.95, [13_290.0, 4302.0, 12_500.0, 4370.0, 631.8, 143.5, 18.72]),
    ("I", 126.90, [33_660.0, 11_210.0, 5065.0, 1626.0, 1519.0, 363.5, 50.22]),
    ("Gd", 157.25, [69_380.0, 23_760.0, 10_940.0, 3599.0, 2954.0, 747.3, 109.3]),
    ("Hf", 178.49, [66_920.0, 37_380.0, 17_440.0, 5850.0, 864.1, 1149.0, 175.2]),
    ("W", 183.84, [28_210.0, 41_500.0, 19_420.0, 6545.0, 974.2, 1268.0, 195.3]),
    ("Pb", 207.2, [43_220.0, 37_230.0, 28_890.0, 9929.0, 1525.0, 1802.0, 291.2]),
];

fn simulation(materials: impl Iterator<Item = (&'static str, f64, Vec<(&'static str, f64)>)>) -> Simulation {
    let mixture = |(name, density, fractions): (&str, f64, Vec<_>)| {
        Material::mixture(name, density, &fractions).expect("a mixture of elements")
    };
    let geometry =
        Geometry { world: [100.0; 3], sectors: 1, materials: materials.map(mixture).collect(), volumes: vec![] };
    Simulation::builder().engine(Engine::Cpu).geometry(geometry).build().expect("a simulation")
}

/// The mass attenuation of a process \[cm^2/g\] for a density of 1 g/cm^3.
fn attenuation(simulation: &Simulation, material: usize, process: Process, energy: f64) -> f64 {
    10.0 / simulation.mean_free_path(material, Kind::Photon, process, energy)
}

/// Total attenuation is within 4 % of the published values. The table of deviations is printed, and
/// is the one of the page.
#[test]
fn total_attenuation_is_the_published_one() {
    let simulation = simulation(MATERIALS.iter().map(|&(name, density, parts)| (name, density, parts.to_vec())));
    let mut table = String::from("| MeV |");
    for (name, ..) in MATERIALS {
        write!(table, " {name} |").expect("a string");
    }
    writeln!(table, "\n|{}", "---|".repeat(MATERIALS.len() + 1)).expect("a string");
    for (row, energy) in ENERGIES.into_iter().enumerate() {
        write!(table, "| {energy} |").expect("a string");
        for (number, (name, density, fractions)) in MATERIALS.into_iter().enumerate() {
            let of = |element: &str| ELEMENTS.iter().find(|(name, _)| *name == element).expect("an element").1[row];
            let published: f64 = fractions.iter().map(|&(element, fraction)| fraction * of(element)).sum();
            let processes = [Process::Compton, Process::Pair, Process::Photoelectric].into_iter();
            let found: f64 = processes.map(|process| attenuation(&simulation, number, process, energy)).sum();
            let off = 100.0 * (found / density / published - 1.0);
            assert!(off.abs() < 4.0, "{name} at {energy} MeV: {off:.1} % off");
            // No -0.0.
            write!(table, " {:+.1} |", (10.0 * off).round() / 10.0 + 0.0).expect("a string");
        }
        table.push('\n');
    }
    println!("{table}");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/transport.md");
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains(&table), "docs/transport.md has another table than\n{table}");
}

#[test]
fn photoelectric_absorption_is_the_published_one() {
    let simulation = simulation(PHOTOELECTRIC.iter().map(|&(element, ..)| (element, 1.0, vec![(element, 1.0)])));
    for (number, (element, mass, sections)) in PHOTOELECTRIC.into_iter().enumerate() {
        for (energy, barn) in LOW_ENERGIES.into_iter().zip(sections) {
            let published = 0.602_214_076 * barn / mass;
            let off = attenuation(&simulation, number, Process::Photoelectric, energy) / published - 1.0;
            assert!(off.abs() < 0.05, "{element} at {energy} MeV: {:.1} % off", 100.0 * off);
        }
    }
}

/// The photoelectric effect rises at the K edges by the published jumps.
#[test]
fn edges_are_sharp() {
    let edges = [("Mo", 0.019_999_5), ("W", 0.069_525), ("Pb", 0.088_004_5)];
    let simulation = simulation(edges.iter().map(|&(element, _)| (element, 1.0, vec![(element, 1.0)])));
    for ((number, (element, edge)), jump) in edges.into_iter().enumerate().zip([6.54, 5.10, 4.73]) {
        let [below, above] =
            [0.998, 1.002].map(|part| attenuation(&simulation, number, Process::Photoelectric, part * edge));
        assert!((above / below / jump - 1.0).abs() < 0.06, "{element}: {}, not {jump}", above / below);
    }
}
