//! The library in your own program: reads events, finds their vertices in one batch, and checks
//! each answer.
//!
//! `cargo run --release --example find_batch [FOLDER]` (default: data/zee7_mu2)

use std::error::Error;
use std::path::{Path, PathBuf};

use zfinder::{Detector, RoiBatch, Status, ZFinder};
use zfinder_io as io;

fn main() -> Result<(), Box<dyn Error>> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/zee7_mu2");
    let folder = std::env::args_os().nth(1).map_or_else(|| sample.clone(), PathBuf::from);

    // Once: building checks the configuration, compiles shaders and allocates buffers.
    let detector = Detector::generic();
    let finder = ZFinder::builder(detector.clone()).build()?;
    println!("{}", finder.description());

    // For each batch: many RoIs in one batch cost little more than one.
    let mut batch = RoiBatch::new();
    for roi in io::SpacepointReader::new(io::inputs(std::slice::from_ref(&folder))?.files, detector, None) {
        let roi = roi?;
        batch.push(roi.descriptor, roi.spacepoints);
    }
    let results = finder.find_batch(&batch)?;
    for result in &results {
        match result.status() {
            Status::Ok => {
                let vertices: Vec<String> =
                    result.vertices().iter().map(|v| format!("{:.2} mm ({})", v.z_mm, v.weight)).collect();
                println!("event {}: {}", result.id().event_id, vertices.join(", "));
            }
            // An RoI without a vertex has a status with the reason.
            status => println!("event {}: {status}", result.id().event_id),
        }
    }

    // The true vertices of the sample are known.
    if folder == sample {
        let truth = io::TruthTable::read(&folder.join("truth_vertices.csv"))?;
        let right = results.iter().filter(|result| {
            let z_true = truth.hard_scatter_z(result.id());
            z_true.is_some_and(|z_true| result.vertices().iter().any(|vertex| (vertex.z_mm - z_true).abs() < 1.0))
        });
        let right = right.count();
        println!("{right} of {} have a vertex within 1 mm of the true one", results.len());
        assert_eq!((right, results.len()), (20, 20));
    }
    Ok(())
}
