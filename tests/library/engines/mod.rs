//! Tests of every engine from end to end through the public interface: engines agree with each
//! other, for any order, batch and number of threads.

mod options;
mod significance;
mod statuses;
mod windows;

use std::f64::consts::{PI, TAU};
use std::sync::OnceLock;

use rayon::prelude::*;
use zfinder::config::PairWeight;
use zfinder::gpu::wgpu;
use zfinder::thesis::{Accumulate, ThesisOptions};
use zfinder::{
    Config, Detector, Encoding, Engine, PhiWindow, Precision, Preset, Results, Roi, RoiBatch, RoiDescriptor, RoiResult,
    Spacepoint, ZFinder, ZFinderBuilder,
};
use zfinder_testing::engines::{
    agree, batch, bits, build, build_with, engines, find, find_one, fixed_engines, gpus, on_shared_device,
};
use zfinder_testing::on_adapters;
use zfinder_testing::toy::{Event, Toy, between};

/// Returns every engine with the default configuration. They are built once, because compiling
/// shaders takes long.
pub(crate) fn finders() -> &'static [(String, ZFinder)] {
    static FINDERS: OnceLock<Vec<(String, ZFinder)>> = OnceLock::new();
    FINDERS.get_or_init(|| {
        let each = |(name, engine): (String, Engine)| {
            let finder = build(&name, &engine, &Config::preset(Preset::Default));
            (name, finder)
        };
        engines().into_iter().map(each).collect()
    })
}

/// Returns the engines whose sums are integers.
fn fixed_finders() -> impl Iterator<Item = &'static (String, ZFinder)> {
    finders().iter().filter(|(name, _)| name != "reference")
}

/// Returns windows of several widths and positions, the full circle, other etas and z ranges, and
/// an empty one.
fn toys(seed: u64) -> Vec<Event> {
    let rng = &mut fastrand::Rng::with_seed(seed);
    let windows = [Some((0.7, 1.7)), Some((PI, 0.8)), Some((-2.0, 0.4)), None, Some((0.0, 3.0)), Some((-1.0, 1.0))];
    let mut events: Vec<Event> =
        (0..9).map(|i| Toy { window: windows[i % windows.len()], ..Toy::default() }.event(rng, i as u64)).collect();
    events[2].roi.descriptor.eta = -1.1;
    events[4].roi.descriptor.z_range = Some((-150.0, 160.1));
    events[5].roi.descriptor.window = Some(PhiWindow::FromSpacepoints);
    events[7].roi.spacepoints.clear();
    events
}

fn rois(events: &[Event]) -> Vec<Roi> {
    events.iter().map(|event| event.roi.clone()).collect()
}

#[test]
fn every_engine_agrees_with_the_reference() {
    let defaults = Config::preset(Preset::Default);
    let configs = [
        ("default", defaults.clone()),
        ("thesis", Config::preset(Preset::Thesis).with(|c| c.peaks = 3)),
        (
            "triplets any",
            defaults.clone().with(|c| {
                c.pair_weight = PairWeight::Any;
                c.peaks = 2;
            }),
        ),
        (
            "triplets counted",
            defaults.with(|c| {
                c.pair_weight = PairWeight::Count;
                c.prefer_central = false;
            }),
        ),
    ];
    let events = toys(1);
    for (case, config) in &configs {
        let one_more = config.clone().with(|c| c.peaks = config.peaks + 1);
        let reference = find("reference", &build("reference", &Engine::Reference, &one_more), &batch(&rois(&events)));
        let near = |(result, event): &(RoiResult<'_>, &Event)| {
            result.vertices().first().is_some_and(|vertex| (vertex.z_mm - event.truth[0]).abs() < 0.5)
        };
        let right = reference.iter().zip(&events).filter(near).count();
        assert!(right >= 6, "{case}: the truth in {right} of 8 RoIs");
        for (name, engine) in &fixed_engines() {
            for accumulate in [Accumulate::Fixed, Accumulate::CompareExchange] {
                let place = format!("{name}, {case}, {accumulate:?}");
                let finder = build_with(name, engine, config, |builder| builder.thesis(accumulate));
                let found = find(&place, &finder, &batch(&rois(&events)));
                let compared = agree(&place, &found, &reference, config.peaks as usize);
                assert!(compared >= 7, "{place}: only {compared} vertices are clear of the next");
            }
        }
    }
}

#[test]
fn f64_agrees_with_the_reference_where_there_is_f64() {
    let events = toys(2);
    let config = Config::preset(Preset::Default).with(|c| c.peaks = 2);
    let one_more = config.clone().with(|c| c.peaks = 3);
    let reference = find("reference", &build("reference", &Engine::Reference, &one_more), &batch(&rois(&events)));
    let mut engines = vec![("CPU".to_owned(), Engine::Cpu)];
    for adapter in on_adapters() {
        if adapter.shader_f64 {
            engines.push((adapter.name.clone(), on_shared_device(&adapter)));
        } else {
            eprintln!("SKIPPED: f64 on {}, which has none", adapter.name);
        }
    }
    for (name, engine) in &engines {
        let finder = build_with(name, engine, &config, |builder| builder.precision(Precision::F64));
        assert!(agree(name, &find(name, &finder, &batch(&rois(&events))), &reference, 2) >= 8, "{name}");
    }
}

/// The same run twice, batches of one, three and all, in order, reversed and shuffled, and
/// spacepoints shuffled.
#[test]
fn neither_batch_nor_order_changes_a_bit() {
    let events = toys(3);
    let all = rois(&events);
    let mut rng = fastrand::Rng::with_seed(33);
    for (name, finder) in fixed_finders() {
        let whole = find(name, finder, &batch(&all));
        let wanted = bits(&whole);
        assert_eq!(bits(&find(name, finder, &batch(&all))), wanted, "{name}: twice");
        for size in [1, 3] {
            let parts: Vec<Results> = all.chunks(size).map(|rois| find(name, finder, &batch(rois))).collect();
            assert_eq!(bits(parts.iter().flatten()), wanted, "{name}: batches of {size}");
        }
        let mut order: Vec<usize> = (0..all.len()).rev().collect();
        for what in ["reversed", "shuffled"] {
            let turned: Vec<Roi> = order.iter().map(|&i| all[i].clone()).collect();
            let turned_wanted: Vec<_> = order.iter().map(|&i| wanted[i].clone()).collect();
            assert_eq!(bits(&find(name, finder, &batch(&turned))), turned_wanted, "{name}: {what}");
            rng.shuffle(&mut order);
        }
        let mut points_shuffled = all.clone();
        points_shuffled.iter_mut().for_each(|roi| rng.shuffle(&mut roi.spacepoints));
        assert_eq!(bits(&find(name, finder, &batch(&points_shuffled))), wanted, "{name}: spacepoints shuffled");
        // Another batch in between leaves other values in the buffers.
        find(name, finder, &batch(&rois(&toys(4))));
        assert_eq!(bits(&find(name, finder, &batch(&all))), wanted, "{name}: after another batch");
    }
}

/// With mixing, more peaks may be needed than came back at first: from the same spacepoints, in the
/// same encoding.
#[test]
fn more_peaks_are_those_of_the_same_encoding() {
    let config = Config::preset(Preset::Default).with(|c| {
        c.peaks = 5;
        c.charge_aware = true;
        c.histogram_per_slice = true;
        c.vertex_separation_bins = 5.0;
        c.phi_slice_deg = 1.0;
    });
    let all = batch(&rois(&toys(5)));
    let find_compact = |name: &str, engine: &Engine| {
        find(name, &build_with(name, engine, &config, |builder| builder.encoding(Encoding::Compact)), &all)
    };
    let wanted = bits(&find_compact("CPU", &Engine::Cpu));
    assert_ne!(wanted, bits(&find("CPU", &build("CPU", &Engine::Cpu, &config), &all)), "the encoding is seen");
    for (name, engine) in &fixed_engines() {
        assert_eq!(bits(&find_compact(name, engine)), wanted, "{name}");
    }
}

/// Reused memory carries no values from one RoI into the next: rings after windows, crowded RoIs
/// after empty ones.
#[test]
fn a_used_finder_answers_as_a_fresh_one() {
    let mut events = toys(41);
    events.extend(toys(42));
    let mut rng = fastrand::Rng::with_seed(43);
    for i in 0..24 {
        let window = [None, Some((PI, 1.0)), Some((rng.f64() * TAU - PI, 0.3))][i % 3];
        events.push(Toy { window, tracks: rng.usize(2..20), ..Toy::default() }.event(&mut rng, 100 + i as u64));
    }
    let all = rois(&events);
    let bending = |pair_weight| Config::preset(Preset::Default).with(|c| c.pair_weight = pair_weight);
    let configs = [Config::preset(Preset::HardScatter), bending(PairWeight::Count), bending(PairWeight::Any)];
    for config in &configs {
        let build = || build_with("cpu", &Engine::Cpu, config, |builder| builder.threads(std::num::NonZeroUsize::MIN));
        let wanted: Vec<_> = all.iter().map(|roi| bits(&find_one("fresh", &build(), roi))).collect();
        let used = build();
        let mut order: Vec<usize> = (0..all.len()).collect();
        for _ in 0..8 {
            rng.shuffle(&mut order);
            for &i in &order {
                let found = bits(&find_one("used", &used, &all[i]));
                assert_eq!(found, wanted[i], "{:?}: RoI {i}", config.pair_weight);
            }
        }
    }
}

#[test]
fn options_of_the_gpu_change_no_bit() {
    let all = batch(&rois(&toys(5)));
    for (name, engine) in &gpus() {
        let finder = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = bits(&find(name, finder, &all));
        type Change = fn(ZFinderBuilder) -> ZFinderBuilder;
        let changes: [(&str, Change); 6] = [
            ("1 slice a histogram", |b| b.thesis(ThesisOptions::numbered_pairs(1))),
            ("64 slices a histogram", |b| b.thesis(ThesisOptions::numbered_pairs(64))),
            ("all slices in a histogram", |b| b.thesis(ThesisOptions::numbered_pairs(65_536))),
            ("checked", |b| b.checked(true)),
            // The full circle alone takes 225 rows of histograms of 16 KiB each.
            ("buffers of 4 MiB", |b| b.most_buffer_bytes(4 << 20).thesis(ThesisOptions::numbered_pairs(8))),
            ("buffers of 3.7 MB, checked", |b| {
                b.most_buffer_bytes(3_700_000).thesis(ThesisOptions::numbered_pairs(8)).checked(true)
            }),
        ];
        for (what, change) in changes {
            let place = format!("{name}: {what}");
            let finder = build_with(&place, engine, &Config::preset(Preset::Default), change);
            assert_eq!(bits(&find(&place, &finder, &all)), wanted, "{place}");
        }
    }
}

#[test]
fn futures_answer_alike() {
    let all = batch(&rois(&toys(6)));
    for (name, finder) in finders() {
        let wanted = bits(&find(name, finder, &all));
        let found = pollster::block_on(finder.find_batch_async(&all)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(bits(&found), wanted, "{name}");
        let roi = toys(6)[0].roi.clone();
        let one = pollster::block_on(finder.find_batch_async(&roi)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(bits(&one), wanted[..1], "{name}");
        // A future that is dropped midway leaves the finder usable.
        drop(finder.find_batch_async(&all));
        {
            use std::future::Future;
            let mut future = std::pin::pin!(finder.find_batch_async(&all));
            let _ = future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        }
        assert_eq!(bits(&find(name, finder, &all)), wanted, "{name}: after a future was dropped");
    }
}

#[test]
fn the_callers_own_device_answers_alike() {
    let all = batch(&rois(&toys(8)));
    for adapter in on_adapters() {
        let name = &adapter.name;
        let finder = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = bits(&find(name, finder, &all));
        // Opened as a program without this crate would: WebGPU's default limits.
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let own = found.iter().find(|own| own.get_info().name == *name).expect("the adapter again");
        let (device, queue) = pollster::block_on(own.request_device(&wgpu::DeviceDescriptor::default()))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let builder = ZFinder::builder(Detector::atlas2010()).config(Config::preset(Preset::Default));
        let builder = builder.device("my own", device.clone(), queue.clone());
        let finder = pollster::block_on(builder.build_async()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(finder.description().contains("my own"), "{name}: {finder:?}");
        assert_eq!(bits(&find(name, &finder, &all)), wanted, "{name}");
        drop(finder);
        // The caller can still use it.
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap_or_else(|error| panic!("{name}: {error}"));
        queue.submit([]);
    }
}

#[test]
fn batches_are_found_from_within_a_busy_pool() {
    let rng = &mut fastrand::Rng::with_seed(15);
    let mut batch = RoiBatch::with_f32();
    for _ in 0..4 {
        let spacepoints: Vec<Spacepoint> = (0..60_000)
            .map(|_| {
                let (rho, phi, z) = (between(rng, 40.0, 500.0), between(rng, -PI, PI), between(rng, -300.0, 300.0));
                Spacepoint { rho, phi, z, layer: rng.u32(0..7) }
            })
            .collect();
        batch.push(RoiDescriptor::default(), spacepoints);
    }
    for (name, engine) in gpus() {
        // Two parts, each with enough spacepoints for several threads.
        let finder = build_with(&name, &engine, &Config::preset(Preset::Thesis), |b| b.most_buffer_bytes(2 << 20));
        let expected = finder.find_batch(&batch).expect("answers");
        let (done, answers) = std::sync::mpsc::channel();
        let batch = batch.clone();
        std::thread::spawn(move || {
            let calls = 0..2 * rayon::current_num_threads();
            let found: Vec<_> = calls.into_par_iter().map(|_| finder.find_batch(&batch).expect("answers")).collect();
            // The receiver is gone if the search took too long.
            let _ = done.send(found);
        });
        let found = answers.recv_timeout(std::time::Duration::from_secs(120));
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}: threads wait for each other"));
        assert!(found.iter().all(|results| *results == expected), "{name}");
    }
}
