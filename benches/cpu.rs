//! Benchmarks of the CPU engine, stage by stage and from end to end, on one thread and on all, and
//! of the reference engine: `cargo bench`. An item is an RoI; for `find_z` and `end_to_end_pairs`
//! it is a pair whose z12 is within the range. Allocations are counted: the CPU engine makes none.
//! Timed answers are compared with the reference engine.

use std::fmt;
use std::num::NonZeroUsize;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use zfinder::config::PairWeight;
use zfinder::internals::Stages;
use zfinder::{Config, Detector, Engine, Preset, Results, RoiBatch, ZFinder};
use zfinder_study::simulate::Simulation;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// A sample in a triplet mode, otherwise in the default configuration.
#[derive(Clone, Copy)]
struct Case {
    highlum: bool,
    pair_weight: PairWeight,
}

const CASES: [Case; 6] = {
    let [low, high] = [false, true];
    [
        Case { highlum: low, pair_weight: PairWeight::One },
        Case { highlum: low, pair_weight: PairWeight::Any },
        Case { highlum: low, pair_weight: PairWeight::Count },
        Case { highlum: high, pair_weight: PairWeight::One },
        Case { highlum: high, pair_weight: PairWeight::Any },
        Case { highlum: high, pair_weight: PairWeight::Count },
    ]
};

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sample = if self.highlum { "highlum" } else { "lowlum" };
        write!(f, "{sample} {}", self.pair_weight)
    }
}

impl Case {
    fn config(self) -> Config {
        Config::preset(Preset::Default).with(|c| c.pair_weight = self.pair_weight)
    }

    fn batch(self, rois: usize) -> RoiBatch {
        let simulation = if self.highlum { Simulation::highlum() } else { Simulation::lowlum() };
        Simulation { seed: 1, rois, ..simulation }.batch().0
    }

    /// Returns a number of RoIs with about 30,000 spacepoints.
    fn rois(self) -> usize {
        if self.highlum { 4 } else { 90 }
    }

    /// Returns the stages on the first RoI. Its highest peak is that of the reference engine.
    fn stages(self, batch: &RoiBatch) -> Stages {
        let mut stages = Stages::new(&self.config(), &Detector::atlas2010(), batch, 0).expect("a valid configuration");
        let wanted = self.finder(Engine::Reference, 1).find_batch(batch).expect("an answer");
        assert!((f64::from(stages.find_peaks()) - wanted.vertices().weight()[0]).abs() <= 2.0, "{self}: {wanted:?}");
        stages
    }

    /// Returns the pairs with z12 within the range, of all RoIs of a batch.
    fn pairs(self, batch: &RoiBatch) -> u64 {
        let detector = Detector::atlas2010();
        let pairs = |roi| {
            Stages::new(&Config::preset(Preset::Default), &detector, batch, roi)
                .expect("a valid configuration")
                .entries()
        };
        (0..batch.len()).map(pairs).sum()
    }

    fn finder(self, engine: Engine, threads: usize) -> ZFinder {
        let threads = NonZeroUsize::new(threads).expect("threads");
        let finder = ZFinder::builder(Detector::atlas2010()).config(self.config()).engine(engine).threads(threads);
        finder.build().expect("a valid configuration")
    }
}

#[divan::bench(args = CASES)]
fn stage_0_plan_and_pack(bencher: Bencher<'_, '_>, case: Case) {
    let batch = case.batch(1);
    let mut stages = case.stages(&batch);
    bencher.counter(ItemsCount::new(1u32)).bench_local(|| stages.pack(&batch, 0));
}

#[divan::bench(args = CASES)]
fn stage_1_slice_spacepoints(bencher: Bencher<'_, '_>, case: Case) {
    let mut stages = case.stages(&case.batch(1));
    bencher.counter(ItemsCount::new(1u32)).bench_local(|| stages.slice_spacepoints());
}

#[divan::bench(args = CASES)]
fn stage_2_find_z(bencher: Bencher<'_, '_>, case: Case) {
    let batch = case.batch(1);
    let mut stages = case.stages(&batch);
    bencher.counter(ItemsCount::new(case.pairs(&batch))).bench_local(|| stages.find_z());
}

#[divan::bench(args = CASES)]
fn stage_3_sum_histos(bencher: Bencher<'_, '_>, case: Case) {
    let mut stages = case.stages(&case.batch(1));
    bencher.counter(ItemsCount::new(1u32)).bench_local(|| stages.sum_histos());
}

/// Each call copies the histogram, because the search empties it.
#[divan::bench(args = CASES)]
fn stage_4_find_peaks(bencher: Bencher<'_, '_>, case: Case) {
    let mut stages = case.stages(&case.batch(1));
    bencher.counter(ItemsCount::new(1u32)).bench_local(|| stages.find_peaks());
}

fn find_batches(bencher: Bencher<'_, '_>, case: Case, engine: Engine, threads: usize, by_pairs: bool) {
    let batch = case.batch(case.rois());
    let finder = case.finder(engine, threads);
    let items = if by_pairs { case.pairs(&batch) } else { batch.len() as u64 };
    let mut results = Results::new();
    let mut find = || finder.find_batch_into(&batch, &mut results);
    // The first search allocates memory.
    find().expect("an answer");
    bencher.counter(ItemsCount::new(items)).bench_local(find);
    check(case, &batch, &results);
}

/// Checks the timed answers against the reference engine: weights within 2, and z within 0.01 mm
/// except for peaks of equal height, which at most one RoI in twenty may have.
fn check(case: Case, batch: &RoiBatch, results: &Results) {
    let wanted = case.finder(Engine::Reference, 1).find_batch(batch).expect("an answer");
    assert_eq!(results.len(), wanted.len(), "{case}");
    let mut others = 0;
    for (found, wanted) in results.iter().zip(&wanted) {
        assert_eq!(found.vertices().len(), wanted.vertices().len(), "{case}: {found:?}, {wanted:?}");
        for (a, b) in found.vertices().iter().zip(wanted.vertices()) {
            assert!((a.weight - b.weight).abs() <= 2.0, "{case}: {found:?}, {wanted:?}");
            others += usize::from((a.z_mm - b.z_mm).abs() > 0.01);
        }
    }
    assert!(others <= results.len().div_ceil(20), "{case}: {others} of {} have another z", results.len());
}

#[divan::bench(args = CASES)]
fn end_to_end_one_thread(bencher: Bencher<'_, '_>, case: Case) {
    find_batches(bencher, case, Engine::Cpu, 1, false);
}

#[divan::bench(args = CASES)]
fn end_to_end_pairs(bencher: Bencher<'_, '_>, case: Case) {
    find_batches(bencher, case, Engine::Cpu, 1, true);
}

#[divan::bench(args = CASES)]
fn end_to_end_all_threads(bencher: Bencher<'_, '_>, case: Case) {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    find_batches(bencher, case, Engine::Cpu, threads, false);
}

#[divan::bench(args = CASES, sample_count = 5)]
fn reference_engine(bencher: Bencher<'_, '_>, case: Case) {
    find_batches(bencher, case, Engine::Reference, 1, false);
}
