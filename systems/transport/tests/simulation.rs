//! Tests of runs: engines against each other, statistics, energy, and invalid input.

use std::collections::HashMap;

use kernel_host::AdapterSummary;
use kernel_host::testing::{on_adapters, on_fast_adapters, shared_device};
use transport::{
    AdapterChoice, AnyField, Cell, Cuts, Engine, Error, Geometry, Grid, Kernels, Kind, Map, Material, Outcome, Primary,
    Process, Random, Rejected, Scattering, Shape, Simulation, SimulationBuilder, SortBy, Status, Track, Volume,
    simulate,
};

const KERNELS: [Kernels; 2] = [Kernels::Split, Kernels::Monolithic];
const MASS: f64 = 0.510_998_95;

/// Tracks that circle are given up soon. Most tests leave out the tail's kernel, which takes
/// seconds to compile.
fn on(engine: &Engine) -> SimulationBuilder {
    Simulation::builder().engine(engine.clone()).most_steps(100).tail_steps(0)
}

fn gpus(adapters: &[AdapterSummary]) -> Vec<Engine> {
    adapters.iter().map(|adapter| Engine::Gpu(AdapterChoice::Open(shared_device(adapter)))).collect()
}

fn engines() -> Vec<Engine> {
    [Engine::Reference, Engine::Cpu].into_iter().chain(gpus(&on_adapters())).collect()
}

fn fast_engines() -> Vec<Engine> {
    [Engine::Reference, Engine::Cpu].into_iter().chain(gpus(&on_fast_adapters())).collect()
}

fn run(builder: SimulationBuilder, primaries: &[Primary]) -> Outcome {
    let simulation = builder.build().expect("a simulation");
    simulation.run(primaries).unwrap_or_else(|error| panic!("{}: {error}", simulation.description()))
}

/// All of a kind and a momentum \[MeV/c\], from a place in the middle of a cell, outwards.
fn beam(kind: Kind, p: f64, count: usize) -> Vec<Primary> {
    let place = [1000.0, 1000.0, 300.0];
    let along = p / 2.0_f64.sqrt();
    vec![Primary { kind, place, momentum: [along, along, 0.0] }; count]
}

#[track_caller]
fn balanced(what: &str, outcome: &Outcome) {
    let missing = outcome.balance.missing();
    assert!(missing.abs() < 1e-5, "{what}: {:?} misses {missing:e}", outcome.balance);
}

/// The same tracks in all engines, as far as rounding lets them: steps by process, secondaries and
/// energies.
#[test]
fn showers_end_and_keep_their_energy() {
    let primaries = simulate(10, 0.2, 1);
    let wanted = run(on(&Engine::Reference), &primaries);
    for engine in engines() {
        for kernels in KERNELS {
            let what = format!("{engine:?}, {kernels:?}");
            let outcome = run(on(&engine).kernels(kernels), &primaries);
            assert_eq!(outcome.status, Status::Finished, "{what}");
            balanced(&what, &outcome);
            assert!(outcome.rejected.is_empty() && outcome.left.is_empty(), "{what}");
            for (process, (&found, &wanted)) in outcome.processes.iter().zip(&wanted.processes).enumerate() {
                let process = Process::ALL[process].name();
                assert!(found.abs_diff(wanted) <= 5 + wanted / 500, "{what}: {found} x {process}, not {wanted}");
            }
            assert!(outcome.secondaries.abs_diff(wanted.secondaries) <= 5 + wanted.secondaries / 500, "{what}");
            let off = (outcome.balance.deposited / wanted.balance.deposited - 1.0).abs();
            assert!(off < 1e-3, "{what}: {off:e}");
            // Energy lies where it should: half of the differences of bins, in parts of all.
            let [found, wanted] = [&outcome, &wanted].map(|outcome| outcome.deposits.energies());
            let moved: f64 = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs() / 2.0).sum();
            assert!(moved < 5e-3 * wanted.iter().sum::<f64>(), "{what}: {moved} MeV are elsewhere");
        }
    }
}

#[test]
fn the_same_run_has_the_same_bits() {
    let primaries = simulate(12, 0.3, 2);
    let again = |builder: SimulationBuilder| {
        let outcome = run(builder, &primaries);
        (outcome.deposits.clone(), outcome.balance, outcome.processes, outcome.secondaries)
    };
    for engine in gpus(&on_fast_adapters()).iter().chain([&Engine::Cpu]) {
        for kernels in KERNELS {
            let usual = again(on(engine).kernels(kernels));
            // Few slots that are added to, small workgroups, and a tail of few steps a dispatch.
            let grown = on(engine).kernels(kernels).capacity_at_first(20).workgroup_size(64).tail_steps(5);
            assert_eq!(again(grown.checked(true)), usual, "{engine:?}, {kernels:?}, with few slots, checked");
            if kernels == Kernels::Split {
                assert_eq!(again(on(engine).sort_by(SortBy::Volume)), usual, "{engine:?}, sorted by volume");
            }
        }
    }
    let wanted = again(on(&Engine::Cpu));
    assert_eq!(again(on(&Engine::Cpu).kernels(Kernels::Monolithic)), wanted);
    // In slots, stage by stage.
    assert_eq!(again(on(&Engine::Cpu).capacity(5000)), wanted);
    assert_eq!(again(on(&Engine::Cpu).capacity(5000).kernels(Kernels::Monolithic)), wanted);
}

/// Tracks of one run that are not those of another: not there, or elsewhere.
fn unlike(found: &[Track<f64>], wanted: &[Track<f64>]) -> Vec<u64> {
    let there: HashMap<u64, &Track<f64>> = found.iter().map(|track| (track.number, track)).collect();
    let is_like = |track: &Track<f64>| {
        there.get(&track.number).is_some_and(|found| {
            let off = (0..3).map(|i| (found.place[i] - track.place[i]).abs()).fold(0.0, f64::max);
            let turned = (0..3).map(|i| (found.direction[i] - track.direction[i]).abs()).fold(0.0, f64::max);
            (found.kind, found.cell, found.process, found.steps) == (track.kind, track.cell, track.process, track.steps)
                && off < 0.05
                && turned < 1e-3
                && (found.kinetic - track.kinetic).abs() < 1e-3 * track.kinetic.max(1.0)
        })
    };
    wanted.iter().filter(|track| !is_like(track)).map(|track| track.number).collect()
}

/// Deposits of a bin beyond 4,096 MeV take a second word.
#[test]
fn deposits_beyond_a_word_are_summed() {
    let primaries = beam(Kind::Photon, 2000.0, 12);
    let everywhere = Grid { r: [0.0, 1e5], z: [-1e5, 1e5], bins: [1, 1] };
    for engine in fast_engines() {
        let outcome = run(on(&engine).grid(everywhere), &primaries);
        balanced(&format!("{engine:?}"), &outcome);
        let deposited = outcome.deposits.energies()[0];
        assert!(deposited > 2.0 * 4096.0, "{engine:?}: {deposited} MeV of 24,000");
        assert!((deposited - outcome.balance.deposited).abs() < 1.0, "{engine:?}: {deposited}, {:?}", outcome.balance);
    }
}

/// The few particles that differ are those for which rounding decides: a step that ends just before
/// a boundary, an energy just above a cut.
#[test]
fn engines_agree_track_by_track() {
    for (random, many) in [(Random::Constant, &[2][..]), (Random::Seeded(11), &[1, 7])] {
        let primaries = simulate(400, 0.3, 5);
        for &iterations in many {
            let after = |engine: &Engine, kernels| {
                let simulation = on(engine).random(random).kernels(kernels).build().expect("a simulation");
                simulation.run_for(&primaries, iterations).expect("a run")
            };
            let wanted = after(&Engine::Reference, Kernels::Split);
            assert!(wanted.left.len() >= 300, "{} are left", wanted.left.len());
            for engine in engines() {
                for kernels in KERNELS {
                    let found = after(&engine, kernels);
                    let what = format!("{engine:?}, {kernels:?}, {random:?}, {iterations} steps");
                    balanced(&what, &found);
                    let many = found.left.len().abs_diff(wanted.left.len());
                    let unlike = unlike(&found.left, &wanted.left);
                    assert!(unlike.len().max(many) <= wanted.left.len() / 500, "{what}: {} unlike", unlike.len());
                }
            }
        }
    }
}

/// The largest difference of two distributions, in units that are 1.63 in one of a hundred cases if
/// they are the same.
fn kolmogorov(a: &mut [f64], b: &mut [f64]) -> f64 {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let below = |all: &[f64], x: f64| all.partition_point(|&y| y <= x) as f64 / all.len() as f64;
    let largest = a.iter().chain(b.iter()).map(|&x| (below(a, x) - below(b, x)).abs()).fold(0.0, f64::max);
    let (n, m) = (a.len() as f64, b.len() as f64);
    largest * (n * m / (n + m)).sqrt()
}

/// Of other seeds, engines agree in distribution.
#[test]
fn engines_agree_in_distribution() {
    let after = |engine: &Engine, seed: u64| {
        let simulation = on(engine).random(Random::Seeded(seed)).build().expect("a simulation");
        simulation.run_for(&beam(Kind::Electron, 300.0, 300), 4).expect("a run").left
    };
    let wanted = after(&Engine::Reference, 100);
    for (engine, seed) in engines().iter().zip(200..) {
        let found = after(engine, seed);
        for kind in [Kind::Electron, Kind::Photon] {
            let of = |tracks: &[Track<f64>], value: fn(&Track<f64>) -> f64| -> Vec<f64> {
                tracks.iter().filter(|track| track.kind == kind).map(value).collect()
            };
            let values: [fn(&Track<f64>) -> f64; 3] =
                [|track| track.kinetic, |track| track.place[0], |track| track.direction[2]];
            for (name, value) in ["energies", "places", "directions"].into_iter().zip(values) {
                let apart = kolmogorov(&mut of(&found, value), &mut of(&wanted, value));
                assert!(apart < 2.0, "{engine:?}: {name} of {kind:?}: {apart}");
            }
        }
    }
}

#[test]
fn step_lengths_are_exponential_and_processes_as_their_rates() {
    let count = 8000;
    for engine in fast_engines() {
        let simulation = on(&engine).random(Random::Seeded(7)).build().expect("a simulation");
        for (kind, p, processes) in [
            (Kind::Electron, 400.0, &[Process::Bremsstrahlung, Process::Moller][..]),
            (Kind::Positron, 300.0, &[Process::Bremsstrahlung, Process::Moller]),
            (Kind::Photon, 3.0, &[Process::Compton, Process::Pair, Process::Photoelectric]),
        ] {
            let beam = beam(kind, p, count);
            let kinetic = beam[0].kinetic();
            let rates: Vec<f64> =
                processes.iter().map(|&process| 1.0 / simulation.mean_free_path(0, kind, process, kinetic)).collect();
            let all: f64 = rates.iter().sum();
            let outcome = simulation.run_for(&beam, 1).expect("a run");
            balanced("a step", &outcome);
            // None came to a boundary, and to none was the step long enough.
            let happened = processes.iter().map(|&process| outcome.processes[process as usize]).sum::<u64>();
            assert_eq!(happened, count as u64, "{engine:?}, {kind:?}: {:?}", outcome.processes);
            for (&process, rate) in processes.iter().zip(&rates) {
                let part = rate / all;
                let (wanted, sigma) = (part * count as f64, (count as f64 * part * (1.0 - part)).sqrt());
                let found = outcome.processes[process as usize] as f64;
                assert!((found - wanted).abs() < 4.0 * sigma, "{engine:?}: {found} x {process:?}, not {wanted}");
            }
            // Remaining tracks: their path does not depend on the process.
            let steps = outcome.left.iter().filter(|track| track.number as u32 == 0);
            let mut steps: Vec<f64> = steps.map(|track| track.step * all).collect();
            assert!(steps.len() > count / 20, "{} went on", steps.len());
            steps.sort_by(f64::total_cmp);
            let n = steps.len() as f64;
            let off = steps.iter().enumerate().map(|(i, step)| (1.0 - (-step).exp() - (i as f64 + 0.5) / n).abs());
            let largest = off.fold(0.0, f64::max) * n.sqrt();
            assert!(largest < 1.95, "{engine:?}: steps of {kind:?} are not exponential: {largest}");
        }
    }
}

#[test]
fn particles_that_cannot_be_are_told_and_the_others_go_on() {
    let usual = beam(Kind::Electron, 50.0, 1)[0];
    let wrong = [
        (Primary { place: [0.0, 9500.0, 0.0], ..usual }, Rejected::OutsideWorld),
        (Primary { momentum: [0.0; 3], ..usual }, Rejected::NoMomentum),
        (Primary { place: [f64::NAN, 0.0, 0.0], ..usual }, Rejected::NotFinite),
        (Primary { momentum: [0.0, f64::INFINITY, 0.0], ..usual }, Rejected::NotFinite),
        (Primary { momentum: [1e9, 0.0, 0.0], ..usual }, Rejected::TooEnergetic),
    ];
    let mut primaries = vec![usual];
    for (primary, _) in wrong {
        primaries.extend([primary, usual]);
    }
    for engine in fast_engines() {
        for kernels in KERNELS {
            let outcome = run(on(&engine).kernels(kernels), &primaries);
            let wanted: Vec<_> = wrong.iter().enumerate().map(|(at, &(_, why))| (2 * at + 1, why)).collect();
            assert_eq!(outcome.rejected, wanted, "{engine:?}");
            assert_eq!(outcome.status, Status::Finished);
            let initial = outcome.balance.initial;
            assert!((initial - 6.0 * usual.kinetic()).abs() < 1e-3, "{initial}");
            balanced("with some rejected", &outcome);
            let none = run(on(&engine).kernels(kernels), &[]);
            assert_eq!((none.status, none.steps(), none.balance.initial), (Status::Finished, 0, 0.0));
        }
    }
}

#[test]
fn too_few_slots_lose_nothing() {
    let primaries = beam(Kind::Electron, 200.0, 20);
    for engine in gpus(&on_fast_adapters()).iter().chain([&Engine::Cpu]) {
        for kernels in KERNELS {
            let whole = run(on(engine).kernels(kernels), &primaries);
            assert!(whole.slots > 100, "{} slots", whole.slots);
            // A step of a track that waits for a slot comes later, and is the same step.
            let tight = run(on(engine).kernels(kernels).capacity(whole.slots * 2 / 3), &primaries);
            if tight.status == Status::Finished {
                assert_eq!(tight.deposits, whole.deposits, "{engine:?}, {kernels:?}");
            } else {
                balanced("in few slots", &tight);
            }
            let least = run(on(engine).kernels(kernels).capacity(20), &primaries);
            let Status::CapacityExceeded { waiting } = least.status else {
                panic!("{engine:?}, {kernels:?}: {:?}", least.status)
            };
            assert_eq!((waiting as usize, least.left.len(), least.slots), (20, 20, 20), "{engine:?}, {kernels:?}");
            assert!(least.left.iter().all(|track| track.energy() > 0.0));
            balanced("without room", &least);
            let few = on(engine).kernels(kernels).capacity(19).build().expect("a simulation").run(&primaries);
            assert!(matches!(few, Err(Error::TooLarge { .. })), "{engine:?}");
        }
    }
}

#[test]
fn steps_are_made_as_many_as_asked_for() {
    let primaries = beam(Kind::Photon, 100.0, 30);
    for engine in fast_engines() {
        let simulation = on(&engine).build().expect("a simulation");
        let none = simulation.run_for(&primaries, 0).expect("a run");
        assert_eq!((none.status, none.iterations, none.steps(), none.left.len()), (Status::StepsMade, 0, 0, 30));
        let three = simulation.run_for(&primaries, 3).expect("a run");
        assert_eq!((three.status, three.iterations), (Status::StepsMade, 3), "{engine:?}");
        balanced("after three", &three);
        assert!(three.left.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}

/// A positron that stops leaves two photons; a particle that goes round for ever is given up; one
/// that leaves takes its energy with it.
#[test]
fn special_ends() {
    let slow = Primary { momentum: [0.05, 0.05, 0.0], ..beam(Kind::Positron, 1.0, 1)[0] };
    let turning = Primary { kind: Kind::Electron, place: [0.0, 3.0, 0.0], momentum: [3.0, 0.0, 0.0] };
    let leaving = Primary { kind: Kind::Positron, place: [6000.0, 10.0, 9000.0], momentum: [0.0, 0.0, 900.0] };
    let tesla = AnyField::Uniform([0.0, 0.0, 3.8]);
    for engine in fast_engines() {
        for kernels in KERNELS {
            let what = format!("{engine:?}, {kernels:?}");
            let simulation =
                on(&engine).kernels(kernels).most_steps(40).most_loops(0).field(tesla.clone()).build().expect("built");
            let run = |primary: Primary| simulation.run(&[primary]).expect("a run");
            let stopped = run(slow);
            assert_eq!(stopped.processes[Process::Annihilation as usize], 1, "{what}: {:?}", stopped.processes);
            balanced(&what, &stopped);
            assert!((stopped.balance.initial - slow.kinetic() - 2.0 * MASS).abs() < 1e-5);
            let turned = run(turning);
            assert!((turned.balance.abandoned - turning.kinetic()).abs() < 1e-4, "{what}: {:?}", turned.balance);
            assert_eq!(turned.steps(), 40, "{what}");
            let left = run(leaving);
            let wanted = leaving.kinetic() + 2.0 * MASS;
            assert!((left.balance.escaped / wanted - 1.0).abs() < 1e-5, "{what}: {:?}", left.balance);
        }
    }
}

/// Through every kind of boundary, in every kind of field, and cells of any number.
#[test]
fn fields_geometries_and_cuts() {
    let map = Map::parametrised().expect("a map");
    let primaries = simulate(12, 0.4, 8);
    let crossing = (0..12).map(|i| {
        let phi = f64::from(i) * 0.55;
        let (kind, p) = ([Kind::Electron, Kind::Photon, Kind::Positron][i as usize % 3], 40.0 + 15.0 * f64::from(i));
        let place = [2.0 * phi.cos(), 5005.0 * phi.sin(), 2995.0 - 900.0 * f64::from(i % 7)];
        Primary { kind, place, momentum: [p * (phi + 1.0).cos(), p * phi.sin(), p * (0.3 - phi.cos())] }
    });
    let primaries: Vec<_> = primaries.into_iter().chain(crossing).collect();
    let odd = |layers, sectors| Geometry::tubes([4.0, 1450.0], 2000.0, layers, sectors);
    let cuts = Cuts { electron: 2.0, photon: 0.5, stop: 0.3 };
    let [split, monolithic] = KERNELS;
    for (field, geometry, cuts, kernels) in [
        (AnyField::Uniform([0.1, -0.2, 3.0]), Geometry::default(), Cuts::default(), monolithic),
        (AnyField::Map(map.into()), odd(9, 7), cuts, split),
        (AnyField::Parametrised, odd(1, 1), cuts, split),
    ] {
        let builder = |engine: &Engine| on(engine).field(field.clone()).geometry(geometry.clone()).cuts(cuts);
        let wanted = run(builder(&Engine::Reference), &primaries);
        assert_eq!(wanted.status, Status::Finished);
        assert!(wanted.balance.escaped > 0.0 && wanted.balance.deposited > 0.0, "{:?}", wanted.balance);
        for engine in engines() {
            let found = run(builder(&engine).kernels(kernels), &primaries);
            let what = format!("{engine:?}, {geometry:?}");
            balanced(&what, &found);
            let [a, b] = [&found, &wanted].map(|outcome| outcome.balance);
            let off = (a.escaped - b.escaped).abs() / b.initial;
            assert!(off < 0.02, "{what}: {a:?}, not {b:?}");
            assert!(found.steps().abs_diff(wanted.steps()) < wanted.steps() / 20, "{what}");
        }
    }
}

#[test]
fn options_that_cannot_be_are_told() {
    let told = |builder: SimulationBuilder| match builder.engine(Engine::Cpu).build() {
        Err(Error::Options { what }) => what,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was built"),
    };
    let usual = Simulation::builder;
    assert!(told(usual().cuts(Cuts { photon: 0.01, ..Cuts::default() })).contains("0.01 MeV for photons"));
    assert!(told(usual().field(AnyField::Uniform([0.0, f64::NAN, 0.0]))).contains("100 T at most"));
    assert!(told(usual().geometry(Geometry { sectors: 0, ..Geometry::default() })).contains("0 sectors"));
    let many = Geometry { materials: vec![Material::lead_tungstate(); 256], ..Geometry::default() };
    assert!(told(usual().geometry(many)).contains("256 materials, or volumes that are scored: there may be 255"));
    assert!(told(usual().most_steps(70_000)).contains("1 to 65535"));
    assert!(told(usual().most_loops(256)).contains("0 to 255"));
    assert_eq!(Geometry::default().locate([1e9, 0.0, 0.0]).expect("a geometry"), Cell::OUTSIDE);
}

/// Boxes in a cylinder: layers of lead and polystyrene, with scattering, scored by primary and
/// material.
#[test]
fn boxes_of_two_materials_with_scattering() {
    let lead = Material::mixture("lead", 11.35, &[("Pb", 1.0)]).expect("lead");
    let plastic = Material::mixture("polystyrene", 1.06, &[("C", 0.9226), ("H", 0.0774)]).expect("polystyrene");
    let shape = Shape::Box { half: [60.0, 80.0] };
    let layer = |i: u32, z: f64| Volume { shape, z: [z, z + 6.0], material: Some((i % 2) as usize) };
    let mut volumes: Vec<_> = (0..12).map(|i| layer(i, 6.0 * f64::from(i))).collect();
    volumes.push(Volume { shape: Shape::Tube { inner: 120.0, outer: 140.0 }, z: [-50.0, 100.0], material: Some(0) });
    let geometry = Geometry { world: [200.0, 200.0, 300.0], sectors: 1, materials: vec![lead, plastic], volumes };
    let beam = |i: u32| Primary {
        kind: [Kind::Electron, Kind::Photon, Kind::Positron][i as usize % 3],
        place: [f64::from(i) - 6.0, 5.0, -20.0],
        momentum: [10.0 * f64::from(i % 5), -5.0, 120.0],
    };
    let primaries: Vec<_> = (0..18).map(beam).collect();
    let builder = |engine: &Engine| {
        on(engine).geometry(geometry.clone()).field(AnyField::Uniform([0.0, 0.5, 0.0])).scores(true).tail_steps(128)
    };
    let narrow = run(builder(&Engine::Reference), &primaries);
    let wanted = run(builder(&Engine::Reference).scattering(Scattering::Highland), &primaries);
    assert_ne!(narrow.deposits, wanted.deposits);
    for engine in engines() {
        let found = run(builder(&engine).scattering(Scattering::Highland), &primaries);
        balanced(&format!("{engine:?}"), &found);
        assert_eq!(found.scores.len(), primaries.len());
        let total: f64 = found.scores.iter().flatten().sum();
        assert!((total / found.balance.deposited - 1.0).abs() < 1e-9, "{engine:?}: {total}");
        let all: f64 = found
            .scores
            .iter()
            .zip(&wanted.scores)
            .flat_map(|(a, b)| a.iter().zip(b))
            .map(|(a, b)| (a - b).abs())
            .sum();
        assert!(all < 0.02 * total, "{engine:?}: {all} MeV of {total} in other places");
        assert!(found.steps().abs_diff(wanted.steps()) < wanted.steps() / 50, "{engine:?}");
    }
}
