//! Property tests: for any event under any configuration, engines agree, and irrelevant changes
//! change nothing.
//!
//! `ZFINDER_PROPERTY_CASES` is the number of random searches of each test, `ZFINDER_PROPERTY_SEED`
//! their seed.

mod random;

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;

use zfinder_testing::engines::on_shared_device;
use zfinder_testing::engines::{batch, bits};
use zfinder_testing::on_adapters;

use proptest::test_runner::{Config as RunConfig, RngAlgorithm, TestRng, TestRunner};
use random::{Case, case};
use zfinder::config::{Fallback, Ranking, ZEstimate};
use zfinder::gpu::AdapterKind;
use zfinder::thesis::ThesisOptions;
use zfinder::{
    Config, Encoding, Engine, PhiWindow, Precision, Results, Roi, RoiResult, Spacepoint, Status, StreamOptions,
    ZFinder, ZFinderBuilder,
};
use zfinder_testing::toy::turned;

/// Number of cases of a test without a GPU engine; a test with one has a tenth.
fn cases() -> u32 {
    let said = std::env::var("ZFINDER_PROPERTY_CASES").ok();
    said.map_or(60, |said| said.parse().unwrap_or_else(|_| panic!("ZFINDER_PROPERTY_CASES: {said} is no number")))
}

/// Checks a property on random cases, the same in every run.
fn holds(cases: u32, property: impl Fn(&Case)) {
    let seed: u8 = std::env::var("ZFINDER_PROPERTY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let runs = RunConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 300,
        max_global_rejects: 100_000,
        ..RunConfig::default()
    };
    let mut runner = TestRunner::new_with_rng(runs, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]));
    let test = |case: Case| {
        property(&case);
        Ok(())
    };
    runner.run(&case(), test).unwrap_or_else(|error| panic!("{error}"));
}

impl Case {
    fn finder(&self, engine: Engine, options: impl FnOnce(ZFinderBuilder) -> ZFinderBuilder) -> ZFinder {
        let builder = ZFinder::builder(self.detector.clone()).config(self.config.clone()).engine(engine);
        options(builder).build().unwrap_or_else(|error| panic!("{error}"))
    }

    fn find(&self, finder: &ZFinder) -> Results {
        finder.find_batch(&batch(&self.rois)).unwrap_or_else(|error| panic!("{}: {error}", finder.description()))
    }

    fn with_rois(&self, rois: Vec<Roi>) -> Self {
        Self { rois, ..self.clone() }
    }

    /// Returns whether peaks are mixed, so that the last digit of a position may decide about a
    /// whole peak.
    fn mixes(&self) -> bool {
        self.config.vertex_separation_bins > 0.0 || self.config.vertex_distance_cut > 0.0
    }

    /// Returns the widest bins of an RoI \[mm\], of both searches.
    fn bin_mm(&self, roi: &Roi) -> f64 {
        let of = |config: &Config| config.z_bin_mm + config.z_bin_eta_coeff * roi.descriptor.eta.abs();
        self.config.fallback_config().map_or(0.0, |fallback| of(&fallback)).max(of(&self.config))
    }
}

/// Asserts that vertices have the same entries, each `shift` further along; z within a tolerance in
/// mm.
fn same(place: &str, found: RoiResult<'_>, wanted: RoiResult<'_>, mixes: bool, within_mm: f64, shift: f64) {
    assert_eq!(found.summary(), wanted.summary(), "{place}");
    // Mixing depends on distances, to the last digit; the first peak does not.
    let count = if mixes { 1 } else { usize::MAX };
    assert!(mixes || found.vertices().len() == wanted.vertices().len(), "{place}: {found:?}, wanted {wanted:?}");
    for (a, b) in found.vertices().iter().zip(wanted.vertices()).take(count) {
        assert_eq!((a.pairs, a.background, a.rank), (b.pairs, b.background, b.rank), "{place}");
        // The reference engine has its own formula.
        let apart = a.significance.zip(b.significance).map_or(0.0, |(a, b)| (a - b).abs());
        assert!(a.significance.is_some() == b.significance.is_some() && apart < 1e-6, "{place}: {a:?}, wanted {b:?}");
        if !mixes {
            assert_eq!(a.weight, b.weight, "{place}: {a:?}, wanted {b:?}");
            assert!((a.z_mm - shift - b.z_mm).abs() <= within_mm, "{place}: {a:?}, wanted {b:?} and {shift}");
            assert!(
                (a.z_error_mm - b.z_error_mm).abs() <= 1e-2 * b.z_error_mm + within_mm,
                "{place}: {a:?}, wanted {b:?}"
            );
        }
    }
}

/// f64 in fixed point differs from the reference engine by a thousandth of a bin, which is its
/// step.
#[test]
fn the_cpu_engine_is_the_reference() {
    holds(cases(), |case| {
        let reference = case.find(&case.finder(Engine::Reference, |builder| builder));
        let double = case.find(&case.finder(Engine::Cpu, |builder| builder.precision(Precision::F64)));
        for ((found, wanted), roi) in double.iter().zip(&reference).zip(&case.rois) {
            same("CPU, f64", found, wanted, case.mixes(), case.bin_mm(roi) / 1000.0, 0.0);
        }
    });
}

/// Order, other RoIs in the batch, threads and streams do not change a bit.
fn invariances(case: &Case, finder: &ZFinder, wanted: &Results) {
    let (place, wanted) = (finder.description(), bits(wanted));
    let rng = &mut fastrand::Rng::with_seed(wanted.len() as u64);
    let mut shuffled = case.rois.clone();
    shuffled.iter_mut().for_each(|roi| rng.shuffle(&mut roi.spacepoints));
    assert_eq!(bits(&case.with_rois(shuffled).find(finder)), wanted, "{place}: spacepoints shuffled");
    let mut turned = case.rois.clone();
    turned.reverse();
    let mut found = bits(&case.with_rois(turned).find(finder));
    found.reverse();
    assert_eq!(found, wanted, "{place}: RoIs reversed");
    let one_by_one: Vec<_> = case.rois.iter().map(|roi| finder.find(roi).expect("an answer")).collect();
    assert_eq!(bits(one_by_one.iter().flatten()), wanted, "{place}: one by one");
    for in_flight in [1, 3] {
        let mut stream = finder.stream(StreamOptions { in_flight }).expect("threads");
        let pushed = case.rois.iter().map(|roi| stream.push(batch(std::slice::from_ref(roi))).expect("an answer"));
        let mut answered: Vec<_> = pushed.collect::<Vec<_>>().into_iter().flatten().collect();
        answered.extend(stream.map(|answer| answer.expect("an answer")));
        let found = answered.iter().flat_map(|answered| &answered.results);
        assert_eq!(bits(found), wanted, "{place}: {in_flight} in flight");
    }
}

#[test]
fn nothing_but_input_changes_a_bit() {
    holds(cases(), |case| {
        let plain: Options = |builder| builder;
        let compact: Options = |builder| builder.encoding(Encoding::Compact);
        let double: Options = |builder| builder.precision(Precision::F64);
        for options in [plain, compact, double] {
            let finder = case.finder(Engine::Cpu, options);
            let wanted = case.find(&finder);
            invariances(case, &finder, &wanted);
            for threads in [1, 3] {
                let threads = NonZeroUsize::new(threads).expect("not 0");
                let found = case.find(&case.finder(Engine::Cpu, |builder| options(builder).threads(threads)));
                assert_eq!(bits(&found), bits(&wanted), "{threads} threads");
            }
        }
    });
}

/// Rotations and shifts of everything move the vertices along.
#[test]
fn turns_and_shifts_move_vertices_along() {
    let compared = RefCell::new([0, 0]);
    holds(2 * cases(), |case| {
        // A shift by whole bins of the first search is not one of whole bins of the fallback, and
        // the same holds for slices.
        let config = case.config.clone().with(|c| c.fallback = Fallback::None);
        let case = &Case { config, ..case.clone() };
        let finder = case.finder(Engine::Cpu, |builder| builder.precision(Precision::F64));
        let wanted = case.find(&finder);
        let at_origin = case.config.beam_spot_mm == [0.0; 2] && case.config.beam_spot_tilt == [0.0; 2];
        // A whole number of slices, which maps the slices of the full circle onto themselves.
        let slices = (360.0 / case.config.phi_slice_deg).round();
        let divides = (slices * case.config.phi_slice_deg - 360.0).abs() < 1e-9
            && case.config.wrap_full_scan
            // Directions are sorted into 24 fixed sectors.
            && case.config.ranking == Ranking::Entries
            && case.config.z_estimate == ZEstimate::Mean;
        let angle = (slices * 0.3).floor() * case.config.phi_slice_deg.to_radians();
        for ((roi, wanted), finder) in case.rois.iter().zip(&wanted).zip(std::iter::repeat(&finder)) {
            let (bin, mixes) = (case.bin_mm(roi), case.mixes());
            let descriptor = roi.descriptor;
            let window = match descriptor.window {
                Some(PhiWindow::Range { phi_min, phi_max }) => {
                    PhiWindow::new(turned(phi_min + angle), turned(phi_max + angle)).ok()
                }
                Some(PhiWindow::FullScan) if divides => descriptor.window,
                _ => None,
            };
            if let Some(window) = window.filter(|_| at_origin) {
                let turned = |s: &Spacepoint| Spacepoint { phi: turned(s.phi + angle), ..*s };
                let mut found = Roi { descriptor, spacepoints: roi.spacepoints.iter().map(turned).collect() };
                found.descriptor.window = Some(window);
                let found = finder.find(&found).expect("an answer");
                same("turned", found.roi(0), wanted, mixes, bin / 1000.0, 0.0);
                compared.borrow_mut()[0] += 1;
            }
            if case.config.beam_spot_tilt == [0.0; 2] {
                let (low, high) = descriptor.z_range.unwrap_or((case.config.z_min_mm, case.config.z_max_mm));
                let shift = 12.0 * bin;
                let moved = |s: &Spacepoint| Spacepoint { z: s.z + shift, ..*s };
                let mut found = Roi { descriptor, spacepoints: roi.spacepoints.iter().map(moved).collect() };
                found.descriptor.z_range = Some((low + shift, high + shift));
                let found = finder.find(&found).expect("an answer");
                same("shifted", found.roi(0), wanted, mixes, bin / 1000.0, shift);
                compared.borrow_mut()[1] += 1;
            }
        }
    });
    eprintln!("RoIs turned and shifted: {:?}", compared.borrow());
}

/// Numbers of RoIs of an adapter: compared, above its capacity, and with other bits.
#[derive(Clone, Debug, Default)]
struct Compared {
    all: usize,
    told: usize,
    other: usize,
}

impl Compared {
    /// Compares a GPU's answers with the CPU's.
    fn add(&mut self, place: &str, case: &Case, found: &Results, wanted: &Results) {
        for (found, wanted) in found.iter().zip(wanted) {
            self.all += 1;
            // llvmpipe ends long loops, and buffers may be small: the CPU engine has no such
            // limits.
            if found.status() == Status::CapacityExceeded {
                self.told += 1;
            } else if bits([found]) != bits([wanted]) {
                self.other += 1;
                eprintln!("{place}: {found:?}, the CPU's {wanted:?}, {:?}", case.config);
            }
        }
    }
}

type Options = fn(ZFinderBuilder) -> ZFinderBuilder;

/// Options that change only how a GPU works, except for the last two, which the CPU engine has as
/// well.
const OPTIONS: [(&str, Options); 6] = [
    ("numbered", |builder| builder.thesis(ThesisOptions::numbered_pairs(32))),
    ("checked", |builder| builder.checked(true)),
    ("checked, numbered", |builder| builder.checked(true).thesis(ThesisOptions::numbered_pairs(300))),
    ("small buffers", |builder| builder.most_buffer_bytes(3 << 20)),
    ("compact", |builder| builder.encoding(Encoding::Compact)),
    ("f64", |builder| builder.precision(Precision::F64)),
];

#[test]
fn gpus_are_the_cpu() {
    let all: Vec<_> = on_adapters().into_iter().map(|adapter| (adapter, RefCell::new(Compared::default()))).collect();
    let turn = Cell::new(0);
    holds(cases().div_ceil(10), |case| {
        turn.set(turn.get() + 1);
        let (what, options) = OPTIONS[turn.get() % OPTIONS.len()];
        let single = case.find(&case.finder(Engine::Cpu, |builder| builder));
        let alike = case.find(&case.finder(Engine::Cpu, options));
        for (adapter, compared) in &all {
            let engine = on_shared_device(adapter);
            let (name, mut compared) = (&adapter.name, compared.borrow_mut());
            let finder = case.finder(engine.clone(), |builder| builder);
            let found = case.find(&finder);
            compared.add(name, case, &found, &single);
            invariances(case, &finder, &found);
            if what != "f64" || adapter.shader_f64 {
                compared.add(&format!("{name}, {what}"), case, &case.find(&case.finder(engine, options)), &alike);
            }
            // No software adapter is known to round differently; hardware may
            // (docs/explanation/design.md).
            let most = if adapter.kind == AdapterKind::Software { 0 } else { 1 + compared.all / 100 };
            assert!(compared.other <= most, "{name}: {compared:?}");
        }
    });
    for (adapter, compared) in &all {
        eprintln!("{}: {:?}", adapter.name, compared.borrow());
    }
}
