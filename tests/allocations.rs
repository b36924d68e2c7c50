//! Tests that the CPU engine allocates nothing after the first RoIs of a kind, and the GPU engine
//! nothing for an RoI.

use std::num::NonZeroUsize;

use kernel_host::testing::on_adapters;
use zfinder::config::PairWeight;
use zfinder::thesis::Accumulate;
use zfinder::{
    Config, Detector, Encoding, Engine, Precision, Preset, Results, RoiBatch, SearchedBatch, StreamOptions, ZFinder,
};
use zfinder_study::simulate::Simulation;
use zfinder_testing::engines::on_shared_device;
use zfinder_testing::toy::Toy;

/// Configurations that differ in their memory: histograms, third spacepoints, weights, several
/// peaks.
fn configs() -> Vec<(&'static str, Config)> {
    let weight = |weight| Config::preset(Preset::Default).with(|c| c.pair_weight = weight);
    vec![
        ("pairs", Config::preset(Preset::Default)),
        ("any", weight(PairWeight::Any)),
        ("count", weight(PairWeight::Count)),
        ("high pile-up", Config::preset(Preset::HighPileup)),
        ("egamma", Config::preset(Preset::Egamma)),
        ("hard scatter", Config::preset(Preset::HardScatter)),
        (
            "hard scatter or full scan",
            Config::preset(Preset::Auto).with(|c| c.max_layer = zfinder::config::MaxLayer::All),
        ),
        (
            "a histogram a slice",
            Config::preset(Preset::Default).with(|c| {
                c.histogram_per_slice = true;
                c.z_bin_mm = 2.0;
            }),
        ),
    ]
}

fn batches() -> Vec<RoiBatch> {
    let low = Simulation { rois: 40, ..Simulation::lowlum() }.batch().0;
    let high = Simulation { rois: 2, ..Simulation::highlum() }.batch().0;
    vec![low, high]
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    let batches = batches();
    for (name, config) in configs() {
        for (precision, encoding, accumulate) in [
            (Precision::F32, Encoding::Lossless, Accumulate::Fixed),
            (Precision::F32, Encoding::Compact, Accumulate::CompareExchange),
            (Precision::F64, Encoding::Lossless, Accumulate::Fixed),
        ] {
            let finder = ZFinder::builder(Detector::atlas2010())
                .config(config.clone())
                .engine(Engine::Cpu)
                .threads(NonZeroUsize::MIN)
                .precision(precision)
                .encoding(encoding)
                .thesis(accumulate)
                .build()
                .expect("a valid configuration");
            let mut results = vec![Results::new(); batches.len()];
            let mut find = || {
                for (batch, results) in batches.iter().zip(&mut results) {
                    finder.find_batch_into(batch, results).expect("an answer");
                }
            };
            find();
            let allocations = allocation_counter::measure(find);
            assert_eq!(allocations.count_total, 0, "{name}, {precision:?}, {encoding:?}: {allocations:?}");
            assert!(results[1].iter().all(|result| !result.vertices().is_empty()), "{name}");
        }
    }
}

/// A batch costs the GPU engine allocations for its parts and for columns that grow, and not for
/// each RoI.
#[test]
fn the_gpu_engine_allocates_nothing_for_an_roi() {
    for adapter in on_adapters() {
        for preset in [Preset::Default, Preset::Auto] {
            let builder = ZFinder::builder(Detector::atlas2010()).config(Config::preset(preset));
            let finder = builder.engine(on_shared_device(&adapter)).build().expect("a finder");
            let mut results = Results::new();
            let mut allocations = |rois: u64| {
                // Small RoIs, which are one part.
                let toy = Toy { tracks: 6, noise: 5, vertices: 1, ..Toy::default() };
                let rng = &mut fastrand::Rng::with_seed(1);
                let batch: RoiBatch = (0..rois).map(|id| toy.event(rng, id).roi).collect();
                // All on this thread, which is counted.
                let mut find = || finder.find_batch_by_worker(0, &batch, &mut results).expect("an answer");
                find();
                allocation_counter::measure(find).count_total
            };
            let (few, many) = (allocations(8), allocations(136));
            assert!(many < few + 100, "{}, {preset}: {few} allocations for 8 RoIs, {many} for 136", adapter.name);
        }
    }
}

/// The caller's side of a stream. The counter does not see the workers, which call the search of
/// the test above.
#[test]
fn streams_allocate_nothing_in_steady_state() {
    let finder = ZFinder::builder(Detector::atlas2010())
        .engine(Engine::Cpu)
        .threads(NonZeroUsize::MIN)
        .build()
        .expect("a finder");
    let mut stream = finder.stream(StreamOptions { in_flight: 3 }).expect("threads");
    let mut spare: Vec<_> = (0..4).map(|_| (batches().remove(0), Results::new())).collect();
    let mut rounds = |count: usize| {
        for _ in 0..count {
            let (batch, results) = spare.pop().expect("one that is not in flight");
            if let Some(SearchedBatch { batch, results }) = stream.push_into(batch, results).expect("an answer") {
                assert_eq!(results.len(), batch.len());
                spare.push((batch, results));
            }
        }
    };
    rounds(12);
    let allocations = allocation_counter::measure(|| rounds(100));
    assert_eq!(allocations.count_total, 0, "{allocations:?}");
    assert_eq!(stream.count(), 3);
}

/// The counter works: it sees a new vector of results.
#[test]
fn allocations_are_seen() {
    let finder = ZFinder::builder(Detector::atlas2010())
        .engine(Engine::Cpu)
        .threads(NonZeroUsize::MIN)
        .build()
        .expect("a finder");
    let batch = batches().remove(0);
    finder.find_batch(&batch).expect("an answer");
    let allocations = allocation_counter::measure(|| drop(finder.find_batch(&batch)));
    assert!(allocations.count_total > 0);
}
