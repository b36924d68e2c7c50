//! The library in a program of one's own: reads events, finds their vertices in one batch, and looks at each answer.
//!
//! `cargo run --release --example find_batch [FOLDER]` (default: data/zee7_mu2)

use std::error::Error;
use std::path::PathBuf;

use zfinder::{Config, Detector, RoiBatch, Status, Triplets, ZFinder, io};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("data/zee7_mu2"), PathBuf::from);

    // Once: the configuration is checked, shaders are compiled, buffers are kept.
    let detector = Detector::generic();
    let config = Config { triplets: Triplets::Any, peaks: 3, ..Config::default() };
    let finder = ZFinder::builder().config(config).detector(detector.clone()).build()?;
    println!("{}", finder.description());

    // As often as events come: many RoIs in one batch cost little more than one.
    let mut batch = RoiBatch::new();
    for roi in io::SpacepointReader::new(io::inputs(&[folder])?.files, detector, None) {
        let roi = roi?;
        batch.push(roi.descriptor, roi.spacepoints);
    }
    for result in finder.find_batch(&batch)? {
        match result.status {
            Status::Ok => {
                let vertices: Vec<String> =
                    result.vertices.iter().map(|v| format!("{:.2} mm ({})", v.z_mm, v.weight)).collect();
                println!("event {}: {}", result.id.event_id, vertices.join(", "));
            }
            // Never a silent wrong answer: without a vertex there is a reason.
            status => println!("event {}: {status}", result.id.event_id),
        }
    }
    Ok(())
}
