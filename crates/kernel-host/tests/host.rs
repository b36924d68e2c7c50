//! Tests of the host side on wgpu's noop backend, without an adapter.

use std::future::Future;
use std::task::{Context, Waker};
use std::time::Duration;

use kernel_host::{
    AdapterChoice, Buffer, Checks, Error, Gpu, GpuOptions, Kernel, KernelDescriptor, KernelSource, Readback, Timer,
    wgpu,
};

const COPY: &str = "
override GAIN: u32 = 1u;
override ROOM: u32 = 4u;
var<workgroup> wg_room: array<u32, ROOM>;
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(64) fn copy(@builtin(global_invocation_id) id: vec3u) {
    wg_room[0] = GAIN;
    if id.x < arrayLength(&output) { output[id.x] = GAIN * input[id.x]; }
}
@compute @workgroup_size(1) fn clear() { output[0] = 0u; }
";

fn copy_source() -> KernelSource {
    KernelSource::new("copy").piece("copy.wgsl", COPY)
}

fn descriptor<'a>(source: &'a KernelSource, constants: &'a [(&'a str, f64)]) -> KernelDescriptor<'a> {
    KernelDescriptor { source, entry_points: &[], constants, checks: Checks::CHECKED }
}

fn noop() -> Gpu {
    Gpu::noop().expect("the noop backend is always there")
}

fn storage() -> wgpu::BufferUsages {
    wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC
}

fn round_trip<T: bytemuck::Pod>(gpu: &Gpu, data: &[T]) -> Vec<T> {
    let mut buffer = Buffer::<T>::new("data", storage());
    buffer.write(gpu, data).expect("written");
    let mut readback = Readback::<T>::new("back");
    readback.reserve(gpu, data.len()).expect("room");
    let mut encoder = gpu.encoder("copy");
    readback.copy_from(&mut encoder, &buffer, data.len()).expect("copied");
    let submission = gpu.submit(encoder).expect("submitted");
    let blocking = readback.read(gpu, &submission, data.len()).expect("read");
    let awaited = pollster::block_on(readback.read_async(gpu, &submission, data.len())).expect("awaited");
    assert_eq!(bytemuck::cast_slice::<T, u8>(&blocking), bytemuck::cast_slice::<T, u8>(&awaited));
    blocking
}

#[test]
fn data_goes_there_and_back_whatever_its_size() {
    let gpu = noop();
    assert_eq!(round_trip(&gpu, &[1_u32, 2, 3]), [1, 2, 3]);
    assert_eq!(round_trip(&gpu, &[1_u8, 2, 3, 4, 5]), [1, 2, 3, 4, 5]);
    assert_eq!(round_trip(&gpu, &[7_u16]), [7]);
    assert_eq!(round_trip(&gpu, &[[1.5_f64; 3]; 2]), [[1.5; 3]; 2]);
    assert_eq!(round_trip::<u64>(&gpu, &[]), [0_u64; 0]);
}

#[test]
fn buffers_grow_and_say_so() {
    let gpu = noop();
    let mut buffer = Buffer::<u32>::new("growing", storage());
    assert!(buffer.binding().is_err() && buffer.raw().is_err());
    assert_eq!((buffer.capacity(), buffer.len_bytes()), (0, 0));
    assert!(buffer.reserve(&gpu, 0).expect("one element at least"));
    assert_eq!(buffer.capacity(), 1);
    assert!(buffer.write(&gpu, &[1; 100]).expect("grown"));
    assert_eq!(buffer.capacity(), 100);
    assert!(!buffer.write(&gpu, &[2; 100]).expect("enough"));
    assert!(!buffer.write(&gpu, &[]).expect("nothing"));
    assert!(buffer.reserve(&gpu, 101).expect("grown"));
    assert_eq!((buffer.capacity(), buffer.len_bytes()), (200, 800));
    assert!(buffer.binding().is_ok());
}

#[test]
fn buffers_never_pass_the_limits() {
    let gpu = noop();
    let limit = gpu.limits().max_storage_buffer_binding_size;
    let mut buffer = Buffer::<[u8; 3]>::new("large", storage());
    for len in [limit as usize / 3 + 1, usize::MAX] {
        match buffer.reserve(&gpu, len) {
            Err(Error::BufferTooLarge { what, bytes, limit: offered }) => {
                assert_eq!((what.as_str(), offered), ("large", limit));
                assert!(bytes > limit);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(buffer.raw().is_err());
    let mut uniform = Buffer::<u32>::new("uniform", wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
    let most = gpu.limits().max_uniform_buffer_binding_size as usize / 4;
    uniform.reserve(&gpu, most / 2 + 1).expect("room");
    assert!(uniform.reserve(&gpu, most).expect("room"), "doubling stops at the limit");
    assert_eq!(uniform.capacity(), most);
    assert!(matches!(uniform.reserve(&gpu, most + 1), Err(Error::BufferTooLarge { .. })));
    assert_eq!(uniform.capacity(), most, "a refusal leaves the buffer as it was");
}

#[test]
fn reading_what_is_not_there_is_an_error() {
    let gpu = noop();
    let mut buffer = Buffer::<u32>::new("data", storage());
    buffer.write(&gpu, &[1, 2]).expect("written");
    let mut readback = Readback::<u32>::new("back");
    let mut encoder = gpu.encoder("copy");
    assert!(matches!(readback.copy_from(&mut encoder, &buffer, 2), Err(Error::BufferTooSmall { .. })));
    readback.reserve(&gpu, 10).expect("room");
    assert!(matches!(
        readback.copy_from(&mut encoder, &buffer, 3),
        Err(Error::BufferTooSmall { wanted: 3, held: 2, .. })
    ));
    let submission = gpu.submit(encoder).expect("submitted");
    assert!(matches!(readback.read(&gpu, &submission, 11), Err(Error::BufferTooSmall { .. })));
    assert!(matches!(readback.read(&gpu, &submission, usize::MAX), Err(Error::BufferTooSmall { .. })));
}

#[test]
fn a_wrong_call_is_an_error_once_and_no_panic() {
    let gpu = noop();
    let mut unwritable = Buffer::<u32>::new("unwritable", wgpu::BufferUsages::STORAGE);
    assert!(matches!(unwritable.write(&gpu, &[1]), Err(Error::Validation { .. })));
    // An error in the caller's own use of the device is reported by the next submission.
    gpu.queue().write_buffer(unwritable.raw().expect("allocated"), 0, &[0; 4]);
    let error = gpu.submit(gpu.encoder("empty")).expect_err("the fault");
    assert!(matches!(error, Error::Validation { .. }), "{error}");
    let submission = gpu.submit(gpu.encoder("empty")).expect("once only");
    gpu.wait(&submission).expect("done");
    // An error in encoded commands is reported by their submission.
    let mut encoder = gpu.encoder("wrong");
    encoder.clear_buffer(unwritable.raw().expect("allocated"), 0, None);
    assert!(matches!(gpu.submit(encoder), Err(Error::Validation { .. })));
}

#[test]
fn bindings_go_by_name() {
    let gpu = noop();
    let source = copy_source();
    let kernel = Kernel::build(&gpu, &descriptor(&source, &[])).expect("built");
    assert_eq!(kernel.bindings().collect::<Vec<_>>(), ["input", "output"]);
    let mut buffer = Buffer::<u32>::new("data", storage());
    buffer.reserve(&gpu, 8).expect("room");
    let other = {
        let mut other = Buffer::<u32>::new("other", storage());
        other.reserve(&gpu, 8).expect("room");
        other
    };
    let bind = |names: &[&str]| {
        let bindings: Vec<_> = names
            .iter()
            .zip([&buffer, &other, &other])
            .map(|(&name, buffer)| (name, buffer.binding().expect("room")))
            .collect();
        kernel.bind_group(&gpu, &bindings)
    };
    bind(&["input", "output"]).expect("complete");
    bind(&["output", "input"]).expect("the order does not matter");
    for (names, part) in [
        (&["input"][..], "nothing is bound to: output"),
        (&[], "nothing is bound to: input, output"),
        (&["input", "outptu"], "no binding `outptu`; there are: input, output"),
        (&["input", "output", "input"], "`input` is given twice"),
    ] {
        match bind(names) {
            Err(Error::Binding { kernel, message }) => {
                assert_eq!(kernel, "copy");
                assert!(message.contains(part), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
    // A buffer that does not match its variable.
    let mut uniform = Buffer::<u32>::new("uniform", wgpu::BufferUsages::UNIFORM);
    uniform.reserve(&gpu, 1).expect("room");
    let bindings = [("input", buffer.binding().expect("room")), ("output", uniform.binding().expect("room"))];
    assert!(matches!(kernel.bind_group(&gpu, &bindings), Err(Error::Binding { .. })));
}

#[test]
fn too_much_is_refused_before_the_driver_sees_it() {
    let gpu = noop();
    let source = copy_source();
    let offered = u64::from(gpu.limits().max_compute_workgroup_storage_size);
    Kernel::build(&gpu, &descriptor(&source, &[("ROOM", offered as f64 / 4.0)])).expect("fits exactly");
    match Kernel::build(&gpu, &descriptor(&source, &[("ROOM", offered as f64 / 4.0 + 1.0)])) {
        Err(Error::WorkgroupMemory { kernel, entry_point, needed, offered: limit }) => {
            assert_eq!((kernel.as_str(), entry_point.as_str()), ("copy", "copy"));
            assert_eq!((needed, limit), (offered + 16, offered));
        }
        other => panic!("{other:?}"),
    }
    let wide = KernelSource::new("wide").piece("wide.wgsl", "@compute @workgroup_size(32, 32) fn wide() {}");
    assert!(matches!(
        Kernel::build(&gpu, &descriptor(&wide, &[])),
        Err(Error::Limit { limit: "max_compute_invocations_per_workgroup", wanted: 1024, offered: 256, .. })
    ));
    assert!(matches!(Kernel::build(&gpu, &descriptor(&source, &[("GIAN", 2.0)])), Err(Error::Pipeline { .. })));
    let mut unknown = descriptor(&source, &[]);
    unknown.entry_points = &["cpoy"];
    let error = Kernel::build(&gpu, &unknown).expect_err("unknown entry point");
    assert!(error.to_string().contains("`cpoy`; there are: copy, clear"), "{error}");
}

#[test]
fn many_kernels_keep_their_order() {
    let gpu = noop();
    let sources: Vec<KernelSource> = (0..9)
        .map(|i| {
            KernelSource::new(&format!("kernel {i}"))
                .piece("k.wgsl", &format!("@compute @workgroup_size({}) fn f() {{}}", i + 1))
        })
        .collect();
    let mut descriptors: Vec<_> = sources.iter().map(|source| descriptor(source, &[])).collect();
    let kernels = Kernel::build_all(&gpu, &descriptors).expect("built");
    for (i, kernel) in kernels.iter().enumerate() {
        assert_eq!(kernel.name(), format!("kernel {i}"));
        assert_eq!(kernel.workgroup_size("f"), [i as u32 + 1, 1, 1]);
        assert_eq!((kernel.workgroup_size("g"), kernel.workgroup_memory("g")), ([0; 3], 0));
    }
    assert!(Kernel::build_all(&gpu, &[]).expect("nothing to do").is_empty());
    let broken = KernelSource::new("broken").piece("b.wgsl", "fn f( {}");
    descriptors.insert(4, descriptor(&broken, &[]));
    let error = Kernel::build_all(&gpu, &descriptors).expect_err("one is broken");
    assert!(matches!(&error, Error::Shader { kernel, line: 1, .. } if kernel == "broken"), "{error}");
}

#[test]
fn dispatch_checks_its_arguments() {
    let gpu = noop();
    let source = KernelSource::new("k").piece("k.wgsl", "@compute @workgroup_size(1) fn f() {}");
    let kernel = Kernel::build(&gpu, &descriptor(&source, &[])).expect("built");
    let group = kernel.bind_group(&gpu, &[]).expect("nothing to bind");
    let mut encoder = gpu.encoder("dispatch");
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        kernel.dispatch(&mut pass, "f", &group, [65535, 1, 0]).expect("allowed");
        let error = kernel.dispatch(&mut pass, "f", &group, [1, 65536, 1]).expect_err("too many");
        assert!(matches!(error, Error::Limit { wanted: 65536, offered: 65535, .. }), "{error}");
        assert!(matches!(kernel.dispatch(&mut pass, "g", &group, [1; 3]), Err(Error::Pipeline { .. })));
    }
    let submission = gpu.submit(encoder).expect("what was refused was not encoded");
    gpu.wait(&submission).expect("done");
}

#[test]
fn waiting_works_in_every_way() {
    let gpu = noop();
    let submission = gpu.submit(gpu.encoder("empty")).expect("submitted");
    gpu.wait(&submission).expect("blocking");
    gpu.wait_spinning(&submission, Duration::from_millis(1)).expect("spinning");
    pollster::block_on(gpu.wait_async(&submission)).expect("awaiting");
    for _ in 0..50 {
        // Dropped unpolled, and after one poll.
        drop(gpu.wait_async(&submission));
        let mut future = Box::pin(gpu.wait_async(&submission));
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    let futures: Vec<_> = (0..20).map(|_| gpu.wait_async(&submission)).collect();
    let threads: Vec<_> =
        futures.into_iter().map(|future| std::thread::spawn(move || pollster::block_on(future))).collect();
    for thread in threads {
        thread.join().expect("no panic").expect("awaiting elsewhere");
    }
    // The future holds the device; the last owner ends the thread.
    let future = gpu.wait_async(&submission);
    drop(gpu);
    pollster::block_on(future).expect("the device outlives its last handle but one");
}

#[test]
fn a_lost_device_is_an_error_and_neither_a_hang_nor_a_panic() {
    let gpu = noop();
    let source = copy_source();
    let mut buffer = Buffer::<u32>::new("data", storage());
    buffer.write(&gpu, &[1, 2]).expect("written");
    let mut readback = Readback::<u32>::new("back");
    readback.reserve(&gpu, 2).expect("room");
    let mut encoder = gpu.encoder("copy");
    readback.copy_from(&mut encoder, &buffer, 2).expect("copied");
    let submission = gpu.submit(encoder).expect("submitted");
    assert_eq!(gpu.lost(), None);
    gpu.device().destroy();
    let is_lost = |outcome: Result<(), Error>| match outcome {
        Err(Error::DeviceLost { reason }) => assert!(!reason.is_empty()),
        other => panic!("{other:?}"),
    };
    is_lost(gpu.wait(&submission));
    assert!(gpu.lost().is_some());
    is_lost(gpu.wait_spinning(&submission, Duration::from_millis(1)));
    is_lost(pollster::block_on(gpu.wait_async(&submission)));
    is_lost(readback.read(&gpu, &submission, 2).map(drop));
    is_lost(pollster::block_on(readback.read_async(&gpu, &submission, 2)).map(drop));
    is_lost(gpu.submit(gpu.encoder("empty")).map(drop));
    assert!(buffer.write(&gpu, &[1; 100]).is_err());
    assert!(Kernel::build(&gpu, &descriptor(&source, &[])).is_err());
}

#[test]
fn a_device_that_is_lost_before_a_submission_shows_when_waited_for() {
    let gpu = noop();
    gpu.device().destroy();
    let outcome = gpu.submit(gpu.encoder("empty")).and_then(|submission| gpu.wait(&submission));
    assert!(matches!(outcome, Err(Error::DeviceLost { .. })), "{outcome:?}");
}

#[test]
fn the_callers_own_device_is_used_as_it_is() {
    let gpu = noop();
    let own = Gpu::from_device("mine", gpu.device().clone(), gpu.queue().clone());
    assert_eq!(own.name(), "mine");
    assert_eq!(own.limits(), gpu.limits());
    assert_eq!(round_trip(&own, &[1_u32, 2]), [1, 2]);
    assert!(!own.has(wgpu::Features::TIMESTAMP_QUERY));
    assert!(Timer::new(&own, 4).is_none());
}

#[test]
fn a_device_that_is_open_is_not_opened_again() {
    let gpu = noop();
    let options = GpuOptions { adapter: AdapterChoice::Open(gpu.clone()), ..GpuOptions::default() };
    assert_eq!(Gpu::new(&options).expect("the device"), gpu);
    assert_eq!(Gpu::open_all(&options).expect("the device"), std::slice::from_ref(&gpu));
    assert_ne!(noop(), gpu);
    let required_features = wgpu::Features::SHADER_F64;
    match Gpu::new(&GpuOptions { required_features, ..options }) {
        Err(Error::MissingFeature { adapter, feature, .. }) => {
            assert_eq!((adapter.as_str(), feature.as_str()), (gpu.name(), "SHADER_F64"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_adapter_that_is_not_there_is_an_error() {
    let options = GpuOptions { adapter: "no such adapter".parse().unwrap_or_default(), ..GpuOptions::default() };
    match Gpu::new(&options) {
        Err(Error::NoAdapter { wanted, .. }) => assert!(wanted.contains("no such adapter")),
        other => panic!("{other:?}"),
    }
}
