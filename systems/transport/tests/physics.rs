//! Results against formulas and published values.

use transport::{
    AnyField, Cuts, Engine, Geometry, Grid, Kind, Material, Outcome, Primary, Process, Scattering, Shape, Simulation,
    SimulationBuilder, Volume,
};

/// A block of a material, from z = 0 on, without a field.
fn block(material: Material, depth: f64) -> SimulationBuilder {
    let volume = Volume { shape: Shape::Box { half: [400.0, 400.0] }, z: [0.0, depth], material: Some(0) };
    let geometry =
        Geometry { world: [500.0, 500.0, 1000.0], sectors: 1, materials: vec![material], volumes: vec![volume] };
    Simulation::builder().engine(Engine::Cpu).geometry(geometry).field(AnyField::Uniform([0.0; 3]))
}

fn run(builder: SimulationBuilder, primaries: &[Primary], iterations: u32) -> Outcome {
    builder.build().expect("a simulation").run_for(primaries, iterations).expect("a run")
}

fn beam(kind: Kind, p: f64, count: usize) -> Vec<Primary> {
    vec![Primary { kind, place: [0.0, 0.0, 1e-3], momentum: [0.0, 0.0, p] }; count]
}

/// Photons that pass a block without an interaction: exp(-mu x), with the mass attenuation of
/// NIST's tables without coherent scattering.
#[test]
fn photons_are_attenuated_as_published() {
    let mixture =
        |density, fractions: &[(&str, f64)]| Material::mixture("block", density, fractions).expect("a mixture");
    let water = [("H", 0.111_894), ("O", 0.888_106)];
    for (energy, material, density, depth, attenuation) in [
        (1.0, mixture(11.35, &[("Pb", 1.0)]), 11.35, 10.0, 0.0684),
        (5.0, mixture(11.35, &[("Pb", 1.0)]), 11.35, 20.0, 0.0426),
        (1.0, mixture(1.0, &water), 1.0, 100.0, 0.0707),
        (0.5, mixture(1.0, &water), 1.0, 80.0, 0.0968),
    ] {
        let count = 20_000;
        let outcome = run(block(material, depth), &beam(Kind::Photon, energy, count), 1);
        let found = outcome.processes[Process::Nothing as usize] as f64 / count as f64;
        let wanted: f64 = (-attenuation * density * depth / 10.0_f64).exp();
        // Rates are good to 3 % here, and the sample to 1 %.
        let mu = found.ln() / wanted.ln();
        assert!((mu - 1.0).abs() < 0.04, "{energy} MeV: {found} pass, not {wanted}");
    }
}

/// The mean energy of a shower at a depth: a gamma distribution (PDG), whose maximum and mean
/// Grindhammer and Peters parametrise: T = ln y - 0.858, alpha = 0.21 + (0.492 + 2.38 / Z) ln y
/// with y = E / Ec. The radial profile: 90, 95 and 99 % of the energy are within 1, 2 and 3.5
/// Moliere radii (PDG).
#[test]
fn showers_in_lead_tungstate_have_the_published_profile() {
    let (energy, critical, z, length) = (1000.0_f64, 9.64, 68.4, 8.9);
    // Half of the Moliere radius.
    let half_radius = 19.6 / 2.0;
    let grid = Grid { r: [0.0, 60.0 * half_radius], z: [0.0, 26.0 * length], bins: [60, 52] };
    let builder = block(Material::lead_tungstate(), 30.0 * length).grid(grid).scattering(Scattering::Highland);
    let outcome = run(builder, &beam(Kind::Electron, energy, 60), u32::MAX);
    let energies = outcome.deposits.energies();
    let profile: Vec<f64> = (0..52).map(|bin| energies.iter().skip(bin).step_by(52).sum()).collect();
    let total: f64 = profile.iter().sum();
    assert!(total > 0.96 * outcome.balance.initial, "{total} MeV stay");
    let depth = |bin: usize| 0.5 * (bin as f64 + 0.5);
    let mean = profile.iter().enumerate().map(|(bin, energy)| depth(bin) * energy).sum::<f64>() / total;
    let y = (energy / critical).ln();
    let (maximum, alpha) = (y - 0.858, 0.21 + (0.492 + 2.38 / z) * y);
    let beta = (alpha - 1.0) / maximum;
    assert!((mean / (alpha / beta) - 1.0).abs() < 0.08, "{mean} X0, not {}", alpha / beta);
    // The shape: half of the sum of differences from the gamma distribution.
    let gamma: Vec<f64> =
        (0..52).map(|bin| (beta * depth(bin)).powf(alpha - 1.0) * (-beta * depth(bin)).exp()).collect();
    let sum: f64 = gamma.iter().sum();
    let off: f64 = profile.iter().zip(&gamma).map(|(a, b)| (a / total - b / sum).abs()).sum::<f64>() / 2.0;
    assert!(off < 0.08, "{off} of the energy is elsewhere");
    for (half_radii, published, within) in [(2, 0.90, 0.055), (4, 0.95, 0.015), (7, 0.99, 0.01)] {
        let inside = energies[..52 * half_radii].iter().sum::<f64>() / total;
        assert!((inside - published).abs() < within, "{inside} within {half_radii} half radii, not {published}");
    }
}

/// Angles after a step: Highland's width for its length, in two planes.
#[test]
fn electrons_scatter_as_highland_says() {
    let cuts = Cuts { electron: 1e4, photon: 1e4, stop: 0.1 };
    let length = 8.9;
    for p in [30.0_f64, 300.0] {
        let builder = block(Material::lead_tungstate(), 0.4 * length).cuts(cuts).scattering(Scattering::Highland);
        let outcome = run(builder, &beam(Kind::Electron, p, 4000), 1);
        let mut sum = 0.0;
        for track in &outcome.left {
            let x = track.step / length;
            let beta = p / p.hypot(0.511);
            let width = 13.6 / (beta * p) * x.sqrt() * (1.0 + 0.038 * (x / (beta * beta)).ln());
            // 2 sin of half of the angle.
            let square = 2.0 * (1.0 - track.direction[2]);
            sum += square / (2.0 * width * width);
        }
        let mean = sum / outcome.left.len() as f64;
        assert!(outcome.left.len() > 3900 && (mean - 1.0).abs() < 0.08, "{p} MeV/c: {mean} of the square");
    }
}

/// Returns the integral of a function over a range, by the logarithm of its argument.
fn integral(low: f64, high: f64, of: impl Fn(f64) -> f64) -> f64 {
    let parts = 20_000;
    let step = (high / low).ln() / f64::from(parts);
    (0..parts).map(|i| low * ((f64::from(i) + 0.5) * step).exp()).map(|x| of(x) * x * step).sum()
}

/// Rates of single electrons of matter: the integrals of Moller's and of Klein and Nishina's
/// differential cross sections, times the density of electrons.
#[test]
fn rates_of_electrons_are_those_of_the_formulas() {
    let (mass, radius_squared) = (0.510_998_95_f64, 7.940_787_68e-24); // MeV, mm^2
    let water = Material::mixture("water", 1.0, &[("H", 0.111_894), ("O", 0.888_106)]).expect("water");
    // Z / A of each part, electrons in mm^3.
    let of_water = 1e-3 * 6.022_140_76e23 * (0.111_894 / 1.008 + 0.888_106 * 8.0 / 15.999);
    let of_tungstate = 8.28e-3
        * 6.022_140_76e23
        * (0.455_326_61 * 82.0 / 207.2 + 0.404_033_97 * 74.0 / 183.84 + 0.140_639_42 * 8.0 / 15.999);
    for (material, electrons) in [(water, of_water), (Material::lead_tungstate(), of_tungstate)] {
        let simulation = block(material, 100.0).build().expect("a simulation");
        let holds = |kind, process, energy, cross_section: f64| {
            let found = 1.0 / simulation.mean_free_path(0, kind, process, energy);
            let wanted = electrons * cross_section;
            // Rates are straight in log(energy) between points of a table, seven a decade.
            assert!((found / wanted - 1.0).abs() < 0.015, "{process:?} at {energy} MeV: {found}, not {wanted}");
        };
        // At lower energies the binding of electrons counts.
        for energy in [1.0, 5.0, 20.0, 300.0] {
            // Over 1 - cos(theta), of which forward angles matter at high energies.
            let differential = |away: f64| {
                let part = 1.0 / (1.0 + energy / mass * away);
                part * part * (part + 1.0 / part - away * (2.0 - away))
            };
            let sum = integral(1e-9, 2.0, differential);
            holds(Kind::Photon, Process::Compton, energy, std::f64::consts::PI * radius_squared * sum);
        }
        for kinetic in [5.0, 80.0, 700.0] {
            let gamma = kinetic / mass + 1.0;
            let beta_squared = 1.0 - 1.0 / (gamma * gamma);
            let mixed = (2.0 * gamma - 1.0) / (gamma * gamma);
            let spectrum = |x: f64| {
                let y = 1.0 - x;
                ((gamma - 1.0) / gamma).powi(2) + (1.0 / x - mixed) / x + (1.0 / y - mixed) / y
            };
            let sum = integral(Cuts::default().electron / kinetic, 0.5, spectrum);
            let factor = 2.0 * std::f64::consts::PI * radius_squared * mass / (beta_squared * kinetic);
            holds(Kind::Electron, Process::Moller, kinetic, factor * sum);
        }
    }
}

/// The transport rate of an electron: the mean free path of bremsstrahlung above 0.1 MeV, by the
/// integral of the complete-screening spectrum.
#[test]
fn rates_are_those_of_the_formulas() {
    let simulation = block(Material::lead_tungstate(), 100.0).build().expect("a simulation");
    let (kinetic, cut) = (200.0_f64, 0.1);
    let spectrum = |k: f64| (4.0 / 3.0 - 4.0 / 3.0 * k / kinetic + (k / kinetic).powi(2)) / k;
    let rate = integral(cut, kinetic, spectrum) / 8.9;
    let found = 1.0 / simulation.mean_free_path(0, Kind::Electron, Process::Bremsstrahlung, kinetic);
    assert!((found / rate - 1.0).abs() < 1e-3, "{found}, not {rate}");
    // Pairs at high energies: 7/9 of a radiation length.
    let pair = simulation.mean_free_path(0, Kind::Photon, Process::Pair, 1e5);
    assert!((pair / (9.0 / 7.0 * 8.9) - 1.0).abs() < 0.04, "{pair}");
    assert_eq!(simulation.mean_free_path(1, Kind::Photon, Process::Pair, 1e5), f64::INFINITY);
}
