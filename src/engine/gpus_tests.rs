//! Faults of devices, on every adapter: little memory, loss, cancelled calls. Results have the same
//! bits, failed batches are errors, and no memory stays reserved.
#![allow(clippy::print_stderr)] // skipped cases are reported

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use kernel_host::{AdapterChoice, AdapterSummary, Gpu, GpuOptions, wgpu};

use super::*;
use crate::config::{Config, Preset};
use crate::detector::Detector;
use crate::engine::toy::Toy;
use crate::results::Status;
use crate::roi_batch::RoiBatch;
use crate::spacepoint::{Roi, RoiView};
use crate::stream::{Stream, StreamOptions};
use kernel_host::testing::on_fast_adapters;

fn open(adapter: &AdapterSummary) -> Gpu {
    let optional_features = wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
    let adapter = AdapterChoice::Index(adapter.index);
    Gpu::new(&GpuOptions { adapter, optional_features, ..GpuOptions::default() }).expect("the adapter again")
}

fn build_with(gpus: &[&Gpu], options: &EngineOptions) -> Arc<Gpus> {
    let search = Search::new(&Config::preset(Preset::Default), &Detector::atlas2010()).expect("a valid configuration");
    let gpus = gpus.iter().map(|&gpu| gpu.clone()).collect();
    Arc::new(pollster::block_on(Gpus::new(gpus, &search, options)).expect("an engine"))
}

/// With small buffers: a batch is many parts.
fn build(gpus: &[&Gpu]) -> Arc<Gpus> {
    build_with(gpus, &EngineOptions { most_buffer_bytes: Some(100_000), ..EngineOptions::default() })
}

fn stream(gpus: &Arc<Gpus>, in_flight: usize) -> Stream {
    let own = Arc::clone(gpus);
    let find = move |worker: usize, batch: &RoiBatch, results: &mut Results| {
        results.clear();
        own.find_batch_by_worker(worker, batch.into(), results)
    };
    Stream::start(StreamOptions { in_flight }, gpus.len(), find).expect("threads")
}

fn toy(rng: &mut fastrand::Rng, id: u64, tracks: usize, noise: usize) -> Roi {
    let toy = Toy { tracks, noise, vertices: 2, window: Some((0.7, 0.9)), ..Toy::default() };
    toy.event(rng, id).roi
}

/// Small RoIs that are walked, and a few that go through all stages.
fn batch(seed: u64, rois: u64) -> RoiBatch {
    let rng = &mut fastrand::Rng::with_seed(seed);
    (0..rois).map(|i| if i % 5 == 3 { toy(rng, i, 40, 2000) } else { toy(rng, i, 8, 20) }).collect()
}

fn is_out_of_memory<T>(found: &Result<T>) -> bool {
    matches!(found, Err(Error::Gpu(kernel_host::Error::OutOfMemory { .. })))
}

fn is_lost<T>(found: &Result<T>) -> bool {
    matches!(found, Err(Error::Gpu(kernel_host::Error::DeviceLost { .. })))
}

fn find<'a>(gpus: &Gpus, batch: impl Into<BatchView<'a>>) -> Result<Results> {
    let mut results = Results::new();
    gpus.find_batch(batch.into(), &mut results).map(|()| results)
}

async fn find_async(gpus: &Gpus, batch: impl Into<BatchView<'_>>) -> Result<Results> {
    let mut results = Results::new();
    gpus.find_batch_async(batch.into(), &mut results).await.map(|()| results)
}

/// The answers to a batch, asked for in each way, each beginning without any workspace.
fn in_every_way(gpus: &Arc<Gpus>, batch: &RoiBatch) -> Vec<(&'static str, Result<Results>)> {
    let one = Roi { descriptor: *batch.roi(0).descriptor, spacepoints: batch.roi(0).spacepoints().collect() };
    let anew = |way| {
        gpus.iter().for_each(GpuEngine::free_idle);
        way
    };
    let one_of_all = |one: Result<Results>| {
        let (mut all, one) = (one?, find(gpus, batch)?);
        all.append(&one, 1..one.len());
        Ok(all)
    };
    let mut found = vec![
        (anew("batch"), find(gpus, batch)),
        (anew("future"), pollster::block_on(find_async(gpus, batch))),
        (anew("one"), one_of_all(find(gpus, &one))),
        (anew("one's future"), one_of_all(pollster::block_on(find_async(gpus, &one)))),
    ];
    let answers = stream(gpus, 3).run(vec![batch.clone(); 4]);
    found.extend(answers.map(|answered| (anew("stream"), answered.map(|answered| answered.results))));
    found
}

/// The less memory there is, the smaller the parts, as long as each RoI fits by itself; and no bit
/// changes.
#[test]
fn little_memory_changes_no_bit() {
    let batch = batch(1, 15);
    for adapter in on_fast_adapters() {
        let gpu = open(&adapter);
        // Parts that wait for each other, and one that is cut into smaller ones. An RoI by itself
        // needs less than one in a joint submission.
        for (options, shares) in [
            (EngineOptions { most_buffer_bytes: Some(100_000), ..EngineOptions::default() }, [150, 100, 0].as_slice()),
            (EngineOptions::default(), [250, 100, 75, 0].as_slice()),
        ] {
            let gpus = build_with(&[&gpu], &options);
            let fixed = gpu.memory_bytes();
            let wanted = find(&gpus, &batch).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
            assert!(wanted.iter().all(|result| result.status() == Status::Ok), "{}", adapter.name);
            // Bytes that the largest RoI takes.
            let takes = |roi: RoiView<'_>| {
                gpus.first.free_idle();
                let roi = Roi { descriptor: *roi.descriptor, spacepoints: roi.spacepoints().collect() };
                find(&gpus, &roi).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
                gpu.memory_bytes() - fixed
            };
            let largest = batch.iter().map(takes).max().expect("some RoIs");
            for &share in shares {
                let allowed = fixed + largest * share / 100;
                gpus.first.free_idle();
                gpu.limit_memory(allowed);
                for (way, found) in in_every_way(&gpus, &batch) {
                    let place = format!("{}, {way}, {share}% of {largest} bytes", adapter.name);
                    if share < 100 {
                        assert!(is_out_of_memory(&found), "{place}: {found:?}");
                    } else {
                        assert_eq!(found.unwrap_or_else(|error| panic!("{place}: {error}")), wanted, "{place}");
                    }
                }
                assert!(gpu.memory_bytes() <= allowed, "{}", adapter.name);
            }
            gpu.limit_memory(u64::MAX);
            assert_eq!(find(&gpus, &batch).expect("memory again"), wanted, "{}", adapter.name);
        }
        assert_eq!(gpu.memory_bytes(), 0, "{}", adapter.name);
    }
}

/// An RoI of a megabyte and more that does not fit has the status `capacity_exceeded`, and its
/// neighbours have results.
#[test]
fn an_roi_that_does_not_fit_exceeds_capacity_and_its_neighbours_have_results() {
    let rng = &mut fastrand::Rng::with_seed(2);
    let rois: Vec<Roi> = (0..7).map(|i| if i == 4 { toy(rng, i, 20, 40_000) } else { toy(rng, i, 8, 20) }).collect();
    let batch: RoiBatch = rois.into_iter().collect();
    for adapter in on_fast_adapters() {
        let gpu = open(&adapter);
        let gpus = build_with(&[&gpu], &EngineOptions::default());
        let wanted = find(&gpus, &batch).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
        assert_eq!(wanted.roi(4).status(), Status::Ok, "{}", adapter.name);
        gpus.first.free_idle();
        gpu.limit_memory(600_000);
        let found = find(&gpus, &batch).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
        assert_eq!(
            (found.roi(4).status(), found.roi(4).vertices().len()),
            (Status::CapacityExceeded, 0),
            "{}",
            adapter.name
        );
        let others = |results: &Results| results.iter().filter(|roi| roi.id().event_id != 4).collect::<Results>();
        assert_eq!(others(&found), others(&wanted), "{}", adapter.name);
    }
}

#[test]
fn no_memory_at_all_is_an_error_from_the_beginning() {
    let Some(adapter) = on_fast_adapters().into_iter().next() else { return };
    let search = Search::new(&Config::preset(Preset::Default), &Detector::atlas2010()).expect("a valid configuration");
    let options = EngineOptions { most_gpu_bytes: Some(100), ..EngineOptions::default() };
    let built = pollster::block_on(Gpus::new(vec![open(&adapter)], &search, &options));
    let error = built.err().expect("not even room for constants");
    let said = error.to_string();
    assert!(said.contains("no memory left") && said.contains("100 in all"), "{said}");
}

/// Calls that are given up, at whichever point, keep nothing; the next is answered rightly.
#[test]
fn what_is_given_up_leaks_nothing() {
    let batch = batch(3, 16);
    for adapter in on_fast_adapters() {
        let gpu = open(&adapter);
        let gpus = build(&[&gpu]);
        let wanted = pollster::block_on(find_async(&gpus, &batch)).expect("answers");
        let one = Roi { descriptor: *batch.roi(0).descriptor, spacepoints: batch.roi(0).spacepoints().collect() };
        let most = gpu.memory_bytes();
        let context = &mut Context::from_waker(Waker::noop());
        for polls in 0..8 {
            let mut all = Box::pin(find_async(&gpus, &batch));
            let mut single = Box::pin(find_async(&gpus, &one));
            for _ in 0..polls {
                if all.as_mut().poll(context).is_ready() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            if polls > 0 {
                drop(single.as_mut().poll(context));
            }
        }
        for (pushed, taken) in [(1, 0), (3, 0), (5, 2)] {
            let mut stream = stream(&gpus, 3);
            for _ in 0..pushed {
                stream.push(batch.clone()).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
            }
            assert_eq!(stream.by_ref().take(taken).filter(Result::is_ok).count(), taken);
        }
        assert_eq!(find(&gpus, &batch).expect("answers"), wanted, "{}", adapter.name);
        // At the worst as many workspaces are kept as were in use at once: two each for three of a
        // stream.
        assert!(gpu.memory_bytes() <= 4 * most, "{}: {} bytes, {most} before", adapter.name, gpu.memory_bytes());
        let kept = gpu.memory_bytes();
        for _ in 0..3 {
            assert_eq!(stream(&gpus, 3).run(vec![batch.clone(); 4]).filter(Result::is_ok).count(), 4);
        }
        assert!(gpu.memory_bytes() <= kept.max(4 * most), "{}", adapter.name);
        drop(gpus);
        assert_eq!(gpu.memory_bytes(), 0, "{}", adapter.name);
    }
}

/// Memory for one workspace and a bit: futures on one thread and a stream's threads take turns.
#[test]
fn many_share_little_memory() {
    let batch = batch(4, 10);
    for adapter in on_fast_adapters() {
        let gpu = open(&adapter);
        let gpus = build(&[&gpu]);
        let mut wanted = Results::new();
        gpus.find_batch_by_worker(0, (&batch).into(), &mut wanted).expect("answers");
        let (few, fixed) = (gpu.memory_bytes(), build(&[&open(&adapter)]).bytes());
        gpus.first.free_idle();
        gpu.limit_memory(fixed + (few - fixed) * 2 / 3);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for answered in stream(&gpus, 3).run(vec![batch.clone(); 6]) {
                        let answered = answered.unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
                        assert_eq!(answered.results, wanted, "{}", adapter.name);
                    }
                });
            }
            for found in pollster::block_on(all((0..5).map(|_| find_async(&gpus, &batch)))) {
                assert_eq!(
                    found.unwrap_or_else(|error| panic!("{}: {error}", adapter.name)),
                    wanted,
                    "{}",
                    adapter.name
                );
            }
        });
    }
}

/// 64 threads with batches of all sizes, blocking and as futures, of which some are given up. Parts
/// of several callers are in one submission, and each gets the bits of its batch alone. Then the
/// device is lost, and each of them gets this error.
#[test]
fn callers_in_company_get_their_own_bits() {
    // One RoI that is walked, one that goes through all stages, a few, and too many to be joined.
    let batches: Vec<RoiBatch> = [1, 1, 4, 9, 80].iter().zip(10..).map(|(&rois, seed)| batch(seed, rois)).collect();
    let large = RoiBatch::from_iter([toy(&mut fastrand::Rng::with_seed(3), 7, 40, 2000)]);
    let batches: Vec<RoiBatch> = batches.into_iter().chain([large]).collect();
    for adapter in on_fast_adapters() {
        let (name, gpu) = (&adapter.name, open(&adapter));
        let gpus = build_with(&[&gpu], &EngineOptions::default());
        let alone = build_with(&[&gpu], &EngineOptions::default());
        let wanted: Vec<Results> = batches.iter().map(|batch| find(&alone, batch).expect("answers")).collect();
        let call = |caller: usize, call: usize| {
            let at = (caller + call) % batches.len();
            let batch = &batches[at];
            let found = match caller % 4 {
                0 => pollster::block_on(find_async(&gpus, batch)),
                1 => {
                    let mut given_up = Box::pin(find_async(&gpus, batch));
                    let _ = given_up.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    drop(given_up);
                    find(&gpus, batch)
                }
                2 => {
                    let mut results = Results::new();
                    gpus.find_batch_by_worker(caller, batch.into(), &mut results).map(|()| results)
                }
                _ => find(&gpus, batch),
            };
            (at, found)
        };
        std::thread::scope(|scope| {
            for caller in 0..64 {
                let (call, wanted) = (&call, &wanted);
                scope.spawn(move || {
                    for number in 0..4 {
                        let (at, found) = call(caller, number);
                        let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
                        assert_eq!(found, wanted[at], "{name}, caller {caller}");
                    }
                });
            }
        });
        let kept = gpus.bytes();
        std::thread::scope(|scope| {
            for caller in 0..16 {
                let (call, wanted) = (&call, &wanted);
                scope.spawn(move || {
                    // Some are searched before the device is lost.
                    let mut number = 0;
                    while let (at, Ok(found)) = call(caller, number) {
                        assert_eq!(found, wanted[at], "{name}, caller {caller}");
                        number += 1;
                    }
                    let (_, found) = call(caller, number);
                    assert!(is_lost(&found), "{name}, caller {caller}: {found:?}");
                });
            }
            std::thread::sleep(Duration::from_millis(30));
            gpu.device().destroy();
        });
        // As many submissions as there may be at once, each as large as a joint one may be, and
        // parts of callers that were not joined.
        assert!(kept < 1 << 30, "{name}: {kept} bytes");
    }
}

/// Before a call, between submission and answer, and in a stream.
#[test]
fn a_lost_device_is_an_error_and_a_new_one_answers() {
    let batch = batch(5, 12);
    for adapter in on_fast_adapters() {
        let start = Instant::now();
        let name = &adapter.name;
        let gpu = open(&adapter);
        let gpus = build(&[&gpu]);
        let wanted = find(&gpus, &batch).expect("answers");
        let mut future = Box::pin(find_async(&gpus, &batch));
        let begun = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(begun.is_pending(), "{name}: several parts take a while");
        let mut stream = stream(&gpus, 3);
        for _ in 0..3 {
            stream.push(batch.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        gpu.device().destroy();
        // Batches that were complete by then may have results.
        let found = pollster::block_on(future);
        assert!(is_lost(&found), "{name}: {found:?}");
        for answered in stream.by_ref() {
            match answered {
                Ok(answered) => assert_eq!(answered.results, wanted, "{name}"),
                other => assert!(is_lost(&other), "{name}: {other:?}"),
            }
        }
        for (way, found) in in_every_way(&gpus, &batch) {
            assert!(is_lost(&found), "{name}, {way}: {found:?}");
        }
        assert!(gpus.time_on_device((&batch).into(), 1).is_err(), "{name}");
        drop((stream, gpus));
        assert_eq!(gpu.memory_bytes(), 0, "{name}");
        assert_eq!(find(&build(&[&open(&adapter)]), &batch).expect("answers"), wanted, "{name}");
        assert!(start.elapsed() < Duration::from_secs(60), "{name}: {:?}", start.elapsed());
    }
}

/// The remaining GPUs repeat the work of the lost GPU: two GPUs or all that there are.
#[test]
fn the_other_gpus_take_over() {
    let adapters = on_fast_adapters();
    let batch = batch(6, 6);
    let several = adapters.iter().cycle().take(if adapters.is_empty() { 0 } else { adapters.len().max(2) });
    let gpus: Vec<Gpu> = several.map(open).collect();
    let Some((lost, others)) = gpus.split_first() else { return };
    let wanted: Vec<_> = gpus.iter().map(|gpu| find(&build(&[gpu]), &batch).expect("answers")).collect();
    let all = build(&gpus.iter().collect::<Vec<_>>());
    let mut future = Box::pin(find_async(&all, &batch));
    let begun = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(begun.is_pending(), "several parts take a while");
    let pushed = 4 * gpus.len();
    let mut stream = stream(&all, pushed);
    for _ in 0..pushed {
        stream.push(batch.clone()).expect("room");
    }
    lost.device().destroy();
    assert_eq!(pollster::block_on(future).expect("answers of the others").len(), batch.len());
    let answers: Vec<_> = stream.by_ref().map(|answered| answered.expect("an answer").results).collect();
    assert_eq!(answers.len(), pushed);
    assert!(answers.iter().all(|results| wanted.contains(results)));
    for (way, found) in in_every_way(&all, &batch) {
        let found = found.unwrap_or_else(|error| panic!("{way}: {error}"));
        assert!(others.len() > 1 || found == wanted[1], "{way}");
    }
    others.iter().for_each(|gpu| gpu.device().destroy());
    drop(find(&all, &batch));
    for (way, found) in in_every_way(&all, &batch) {
        assert!(is_lost(&found), "{way}: {found:?}");
    }
}
