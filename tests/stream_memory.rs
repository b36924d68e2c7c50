//! Tests that a long stream takes no more memory than a short one. The test has its own process, so
//! that other tests do not disturb the measurement.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr)] // measurements are shown

use zfinder::gpu::AdapterChoice;
use zfinder::{Detector, Engine, RoiBatch, StreamOptions, ZFinder};
use zfinder_testing::on_fast_adapters;
use zfinder_testing::toy::Toy;

/// Returns the resident bytes of the process.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of it");
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kilobytes * 1024
}

#[test]
fn memory_does_not_grow_with_the_number_of_batches() {
    let rng = &mut fastrand::Rng::with_seed(1);
    let toy = Toy { tracks: 4, noise: 500, window: Some((0.7, 0.3)), ..Toy::default() };
    let batch: RoiBatch = (0..2).map(|i| toy.event(rng, i).roi).collect();
    let mut engines = vec![("CPU".to_owned(), Engine::Cpu, 2000)];
    for adapter in on_fast_adapters() {
        engines.push((adapter.name, Engine::Gpu(AdapterChoice::Index(adapter.index)), 600));
    }
    for (name, engine, rounds) in engines {
        let finder = ZFinder::builder(Detector::atlas2010())
            .engine(engine)
            .build()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let stream = finder.stream(StreamOptions { in_flight: 3 }).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut after_warming = 0;
        // Each answer is a new allocation of 30 kB, so that kept ones would show.
        let answers = stream.run(std::iter::repeat_with(|| batch.clone()).take(rounds));
        for (i, answered) in answers.enumerate() {
            answered.unwrap_or_else(|error| panic!("{name}: {error}"));
            if i == rounds / 4 {
                after_warming = resident();
            }
        }
        let growth = resident().saturating_sub(after_warming);
        eprintln!("{name}: {rounds} batches, {growth} bytes more after the last three quarters of them");
        // 450 kept batches are 13 MB. Threads of a software adapter take a few on a busy machine.
        assert!(growth < 10 << 20, "{name}: {growth} bytes more");
    }
}
