//! Tests of faults in an embedding program: little memory, its own device lost, its own threads
//! panicking.
#![allow(clippy::print_stderr)] // skipped cases are reported

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use zfinder::gpu::wgpu;
use zfinder::gpu::{AdapterChoice, AdapterSummary};
use zfinder::{Config, Detector, Engine, Error, Preset, Results, RoiBatch, StreamOptions, ZFinder};
use zfinder_testing::on_fast_adapters;
use zfinder_testing::toy::Toy;

fn batch(seed: u64, rois: u64) -> RoiBatch {
    let rng = &mut fastrand::Rng::with_seed(seed);
    (0..rois).map(|i| Toy { tracks: 8, noise: 30, ..Toy::default() }.event(rng, i).roi).collect()
}

/// Opens a device as a program without this crate would.
fn own_device(adapter: &AdapterSummary) -> (wgpu::Device, wgpu::Queue) {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let own = found.iter().find(|own| own.get_info().name == adapter.name).expect("the adapter again");
    let opened = pollster::block_on(own.request_device(&wgpu::DeviceDescriptor::default()));
    opened.unwrap_or_else(|error| panic!("{}: {error}", adapter.name))
}

#[track_caller]
fn lost<T: std::fmt::Debug>(place: &str, found: Result<T, Error>) {
    let Err(error) = found else { panic!("{place}: {found:?}") };
    assert!(error.to_string().starts_with("the device is lost"), "{place}: {error}");
}

#[test]
fn the_callers_own_device_may_be_lost_at_any_time() {
    let batch = batch(1, 6);
    for adapter in on_fast_adapters() {
        let (start, name) = (Instant::now(), &adapter.name);
        let (device, queue) = own_device(&adapter);
        let build = |device: &wgpu::Device, queue: &wgpu::Queue| {
            let builder = ZFinder::builder(Detector::atlas2010())
                .config(Config::preset(Preset::Default))
                .device("my own", device.clone(), queue.clone())
                .most_buffer_bytes(50_000);
            builder.build().unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let finder = build(&device, &queue);
        let wanted = finder.find_batch(&batch).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut future = pin!(finder.find_batch_async(&batch));
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "{name}");
        let mut stream = finder.stream(StreamOptions { in_flight: 2 }).expect("threads");
        for _ in 0..2 {
            assert!(stream.push(batch.clone()).expect("room").is_none());
        }
        device.destroy();
        lost(name, pollster::block_on(future));
        for answered in stream.by_ref() {
            match answered {
                Ok(answered) => assert_eq!(answered.results, wanted, "{name}"),
                lost_one => lost(name, lost_one),
            }
        }
        lost(name, finder.find_batch(&batch));
        lost(name, pollster::block_on(finder.find_batch_async(&batch)));
        assert!(stream.push(batch.clone()).expect("room").is_none());
        lost(name, stream.next().expect("one in flight"));
        drop(stream);
        // Lost before the first search.
        let (device, queue) = own_device(&adapter);
        let finder = build(&device, &queue);
        device.destroy();
        lost(name, finder.find_batch(&batch));
        let built = ZFinder::builder(Detector::atlas2010()).device("my own", device, queue).build();
        lost(name, built.and_then(|finder| finder.find_batch(&batch)));
        // A new device works.
        let (device, queue) = own_device(&adapter);
        assert_eq!(build(&device, &queue).find_batch(&batch).expect("answers"), wanted, "{name}");
        assert!(start.elapsed() < Duration::from_secs(60), "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn a_finder_keeps_within_the_memory_that_it_is_allowed() {
    let batch = batch(2, 24);
    for adapter in on_fast_adapters() {
        let builder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Gpu(AdapterChoice::Index(adapter.index)));
        let finder = builder.clone().build().unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
        let fixed = finder.gpu_bytes();
        let wanted = finder.find_batch(&batch).expect("answers");
        let all = finder.gpu_bytes();
        assert!(0 < fixed && fixed < all, "{}: {fixed}, {all}", adapter.name);
        let allowed = fixed + (all - fixed) / 3;
        let finder = builder.clone().most_gpu_bytes(allowed).build().expect("room for constants");
        let answered = finder.stream(StreamOptions { in_flight: 3 }).expect("threads").run(vec![batch.clone(); 6]);
        for answered in answered {
            assert_eq!(answered.expect("answers").results, wanted, "{}", adapter.name);
            assert!(finder.gpu_bytes() <= allowed, "{}", adapter.name);
        }
        assert_eq!(finder.find_batch(&batch).expect("answers"), wanted, "{}", adapter.name);
        let error = builder.most_gpu_bytes(fixed - 1).build().expect_err("not even room for constants");
        assert!(matches!(error, Error::Gpu(_)), "{error}");
        assert!(error.to_string().contains("no memory left"), "{error}");
    }
    assert_eq!(
        ZFinder::builder(Detector::atlas2010())
            .engine(Engine::Cpu)
            .most_gpu_bytes(0)
            .build()
            .expect("no GPU")
            .gpu_bytes(),
        0
    );
}

/// Panics, as a caller might at any point.
fn panic_on_purpose() -> ! {
    // Bypasses the panic handler, which would print.
    resume_unwind(Box::new("on purpose"))
}

#[test]
fn panics_of_the_callers_leave_the_finder_as_it_was() {
    let batch = batch(3, 5);
    let mut engines: Vec<(String, Engine)> = vec![("CPU".into(), Engine::Cpu), ("reference".into(), Engine::Reference)];
    let gpu = |adapter: AdapterSummary| (adapter.name, Engine::Gpu(AdapterChoice::Index(adapter.index)));
    engines.extend(on_fast_adapters().into_iter().map(gpu));
    for (name, engine) in engines {
        let finder = ZFinder::builder(Detector::atlas2010())
            .engine(engine)
            .build()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let wanted = finder.find_batch(&batch).expect("answers");
        let stream = || finder.stream(StreamOptions { in_flight: 2 }).expect("threads");
        let panics: [(&str, &(dyn Fn() + Sync)); 5] = [
            ("with a stream at work", &|| {
                let mut stream = stream();
                drop(stream.push(batch.clone()));
                panic_on_purpose();
            }),
            ("in what a stream is fed from", &|| {
                let batches = (0..5).map(|i| if i == 3 { panic_on_purpose() } else { batch.clone() });
                stream().run(batches).for_each(drop);
            }),
            ("with a future begun", &|| {
                let mut future = pin!(finder.find_batch_async(&batch));
                drop(future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
                panic_on_purpose();
            }),
            ("in a task of the pool", &|| {
                let found = || finder.find_batch(&batch).map(drop);
                let both = rayon::join(found, || rayon::join(found, || -> () { panic_on_purpose() }));
                drop(both);
            }),
            ("in a thread beside others", &|| {
                std::thread::scope(|scope| {
                    let other = scope.spawn(|| finder.find_batch(&batch).expect("answers"));
                    let panics = scope.spawn(|| -> () {
                        let _stream = stream();
                        panic_on_purpose()
                    });
                    assert_eq!(other.join().expect("answers"), wanted, "{name}");
                    panics.join().unwrap_or_else(|panic| resume_unwind(panic))
                });
            }),
        ];
        for (place, panics) in panics {
            let outcome = catch_unwind(AssertUnwindSafe(panics));
            let said = outcome.expect_err("a panic");
            assert_eq!(said.downcast_ref::<&str>(), Some(&"on purpose"), "{name}, {place}");
            let found: Result<Results, Error> = finder.find_batch(&batch);
            assert_eq!(found.expect("answers"), wanted, "{name}, {place}");
        }
        let answered = stream().run(vec![batch.clone(); 3]);
        for answered in answered {
            assert_eq!(answered.expect("answers").results, wanted, "{name}");
        }
    }
}
