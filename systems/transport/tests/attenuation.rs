//! Attenuation of photons against published values.

use transport::{Geometry, Kind, Material, Process, Simulation};

/// MeV.
const ENERGIES: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10_000.0];

/// Mass attenuation without coherent scattering \[cm^2/g\]: XCOM (Berger, Hubbell and others, NIST).
#[rustfmt::skip]
const ELEMENTS: [(&str, [f64; ENERGIES.len()]); 7] = [
    ("H", [0.1263, 0.08769, 0.05049, 0.03254, 0.02153, 0.01419, 0.01194, 0.01164, 0.01224]),
    ("O", [0.06365, 0.04458, 0.02777, 0.02089, 0.0177, 0.01706, 0.01794, 0.02128, 0.02223]),
    ("Al", [0.06131, 0.0432, 0.02836, 0.02318, 0.02168, 0.02306, 0.02517, 0.03032, 0.03168]),
    ("Fe", [0.05951, 0.04254, 0.03144, 0.02994, 0.03224, 0.03828, 0.04329, 0.05327, 0.05553]),
    ("Cu", [0.05848, 0.04191, 0.03175, 0.03102, 0.03408, 0.04103, 0.04659, 0.05717, 0.05947]),
    ("W", [0.0637, 0.0437, 0.04093, 0.04745, 0.05892, 0.07619, 0.08797, 0.1083, 0.1124]),
    ("Pb", [0.06803, 0.0453, 0.0426, 0.04969, 0.06205, 0.08056, 0.0931, 0.1146, 0.119]),
];

/// Names, densities \[g/cm^3\], and elements by mass.
const MATERIALS: [(&str, f64, &[(&str, f64)]); 7] = [
    ("water", 1.0, &[("H", 0.111_894), ("O", 0.888_106)]),
    ("aluminium", 2.699, &[("Al", 1.0)]),
    ("iron", 7.874, &[("Fe", 1.0)]),
    ("copper", 8.96, &[("Cu", 1.0)]),
    ("tungsten", 19.3, &[("W", 1.0)]),
    ("lead", 11.35, &[("Pb", 1.0)]),
    ("lead tungstate", 8.28, &[("Pb", 0.455_327), ("W", 0.404_034), ("O", 0.140_639)]),
];

fn published(fractions: &[(&str, f64)], energy: usize) -> f64 {
    let of = |element: &str| {
        let row = ELEMENTS.iter().find(|(name, _)| *name == element).expect("an element of the table");
        row.1[energy]
    };
    fractions.iter().map(|&(element, fraction)| fraction * of(element)).sum()
}

fn simulation(materials: Vec<Material>) -> Simulation {
    let geometry = Geometry { world: [100.0; 3], sectors: 1, materials, volumes: Vec::new() };
    Simulation::builder().engine(transport::Engine::Cpu).geometry(geometry).build().expect("a simulation")
}

/// Total attenuation in every material at every energy.
#[test]
fn total_attenuation_is_the_published_one() {
    let mixture =
        |&(name, density, fractions): &_| Material::mixture(name, density, fractions).expect("a mixture of elements");
    let simulation = simulation(MATERIALS.iter().map(mixture).collect());
    for (number, (name, density, fractions)) in MATERIALS.iter().enumerate() {
        for (column, &energy) in ENERGIES.iter().enumerate() {
            let processes = [Process::Compton, Process::Pair, Process::Photoelectric];
            let rates = processes.map(|process| 1.0 / simulation.mean_free_path(number, Kind::Photon, process, energy));
            // 1/mm, and cm^2/g.
            let found = 10.0 * rates.iter().sum::<f64>() / density;
            let off = found / published(fractions, column) - 1.0;
            assert!(off.abs() < 0.04, "{name} at {energy} MeV: {:.1} % off", 100.0 * off);
        }
    }
}
