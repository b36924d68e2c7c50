//! Tests of streams on every engine: the bits of single batches, in the order pushed, and no state
//! left behind.

use std::sync::OnceLock;

use zfinder::gpu::AdapterChoice;
use zfinder::thesis::ThesisOptions;
use zfinder::{
    Config, Detector, Encoding, Engine, Error, Preset, Results, Roi, RoiBatch, RoiDescriptor, SearchedBatch, Status,
    Stream, StreamOptions, ZFinder,
};
use zfinder_testing::engines::{Bits, bits, on_shared_device};
use zfinder_testing::toy::{Toy, between};
use zfinder_testing::{on_adapters, on_fast_adapters};

/// Every engine, built once.
fn finders() -> &'static [(String, ZFinder)] {
    static FINDERS: OnceLock<Vec<(String, ZFinder)>> = OnceLock::new();
    FINDERS.get_or_init(|| {
        let gpu = |adapter: zfinder::gpu::AdapterSummary| (adapter.name.clone(), on_shared_device(&adapter));
        let mut engines: Vec<_> = on_fast_adapters().into_iter().map(gpu).collect();
        engines.push(("CPU".into(), Engine::Cpu));
        engines.push(("reference".into(), Engine::Reference));
        engines.into_iter().map(|(name, engine)| (name.clone(), build(&name, engine))).collect()
    })
}

fn build(name: &str, engine: Engine) -> ZFinder {
    ZFinder::builder(Detector::atlas2010()).engine(engine).build().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn open(name: &str, finder: &ZFinder, in_flight: usize) -> Stream {
    finder.stream(StreamOptions { in_flight }).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns a numbered batch of RoIs with about this many tracks.
fn batch(rng: &mut fastrand::Rng, number: u64, rois: usize, tracks: usize) -> RoiBatch {
    let roi = |i: usize| {
        let width = between(rng, 0.3, 1.2);
        let toy = Toy { tracks, vertices: 2, noise: tracks, window: Some((0.7, width)), ..Toy::default() };
        let mut roi = toy.event(rng, number).roi;
        roi.descriptor.id.roi_id = i as u64;
        roi
    };
    (0..rois).map(roi).collect()
}

/// Returns batches of very different sizes, a large one first. Some are empty, some have empty
/// RoIs.
fn unequal(seed: u64) -> Vec<RoiBatch> {
    let rng = &mut fastrand::Rng::with_seed(seed);
    let sizes = [(40, 30), (1, 4), (0, 0), (1, 60), (3, 3), (25, 8), (0, 0), (1, 1), (2, 10), (12, 20), (1, 4)];
    let mut batches: Vec<RoiBatch> =
        sizes.into_iter().zip(0..).map(|((rois, tracks), number)| batch(rng, number, rois, tracks)).collect();
    batches[6] = (0..5).map(|_| Roi::default()).collect();
    batches
}

fn one_by_one(name: &str, finder: &ZFinder, batches: &[RoiBatch]) -> Vec<Vec<Bits>> {
    let find = |batch| bits(&finder.find_batch(batch).unwrap_or_else(|error| panic!("{name}: {error}")));
    batches.iter().map(find).collect()
}

#[track_caller]
fn same(place: &str, answered: &[SearchedBatch], batches: &[RoiBatch], wanted: &[Vec<Bits>]) {
    assert_eq!(answered.len(), batches.len(), "{place}");
    for ((answered, batch), wanted) in answered.iter().zip(batches).zip(wanted) {
        assert_eq!(&answered.batch, batch, "{place}: the batch comes back");
        assert_eq!(&bits(&answered.results), wanted, "{place}");
    }
}

#[test]
fn answers_are_those_of_batches_one_by_one() {
    let batches = unequal(1);
    for (name, finder) in finders() {
        let wanted = one_by_one(name, finder, &batches);
        assert!(wanted[0].iter().filter(|result| result.1 == Status::Ok).count() > 30, "{name}");
        for in_flight in [1, 2, 5] {
            let place = format!("{name}, {in_flight} in flight");
            let mut stream = open(name, finder, in_flight);
            assert_eq!(stream.most_in_flight(), in_flight, "{place}");
            let mut answered = Vec::new();
            for (i, batch) in batches.iter().enumerate() {
                let oldest = stream.push(batch.clone()).unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(
                    oldest.is_some(),
                    i >= in_flight,
                    "{place}: a push waits when there is no room, and only then"
                );
                assert_eq!(stream.len(), (i + 1).min(in_flight), "{place}");
                answered.extend(oldest);
            }
            assert_eq!(answered.len(), batches.len() - in_flight, "{place}");
            answered.extend(stream.by_ref().map(|answer| answer.unwrap_or_else(|error| panic!("{place}: {error}"))));
            same(&place, &answered, &batches, &wanted);
            assert!(stream.next().is_none(), "{place}");
        }
        let run = open(name, finder, 3).run(batches.clone());
        let run: Vec<SearchedBatch> =
            run.map(|answer| answer.unwrap_or_else(|error| panic!("{name}: {error}"))).collect();
        same(&format!("{name}, run"), &run, &batches, &wanted);
    }
}

/// Batches that exceed one part, RoIs that the compact encoding cannot represent, and RoIs above
/// the capacity.
#[test]
fn parts_of_a_batch_change_no_bit() {
    let rng = &mut fastrand::Rng::with_seed(2);
    let mut batches: Vec<RoiBatch> = (0..4).map(|i| batch(rng, i, 12, 20)).collect();
    let mut far = batch(rng, 4, 1, 20).roi(0).spacepoints().collect::<Vec<_>>();
    far[0].rho = 5000.0;
    let descriptor = *batches[2].roi(0).descriptor;
    batches[2].push(descriptor, far);
    let wide = Toy { window: None, tracks: 60, ..Toy::default() }.event(rng, 5).roi;
    batches[1].push(wide.descriptor, wide.spacepoints);
    for adapter in on_fast_adapters() {
        let builder = ZFinder::builder(Detector::atlas2010()).config(Config::preset(Preset::Default));
        let builder = builder
            .engine(on_shared_device(&adapter))
            .encoding(Encoding::Compact)
            .thesis(ThesisOptions::numbered_pairs(8))
            .most_buffer_bytes(1 << 20);
        let finder = builder.build().unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
        let wanted = one_by_one(&adapter.name, &finder, &batches);
        assert_eq!(wanted[1][12].1, Status::CapacityExceeded, "{}", adapter.name);
        let stream = open(&adapter.name, &finder, 3);
        let answered: Result<Vec<SearchedBatch>, Error> = stream.run(batches.clone()).collect();
        same(&adapter.name, &answered.unwrap_or_else(|error| panic!("{}: {error}", adapter.name)), &batches, &wanted);
    }
}

#[test]
fn futures_answer_alike() {
    let batches = unequal(3);
    for (name, finder) in finders() {
        let wanted = one_by_one(name, finder, &batches);
        let mut stream = open(name, finder, 3);
        let answered: Result<Vec<SearchedBatch>, Error> = pollster::block_on(async {
            let mut answered = Vec::new();
            for batch in &batches {
                answered.extend(stream.push_async(batch.clone()).await?);
            }
            while let Some(answer) = stream.next_async().await {
                answered.push(answer?);
            }
            Ok(answered)
        });
        same(name, &answered.unwrap_or_else(|error| panic!("{name}: {error}")), &batches, &wanted);
    }
}

#[test]
fn an_error_is_the_answer_to_its_batch_alone() {
    let rng = &mut fastrand::Rng::with_seed(4);
    let mut batches: Vec<RoiBatch> = (0..9).map(|i| batch(rng, i, 2, 6)).collect();
    let no_range = RoiDescriptor { z_range: Some((10.0, -10.0)), ..RoiDescriptor::default() };
    for bad in [0, 4, 5] {
        batches[bad].push(no_range, []);
    }
    for (name, finder) in finders() {
        let mut stream = open(name, finder, 2);
        let mut answers = Vec::new();
        for batch in &batches {
            answers.extend(stream.push(batch.clone()).transpose());
        }
        answers.extend(stream);
        assert_eq!(answers.len(), batches.len(), "{name}");
        for (i, (answer, batch)) in answers.into_iter().zip(&batches).enumerate() {
            match (finder.find_batch(batch), answer) {
                (Ok(wanted), Ok(answered)) => assert_eq!(bits(&answered.results), bits(&wanted), "{name}, {i}"),
                (Err(wanted), Err(error)) => assert_eq!(error.to_string(), wanted.to_string(), "{name}, {i}"),
                other => panic!("{name}, {i}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_stream_is_dropped_at_any_time_and_outlives_its_finder() {
    let batches = unequal(5);
    for (name, finder) in finders() {
        for pushed in [0, 1, 3, 5] {
            let mut stream = open(name, finder, 3);
            for batch in &batches[..pushed] {
                stream.push(batch.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
        // The engine still works.
        finder.find_batch(&batches[5]).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for (engine, finder) in [("CPU", Engine::Cpu), ("GPU", Engine::Auto)] {
        let mut stream = open(engine, &build(engine, finder), 2);
        stream.push(batches[0].clone()).unwrap_or_else(|error| panic!("{engine}: {error}"));
        let answered = stream.next().expect("one in flight").unwrap_or_else(|error| panic!("{engine}: {error}"));
        assert_eq!(answered.results.len(), batches[0].len());
    }
}

/// Two streams share a finder with single batches.
#[test]
fn streams_share_a_finder() {
    let batches = unequal(6);
    for (name, finder) in finders() {
        let wanted = one_by_one(name, finder, &batches);
        let go = || {
            let answered: Result<Vec<SearchedBatch>, Error> = open(name, finder, 2).run(batches.clone()).collect();
            same(name, &answered.unwrap_or_else(|error| panic!("{name}: {error}")), &batches, &wanted);
        };
        std::thread::scope(|scope| {
            scope.spawn(go);
            scope.spawn(go);
            assert_eq!(one_by_one(name, finder, &batches), wanted, "{name}");
        });
    }
}

#[test]
fn nothing_in_flight_is_refused() {
    let (name, finder) = &finders()[0];
    let error = finder.stream(StreamOptions { in_flight: 0 }).expect_err(name);
    assert!(matches!(&error, Error::Config { key: "in_flight", .. }), "{error}");
}

/// A stream of any length uses the memory of its first batches. This is the only test of batches'
/// memory; `stream_memory.rs` tests that of the process.
#[test]
fn batches_are_used_again() {
    let rng = &mut fastrand::Rng::with_seed(7);
    let samples: Vec<RoiBatch> = (0..3).map(|i| batch(rng, i, 1 + i as usize, 3)).collect();
    for (name, finder) in finders() {
        let wanted = one_by_one(name, finder, &samples);
        // Software adapters take milliseconds for a dispatch.
        let rounds = if ["CPU", "reference"].contains(&name.as_str()) { 2000 } else { 200 };
        let mut stream = open(name, finder, 3);
        let mut spare: Vec<RoiBatch> = vec![RoiBatch::new(); 4];
        for i in 0..rounds {
            let mut batch = spare.pop().unwrap_or_else(|| panic!("{name}: more than 4 batches"));
            batch.clear();
            for roi in samples[i % 3].iter() {
                batch.push(*roi.descriptor, roi.spacepoints());
            }
            if let Some(answered) = stream.push(batch).unwrap_or_else(|error| panic!("{name}: {error}")) {
                assert_eq!(bits(&answered.results), wanted[(i - 3) % 3], "{name}, batch {}", i - 3);
                spare.push(answered.batch);
            }
        }
        assert_eq!(stream.count(), 3, "{name}");
    }
}

/// Returns two adapters, or one adapter twice.
fn pair() -> Option<Vec<AdapterChoice>> {
    let indices: Vec<usize> = on_adapters().iter().map(|adapter| adapter.index).collect();
    match indices[..] {
        [] => return None,
        [_] => eprintln!("SKIPPED: two different adapters, for there is one; it is opened twice"),
        _ => {}
    }
    Some(indices.into_iter().cycle().take(2).map(AdapterChoice::Index).collect())
}

/// Asserts that each RoI has the answer of one of the GPUs, which may round differently.
#[track_caller]
fn by_either(place: &str, found: &Results, wanted: &[Vec<Bits>]) -> [usize; 2] {
    let mut by = [0, 0];
    assert!(wanted.iter().all(|wanted| wanted.len() == found.len()), "{place}");
    for (i, found) in bits(found).into_iter().enumerate() {
        let which = wanted.iter().position(|wanted| wanted[i] == found);
        by[which.unwrap_or_else(|| panic!("{place}, RoI {i}: {found:?} is neither of {wanted:?}"))] += 1;
    }
    by
}

/// Executors with several threads require it.
fn is_send<T: Send>(future: T) -> T {
    future
}

#[test]
fn several_gpus_share_batches_and_streams() {
    let Some(pair) = pair() else { return };
    let batches = unequal(8);
    let each: Vec<Vec<Vec<Bits>>> =
        pair.iter().map(|adapter| one_by_one("one", &build("one", Engine::Gpu(adapter.clone())), &batches)).collect();
    let wanted = |batch: usize| each.iter().map(|wanted| wanted[batch].clone()).collect::<Vec<_>>();
    let finder = build("both", Engine::Gpus(pair.clone()));
    let description = finder.description();
    assert_eq!(description.matches(" and ").count(), 1, "{description}");
    for adapter in on_adapters().iter().take(2) {
        assert!(description.contains(&adapter.name), "{description}");
    }
    for (i, batch) in batches.iter().enumerate() {
        let found = finder.find_batch(batch).unwrap_or_else(|error| panic!("{i}: {error}"));
        by_either("a batch", &found, &wanted(i));
        let awaited =
            pollster::block_on(is_send(finder.find_batch_async(batch))).unwrap_or_else(|error| panic!("{i}: {error}"));
        assert_eq!(bits(&awaited), bits(&found), "{i}: the same share for each");
        // The first GPU gets a single RoI.
        if let Some(view) = batch.iter().next() {
            let roi = Roi { descriptor: *view.descriptor, spacepoints: view.spacepoints().collect() };
            let one = finder.find(&roi).unwrap_or_else(|error| panic!("{i}: {error}"));
            assert_eq!(bits(&one)[0], each[0][i][0], "{i}");
        }
    }
    for (in_flight, most) in [(1, 4), (4, 4), (5, 5)] {
        let stream = open("both", &finder, in_flight);
        assert_eq!(stream.most_in_flight(), most, "at least two a GPU");
        let answered: Result<Vec<SearchedBatch>, Error> = stream.run(batches.clone()).collect();
        for (i, answered) in answered.unwrap_or_else(|error| panic!("{error}")).iter().enumerate() {
            assert_eq!(answered.batch, batches[i], "{in_flight} in flight: the order");
            by_either("a stream", &answered.results, &wanted(i));
        }
    }
    // An error is reported for each of the GPUs.
    for at in [0, 39] {
        let mut rois: Vec<Roi> = (0..40).map(|_| Roi::default()).collect();
        rois[at].descriptor.z_range = Some((10.0, -10.0));
        let error = finder.find_batch(&rois.into_iter().collect::<RoiBatch>()).expect_err("no range");
        assert!(matches!(error, Error::Config { .. }), "{error}");
    }
}

#[test]
fn no_gpu_and_all_of_none_are_errors() {
    let error =
        ZFinder::builder(Detector::atlas2010()).engine(Engine::Gpus(Vec::new())).build().expect_err("none is named");
    assert!(matches!(error, Error::Config { key: "engine", .. }), "{error}");
    let adapters = on_adapters();
    match ZFinder::builder(Detector::atlas2010()).engine(Engine::Gpu(AdapterChoice::All)).build() {
        Ok(finder) => {
            let first = adapters.iter().find(|adapter| adapter.kind != zfinder::gpu::AdapterKind::Software);
            let description = finder.description();
            assert!(first.is_some_and(|_| description.starts_with("GPU engine")), "{description}");
        }
        Err(error) => {
            let said = error.to_string();
            assert!(adapters.iter().all(|adapter| adapter.kind == zfinder::gpu::AdapterKind::Software), "{said}");
            assert!(said.contains("no GPU adapter is hardware"), "{said}");
            assert!(adapters.iter().all(|adapter| said.contains(&adapter.name)), "{said}");
        }
    }
}

#[test]
fn a_clone_is_the_same_finder() {
    let finder = ZFinder::builder(Detector::atlas2010())
        .config(Config::preset(Preset::Default).with(|c| c.peaks = 2))
        .engine(Engine::Cpu)
        .build();
    let finder = finder.expect("the CPU engine");
    let clone = finder.clone();
    drop(finder);
    assert_eq!(clone.config().peaks, 2);
    assert!(clone.find_batch(&RoiBatch::new()).expect("nothing to do").is_empty());
}
