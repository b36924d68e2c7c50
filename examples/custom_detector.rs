//! Your own detector: layers as TOML, here in the program, and spacepoints whose layer is known by
//! a file's numbers or only by position.
//!
//! `cargo run --release --example custom_detector`

use std::error::Error;

use zfinder::detector::LayerKind;
use zfinder::{Config, Detector, Roi, Spacepoint, Status, ZFinder};

/// A telescope about the beam: three pixel barrels, two of short strips, two pixel disks on each
/// side. `ids` are the (volume, layer) in files; `sensor` is needed only if a configuration uses
/// it. Without a [bending] table the neighbour slices follow from the radii, the field and the
/// momentum (`field_t`, `bending_pt_gev`).
const TELESCOPE: &str = r#"
name = "telescope"

[[layer]]
kind = "barrel"
sensor = "pixel"
radius_mm = 40.0
ids = [[1, 2]]

[[layer]]
kind = "barrel"
sensor = "pixel"
radius_mm = 80.0
ids = [[1, 4]]

[[layer]]
kind = "barrel"
sensor = "pixel"
radius_mm = 120.0
ids = [[1, 6]]

[[layer]]
kind = "barrel"
sensor = "short-strip"
radius_mm = 300.0
ids = [[2, 2]]

[[layer]]
kind = "barrel"
sensor = "short-strip"
radius_mm = 400.0
ids = [[2, 4]]

[[layer]]
kind = "endcap"
sensor = "pixel"
z_mm = 500.0
r_max_mm = 150.0
ids = [[0, 4], [3, 2]]

[[layer]]
kind = "endcap"
sensor = "pixel"
z_mm = 600.0
r_max_mm = 150.0
ids = [[0, 2], [3, 4]]
"#;

/// Returns the crossings of a straight track with the layers, from `z0` at azimuth `phi` with
/// dz/drho = `slope`.
fn track(detector: &Detector, z0: f64, phi: f64, slope: f64) -> Vec<Spacepoint> {
    let crossing = |(layer, kind): (u32, LayerKind)| match kind {
        LayerKind::Barrel { radius_mm: rho } => {
            let z = z0 + slope * rho;
            (z.abs() < 450.0).then_some(Spacepoint { rho, phi, z, layer })
        }
        LayerKind::Endcap { z_mm, r_max_mm } => {
            let z = z_mm.copysign(slope);
            let rho = (z - z0) / slope;
            (30.0..r_max_mm).contains(&rho).then_some(Spacepoint { rho, phi, z, layer })
        }
    };
    let kinds = detector.layers().iter().map(|layer| layer.kind);
    (0..).zip(kinds).filter_map(crossing).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    // The arguments are a name for messages, and the text of a file.
    let detector = zfinder_io::detector_from_toml("telescope.toml", TELESCOPE)?;
    assert_eq!(detector.layers().len(), 7);

    // Files name layers by (volume, layer), or give only the position of a spacepoint.
    assert_eq!(detector.layer_by_id(3, 2), Some(5));
    assert_eq!(detector.layer_by_id(0, 4), Some(5), "disks at +z and -z share a layer");
    assert_eq!(detector.layer_at(79.2, -33.0, 5.0), Some(1));

    let z_true = 61.4;
    let tracks = [(-2.8, 0.3), (-1.9, 5.1), (-1.1, -0.8), (0.2, -4.4), (0.9, 1.7), (1.8, 0.0), (2.9, -2.2)];
    let spacepoints = tracks.iter().flat_map(|&(phi, slope)| track(&detector, z_true, phi, slope)).collect();
    let roi = Roi { spacepoints, ..Roi::default() };

    let config = Config::default().with(|config| config.field_t = 1.5);
    let finder = ZFinder::builder(detector.clone()).config(config).build()?;
    println!("{}; detector {}", finder.description(), finder.detector().name());
    let results = finder.find(&roi)?;
    let result = results.roi(0);
    let vertex = result.vertices().first().ok_or_else(|| format!("no vertex: {}", result.status()))?;
    println!("{} spacepoints; z = {:.3} mm from {} pairs", result.summary().spacepoints, vertex.z_mm, vertex.pairs);
    assert!((vertex.z_mm - z_true).abs() < 0.01, "{vertex:?}");

    // A spacepoint on an unknown layer gives a status and no vertex.
    let wrong = Roi { spacepoints: vec![Spacepoint { rho: 40.0, phi: 0.0, z: 0.0, layer: 7 }], ..Roi::default() };
    let refused = finder.find(&wrong)?.statuses()[0];
    println!("a spacepoint on layer 7: {refused}");
    assert_eq!(refused, Status::BadSpacepoint);
    // A table that contradicts itself is an error.
    let twice = TELESCOPE.replace("[[2, 4]]", "[[2, 2]]");
    let refused =
        zfinder_io::detector_from_toml("telescope.toml", &twice).map(|_| ()).expect_err("two layers of one id");
    println!("refused: {refused}");
    Ok(())
}
