//! Tests that the CPU engine's answers depend neither on the number of threads nor on the order of
//! RoIs.

use std::num::NonZeroUsize;

use zfinder::config::PairWeight;
use zfinder::{Config, Detector, Engine, Preset, Roi, RoiBatch, StreamOptions, ZFinder, ZFinderBuilder};
use zfinder_study::simulate::Simulation;

fn finder(config: &Config, threads: usize) -> ZFinder {
    let threads = NonZeroUsize::new(threads).expect("a number of threads");
    ZFinder::builder(Detector::atlas2010())
        .config(config.clone())
        .engine(Engine::Cpu)
        .threads(threads)
        .build()
        .expect("a finder")
}

/// Returns large RoIs, whose slices are shared, and small ones.
fn batch() -> RoiBatch {
    let mut batch = Simulation { rois: 3, ..Simulation::highlum() }.batch().0;
    let small = Simulation { rois: 40, ..Simulation::lowlum() }.batch().0;
    for roi in small.iter() {
        batch.push(*roi.descriptor, roi.spacepoints());
    }
    batch
}

#[test]
fn no_number_of_threads_changes_a_bit() {
    let batch = batch();
    let configs = [
        Config::preset(Preset::Default),
        Config::preset(Preset::Default).with(|c| c.pair_weight = PairWeight::Count),
        Config::preset(Preset::HardScatter),
        Config::preset(Preset::Egamma),
    ];
    for config in configs {
        let wanted = finder(&config, 1).find_batch(&batch).expect("answers");
        assert!(wanted.iter().take(3).all(|result| !result.vertices().is_empty()));
        for threads in [2, 3, 8] {
            let finder = finder(&config, threads);
            assert_eq!(finder.find_batch(&batch).expect("answers"), wanted, "{threads} threads");
            // One by one, so that threads share the slices of one RoI.
            for (roi, wanted) in batch.iter().zip(&wanted).take(6) {
                let roi = Roi { descriptor: *roi.descriptor, spacepoints: roi.spacepoints().collect() };
                assert_eq!(finder.find(&roi).expect("an answer").roi(0), wanted, "{threads} threads, one RoI");
            }
            let stream = finder.stream(StreamOptions::default()).expect("a stream");
            for answered in stream.run([batch.clone(), batch.clone()]) {
                assert_eq!(answered.expect("answers").results, wanted, "{threads} threads, a stream");
            }
        }
    }
}

#[test]
fn more_threads_than_a_host_can_use_are_an_error() {
    let most = ZFinderBuilder::most_threads();
    assert!(most >= 64);
    for engine in [Engine::Cpu, Engine::Reference] {
        for threads in [most + 1, u32::MAX as usize] {
            let builder = ZFinder::builder(Detector::generic()).engine(engine.clone());
            let threads = NonZeroUsize::new(threads).expect("not 0");
            let error = builder.threads(threads).build().expect_err("too many").to_string();
            assert!(error.contains("`threads`") && error.contains(&format!("[1, {most}]")), "{error}");
        }
    }
}
