//! Tests that memory is counted and limited, and that the loss of the caller's own device is
//! noticed. On wgpu's noop backend.

use std::time::Duration;

use kernel_host::{Buffer, Error, Gpu, Readback, Submission, Upload, wgpu};

const STORAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST);

fn noop() -> Gpu {
    Gpu::noop().expect("the noop backend is always there")
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>, wanted: (&str, u64, u64)) {
    match outcome {
        Err(Error::OutOfMemory { what, bytes, allowed }) => {
            assert_eq!((what.as_str(), bytes, allowed), (wanted.0, wanted.1, Some(wanted.2)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_buffer_is_counted_for_as_long_as_it_lives() {
    let gpu = noop();
    let clone = gpu.clone();
    assert_eq!(gpu.memory_bytes(), 0);
    let mut buffer = Buffer::<u32>::new("data", STORAGE);
    assert_eq!(gpu.memory_bytes(), 0, "no room yet");
    buffer.write(&gpu, &[1; 100]).expect("written");
    assert_eq!(clone.memory_bytes(), 400);
    buffer.reserve(&gpu, 101).expect("grown");
    assert_eq!(gpu.memory_bytes(), 800, "the old one is gone");
    let mut readback = Readback::<u8>::new("back");
    readback.reserve(&gpu, 5).expect("room");
    assert_eq!(gpu.memory_bytes(), 808, "whole words");
    let mut upload = Upload::<u32>::new("staged");
    drop(upload.map(&gpu, 50).expect("room"));
    assert_eq!(gpu.memory_bytes(), 1008);
    drop(upload.map(&gpu, 60).expect("room"));
    assert_eq!(gpu.memory_bytes(), 808 + 300, "half as much again");
    // A refusal for its size leaves the buffer; the loss of the device does not.
    let most = gpu.limits().max_storage_buffer_binding_size as usize / 4;
    assert!(matches!(buffer.reserve(&gpu, most + 1), Err(Error::BufferTooLarge { .. })));
    assert_eq!(gpu.memory_bytes(), 808 + 300);
    drop(buffer);
    assert_eq!(gpu.memory_bytes(), 308);
    drop((readback, upload));
    assert_eq!(gpu.memory_bytes(), 0);
    assert_eq!(noop().memory_bytes(), 0, "another device is another");
}

#[test]
fn more_than_is_allowed_is_out_of_memory() {
    let gpu = noop();
    gpu.limit_memory(1000);
    let (mut a, mut b) = (Buffer::<u32>::new("a", STORAGE), Buffer::<u32>::new("b", STORAGE));
    a.reserve(&gpu, 150).expect("600 bytes");
    refused(b.reserve(&gpu, 101), ("b", 404, 1000));
    assert!(!b.has_room(1));
    b.reserve(&gpu, 100).expect("the rest, to the last byte");
    assert_eq!(gpu.memory_bytes(), 1000);
    refused(Upload::<u32>::new("staged").map(&gpu, 1), ("staged", 4, 1000));
    let said = Readback::<u32>::new("back").reserve(&gpu, 1).expect_err("full").to_string();
    assert!(said.contains("`back` (4 bytes, where buffers may take 1000 in all)"), "{said}");
    // Growth doubles the size, or takes the needed size if memory is short.
    drop(b);
    a.reserve(&gpu, 200).expect("800 bytes");
    assert_eq!((a.capacity(), gpu.memory_bytes()), (200, 800));
    drop(a);
    let mut upload = Upload::<u32>::new("staged");
    drop(upload.map(&gpu, 200).expect("room"));
    drop(upload.map(&gpu, 240).expect("room for 240, not for 300"));
    assert_eq!(gpu.memory_bytes(), 960);
    // A buffer without enough memory has none, because its old memory is freed first.
    refused(upload.map(&gpu, 251), ("staged", 1004, 1000));
    assert_eq!(gpu.memory_bytes(), 0);
    // The limit may change; existing buffers stay.
    drop(upload.map(&gpu, 250).expect("room"));
    gpu.limit_memory(0);
    assert_eq!(gpu.memory_bytes(), 1000);
    refused(Buffer::<u32>::new("none", STORAGE).reserve(&gpu, 1), ("none", 4, 0));
    gpu.limit_memory(u64::MAX);
    Buffer::<u32>::new("large", STORAGE).reserve(&gpu, 1000).expect("as much as there is");
}

#[test]
fn threads_together_keep_within_what_is_allowed() {
    let gpu = noop();
    gpu.limit_memory(10_000);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let gpu = &gpu;
            scope.spawn(move || {
                let mut held: Vec<Buffer<u32>> = Vec::new();
                for i in 0..500_usize {
                    let mut buffer = Buffer::new("one of many", STORAGE);
                    match buffer.reserve(gpu, 1 + (i * 7919 + seed * 104_729) % 700) {
                        Ok(_) => held.push(buffer),
                        Err(Error::OutOfMemory { .. }) => held.clear(),
                        Err(error) => panic!("{error}"),
                    }
                    assert!(gpu.memory_bytes() <= 10_000);
                }
            });
        }
    });
    assert_eq!(gpu.memory_bytes(), 0);
}

/// Callbacks for the loss of the caller's device are the caller's, so the loss shows only in
/// failing calls.
#[test]
fn the_loss_of_the_callers_own_device_shows() {
    let is_lost = |outcome: Result<(), Error>| match outcome {
        Err(Error::DeviceLost { reason }) => assert!(!reason.is_empty()),
        other => panic!("{other:?}"),
    };
    let given = || {
        let gpu = noop();
        (Gpu::from_device("mine", gpu.device().clone(), gpu.queue().clone()), gpu)
    };
    let submit = |gpu: &Gpu| -> Result<Submission, Error> { gpu.submit(gpu.encoder("empty")) };
    // Destroyed, then used.
    let (own, gpu) = given();
    gpu.device().destroy();
    is_lost(submit(&own).and_then(|submission| own.wait(&submission)));
    is_lost(submit(&own).map(drop));
    assert!(own.lost().is_some());
    // In the background.
    let (own, gpu) = given();
    gpu.device().destroy();
    is_lost(submit(&own).and_then(|submission| pollster::block_on(own.wait_async(&submission))));
    let (own, gpu) = given();
    gpu.device().destroy();
    let spin = Duration::from_millis(1);
    is_lost(submit(&own).and_then(|submission| own.wait_spinning(&submission, spin)));
    // While memory is mapped and read.
    let (own, gpu) = given();
    let mut readback = Readback::<u32>::new("back");
    readback.reserve(&own, 4).expect("room");
    let submission = submit(&own).expect("submitted");
    gpu.device().destroy();
    is_lost(readback.read(&own, &submission, 4).map(drop));
    is_lost(pollster::block_on(readback.read_async(&own, &submission, 4)).map(drop));
    // A submission of another device is a fault of the program, and not a loss.
    let (own, gpu) = given();
    let (other, _kept) = given();
    for _ in 0..3 {
        submit(&other).expect("submitted");
    }
    let submission = submit(&other).expect("submitted");
    let outcome = own.wait(&submission);
    assert!(matches!(outcome, Err(Error::Validation { .. })), "{outcome:?}");
    assert_eq!((own.lost(), gpu.lost()), (None, None));
}
