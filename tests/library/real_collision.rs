//! Finds the vertex that the experiment reconstructed in a real collision (CMS, 2010;
//! ../shared/data/real), on every engine. The file is not part of the repository.

use zfinder::thesis::Accumulate;
use zfinder::{Config, Engine, Preset, RoiBatch, RoiDescriptor, Spacepoint, Status, ZFinder};
use zfinder_testing::engines::on_shared_device;
use zfinder_testing::on_adapters;
use zfinder_testing::shared;

/// The experiment's own z \[mm\], from 87 tracks.
const TRUE_Z: f64 = 42.350;

/// The pixel detector of that time: three barrel layers, and two disks on each side.
const PIXELS: &str = r#"
name = "pixels"
[[layer]]
kind = "barrel"
radius_mm = 44.0
[[layer]]
kind = "barrel"
radius_mm = 73.0
[[layer]]
kind = "barrel"
radius_mm = 102.0
[[layer]]
kind = "endcap"
z_mm = 345.0
r_max_mm = 150.0
[[layer]]
kind = "endcap"
z_mm = 480.0
r_max_mm = 150.0
"#;

#[test]
fn the_vertex_is_where_the_experiment_has_it() {
    let Some(path) = shared("data/real/run140124_event876295434_pixel.csv") else { return };
    let mut reader = csv::Reader::from_path(path).expect("the file opens");
    type Row = (f64, f64, f64, String, u32, i32, u64);
    let points: Vec<Spacepoint> = reader
        .deserialize()
        .map(|row| {
            let (x, y, z, part, layer_or_disk, ..): Row = row.expect("a row as its README says");
            let layer = layer_or_disk - 1 + if part == "PXB" { 0 } else { 3 };
            Spacepoint::from_xyz(x, y, z, layer)
        })
        .collect();
    assert_eq!(points.len(), 444);
    let mut batch = RoiBatch::new();
    batch.push(RoiDescriptor::default(), points);

    let config = Config::preset(Preset::Default).with(|c| {
        c.beam_spot_mm = [0.97, 0.18];
        c.field_t = 3.8;
    });
    let mut engines = vec![("reference".to_owned(), Engine::Reference), ("CPU".to_owned(), Engine::Cpu)];
    for adapter in on_adapters() {
        engines.push((adapter.name.clone(), on_shared_device(&adapter)));
    }
    for (name, engine) in engines {
        for accumulate in [Accumulate::Fixed, Accumulate::CompareExchange] {
            let finder = ZFinder::builder(zfinder_io::detector_from_toml("pixels", PIXELS).expect("valid"))
                .config(config.clone())
                .engine(engine.clone())
                .thesis(accumulate)
                .build()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let results = finder.find_batch(&batch).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(results.roi(0).status(), Status::Ok, "{name}, {accumulate:?}");
            assert_eq!(results.roi(0).summary().spacepoints, 444, "{name}, {accumulate:?}");
            let vertex = results.roi(0).vertices().first().expect("status ok means a vertex");
            assert!((vertex.z_mm - TRUE_Z).abs() < 1.0, "{name}, {accumulate:?}: {vertex:?}, not {TRUE_Z} mm");
        }
    }
}
