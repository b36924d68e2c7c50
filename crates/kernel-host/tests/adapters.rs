//! Tests on every adapter that is present, software included.

use std::future::Future;
use std::task::{Context, Waker};
use std::time::Duration;

use kernel_host::testing::on_adapters;
use kernel_host::{
    AdapterChoice, AdapterKind, BindGroupSlot, Buffer, Checks, Error, Gpu, GpuOptions, Kernel, KernelDescriptor,
    KernelSource, Readback, Timer, Upload, adapters, read_bandwidth, wgpu,
};

const SUM: &str = "
override THREADS: u32 = 64u;
override GAIN: u32 = 1u;
var<workgroup> wg_sum: atomic<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@group(0) @binding(0) var<storage, read> numbers: array<u32>;
@compute @workgroup_size(THREADS)
fn sum(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3u) {
    if i == 0u { atomicStore(&wg_sum, 0u); }
    workgroupBarrier();
    let at = group.x * THREADS + i;
    if at < arrayLength(&numbers) { atomicAdd(&wg_sum, GAIN * numbers[at]); }
    workgroupBarrier();
    if i == 0u { sums[group.x] = atomicLoad(&wg_sum); }
}
";

// SAFETY: the only trusted kernel is SUM: `at` is compared with the length of `numbers`, and `sums`
// has a word for each workgroup.
#[expect(unsafe_code, reason = "a kernel without checks is under test")]
const TRUSTED: Checks = unsafe { Checks::trusted() };

/// Runs a test on the device of every adapter.
fn each(options: &GpuOptions, test: impl Fn(&Gpu)) {
    for adapter in on_adapters() {
        let options = GpuOptions { adapter: AdapterChoice::Index(adapter.index), ..options.clone() };
        let gpu = Gpu::new(&options).expect("a device");
        assert_eq!(gpu.summary(), &adapter);
        test(&gpu);
    }
}

fn storage() -> wgpu::BufferUsages {
    wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC
}

#[test]
fn a_kernel_computes_the_same_checked_and_trusted() {
    let options = GpuOptions { optional_features: wgpu::Features::TIMESTAMP_QUERY, ..GpuOptions::default() };
    each(&options, |gpu| {
        let source = KernelSource::new("sum").piece("sum.wgsl", SUM);
        let constants = [("THREADS", 128.0), ("GAIN", 3.0)];
        let descriptor =
            |checks| KernelDescriptor { source: &source, entry_points: &["sum"], constants: &constants, checks };
        let kernels = Kernel::build_all(gpu, &[descriptor(Checks::CHECKED), descriptor(TRUSTED)]).expect("built");
        let data: Vec<u32> = (0..1000).map(|i| i * i).collect();
        let expected: Vec<u32> = data.chunks(128).map(|chunk| chunk.iter().map(|x| 3 * x).sum()).collect();
        for kernel in &kernels {
            assert_eq!(kernel.workgroup_memory("sum"), 16);
            assert_eq!(kernel.workgroup_size("sum"), [128, 1, 1]);
            let mut numbers = Buffer::<u32>::new("numbers", storage());
            let mut sums = Buffer::<u32>::new("sums", storage());
            let mut results = Readback::<u32>::new("results");
            numbers.write(gpu, &data).expect("written");
            sums.reserve(gpu, 8).expect("room");
            results.reserve(gpu, 8).expect("room");
            let bindings = [("numbers", numbers.binding().expect("room")), ("sums", sums.binding().expect("room"))];
            let group = kernel.bind_group(gpu, &bindings).expect("bound");
            let mut timer = Timer::new(gpu, 1);
            assert_eq!(timer.is_some(), gpu.has(wgpu::Features::TIMESTAMP_QUERY));
            // Twice, which shows that buffers and timer are free again; blocking and as a future.
            for round in 0..2 {
                let mut encoder = gpu.encoder("sum");
                {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                        label: None,
                        timestamp_writes: timer.as_mut().and_then(|timer| timer.pass("sum")),
                    });
                    kernel.dispatch(&mut pass, "sum", &group, [8, 1, 1]).expect("dispatched");
                }
                if let Some(timer) = &mut timer {
                    assert!(timer.pass("one too many").is_none());
                    timer.resolve(&mut encoder).expect("resolved");
                }
                results.copy_from(&mut encoder, &sums, 8).expect("copied");
                let submission = gpu.submit(encoder).expect("submitted");
                let answer = if round == 0 {
                    results.read(gpu, &submission, 8)
                } else {
                    pollster::block_on(results.read_async(gpu, &submission, 8))
                };
                assert_eq!(answer.expect("read"), expected);
                if let Some(timer) = &mut timer {
                    let times = timer.read(gpu, &submission).expect("timed");
                    assert_eq!(times.len(), 1);
                    assert_eq!(times[0].0, "sum");
                    assert!(times[0].1 < Duration::from_secs(10), "{times:?}");
                }
            }
        }
    });
}

#[test]
fn what_the_adapter_cannot_hold_is_refused() {
    each(&GpuOptions::default(), |gpu| {
        let source = KernelSource::new("greedy").piece(
            "greedy.wgsl",
            "override WORDS: u32;
             var<workgroup> wg_words: array<u32, WORDS>;
             @compute @workgroup_size(1) fn greedy() { wg_words[0] = 1u; }",
        );
        let offered = gpu.limits().max_compute_workgroup_storage_size;
        let build = |words: u32| {
            let constants = [("WORDS", f64::from(words))];
            let descriptor = KernelDescriptor {
                source: &source,
                entry_points: &["greedy"],
                constants: &constants,
                checks: Checks::CHECKED,
            };
            Kernel::build(gpu, &descriptor)
        };
        build(offered / 4).expect("all of it");
        assert!(matches!(build(offered / 4 + 1), Err(Error::WorkgroupMemory { .. })));
        let mut buffer = Buffer::<u32>::new("huge", storage());
        assert!(matches!(buffer.reserve(gpu, usize::MAX / 8), Err(Error::BufferTooLarge { .. })));
    });
}

#[test]
fn a_feature_that_is_missing_is_named() {
    each(&GpuOptions::default(), |gpu| {
        let options = GpuOptions {
            adapter: AdapterChoice::Index(gpu.summary().index),
            required_features: wgpu::Features::all(),
            ..GpuOptions::default()
        };
        match Gpu::new(&options) {
            Err(Error::MissingFeature { adapter, feature, .. }) => {
                assert_eq!(adapter, gpu.name());
                assert!(!feature.is_empty());
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_destroyed_device_is_lost_and_neither_hangs_nor_panics() {
    each(&GpuOptions::default(), |gpu| {
        let mut buffer = Buffer::<u32>::new("data", storage());
        buffer.write(gpu, &[1, 2, 3]).expect("written");
        let mut readback = Readback::<u32>::new("back");
        readback.reserve(gpu, 3).expect("room");
        let mut encoder = gpu.encoder("copy");
        readback.copy_from(&mut encoder, &buffer, 3).expect("copied");
        let submission = gpu.submit(encoder).expect("submitted");
        let future = gpu.wait_async(&submission);
        gpu.device().destroy();
        assert!(matches!(pollster::block_on(future), Err(Error::DeviceLost { .. })));
        assert!(matches!(gpu.wait(&submission), Err(Error::DeviceLost { .. })));
        assert!(matches!(readback.read(gpu, &submission, 3), Err(Error::DeviceLost { .. })));
        assert!(matches!(gpu.submit(gpu.encoder("empty")), Err(Error::DeviceLost { .. })));
        assert!(buffer.reserve(gpu, 1000).is_err());
    });
}

#[test]
fn adapters_are_found_by_name_and_pci_id() {
    each(&GpuOptions::default(), |gpu| {
        let summary = gpu.summary();
        for text in [
            summary.name.to_uppercase(),
            format!("{:x}:{:x}", summary.vendor, summary.device),
            format!("{:x}:", summary.vendor),
        ] {
            let options = GpuOptions { adapter: text.parse().unwrap_or_default(), ..GpuOptions::default() };
            let found = Gpu::new(&options).expect("found");
            assert_eq!(found.summary().vendor, summary.vendor);
        }
    });
}

/// A kernel that keeps the device busy for a while, so that futures have to wait.
const BUSY: &str = "
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@compute @workgroup_size(64) fn busy(@builtin(global_invocation_id) id: vec3u) {
    var x = id.x + 1u;
    for (var i = 0u; i < 100000u; i++) { x = x * 1664525u + 1013904223u; }
    // The result is used, so that the loop is not optimised away.
    if id.x == 0u { state[0] += select(1u, 1000u, x == 0u); }
}
";

#[test]
fn all_are_opened_at_once_and_never_as_one() {
    let all = GpuOptions { adapter: AdapterChoice::All, ..GpuOptions::default() };
    let error = Gpu::new(&all).expect_err("all are not one");
    assert!(matches!(error, Error::NotOneAdapter), "{error}");
    let hardware = adapters().expect("the list of adapters");
    let hardware: Vec<_> = hardware.into_iter().filter(|adapter| adapter.kind != AdapterKind::Software).collect();
    match Gpu::open_all(&all) {
        Ok(gpus) => {
            assert!((1..=hardware.len()).contains(&gpus.len()));
            assert!(gpus.iter().all(|gpu| hardware.contains(gpu.summary())));
        }
        Err(Error::NoAdapter { wanted, .. }) => assert!(hardware.is_empty() && wanted.contains("hardware"), "{wanted}"),
        Err(error) => panic!("{error}"),
    }
    each(&GpuOptions::default(), |gpu| {
        let adapter = AdapterChoice::Index(gpu.summary().index);
        let one = Gpu::open_all(&GpuOptions { adapter, ..GpuOptions::default() }).expect("a device");
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].summary(), gpu.summary());
    });
}

#[test]
fn futures_may_be_dropped_midway_and_awaited_in_any_order() {
    fn sendable<F: Future + Send>(future: F) -> F {
        future
    }
    each(&GpuOptions::default(), |gpu| {
        let source = KernelSource::new("busy").piece("busy.wgsl", BUSY);
        let descriptor =
            KernelDescriptor { source: &source, entry_points: &[], constants: &[], checks: Checks::CHECKED };
        let kernel = Kernel::build(gpu, &descriptor).expect("built");
        let mut state = Buffer::<u32>::new("state", storage());
        state.write(gpu, &[0]).expect("written");
        let group = kernel.bind_group(gpu, &[("state", state.binding().expect("room"))]).expect("bound");
        let mut readbacks: Vec<Readback<u32>> = (0..8).map(|_| Readback::new("state back")).collect();
        let mut submissions = Vec::new();
        for readback in &mut readbacks {
            readback.reserve(gpu, 1).expect("room");
            let mut encoder = gpu.encoder("busy");
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                kernel.dispatch(&mut pass, "busy", &group, [4, 1, 1]).expect("dispatched");
            }
            readback.copy_from(&mut encoder, &state, 1).expect("copied");
            submissions.push(gpu.submit(encoder).expect("submitted"));
        }
        let mut context = Context::from_waker(Waker::noop());
        for (readback, submission) in readbacks.iter().zip(&submissions) {
            let mut dropped = Box::pin(sendable(readback.read_async(gpu, submission, 1)));
            let _ = dropped.as_mut().poll(&mut context);
        }
        for i in [7, 0, 3, 1, 6, 2, 5, 4] {
            let answer = pollster::block_on(sendable(readbacks[i].read_async(gpu, &submissions[i], 1)));
            assert_eq!(answer.expect("read"), [i as u32 + 1]);
            assert_eq!(readbacks[i].read(gpu, &submissions[i], 1).expect("again"), [i as u32 + 1]);
        }
        // A readback that a later submission uses is read after that submission.
        let mut encoder = gpu.encoder("later");
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            kernel.dispatch(&mut pass, "busy", &group, [4, 1, 1]).expect("dispatched");
        }
        readbacks[0].copy_from(&mut encoder, &state, 1).expect("copied");
        gpu.submit(encoder).expect("submitted");
        let answer = pollster::block_on(readbacks[0].read_async(gpu, &submissions[0], 1));
        assert_eq!(answer.expect("read"), [9]);
    });
}

#[test]
fn what_many_threads_stage_arrives() {
    let options = GpuOptions { optional_features: wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, ..GpuOptions::default() };
    each(&options, |gpu| {
        stages(gpu, Upload::new("staged"), true);
        stages(gpu, Upload::new("staged, cached").cached(gpu), false);
    });
}

fn stages(gpu: &Gpu, mut upload: Upload<u32>, has_views: bool) {
    let mut numbers = Buffer::<u32>::new("numbers", storage());
    let mut readback = Readback::<u32>::new("numbers readback");
    // Again and larger: mapped a second time, then reallocated. Some mappings are requested ahead.
    for (round, lengths) in [vec![5, 0, 3], vec![2, 6], vec![8], vec![1000, 24, 1]].into_iter().enumerate() {
        let total = lengths.iter().sum();
        let mut view = upload.map(gpu, total).expect("room");
        let parts = view.parts(lengths.iter().copied());
        assert_eq!(parts.len(), lengths.len());
        std::thread::scope(|scope| {
            for ((i, mut part), &length) in parts.into_iter().enumerate().zip(&lengths) {
                scope.spawn(move || {
                    let first = i as u32 * 10_000;
                    let elements: Vec<u32> = (0..length as u32).map(|k| first + k).collect();
                    let (head, tail) = elements.split_at(length / 2);
                    assert!(part.write(head) && part.write(tail));
                    assert!(!part.write(&[0]), "a full part takes no more");
                    assert!(part.write(&[]));
                });
            }
        });
        drop(view);
        numbers.reserve(gpu, total).expect("room");
        readback.reserve(gpu, total).expect("room");
        let mut encoder = gpu.encoder("staged");
        upload.copy_to(&mut encoder, &numbers, total).expect("as many");
        assert!(matches!(
            upload.copy_to(&mut encoder, &numbers, 1 << 20),
            Err(Error::BufferTooSmall { wanted: 1_048_576, .. })
        ));
        readback.copy_from(&mut encoder, &numbers, total).expect("as many");
        let submission = gpu.submit(encoder).expect("submitted");
        if round > 0 {
            upload.map_when_done(gpu);
            readback.map_when_done(gpu, total).expect("as many");
        }
        let found = readback.read(gpu, &submission, total).expect("read");
        let wanted = lengths.iter().enumerate().flat_map(|(i, &n)| (0..n as u32).map(move |k| i as u32 * 10_000 + k));
        assert_eq!(found, wanted.collect::<Vec<_>>(), "{}", gpu.name());
    }
    // Callers that come one after the other write their own parts.
    upload.make_room(gpu, 12).expect("room");
    if has_views {
        let [mut first, mut second] = [0..4, 4..12].map(|elements| upload.view(elements).expect("no other view"));
        assert!(second.parts([8])[0].write(&[2; 8]) && first.parts([4])[0].write(&[1; 4]));
        assert!(matches!(upload.view(3..5), Err(Error::Map { .. })), "{}: views overlap", gpu.name());
        drop((first, second));
        assert!(matches!(upload.view(0..1 << 20), Err(Error::Map { .. })), "{}: beyond the end", gpu.name());
        let mut encoder = gpu.encoder("views");
        upload.copy_to(&mut encoder, &numbers, 12).expect("as many");
        readback.copy_from(&mut encoder, &numbers, 12).expect("as many");
        let submission = gpu.submit(encoder).expect("submitted");
        assert_eq!(readback.read(gpu, &submission, 12).expect("read"), [[1; 4], [2; 4], [2; 4]].concat());
        assert!(matches!(upload.view(0..4), Err(Error::Map { .. })), "{}: the device has it", gpu.name());
    }
    // While a view exists, neither the device nor a second view gets the memory.
    let view = upload.map(gpu, 3).expect("room");
    assert!(matches!(upload.map(gpu, 3), Err(Error::Map { .. })), "{}", gpu.name());
    drop(view);
    assert!(upload.map(gpu, 3).is_ok(), "{}", gpu.name());
}

/// Host and device read each other's writes without a copy. One bind group serves until a
/// reallocation.
#[test]
#[expect(unsafe_code, reason = "shaders read mapped memory")]
fn shaders_reach_the_hosts_memory() {
    let options = GpuOptions { optional_features: wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, ..GpuOptions::default() };
    each(&options, |gpu| {
        if !gpu.has(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            eprintln!("SKIPPED on {}: it has no MAPPABLE_PRIMARY_BUFFERS", gpu.name());
            return;
        }
        let source = KernelSource::new("sum").piece("sum.wgsl", SUM);
        let constants = [("THREADS", 64.0), ("GAIN", 2.0)];
        let descriptor =
            KernelDescriptor { source: &source, entry_points: &[], constants: &constants, checks: Checks::CHECKED };
        let kernel = Kernel::build(gpu, &descriptor).expect("built");
        let mut upload = Upload::<u32>::new("numbers").readable_by_shaders(gpu);
        // SAFETY: there is no buffer yet.
        let none = unsafe { upload.raw() };
        assert!(matches!(none, Err(Error::BufferTooSmall { .. })));
        let mut results = Readback::<u32>::new("sums").writable_by_shaders(gpu);
        let mut slot = BindGroupSlot::default();
        let mut groups = Vec::new();
        for (round, len) in [64, 64, 64, 256].into_iter().enumerate() {
            let data: Vec<u32> = (0..len).map(|i| i + 1000 * round as u32).collect();
            let mut view = upload.map(gpu, data.len()).expect("room");
            assert!(view.parts([data.len()])[0].write(&data));
            drop(view);
            upload.unmap();
            results.reserve(gpu, data.len() / 64).expect("room");
            // SAFETY: the buffer is only bound.
            let numbers = unsafe { upload.raw() }.expect("mapped before").as_entire_binding();
            let bindings = [("numbers", numbers), ("sums", results.binding().expect("room"))];
            let group = kernel.bind_group_in(gpu, &mut slot, &bindings).expect("bound").clone();
            let mut encoder = gpu.encoder("sum");
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            kernel.dispatch(&mut pass, "sum", &group, [len / 64, 1, 1]).expect("dispatched");
            drop(pass);
            let submission = gpu.submit(encoder).expect("submitted");
            let expected: Vec<u32> = data.chunks(64).map(|chunk| chunk.iter().map(|x| 2 * x).sum()).collect();
            assert_eq!(results.read(gpu, &submission, expected.len()).expect("read"), expected, "{}", gpu.name());
            groups.push(group);
        }
        assert!(groups[0] == groups[1] && groups[1] == groups[2], "made anew without cause");
        assert!(groups[2] != groups[3], "kept although the buffers are new");
    });
}

/// Drivers are loaded once, so that adapters can be listed many times.
#[test]
fn adapters_can_be_asked_for_many_times() {
    let all = adapters().expect("a list");
    for _ in 0..100 {
        assert_eq!(adapters().expect("a list"), all);
    }
}

#[test]
#[expect(unsafe_code, reason = "an earlier kernel counts workgroups")]
fn a_kernel_says_how_many_workgroups_the_next_has() {
    const WRITE: &str = "
        @group(0) @binding(0) var<storage, read_write> workgroups: array<u32>;
        @compute @workgroup_size(1) fn write() {
            workgroups[1] = 5u;
            workgroups[2] = 2u;
            workgroups[3] = 1u;
        }";
    const COUNT: &str = "
        @group(0) @binding(0) var<storage, read_write> counted: atomic<u32>;
        @compute @workgroup_size(1) fn count() { atomicAdd(&counted, 1u); }";
    each(&GpuOptions::default(), |gpu| {
        let build = |name: &str, text: &str| {
            let source = KernelSource::new(name).piece(name, text);
            let descriptor =
                KernelDescriptor { source: &source, entry_points: &[], constants: &[], checks: Checks::CHECKED };
            Kernel::build(gpu, &descriptor).expect("built")
        };
        let (write, count) = (build("write", WRITE), build("count", COUNT));
        let mut workgroups = Buffer::<u32>::new("workgroups", storage() | wgpu::BufferUsages::INDIRECT);
        let mut counted = Buffer::<u32>::new("counted", storage());
        let mut results = Readback::<u32>::new("results");
        workgroups.reserve(gpu, 4).expect("room");
        counted.reserve(gpu, 1).expect("room");
        results.reserve(gpu, 1).expect("room");
        let group = |kernel: &Kernel, name: &str, buffer: &Buffer<u32>| {
            kernel.bind_group(gpu, &[(name, buffer.binding().expect("a buffer"))]).expect("bound")
        };
        let (writes, counts) = (group(&write, "workgroups", &workgroups), group(&count, "counted", &counted));
        let mut encoder = gpu.encoder("indirect");
        for kernel in ["write", "count"] {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            if kernel == "write" {
                write.dispatch(&mut pass, "write", &writes, [1, 1, 1]).expect("encoded");
                continue;
            }
            // SAFETY: the kernel above writes few workgroups.
            let mut indirect = |entry_point, first| unsafe {
                count.dispatch_indirect(&mut pass, entry_point, &counts, &workgroups, first)
            };
            let beyond = indirect("count", 2);
            assert!(matches!(beyond, Err(Error::BufferTooSmall { wanted: 5, .. })), "{beyond:?}");
            let unknown = indirect("other", 1);
            assert!(matches!(unknown, Err(Error::Pipeline { .. })), "{unknown:?}");
            indirect("count", 1).expect("encoded");
        }
        results.copy_from(&mut encoder, &counted, 1).expect("encoded");
        let submission = gpu.submit(encoder).expect("submitted");
        assert_eq!(results.read(gpu, &submission, 1).expect("read"), [10], "{}", gpu.name());
    });
}

#[test]
fn reading_has_a_speed() {
    let options = GpuOptions { optional_features: wgpu::Features::TIMESTAMP_QUERY, ..GpuOptions::default() };
    each(&options, |gpu| {
        let speed = read_bandwidth(gpu, 1 << 18).expect("a kernel that reads");
        assert_eq!(speed.is_some(), gpu.has(wgpu::Features::TIMESTAMP_QUERY), "{}", gpu.name());
        assert!(speed.is_none_or(|speed| speed > 1e6), "{}: {speed:?}", gpu.name());
    });
}

/// wgpu-core panics if a wait times out while another thread empties the queue, and loses the
/// callbacks of finished mappings.
#[test]
fn threads_that_spin_lose_no_answer() {
    each(&GpuOptions::default(), |gpu| {
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || spin(gpu, thread));
            }
        });
        assert_eq!(gpu.lost(), None);
    });
}

/// Copies numbers and reads them back, again and again.
fn spin(gpu: &Gpu, thread: u32) {
    let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let mut buffer = Buffer::<u32>::new("numbers", usage);
    let mut readback = Readback::<u32>::new("back");
    readback.reserve(gpu, 1).expect("room");
    for number in 0..200 {
        buffer.write(gpu, &[1000 * thread + number]).expect("written");
        let mut encoder = gpu.encoder("copy");
        readback.copy_from(&mut encoder, &buffer, 1).expect("copied");
        let submission = gpu.submit(encoder).expect("submitted");
        readback.map_when_done(gpu, 1).expect("requested");
        gpu.wait_spinning(&submission, Duration::from_millis(1)).expect("spun");
        assert_eq!(readback.read_done(gpu, 1).expect("read"), [1000 * thread + number]);
    }
}
