//! Every adapter's fields, paths and random numbers, by themselves, against those of an independent
//! program and of the CPU.

#[path = "common/known.rs"]
mod known;
use std::sync::{Arc, OnceLock};

use kernel_host::AdapterSummary;
use kernel_host::testing::on_adapters;
use known::{FIELDS, MOMENTUM, PLACE, STATES, apart, norm};
use transport::{
    Accuracy, AdapterChoice, AnyField, CONSTANT, Error, Field, Map, Path, Probe, ProbeOptions, Random, State, Walk,
};

const UNIFORM: [f64; 3] = [0.5, -0.25, 2.0];

fn map() -> AnyField {
    static MAP: OnceLock<Arc<Map>> = OnceLock::new();
    AnyField::Map(MAP.get_or_init(|| Arc::new(Map::parametrised().expect("a map"))).clone())
}

fn all_fields() -> [AnyField; 3] {
    [AnyField::Uniform(UNIFORM), AnyField::Parametrised, map()]
}

fn probe(adapter: &AdapterSummary, field: &AnyField, is_checked: bool) -> Probe {
    let options = ProbeOptions { adapter: AdapterChoice::Index(adapter.index), is_checked, ..ProbeOptions::default() };
    Probe::new(field, &options).expect("a probe")
}

/// With every adapter and field, checked modules and trusted ones.
fn on_probes(hold: impl Fn(&Probe, &AnyField, &str)) {
    for adapter in on_adapters() {
        for (field, name) in all_fields().iter().zip(["uniform", "parametrised", "map"]) {
            for is_checked in [false, true] {
                let what = format!("{}, {name}, {}", adapter.name, if is_checked { "checked" } else { "trusted" });
                hold(&probe(&adapter, field, is_checked), field, &what);
            }
        }
    }
}

fn wide(vector: [f32; 3]) -> [f64; 3] {
    vector.map(f64::from)
}

/// Places of tracks as the prototype has them, and momenta in all directions.
fn tracks(count: usize, seed: u64) -> Vec<State<f32>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let track = |_| {
        let (rho, around) = (1290.0 + 230.0 * rng.f64(), std::f64::consts::TAU * rng.f64());
        let place = [rho * around.cos(), rho * around.sin(), 6000.0 * rng.f64() - 3000.0];
        let (cosine, turn) = (2.0 * rng.f64() - 1.0, std::f64::consts::TAU * rng.f64());
        let (p, sine) = (20.0 + 980.0 * rng.f64(), (1.0 - cosine * cosine).sqrt());
        let momentum = [p * sine * turn.cos(), p * sine * turn.sin(), p * cosine];
        State { place: place.map(|number| number as f32), momentum: momentum.map(|number| number as f32) }
    };
    (0..count).map(track).collect()
}

#[test]
fn fields_are_the_independent_programs_and_the_cpus() {
    let mut rng = fastrand::Rng::with_seed(11);
    // To where the map has none; and where it begins and ends.
    let mut places: Vec<[f32; 3]> =
        (0..2000).map(|_| [10_000.0, 10_000.0, 18_000.0].map(|most: f32| most * (2.0 * rng.f32() - 1.0))).collect();
    places.extend((0..2000).map(|_| [1500.0, 1500.0, 3000.0].map(|most: f32| most * (2.0 * rng.f32() - 1.0))));
    places.extend([[0.0, 0.0, 16_000.0], [0.0; 3], [0.0, 0.0, -16_000.0], [8999.99, 0.0, 0.0], [0.0, -8999.99, 10.0]]);
    on_probes(|probe, field, what| {
        let known: Vec<[f32; 3]> = FIELDS.iter().map(|(place, _)| place.map(|number| number as f32)).collect();
        let found = probe.fields(&known).expect("fields");
        for (found, (place, wanted)) in found.iter().zip(FIELDS) {
            let wanted = if matches!(field, AnyField::Uniform(_)) { UNIFORM } else { wanted };
            let off = apart(wide(*found), wanted) / norm(wanted);
            assert!(off < 2e-6, "{what}, {place:?}: {found:?}, not {wanted:?}: {off:e}");
        }
        for (place, found) in places.iter().zip(probe.fields(&places).expect("fields")) {
            let wanted: [f64; 3] = field.at(wide(*place));
            // Far from the coil the parametrisation's series is a difference of large numbers.
            let own = apart(wide(field.at(*place)), wanted) / norm(wanted).max(1.0);
            let off = apart(wide(found), wanted) / norm(wanted).max(1.0);
            assert!(off < 2e-6 + 4.0 * own, "{what}, {place:?}: {found:?}, not {wanted:?}: {off:e}, the CPU {own:e}");
        }
    });
}

#[test]
fn steps_are_the_independent_programs() {
    on_probes(|probe, field, what| {
        if matches!(field, AnyField::Uniform(_)) {
            return;
        }
        let from = State { place: PLACE.map(|number| number as f32), momentum: MOMENTUM.map(|number| number as f32) };
        for (length, steps, place, momentum) in STATES {
            for walk in [Walk::Plain { steps, length }, Walk::Halved { steps, length }] {
                // A plain step of 100 mm is a third of the circle's radius.
                if length > 10.0 && matches!(walk, Walk::Plain { .. }) {
                    continue;
                }
                let paths = probe.walk(&walk, -1.0, &[from; 3]).expect("paths");
                assert!(paths.windows(2).all(|two| two[0] == two[1]));
                let Path { state, length: went, steps: made } = paths[0];
                assert_eq!((f64::from(went), made), (f64::from(steps) * length, steps));
                let off = apart(wide(state.place), place) / norm(place);
                let off = off.max(apart(wide(state.momentum), momentum) / norm(momentum));
                let p = norm(wide(state.momentum)) / norm(MOMENTUM) - 1.0;
                assert!(off < 2e-5 && p.abs() < 2e-5, "{what}, {walk:?}: {off:e}, |p| by {p:e}");
            }
        }
    });
}

/// Momentum at right angles to a field goes round in circles of p / (0.2998 q B).
#[test]
fn a_uniform_field_makes_a_helix() {
    let (across, along, b) = (120.0_f64, 50.0, 2.0);
    let radius = across / (0.299792458 * b);
    let from = State { place: [0.0; 3], momentum: [across as f32, 0.0, along as f32] };
    let p = across.hypot(along);
    for adapter in on_adapters() {
        for is_checked in [false, true] {
            let probe = probe(&adapter, &AnyField::Uniform([0.0, 0.0, b]), is_checked);
            let accuracy = Accuracy { steps: 1000, ..Accuracy::default() };
            for walk in [
                Walk::Plain { steps: 70, length: 10.0 },
                Walk::Halved { steps: 70, length: 10.0 },
                Walk::Follow { length: 700.0, accuracy },
            ] {
                for (charge, side) in [(-1.0, 1.0), (1.0, -1.0)] {
                    let path = probe.walk(&walk, charge, &[from]).expect("a path")[0];
                    assert_eq!(path.length, 700.0);
                    let angle = 700.0 * across / p / radius;
                    let wanted = [radius * angle.sin(), side * radius * (1.0 - angle.cos()), 700.0 * along / p];
                    let off = apart(wide(path.state.place), wanted);
                    let within = if matches!(walk, Walk::Follow { .. }) { 0.05 } else { 0.005 };
                    assert!(off < within, "{}, {walk:?}: {off} mm from {wanted:?}", adapter.name);
                    let momentum = wide(path.state.momentum);
                    assert!((norm(momentum) / p - 1.0).abs() < 1e-5 && (momentum[2] - along).abs() < 1e-5 * p);
                }
            }
        }
    }
}

#[test]
fn paths_are_the_cpus() {
    let tracks = tracks(300, 5);
    let accuracy = Accuracy { steps: 1000, ..Accuracy::default() };
    let walks = [
        Walk::Plain { steps: 50, length: 2.0 },
        Walk::Halved { steps: 20, length: 10.0 },
        Walk::Follow { length: 300.0, accuracy },
        // So long that what a step in one piece says of the error is seen.
        Walk::Halved { steps: 2, length: 40.0 },
        // Fewer than are needed.
        Walk::Follow { length: 3000.0, accuracy: Accuracy { steps: 9, ..accuracy } },
    ];
    on_probes(|probe, field, what| {
        for (walk, charge) in walks.iter().zip([-1.0, 1.0, -1.0, 1.0, 1.0]) {
            let found = probe.walk(walk, charge, &tracks).expect("paths");
            assert_eq!(found.len(), tracks.len());
            for (from, found) in tracks.iter().zip(&found) {
                let wanted = walk.path(field, charge, *from);
                let what = format!("{what}, {walk:?}, {from:?}: {found:?}, not {wanted:?}");
                let p = norm(wide(from.momentum));
                let p_of = |path: &Path<f32>| norm(wide(path.state.momentum)) / p;
                assert!((p_of(found) - p_of(&wanted)).abs() < 5e-5, "{what}");
                // Lengths of steps follow errors, which in f32 are rounding's for the most part:
                // paths are of other steps, and no other paths.
                if let Walk::Follow { length, accuracy } = *walk {
                    assert!((p_of(found) - 1.0).abs() < 2e-4, "{what}");
                    assert_eq!(found.steps == accuracy.steps, f64::from(found.length) < length, "{what}");
                    assert_eq!(found.steps == accuracy.steps, wanted.steps == accuracy.steps, "{what}");
                    if found.steps == accuracy.steps {
                        assert!(found.length > 0.0, "{what}");
                        continue;
                    }
                } else {
                    assert_eq!(found.steps, wanted.steps);
                }
                assert_eq!(found.length, wanted.length, "{what}");
                let off = apart(wide(found.state.place), wide(wanted.state.place));
                let turned = apart(wide(found.state.momentum), wide(wanted.state.momentum)) / p;
                assert!(off < 5e-3 && turned < 2e-5, "{what}: {off} mm, {turned}");
            }
        }
        // Straight on.
        let straight = probe.walk(&walks[2], 0.0, &tracks[..9]).expect("paths");
        for (from, path) in tracks.iter().zip(&straight) {
            let p = norm(wide(from.momentum));
            let wanted = [0, 1, 2].map(|n| f64::from(from.place[n]) + 300.0 / p * f64::from(from.momentum[n]));
            assert!(apart(wide(path.state.place), wanted) < 1e-3 && path.state.momentum == from.momentum, "{what}");
            assert_eq!((path.length, path.steps), (300.0, 0));
        }
        assert!(probe.walk(&walks[2], -1.0, &[]).expect("none").is_empty());
    });
}

#[test]
fn what_cannot_go_stays() {
    let from = State { place: [100.0, 50.0, 0.0], momentum: [10.0, 0.0, 30.0] };
    let long = Walk::Follow { length: 100.0, accuracy: Accuracy::default() };
    let (nan, infinity) = (f32::NAN, f32::INFINITY);
    on_probes(|probe, field, what| {
        let momenta = [[0.0; 3], [nan, 0.0, 1.0], [0.0, 0.0, nan], [infinity, 0.0, 1.0], [1e30, 1e30, 0.0]];
        let states = momenta.map(|momentum| State { momentum, ..from });
        for charge in [-1.0, 0.0] {
            for path in probe.walk(&long, charge, &states).expect("paths") {
                assert_eq!((path.state.place, path.length, path.steps), (from.place, 0.0, 0), "{what}");
            }
        }
        for length in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let walk = Walk::Follow { length, accuracy: Accuracy::default() };
            let path = probe.walk(&walk, -1.0, &[from]).expect("a path")[0];
            assert_eq!((path.state, path.length, path.steps), (from, 0.0, 0), "{what}, {length} mm");
        }
        // Steps of what is no number end, whatever they make of it.
        let lost = [[nan, 0.0, 0.0], [0.0, 0.0, infinity], [1e38, 1e38, 1e38]].map(|place| State { place, ..from });
        for walk in [long, Walk::Plain { steps: 5, length: 1.0 }, Walk::Halved { steps: 5, length: 1.0 }] {
            for states in [&lost[..], &states[..]] {
                assert_eq!(probe.walk(&walk, -1.0, states).expect("paths").len(), states.len());
            }
        }
        if matches!(field, AnyField::Map(_)) {
            for outside in
                [[9000.1, 0.0, 0.0], [0.0, 0.0, -16_000.1], [6400.0, 6400.0, 3.0], lost[0].place, lost[1].place]
            {
                assert_eq!(probe.fields(&[outside]).expect("a field"), [[0.0; 3]], "{what}, {outside:?}");
            }
            let outside = State { place: [9500.0, 0.0, 0.0], momentum: [1.0, 1.0, 0.0] };
            let path = probe.walk(&long, -1.0, &[outside]).expect("a path")[0];
            let along = 100.0 / 2.0_f64.sqrt();
            assert!(apart(wide(path.state.place), [9500.0 + along, along, 0.0]) < 1e-2, "{what}: {path:?}");
        }
    });
}

#[test]
fn random_numbers_have_the_cpus_bits() {
    let mut rng = fastrand::Rng::with_seed(21);
    let mut steps: Vec<(u64, u32)> = (0..500).map(|_| (rng.u64(..), rng.u32(..))).collect();
    steps.extend([(0, 0), (u64::MAX, u32::MAX), (1, 0), (1 << 32, 1), (u64::from(u32::MAX), 0x8000_0000)]);
    for adapter in on_adapters() {
        for is_checked in [false, true] {
            let adapter_choice = AdapterChoice::Index(adapter.index);
            let options =
                ProbeOptions { adapter: adapter_choice, is_checked, in_halves: is_checked, ..ProbeOptions::default() };
            let probe = Probe::new(&AnyField::Parametrised, &options).expect("a probe");
            for seed in [0, 1, 0xffff_ffff, 0x1234_5678_9abc_def0, u64::MAX] {
                let random = Random::Seeded(seed);
                let wanted = steps.iter().flat_map(|&(track, step)| {
                    let mut draws = random.draws(track, step);
                    (0..11).map(move |_| draws.uniform().to_bits())
                });
                let found = probe.draw(random, &steps, 11).expect("numbers");
                assert!(found.iter().map(|number| number.to_bits()).eq(wanted), "{}, seed {seed}", adapter.name);
            }
            let constant = probe.draw(Random::Constant, &steps, 3).expect("numbers");
            assert!(constant.len() == 3 * steps.len() && constant.iter().all(|&number| number == CONSTANT));
            assert!(probe.draw(Random::Constant, &[], 3).expect("none").is_empty());
        }
    }
}

#[test]
fn options_change_nothing_or_are_refused() {
    let tracks = tracks(1000, 9);
    let walk = Walk::Halved { steps: 3, length: 5.0 };
    for adapter in on_adapters() {
        let choice = AdapterChoice::Index(adapter.index);
        let with = |workgroup_size| {
            let options = ProbeOptions { adapter: choice.clone(), workgroup_size, ..ProbeOptions::default() };
            Probe::new(&map(), &options)
        };
        let wanted = with(None).expect("a probe").walk(&walk, -1.0, &tracks).expect("paths");
        for size in [1, 32, 100, 256] {
            let found = with(Some(size)).expect("a probe").walk(&walk, -1.0, &tracks).expect("paths");
            assert_eq!(found, wanted, "{}, {size}", adapter.name);
        }
        for size in [0, 1 << 20] {
            assert!(matches!(with(Some(size)), Err(Error::Options { .. })));
        }
        let probe = with(None).expect("a probe");
        let endless = Walk::Plain { steps: u32::MAX, length: 1.0 };
        assert!(matches!(probe.walk(&endless, -1.0, &tracks), Err(Error::TooLarge { .. })));
        assert!(matches!(probe.draw(Random::Constant, &[(0, 0); 2], u32::MAX), Err(Error::TooLarge { .. })));
        let times = probe.time(&walk, -1.0, &tracks, 2).expect("times");
        assert!(times.is_none_or(|times| times.len() == 2));
    }
}
