//! The finder on the caller's wgpu device, built and asked under an async executor.

use std::error::Error;

use zfinder::gpu::wgpu;
use zfinder::{Detector, Roi, Spacepoint, ZFinder};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = match instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await {
        Ok(adapter) => adapter,
        Err(error) => {
            println!("no adapter, so no device: {error}");
            return Ok(());
        }
    };
    let (device, queue) = adapter.request_device(&wgpu::DeviceDescriptor::default()).await?;

    let name = adapter.get_info().name;
    let finder = ZFinder::builder(Detector::atlas2010()).device(&name, device.clone(), queue.clone()).build_async().await?;

    let mut roi = Roi::default();
    for (phi, slope) in [(0.1, 0.5), (0.7, -0.3), (1.5, 0.2), (2.5, -1.0)] {
        for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
            roi.spacepoints.push(Spacepoint { rho, phi, z: 12.5 + slope * rho, layer });
        }
    }
    let results = finder.find_batch_async(&roi).await?;

    let z = results.vertices().z_mm()[0];
    println!("{}: z = {z:.3} mm", finder.description());
    assert!((z - 12.5).abs() < 0.01);
    Ok(())
}
