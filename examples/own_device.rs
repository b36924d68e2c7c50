//! The finder on a wgpu device that the caller has opened and also uses. Without an adapter the
//! program says so, and ends successfully.
//!
//! `cargo run --release --example own_device`

use std::error::Error;

use zfinder::gpu::wgpu;
use zfinder::{Detector, Engine, ZFinder};
use zfinder_study::simulate::Simulation;

fn main() -> Result<(), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let wanted = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..wgpu::RequestAdapterOptions::default()
    };
    let adapter = match pollster::block_on(instance.request_adapter(&wanted)) {
        Ok(adapter) => adapter,
        Err(error) => {
            println!("no adapter here, so no device to share: {error}");
            return Ok(());
        }
    };
    // WebGPU's default limits and no features are enough. More workgroup memory is faster: fewer
    // passes over z.
    let offered = adapter.limits();
    let required_limits = wgpu::Limits {
        max_compute_workgroup_storage_size: offered.max_compute_workgroup_storage_size,
        max_compute_invocations_per_workgroup: offered.max_compute_invocations_per_workgroup,
        max_compute_workgroup_size_x: offered.max_compute_workgroup_size_x,
        ..wgpu::Limits::default()
    };
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..wgpu::DeviceDescriptor::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;

    // Devices and queues are handles: a clone is the same device. The name appears in messages.
    let finder = ZFinder::builder(Detector::atlas2010())
        .device(&adapter.get_info().name, device.clone(), queue.clone())
        .build()?;
    println!("{}", finder.description());

    let (batch, truth) = Simulation { rois: 20, ..Simulation::lowlum() }.batch();
    let results = finder.find_batch(&batch)?;

    // The caller can still use the device.
    let size = 4 * results.len() as u64;
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let descriptor = wgpu::BufferDescriptor { label: Some("vertices"), size, usage, mapped_at_creation: false };
    let buffer = device.create_buffer(&descriptor);
    let z: Vec<u8> =
        results.iter().flat_map(|r| r.vertices().first().map_or(f32::NAN, |v| v.z_mm as f32).to_le_bytes()).collect();
    queue.write_buffer(&buffer, 0, &z);
    queue.submit([]);
    device.poll(wgpu::PollType::wait_indefinitely())?;

    // The CPU engine finds the same vertices up to the last digits of f32.
    let on_cpu = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?.find_batch(&batch)?;
    let (mut largest, mut right) = (0.0f64, 0);
    for ((here, there), z_true) in results.iter().zip(&on_cpu).zip(&truth) {
        assert_eq!((here.status(), here.vertices().len()), (there.status(), there.vertices().len()), "{:?}", here.id());
        for (a, b) in here.vertices().iter().zip(there.vertices()) {
            assert!((a.z_mm - b.z_mm).abs() < 0.01, "{a:?}, on the CPU {b:?}");
            largest = largest.max((a.z_mm - b.z_mm).abs());
        }
        right += usize::from(here.vertices().first().is_some_and(|vertex| (vertex.z_mm - z_true).abs() < 1.0));
    }
    assert!(right >= 16, "{right} of {} are right", results.len());
    println!("{} RoIs; no vertex differs by more than {largest:.5} mm from the CPU engine's", results.len());
    Ok(())
}
