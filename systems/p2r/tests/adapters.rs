//! Every engine and adapter against the reference engine, for any tracks, layout, mapping, block
//! shape and division into parts.

// Each program of tests uses a part of it.
#[allow(dead_code)]
mod forward;

use std::f64::consts::PI;

use kernel_host::AdapterSummary;
use kernel_host::testing::{on_adapters, shared_device};
use p2r::{
    AdapterChoice, Batch, Engine, Error, Fitted, Fitter, FitterBuilder, Formulas, IndexMap, Layout, Mode, Perigee,
    STATE, Simulation, Spread, Status, Track,
};

const VARIANCES: [usize; 6] = [6, 8, 11, 15, 20, 26];

fn helices(seed: u64, layout: Layout) -> Batch<f32> {
    Simulation { layout, spread: Spread::Helices, seed, ..Simulation::default() }.simulate().expect("a batch")
}

/// Tracks with hits on disks, and some without.
fn disks(seed: u64, layout: Layout) -> Batch<f32> {
    let (forward, _) = forward::batch(seed, layout);
    let mut batch: Batch<f32> = forward.relaid(layout.bsize, layout.layers).expect("the same");
    let central = helices(seed, layout);
    for (event, track) in tracks(layout).filter(|(_, track)| track % 3 == 0) {
        batch.set_track(event, track, &central.track(event, track));
        for layer in 0..layout.layers {
            batch.set_hit(event, track, layer, &central.hit(event, track, layer));
        }
    }
    batch
}

/// The formulas and modes of fits.
const KINDS: [(Formulas, Mode); 4] = [
    (Formulas::Exact, Mode::Sequential),
    (Formulas::Exact, Mode::SeedState),
    (Formulas::P2r, Mode::Sequential),
    (Formulas::P2r, Mode::SeedState),
];

/// The kinds of fits that are tested on an engine. Mappings share the code of the formulas, so one
/// mapping tests the published ones.
fn kinds(engine: &str) -> &'static [(Formulas, Mode)] {
    if engine == "CPU" || engine.ends_with("ByTrack") { &KINDS } else { &KINDS[..2] }
}

/// Lets tracks scatter by up to 1.4 mrad at 1 GeV.
fn scattered(mut batch: Batch<f32>) -> Batch<f32> {
    let mut rng = fastrand::Rng::with_seed(6);
    for (event, track) in tracks(batch.layout()) {
        for layer in 0..batch.layout().layers {
            batch.set_scattering(event, track, layer, 2e-6 * rng.f64()).expect("room");
        }
    }
    batch
}

fn reference(batch: &Batch<f32>, (formulas, mode): (Formulas, Mode)) -> Fitted<f64> {
    let Layout { bsize, layers, .. } = batch.layout();
    let wide: Batch<f64> = batch.relaid(bsize, layers).expect("the same");
    let builder = Fitter::builder().engine(Engine::Reference).formulas(formulas).mode(mode);
    builder.build().expect("the reference").fit(&wide).expect("fitted")
}

fn on(adapter: &AdapterSummary) -> FitterBuilder {
    Fitter::builder().engine(Engine::Gpu(AdapterChoice::Open(shared_device(adapter))))
}

/// The CPU engine, and each adapter with each map.
fn engines() -> Vec<(String, FitterBuilder)> {
    let mut all = vec![("CPU".to_owned(), Fitter::builder().engine(Engine::Cpu))];
    for adapter in on_adapters() {
        for map in IndexMap::ALL {
            all.push((format!("{}, {map:?}", adapter.name), on(&adapter).map(map).workgroup_size(64)));
        }
    }
    all
}

fn tracks(layout: Layout) -> impl Iterator<Item = (usize, usize)> {
    (0..layout.events).flat_map(move |event| (0..layout.tracks).map(move |track| (event, track)))
}

/// Tolerances of a state. Hits remove most of a state's errors, by differences of large numbers. A
/// tolerance is therefore a fraction of the remaining errors, plus last digits of the number and of
/// its errors without hits.
#[derive(Clone, Copy)]
struct Rounding {
    /// Fraction of a parameter's error.
    of_error: f64,
    /// Fraction of the product of two errors, for an entry of the covariance.
    of_errors: f64,
    /// Fraction of a number, and of its error without hits.
    of_numbers: f64,
}

/// In f32.
const SINGLE: Rounding = Rounding { of_error: 0.02, of_errors: 0.01, of_numbers: 256.0 * f32::EPSILON as f64 };
/// With the published formulas. Where rounding decides on which side of the bound of small steps a
/// step falls, the derivatives of the path differ and the state moves, by less than this.
const SINGLE_P2R: Rounding = Rounding { of_error: 0.25, of_errors: 0.05, ..SINGLE };
const DOUBLE: Rounding = Rounding { of_error: 1e-9, of_errors: 1e-9, of_numbers: 32.0 * f64::EPSILON };
/// Holds a state to the reference engine's, with the reference engine's states where hits say
/// nothing.
fn hold(place: &str, found: &[f64; STATE], references: &References, at: (usize, usize), rounding: Rounding) {
    let Rounding { of_error, of_errors, of_numbers } = rounding;
    let wanted = &references.wanted.state(at.0, at.1);
    let errors = |fitted: &Fitted<f64>| VARIANCES.map(|n| fitted.state(at.0, at.1)[n].sqrt());
    let sigma = errors(&references.wanted);
    let [planes, cylinders] = references.without.each_ref().map(errors);
    // A track that does not reach a cylinder has no errors there.
    let mut large: [f64; 6] = std::array::from_fn(|n| planes[n].max(cylinders[n]));
    // x and y are of one size, and so are their errors: of two terms that cancel, radius of
    // curvature times momentum.
    let radius = wanted[0].hypot(wanted[1]);
    let across = large[0].hypot(large[1]) + 87.5 / wanted[3].powi(2) * large[3];
    (large[0], large[1]) = (across, across);
    let size = |n: usize| if n < 2 { radius } else { wanted[n].abs().max(1.0) };
    let digits: [f64; 6] = std::array::from_fn(|n| of_numbers * (size(n) + large[n]));
    let close = |n: usize, most: f64| {
        let off = (found[n] - wanted[n]).abs();
        assert!(off <= most, "{place}, number {n}: {}, not {}: {} of what may be", found[n], wanted[n], off / most);
    };
    for n in 0..6 {
        close(n, of_error * sigma[n] + digits[n]);
    }
    for (n, (i, j)) in (6..).zip((0..6).flat_map(|i| (0..=i).map(move |j| (i, j)))) {
        close(n, of_errors * sigma[i] * sigma[j] + of_numbers * large[i] * large[j]);
    }
}

/// States of the reference engine.
struct References {
    wanted: Fitted<f64>,
    /// States with hits that measure nothing: on their surfaces, and on cylinders. On a plane the
    /// error of z is 0, after a difference of terms of the size that it has on a cylinder.
    without: [Fitted<f64>; 2],
}

fn references(batch: &Batch<f32>, kind: (Formulas, Mode)) -> References {
    let layout = batch.layout();
    let without = [true, false].map(|keeps_disks| {
        let mut vague = batch.clone();
        for (event, track) in tracks(layout) {
            for layer in 0..layout.layers {
                let mut hit = batch.hit(event, track, layer);
                let is_on_disk = keeps_disks && hit.is_on_disk();
                hit.cov = [1e12, 0.0, 1e12, 0.0, 0.0, if is_on_disk { 0.0 } else { 1e12 }];
                vague.set_hit(event, track, layer, &hit);
            }
        }
        reference(&vague, kind)
    });
    References { wanted: reference(batch, kind), without }
}

#[test]
fn engines_agree_with_the_reference() {
    let mut rng = fastrand::Rng::with_seed(8);
    for (name, builder) in engines() {
        for &(formulas, mode) in kinds(&name) {
            let rounding = if formulas == Formulas::Exact { SINGLE } else { SINGLE_P2R };
            let fitter = builder.clone().formulas(formulas).mode(mode).build::<f32>().expect("a fitter");
            for (bsize, has_disks, scatters) in [(1, false, false), (7, false, true), (32, true, true)] {
                let layout = Layout { events: 3, tracks: rng.usize(30..90), layers: rng.usize(1..=22), bsize };
                let seed = rng.u64(..);
                let batch = if has_disks { disks(seed, layout) } else { helices(seed, layout) };
                let batch = if scatters { scattered(batch) } else { batch };
                let references = references(&batch, (formulas, mode));
                let wanted = &references.wanted;
                let found = fitter.fit(&batch).expect("fitted");
                for (event, track) in tracks(layout) {
                    let place = format!("{name}, {formulas:?}, {mode:?}, {layout:?}, track {event}, {track}");
                    assert_eq!(found.status(event, track), wanted.status(event, track), "{place}");
                    assert_eq!(found.status(event, track), Status::default(), "{place}");
                    hold(&place, &found.state(event, track), &references, (event, track), rounding);
                    if mode == Mode::SeedState {
                        let (a, b) = (found.layer_sum(event, track), wanted.layer_sum(event, track));
                        let (a, b) = (a.expect("a sum"), b.expect("a sum"));
                        assert!((a - b).abs() < 1e-2 + 1e-4 * b.abs(), "{place}: layers sum to {a}, not {b}");
                    }
                }
            }
        }
    }
}

/// Returns helices that are fitted outwards from their last hit, outwards from a point before the
/// beam line, and inwards along their direction.
fn directions(layout: Layout) -> [Batch<f32>; 3] {
    let simulation = Simulation { layout, spread: Spread::Helices, seed: 12, ..Simulation::default() };
    let (batch, truth) = simulation.simulate_with_truth::<f32>().expect("a batch");
    let [mut outward, mut from_beam, mut inward] = [batch.clone(), batch.clone(), batch.clone()];
    for ((event, i), end) in tracks(layout).zip(&truth) {
        let start = batch.track(event, i);
        let mut state = [0.0; STATE];
        state[..6].copy_from_slice(end);
        state[6..].copy_from_slice(&start.cov);
        let [_, z0, phi, ..] = Perigee::of(&state, start.charge, start.charge).expect("a perigee").par;
        let [.., ipt, _, theta] = *end;
        let before = [-0.05 * phi.cos(), -0.05 * phi.sin(), z0, ipt, phi, theta];
        outward.set_track(event, i, &Track { par: *end, ..start });
        from_beam.set_track(event, i, &Track { par: before, ..start });
        for layer in 0..layout.layers {
            let hit = batch.hit(event, i, layout.layers - 1 - layer);
            outward.set_hit(event, i, layer, &hit);
            from_beam.set_hit(event, i, layer, &hit);
        }
        // The same helix, on which the particle moves towards the beam.
        let mut par = start.par;
        (par[4], par[5]) = (par[4] + PI, PI - par[5]);
        inward.set_track(event, i, &Track { par, charge: -start.charge, ..start });
    }
    [outward, from_beam, inward]
}

#[test]
fn tracks_of_any_direction_agree_with_the_reference() {
    let layout = Layout { events: 1, tracks: 60, layers: 12, bsize: 8 };
    let batches = directions(layout).map(|batch| {
        let references = references(&batch, KINDS[0]);
        (batch, references)
    });
    for (name, builder) in engines().into_iter().filter(|(name, _)| kinds(name).len() == KINDS.len()) {
        let fitter = builder.chi2(true).build::<f32>().expect("a fitter");
        for (what, (batch, references)) in ["outward", "from the beam", "inward"].iter().zip(&batches) {
            let found = fitter.fit(batch).expect("fitted");
            for (event, track) in tracks(layout) {
                let place = format!("{name}, {what}, track {track}");
                assert_eq!(references.wanted.status(event, track), Status::default(), "{place}");
                assert_eq!(found.status(event, track), Status::default(), "{place}");
                hold(&place, &found.state(event, track), references, (event, track), SINGLE);
                let chi2 = found.chi2(event, track).expect("chi2");
                assert!(chi2 < 80.0, "{place}: chi2 {chi2} of 24 degrees of freedom");
            }
        }
    }
}

/// In f64 next to nothing is left to rounding, so that every term of the derivatives is seen.
#[test]
fn adapters_in_f64_are_the_reference() {
    for (name, builder) in engines().into_iter().filter(|(name, _)| name.ends_with("ByTrack")) {
        for (formulas, mode) in KINDS {
            let fitter = match builder.clone().formulas(formulas).mode(mode).build::<f64>() {
                Err(Error::NoF64 { adapter }) => {
                    #[expect(clippy::print_stderr, reason = "a skip is said aloud")]
                    let () = eprintln!("SKIPPED in f64: {adapter} has none");
                    continue;
                }
                fitter => fitter.expect("a fitter"),
            };
            let layout = Layout { events: 2, tracks: 60, layers: 14, bsize: 7 };
            let batches = [helices(21, layout), scattered(helices(21, layout)), scattered(disks(21, layout))];
            for batch in batches {
                let references = references(&batch, (formulas, mode));
                let found = fitter.fit(&batch.relaid::<f64>(7, 14).expect("the same")).expect("fitted");
                for (event, track) in tracks(layout) {
                    let place = format!("{name}, {formulas:?}, {mode:?}, track {event}, {track}");
                    hold(&place, &found.state(event, track), &references, (event, track), DOUBLE);
                }
            }
        }
    }
}

#[test]
fn no_layout_map_or_cut_changes_a_bit() {
    for adapter in on_adapters() {
        let layout = Layout { events: 5, tracks: 70, layers: 12, bsize: 1 };
        let batch = scattered(disks(4, layout));
        let mut first: Option<Vec<[f64; STATE]>> = None;
        let mut same = |what: &str, builder: FitterBuilder, batch: &Batch<f32>| {
            let fitted = builder.build::<f32>().expect("a fitter").fit(batch).expect("fitted");
            let states: Vec<_> = tracks(layout).map(|(event, track)| fitted.state(event, track)).collect();
            assert!(first.get_or_insert_with(|| states.clone()) == &states, "{}: {what}", adapter.name);
        };
        let relaid = |bsize: usize| batch.relaid::<f32>(bsize, 12).expect("relaid");
        same("as it is", on(&adapter), &batch);
        for (bsize, size, map) in [
            (1, 32, IndexMap::ByTrack),
            (8, 256, IndexMap::ByTrack),
            (3, 64, IndexMap::ByEvent),
            (70, 32, IndexMap::ByEvent),
            (32, 32, IndexMap::ByBatch),
            (128, 64, IndexMap::ByBatch),
        ] {
            same(&format!("{bsize}, {size}, {map:?}"), on(&adapter).map(map).workgroup_size(size), &relaid(bsize));
        }
        // The slides' block shapes: rows of threads, each for an event or a group.
        for (rows, map) in [(2, IndexMap::ByEvent), (16, IndexMap::ByBatch)] {
            let builder = on(&adapter).map(map).workgroup_size(32).rows(rows);
            same(&format!("{rows} rows, {map:?}"), builder, &relaid(8));
        }
        same("two events at a time", on(&adapter).part_bytes(2 * 70 * 12 * 36), &batch);
        same("an event at a time", on(&adapter).part_bytes(0), &relaid(32));
        same("checked", on(&adapter).checked(true), &relaid(32));
    }
}

/// Returns invalid tracks, and the status of each.
fn hostile() -> (Batch<f32>, Vec<Status>) {
    let layout = Layout { events: 1, tracks: 16, layers: 3, bsize: 4 };
    let mut batch = helices(1, layout);
    let all = vec![
        Status::default(),
        Status::BAD_TRACK,
        Status::BAD_TRACK,
        Status::BAD_TRACK,
        Status::BAD_HIT,
        Status::BAD_HIT,
        Status::BAD_HIT,
        Status::UNREACHABLE,
        Status::SINGULAR,
        Status::NOT_FINITE,
        Status::BAD_TRACK,
        Status::BAD_TRACK,
        Status::NO_HITS,
        Status::default(),
        Status::NOT_POSITIVE,
        Status::NOT_POSITIVE,
    ];
    let mut track = |i: usize, change: &dyn Fn(&mut Track)| {
        let mut track = batch.track(0, i);
        change(&mut track);
        batch.set_track(0, i, &track);
    };
    track(1, &|track| track.par[3] = 0.0);
    track(2, &|track| track.par[0] = f64::NAN);
    track(3, &|track| track.cov[4] = f64::INFINITY);
    // A circle of half a centimetre, a metre from the beam.
    track(7, &|track| track.par[3] = 200.0);
    track(8, &|track| track.cov = [0.0; 21]);
    track(10, &|track| track.charge = f64::NAN);
    track(11, &|track| track.charge = 0.0);
    // No update touches the variance of theta without a correlation.
    track(15, &|track| track.cov[20] = -1e-3);
    let mut hits = |i: usize, layers: std::ops::Range<usize>, change: &dyn Fn(&mut p2r::Hit)| {
        for layer in layers {
            let mut hit = batch.hit(0, i, layer);
            change(&mut hit);
            batch.set_hit(0, i, layer, &hit);
        }
    };
    hits(4, 1..2, &|hit| (hit.pos[0], hit.pos[1]) = (0.0, 0.0));
    hits(5, 0..3, &|hit| *hit = p2r::Hit { pos: [0.0; 3], cov: [0.0; 6] });
    hits(6, 2..3, &|hit| hit.pos[0] = 1e12);
    hits(8, 0..3, &|hit| hit.cov = [0.0; 6]);
    hits(9, 2..3, &|hit| hit.pos[2] = f64::NAN);
    hits(12, 0..3, &|hit| *hit = p2r::Hit::MISSING);
    hits(13, 1..2, &|hit| *hit = p2r::Hit::MISSING);
    hits(14, 1..2, &|hit| hit.cov[5] = -100.0);
    (batch, all)
}

#[test]
fn bad_input_is_told_of_each_track() {
    let (batch, wanted) = hostile();
    for (formulas, mode) in KINDS {
        let seen = reference(&batch, (formulas, mode));
        for (i, &status) in wanted.iter().enumerate() {
            assert_eq!(seen.status(0, i), status, "the reference, {formulas:?}, {mode:?}, track {i}");
        }
        for (name, builder) in engines().into_iter().filter(|(name, _)| kinds(name).contains(&(formulas, mode))) {
            for checked in [false, true] {
                let fitter =
                    builder.clone().formulas(formulas).mode(mode).checked(checked).build::<f32>().expect("a fitter");
                let found = fitter.fit(&batch).expect("fitted");
                let updates = |i: usize| found.updates(0, i);
                assert_eq!([0, 1, 4, 12, 13, 14].map(updates), [3, 0, 2, 0, 2, 2], "{name}, {formulas:?}, {mode:?}");
                for i in 0..wanted.len() {
                    assert_eq!(found.status(0, i), seen.status(0, i), "{name}, {formulas:?}, {mode:?}, track {i}");
                    let came = batch.track(0, i);
                    let state = found.state(0, i);
                    if [Status::BAD_TRACK, Status::NOT_FINITE].contains(&found.status(0, i)) {
                        let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
                        assert_eq!(bits(&state[..6]), bits(&came.par), "{name}: given back as it came");
                        assert_eq!(bits(&state[6..]), bits(&came.cov), "{name}: given back as it came");
                    } else {
                        assert!(state.iter().all(|number| number.is_finite()), "{name}, track {i}: {state:?}");
                    }
                }
                // All hits at the beam: nothing was done.
                assert_eq!(found.state(0, 5)[..6], batch.track(0, 5).par, "{name}");
            }
        }
    }
}

#[test]
fn nothing_is_no_number_in_silence() {
    let mut rng = fastrand::Rng::with_seed(11);
    let layout = Layout { events: 2, tracks: 120, layers: 4, bsize: 8 };
    let mut batch = helices(2, layout);
    let numbers = [0.0, -0.0, f64::NAN, f64::INFINITY, -1e30, 1e30, 1e-30, 1e15, -1.0, 1e-45];
    let mut change = |number: &mut f64, often: f64| {
        if rng.f64() < often {
            *number = numbers[rng.usize(..numbers.len())];
        }
    };
    for (event, i) in tracks(layout) {
        let mut track = batch.track(event, i);
        track.par.iter_mut().chain(&mut track.cov).for_each(|number| change(number, 0.02));
        batch.set_track(event, i, &track);
        for layer in 0..layout.layers {
            let mut hit = batch.hit(event, i, layer);
            hit.pos.iter_mut().chain(&mut hit.cov).for_each(|number| change(number, 0.02));
            batch.set_hit(event, i, layer, &hit);
        }
    }
    let mut flagged = 0;
    for (name, builder) in engines() {
        for &(formulas, mode) in kinds(&name) {
            let builder = builder.clone().formulas(formulas).mode(mode);
            let fitted = builder.build::<f32>().expect("a fitter").fit(&batch).expect("fitted");
            for (event, i) in tracks(layout) {
                let status = fitted.status(event, i);
                let sound = fitted.state(event, i).iter().all(|number| number.is_finite());
                assert!(sound || status.contains(Status::BAD_TRACK), "{name}: {status}, {:?}", fitted.state(event, i));
                flagged += usize::from(!status.is_ok());
            }
        }
    }
    assert!(flagged > 100);
}

#[test]
fn empty_batches_and_no_layers() {
    for (name, builder) in engines() {
        let fitter = builder.build::<f32>().expect("a fitter");
        for (events, tracks) in [(0, 5), (5, 0), (0, 0)] {
            let batch = Batch::new(Layout { events, tracks, layers: 2, bsize: 3 }).expect("a batch");
            assert_eq!(fitter.fit(&batch).expect("nothing").layout(), batch.layout(), "{name}");
        }
        let batch = helices(3, Layout { events: 2, tracks: 5, layers: 0, bsize: 4 });
        let fitted = fitter.fit(&batch).expect("as they came");
        for (event, track) in [(0, 0), (1, 4)] {
            assert_eq!(fitted.status(event, track), Status::NO_HITS, "{name}");
            assert_eq!(fitted.state(event, track)[..6], batch.track(event, track).par, "{name}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(matches!(Fitter::builder().engine(Engine::Cpu).build::<f64>(), Err(Error::NoF64OnCpu)));
    for adapter in on_adapters() {
        for (size, rows) in [(0, 1), (1 << 20, 1), (32, 0), (32, 3)] {
            let built = on(&adapter).workgroup_size(size).rows(rows).build::<f32>();
            assert!(matches!(built, Err(Error::WorkgroupSize { .. })), "{rows} rows of {size}");
        }
    }
}

/// chi2 agrees with the reference engine's, and asking for it changes no state.
#[test]
fn chi2_is_the_references() {
    let layout = Layout { events: 2, tracks: 40, layers: 9, bsize: 8 };
    let batch = helices(9, layout);
    let wide: Batch<f64> = batch.relaid(8, 9).expect("the same");
    for mode in [Mode::Sequential, Mode::SeedState] {
        let reference = Fitter::builder().engine(Engine::Reference).mode(mode).chi2(true).build::<f64>();
        let wanted = reference.expect("the reference").fit(&wide).expect("fitted");
        // One mapping of each adapter: chi2 does not depend on it.
        for (name, builder) in engines().into_iter().filter(|(name, _)| name == "CPU" || name.ends_with("ByTrack")) {
            let plain = builder.clone().mode(mode).build::<f32>().expect("a fitter").fit(&batch).expect("fitted");
            let found = builder.mode(mode).chi2(true).build::<f32>().expect("a fitter").fit(&batch).expect("fitted");
            for (event, track) in tracks(layout) {
                assert_eq!(plain.chi2(event, track), None);
                assert_eq!(found.state(event, track), plain.state(event, track), "{name}");
                let [a, b] = [found.chi2(event, track), wanted.chi2(event, track)].map(|chi2| chi2.expect("chi2"));
                assert!((a - b).abs() < 0.05 + 0.02 * b, "{name}, {mode:?}: {a}, not {b}");
            }
        }
    }
}

/// A fit overwrites the answers of an earlier one, whatever their layout.
#[test]
fn answers_may_use_the_memory_of_others() {
    let layout = Layout { events: 2, tracks: 45, layers: 6, bsize: 8 };
    let other = Layout { events: 1, tracks: 70, bsize: 32, ..layout };
    let batches = [helices(3, layout), scattered(helices(4, other)), scattered(helices(5, layout)), helices(6, layout)];
    for (name, builder) in engines() {
        for mode in [Mode::Sequential, Mode::SeedState] {
            let fitter = builder.clone().mode(mode).build::<f32>().expect("a fitter");
            let mut fitted = fitter.fit(&batches[0]).expect("fitted");
            for batch in &batches[1..] {
                fitter.fit_into(batch, &mut fitted).expect("fitted");
                assert!(fitted == fitter.fit(batch).expect("fitted"), "{name}, {mode:?}");
            }
        }
    }
}
