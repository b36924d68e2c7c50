//! The library alone, on the CPU: an event in the caller's own columns, and its vertices.

use zfinder::{Columns, Detector, Engine, RoiBatch, RoiDescriptor, ZFinder};

fn main() -> zfinder::Result<()> {
    // Four straight tracks from z = 12.5 mm through four barrel layers, in columns of f32.
    let (mut x, mut y, mut z, mut layer) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (phi, slope) in [(0.1f32, 0.5f32), (0.7, -0.3), (1.5, 0.2), (2.5, -1.0)] {
        for (index, rho) in [50.5f32, 88.5, 122.5, 299.0].into_iter().enumerate() {
            x.push(rho * phi.cos());
            y.push(rho * phi.sin());
            z.push(12.5 + slope * rho);
            layer.push(index as u8);
        }
    }

    let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;

    let mut batch = RoiBatch::with_f32();
    batch.push_columns(RoiDescriptor::default(), Columns::cartesian(&x, &y, &z, &layer)?);
    let results = finder.find_batch(&batch)?;

    let vertex = results.vertices().first().expect("four tracks make a vertex");
    println!("{}: z = {:.3} +- {:.3} mm", finder.description(), vertex.z_mm, vertex.z_error_mm);
    assert!((vertex.z_mm - 12.5).abs() < 0.01);
    Ok(())
}
