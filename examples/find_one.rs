//! One RoI, made by hand: the position of its vertex, its error, and the status of an RoI without a
//! vertex.
//!
//! `cargo run --release --example find_one`

use std::error::Error;

use zfinder::{Detector, PhiWindow, Roi, RoiDescriptor, RoiId, Spacepoint, Status, ZFinder};

fn main() -> Result<(), Box<dyn Error>> {
    // Once: building checks the configuration, and compiles shaders on a GPU. Later calls only
    // search.
    let finder = ZFinder::builder(Detector::atlas2010()).build()?;
    println!("{}; detector {}", finder.description(), finder.detector().name());

    // Five straight tracks from z = -37.2 mm through the pixel barrels and the first strip barrel
    // of `atlas2010`.
    let z_true = -37.2;
    let mut spacepoints = Vec::new();
    for (phi, slope) in [(0.62, 0.4), (0.71, -0.9), (0.80, 0.1), (0.93, 1.2), (1.10, -0.3)] {
        for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5), (3, 299.0)] {
            spacepoints.push(Spacepoint { rho, phi, z: z_true + slope * rho, layer });
        }
    }
    // Cartesian coordinates: Spacepoint::from_xyz. Spacepoints outside the window take no part.
    spacepoints.push(Spacepoint::from_xyz(-50.5, 0.0, 12.0, 0));

    let id = RoiId { event_id: 7, roi_id: 0 };
    let window = Some(PhiWindow::new(0.4, 1.4)?);
    let roi = Roi { descriptor: RoiDescriptor { id, window, ..RoiDescriptor::default() }, spacepoints };

    let results = finder.find(&roi)?;
    let result = results.roi(0);
    assert_eq!((result.id(), result.status()), (id, Status::Ok));
    assert_eq!((result.summary().spacepoints, result.summary().outside_window), (20, 1));
    let vertex = result.vertices().first().expect("status ok means a vertex");
    println!("z = {:.3} +- {:.3} mm from {} pairs", vertex.z_mm, vertex.z_error_mm, vertex.pairs);
    assert!((vertex.z_mm - z_true).abs() < 0.05, "{vertex:?}");

    // An RoI without spacepoints has a status. An error would mean that the search was impossible.
    let nothing = finder.find(&Roi::default())?;
    println!("an RoI without spacepoints: {}", nothing.statuses()[0]);
    assert_eq!((nothing.statuses(), nothing.vertices().len()), (&[Status::Empty][..], 0));
    Ok(())
}
