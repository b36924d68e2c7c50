//! Fields and paths of an independent program, and those that are known.

#[path = "common/known.rs"]
mod known;

use known::{FIELDS, MOMENTUM, PLACE, STATES, apart, norm};
use transport::{Accuracy, Field, Map, Number, Parametrised, State, Uniform, follow, step};

fn begin<T: Number>() -> State<T> {
    State { place: PLACE.map(T::of), momentum: MOMENTUM.map(T::of) }
}

fn wide<T: Number>(vector: [T; 3]) -> [f64; 3] {
    vector.map(|number| number.into())
}

fn fields<T: Number>(field: &impl Field<T>, within: f64) {
    for (place, wanted) in FIELDS {
        let found = wide(field.at(place.map(T::of)));
        let most = wanted.iter().fold(0.0, |most: f64, number| most.max(number.abs()));
        for (found, wanted) in found.iter().zip(wanted) {
            let off: f64 = (found - wanted).abs();
            assert!(off <= within * most, "{}, {place:?}: {found}, not {wanted}", T::PRECISION);
        }
    }
}

#[test]
fn fields_are_the_independent_programs() {
    // They are printed to a billionth.
    fields::<f64>(&Parametrised, 1e-9);
    fields::<f32>(&Parametrised, 1e-6);
    let map = Map::parametrised().expect("a map");
    fields::<f64>(&map, 2e-6);
    fields::<f32>(&map, 2e-6);
}

fn known<T: Number>(field: &impl Field<T>, within: f64) {
    for (length, steps, place, momentum) in STATES {
        let mut state = begin::<T>();
        for _ in 0..steps {
            state = step(field, T::of(-1.0), state, T::of(length));
        }
        let off =
            [apart(wide(state.place), place) / norm(place), apart(wide(state.momentum), momentum) / norm(momentum)];
        assert!(off.iter().all(|&off| off < within), "{}, {steps} of {length} mm: {off:?}", T::PRECISION);
        // A step of 100 mm is a third of the circle's radius.
        let p = norm(wide(state.momentum));
        assert!((p / 360.55512754639886 - 1.0).abs() < within.max(if length > 10.0 { 1e-7 } else { 0.0 }), "{p}");
    }
}

#[test]
fn steps_are_the_independent_programs() {
    known::<f64>(&Parametrised, 1e-9);
    known::<f32>(&Parametrised, 2e-5);
    // The map is made of f32, 10 mm apart.
    let map = Map::parametrised().expect("a map");
    known::<f64>(&map, 2e-6);
    known::<f32>(&map, 2e-5);
}

/// Momentum at right angles to a field goes round in circles of p / (0.2998 q B).
fn helix<T: Number>(within: f64) {
    let field = Uniform([0.0, 0.0, 2.0].map(T::of));
    let (across, along) = (120.0_f64, 50.0);
    let radius = across / (0.299792458 * 2.0);
    let from = State { place: [T::of(0.0); 3], momentum: [across, 0.0, along].map(T::of) };
    let p = across.hypot(along);
    for (charge, side) in [(-1.0, 1.0), (1.0, -1.0)] {
        let path = follow(&field, T::of(charge), from, T::of(700.0), &Accuracy { steps: 1000, ..Accuracy::default() });
        assert_eq!(Into::<f64>::into(path.length), 700.0);
        let angle = 700.0 * across / p / radius;
        let wanted = [radius * angle.sin(), side * radius * (1.0 - angle.cos()), 700.0 * along / p];
        let off = apart(wide(path.state.place), wanted);
        assert!(off < within, "{}: {off} mm from {wanted:?}", T::PRECISION);
        let momentum = wide(path.state.momentum);
        assert!((norm(momentum) / p - 1.0).abs() < 1e-5);
        assert!((momentum[2] - along).abs() < 1e-4 * along);
    }
}

#[test]
fn a_uniform_field_makes_a_helix() {
    helix::<f64>(0.05);
    helix::<f32>(0.05);
}

#[test]
fn steps_are_as_long_as_their_errors_allow() {
    let from = begin::<f64>();
    let enough = Accuracy { steps: 10_000, ..Accuracy::default() };
    let coarse = follow(&Parametrised, -1.0, from, 1000.0, &enough);
    let fine = follow(&Parametrised, -1.0, from, 1000.0, &Accuracy { sagitta: 0.001, ..enough });
    assert!(coarse.steps < 100 && fine.steps > 500, "{} and {} steps", coarse.steps, fine.steps);
    // The last known state.
    let wanted = STATES[3].2;
    assert!(apart(fine.state.place, wanted) < 1e-6, "{}", apart(fine.state.place, wanted));
    assert!(apart(coarse.state.place, wanted) < 1e-3, "{}", apart(coarse.state.place, wanted));
    // Errors: with no bound on sagitta, they are what bounds steps.
    let [loose, strict] = [1e-4, 1e-8].map(|relative| {
        let accuracy = Accuracy { sagitta: 1e9, relative: [relative; 2], ..enough };
        let path = follow(&Parametrised, -1.0, from, 1000.0, &accuracy);
        assert!(apart(path.state.place, wanted) < 3e3 * relative, "{}", apart(path.state.place, wanted));
        path.steps
    });
    assert!(strict > 2 * loose, "{loose} and {strict} steps");
    // Sagitta: of steps of a circle of 60 mm, h^2 / 8 r < 0.25 mm, some 11 mm.
    let field = Uniform([0.0, 0.0, 4.0]);
    let circle = State { place: [0.0; 3], momentum: [72.0, 0.0, 0.0] };
    let free = Accuracy { relative: [1.0, 1.0], ..Accuracy::default() };
    let path = follow(&field, 1.0, circle, 200.0, &free);
    assert!((18..45).contains(&path.steps), "{} steps", path.steps);
    // Too many are not made.
    let few = follow(&field, 1.0, circle, 200.0, &Accuracy { steps: 5, ..free });
    assert!(few.steps == 5 && few.length > 0.0 && few.length < 200.0);
}

#[test]
fn what_does_not_bend_goes_straight() {
    let from = begin::<f64>();
    let photon = follow(&Parametrised, 0.0, from, 10.0, &Accuracy::default());
    let p = 360.55512754639886;
    assert!(apart(photon.state.place, [100.0 + 2000.0 / p, 0.0, 3000.0 / p]) < 1e-12);
    assert_eq!((photon.state.momentum, photon.steps), (from.momentum, 0));
    for (momentum, length) in [
        ([0.0; 3], 5.0),
        ([f64::NAN, 0.0, 1.0], 5.0),
        ([1.0, 0.0, 0.0], 0.0),
        ([1.0, 0.0, 0.0], f64::NAN),
        ([1.0, 0.0, 0.0], f64::INFINITY),
        ([f64::INFINITY, 0.0, 0.0], 5.0),
    ] {
        let stays = follow(&Parametrised, -1.0, State { momentum, ..from }, length, &Accuracy::default());
        assert_eq!((stays.state.place, stays.length), (from.place, 0.0));
    }
    // Outside the map there is no field.
    let map = Map::parametrised().expect("a map");
    let outside = State { place: [9500.0, 0.0, 0.0], momentum: [1.0, 1.0, 0.0] };
    let path = follow(&map, -1.0, outside, 100.0, &Accuracy::default());
    assert!(apart(path.state.place, [9500.0 + 100.0 / 2.0_f64.sqrt(), 100.0 / 2.0_f64.sqrt(), 0.0]) < 1e-9);
}
