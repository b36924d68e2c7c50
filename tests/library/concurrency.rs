//! Tests of one finder in many threads, with all calls at once: the bits equal those of one call
//! after another.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use zfinder::{Detector, Engine, Results, Roi, RoiBatch, StreamOptions, ZFinder};
use zfinder_testing::engines::on_shared_device;
use zfinder_testing::on_fast_adapters;
use zfinder_testing::toy::Toy;

const THREADS: u64 = 6;

/// Returns batches of one to nine RoIs, small and larger, some without any spacepoint.
fn batches(seed: u64) -> Vec<RoiBatch> {
    let rng = &mut fastrand::Rng::with_seed(seed);
    let mut roi = |id: u64| {
        let noise = if rng.u8(0..8) == 0 { 1500 } else { rng.usize(0..60) };
        let mut event = Toy { tracks: rng.usize(2..20), noise, ..Toy::default() }.event(rng, id);
        if rng.u8(0..10) == 0 {
            event.roi.spacepoints.clear();
        }
        event.roi
    };
    (0..9).map(|number| (0..=number).map(|i| roi(10 * number + i)).collect()).collect()
}

/// The answers of a finder, one call after another.
struct Known<'a> {
    name: &'a str,
    finder: &'a ZFinder,
    batches: &'a [RoiBatch],
    wanted: Vec<Results>,
}

impl Known<'_> {
    /// Searches by a random call, or cancels it.
    fn ask(&self, rng: &mut fastrand::Rng) {
        let Self { name, finder, batches, wanted } = self;
        let which = rng.usize(0..batches.len());
        let (batch, wanted_here) = (&batches[which], &wanted[which]);
        let view = batch.roi(0);
        let one = || Roi { descriptor: *view.descriptor, spacepoints: view.spacepoints().collect() };
        match rng.u8(0..8) {
            0 => assert_eq!(finder.find(&one()).expect(name).roi(0), wanted_here.roi(0), "{name}, one"),
            1 => {
                let found = pollster::block_on(finder.find_batch_async(&one())).expect(name);
                assert_eq!(found.roi(0), wanted_here.roi(0), "{name}, one's future");
            }
            2 | 3 => assert_eq!(finder.find_batch(batch).expect(name), *wanted_here, "{name}, a batch"),
            4 => {
                let found = pollster::block_on(finder.find_batch_async(batch)).expect(name);
                assert_eq!(found, *wanted_here, "{name}, a future");
            }
            5 => {
                let mut future = pin!(finder.find_batch_async(batch));
                for _ in 0..rng.u8(0..3) {
                    if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                        break;
                    }
                }
            }
            way => {
                let mut stream = finder.stream(StreamOptions { in_flight: rng.usize(1..4) }).expect(name);
                let pushed: Vec<usize> = (0..rng.usize(1..6)).map(|_| rng.usize(0..batches.len())).collect();
                let mut answered = Vec::new();
                for &which in &pushed {
                    answered.extend(stream.push(batches[which].clone()).expect(name));
                }
                if way == 6 {
                    answered.extend(stream.by_ref().map(|answered| answered.expect(name)));
                    assert_eq!(answered.len(), pushed.len(), "{name}, a stream");
                }
                for (answered, which) in answered.iter().zip(pushed) {
                    assert_eq!(answered.results, wanted[which], "{name}, a stream");
                }
            }
        }
    }
}

#[test]
fn any_mix_of_calls_on_many_threads_gives_the_same_bits() {
    let batches = batches(1);
    let mut engines = vec![("CPU".to_owned(), Engine::Cpu, 60)];
    for adapter in on_fast_adapters() {
        engines.push((adapter.name.clone(), on_shared_device(&adapter), 12));
    }
    for (name, engine, calls) in engines {
        let finder = ZFinder::builder(Detector::atlas2010())
            .engine(engine)
            .build()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let wanted = batches.iter().map(|batch| finder.find_batch(batch).expect("answers")).collect();
        let known = Known { name: &name, finder: &finder, batches: &batches, wanted };
        std::thread::scope(|scope| {
            for seed in 0..THREADS {
                let known = &known;
                scope.spawn(move || {
                    let rng = &mut fastrand::Rng::with_seed(seed);
                    (0..calls).for_each(|_| known.ask(rng));
                });
            }
        });
        for (batch, wanted) in batches.iter().zip(&known.wanted) {
            assert_eq!(finder.find_batch(batch).expect("answers"), *wanted, "{name}, afterwards");
        }
    }
}
