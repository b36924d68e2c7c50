//! Tests of readers of spacepoints, RoIs and truth: every format gives the same spacepoints, and
//! every error states its position.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::read_all;
use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;
use zfinder::{Config, Detector, PhiWindow, Preset, Roi, RoiId, Spacepoint};
use zfinder_io::{self as io, Addressing, Error, RoiTable, SpacepointReader, TruthTable};
use zfinder_testing::shared;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).expect("written");
    path
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("in memory");
    encoder.finish().expect("in memory")
}

fn read(files: &[PathBuf], detector: Detector) -> Result<Vec<Roi>, Error> {
    SpacepointReader::new(files.to_vec(), detector, None).collect()
}

/// Returns the message of a reader that must fail. It must begin with the file.
fn refused(path: &Path, detector: Detector) -> String {
    let error = read(&[path.to_owned()], detector).expect_err("refused").to_string();
    let name = path.display().to_string();
    error.strip_prefix(&name).unwrap_or_else(|| panic!("{error} does not name {name}")).to_owned()
}

fn sample(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(path)
}

fn ids(rois: &[Roi]) -> Vec<(u64, u64, usize)> {
    rois.iter().map(|r| (r.descriptor.id.event_id, r.descriptor.id.roi_id, r.spacepoints.len())).collect()
}

#[test]
fn columns_in_any_order_and_rows_of_an_roi_anywhere() {
    let dir = folder();
    let path = file(
        &dir,
        "own.csv",
        "layer,z, y ,extra,x,roi_id,event_id\n0,1.5,4,a,3,0,7\n1,2.5,0,b,-10,1,7\n2,3.5,12,c,5,0,7\n0,1,1,d,1,0,8\n",
    );
    let rois = read(&[path], Detector::atlas2010()).expect("good");
    assert_eq!(ids(&rois), [(7, 0, 2), (7, 1, 1), (8, 0, 1)]);
    assert_eq!(rois[0].spacepoints[0], Spacepoint::from_xyz(3.0, 4.0, 1.5, 0));
    assert_eq!(rois[0].spacepoints[1], Spacepoint::from_xyz(5.0, 12.0, 3.5, 2));
}

#[test]
fn cylindrical_coordinates_and_no_ids() {
    let dir = folder();
    let text = "rho,phi,z,layer\r\n50.5,-3.1,12.25,0\r\n88.5,3.5,-1e2,1";
    let expected = [
        Spacepoint { rho: 50.5, phi: -3.1, z: 12.25, layer: 0 },
        Spacepoint { rho: 88.5, phi: 3.5, z: -100.0, layer: 1 },
    ];
    for (name, event) in [("event000000042-own.csv", 42), ("own.csv", 0)] {
        let rois = read(&[file(&dir, name, text)], Detector::atlas2010()).expect("good");
        assert_eq!(ids(&rois), [(event, 0, 2)]);
        assert_eq!(rois[0].spacepoints, expected);
    }
    let marked = read(&[file(&dir, "mark.csv", &format!("\u{feff}{text}"))], Detector::atlas2010()).expect("good");
    assert_eq!(marked[0].spacepoints, expected);
}

#[test]
fn gzip_is_recognised_whatever_the_name_and_in_several_members() {
    let dir = folder();
    let mut bytes = gzip("x,y,z,layer\n3,4,1,0\n");
    bytes.extend(gzip("5,12,2,1\n"));
    for name in ["a.csv.gz", "b.csv"] {
        let path = dir.path().join(name);
        fs::write(&path, &bytes).expect("written");
        assert_eq!(read(&[path], Detector::atlas2010()).expect("good")[0].spacepoints.len(), 2);
    }
}

#[test]
fn a_flipped_bit_of_a_gzip_trailer_is_an_error() {
    let dir = folder();
    let bytes = gzip("x,y,z,layer\n3,4,1,0\n");
    let trailer = 8 * (bytes.len() - 8)..8 * bytes.len();
    for bit in trailer {
        let path = dir.path().join("a.csv.gz");
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &damaged).expect("written");
        assert!(refused(&path, Detector::atlas2010()).contains("compressed data is damaged"));
    }
}

#[test]
fn acts_files_old_and_new_agree() {
    let dir = folder();
    let path = sample("tt14_mu46/event000000002-spacepoint.csv.gz");
    assert_eq!(io::addressing(&path, &io::ReadOptions::default()).expect("a header"), Addressing::Geometry);
    let new = read(std::slice::from_ref(&path), Detector::generic()).expect("good");
    assert_eq!(ids(&new), [(2, 0, 25_172)]);

    // The same event in ACTS's older format: without geometry ids, the position gives the layer.
    let bytes = flate2::read::MultiGzDecoder::new(fs::File::open(&path).expect("there"));
    let mut text = String::from("measurement_id,sp_type,sp_x,sp_y,sp_z,sp_radius,sp_covr,sp_covz\n");
    for row in csv::Reader::from_reader(bytes).records() {
        let row = row.expect("good");
        text.push_str(&format!("{},0,{},{},{},0,0,0\n", &row[0], &row[4], &row[5], &row[6]));
    }
    let old = file(&dir, "event000000002-spacepoint.csv", &text);
    assert_eq!(io::addressing(&old, &io::ReadOptions::default()).expect("a header"), Addressing::Geometry);
    assert_eq!(read(&[old], Detector::generic()).expect("good"), new);
}

#[test]
fn acts_ids_are_64_bits_and_time_may_be_nan() {
    let dir = folder();
    let text = format!(
        "measurement_id_1,measurement_id_2,geometry_id_1,geometry_id_2,x,y,z,t,var_r,var_z\n\
         0,18446744073709551615,{},0,-55.8,-15.7,-1498,nan,0.0002,0\n",
        (7u64 << 56) | (2 << 36) | (15 << 8)
    );
    let rois = read(&[file(&dir, "event000000009-spacepoint.csv", &text)], Detector::generic()).expect("good");
    assert_eq!(ids(&rois), [(9, 0, 1)]);
    assert_eq!(rois[0].spacepoints[0].layer, 16);
}

#[test]
fn an_acts_file_without_rows_is_an_empty_event() {
    let dir = folder();
    let path = file(&dir, "event000000003-spacepoint.csv", "geometry_id_1,x,y,z\n");
    assert_eq!(ids(&read(&[path], Detector::generic()).expect("good")), [(3, 0, 0)]);
}

#[test]
fn a_folder_is_its_files_of_spacepoints_by_name() {
    let dir = folder();
    for name in ["b.csv", "event1-spacepoint.csv", "a.csv"] {
        file(&dir, name, "event_id,x,y,z,layer\n0,1,1,1,0\n");
    }
    for name in ["truth_vertices.csv", "rois.csv", "x-rois.csv", "notes.txt", "particles.csv"] {
        file(&dir, name, "event,vz_mm\n1,2\n");
    }
    let inputs = io::inputs(&[dir.path().to_owned()]).expect("good");
    assert_eq!(inputs.files, ["a.csv", "b.csv", "event1-spacepoint.csv"].map(|name| dir.path().join(name)));
    assert_eq!(inputs.skipped, ["notes.txt", "particles.csv"].map(|name| dir.path().join(name)));

    let error = io::inputs(&[dir.path().join("gone")]).expect_err("gone").to_string();
    assert!(error.contains("gone: ") && error.contains("os error"), "{error}");
    let empty = folder();
    let error = io::inputs(&[empty.path().to_owned()]).expect_err("empty").to_string();
    assert!(error.contains("no `*spacepoint*.csv[.gz]`"), "{error}");
}

#[test]
fn the_same_roi_in_two_files_is_an_error() {
    let dir = folder();
    let text = "event_id,x,y,z,layer\n5,1,1,1,0\n";
    let (a, b) = (file(&dir, "a.csv", text), file(&dir, "b.csv", text));
    let mut reader = SpacepointReader::new(vec![a, b], Detector::atlas2010(), None);
    assert!(reader.next().expect("the first file").is_ok());
    let error = reader.next().expect("the second").expect_err("twice").to_string();
    assert!(error.contains("b.csv: event 5, RoI 0 was read from") && error.contains("a.csv already"), "{error}");
    assert!(reader.next().is_none(), "ends after an error");
}

#[test]
fn bad_own_files_say_where_and_what() {
    let dir = folder();
    for (text, expected) in [
        ("", ": the file is empty"),
        ("\n\n", ": the file is empty"),
        ("x,y,z,layer\n", ": there is a header and no spacepoint below it"),
        ("x,y,z\n1,2,3\n", ", row 1: missing column `layer`; the header has `x`, `y`, `z`; expected: `x,y,z,layer` or"),
        ("rho,z,layer\n", ", row 1: missing column `phi`"),
        ("a,b\n", ", row 1: missing columns `"),
        ("x;y;z;layer\n1;2;3;0\n", "the header is separated by `;`, and commas are expected"),
        ("x,y,z,layer,x\n", ", row 1: the header names column `x` twice"),
        ("x,y,z,layer\n1,2,3,0\n1,oops,3,0\n", ", row 3, column y: `oops` is not a number"),
        ("x,y,z,layer\r\n1,2,3,0\r\n\r\n1,2,nan,0\r\n", ", row 4, column z: `nan` is not finite"),
        ("x,y,z,layer\n\n\n1,2,inf,0", ", row 4, column z: `inf` is not finite"),
        ("x,y,z,layer\n1,2,,0\n", ", row 2, column z: is empty; a number is expected"),
        (
            "x,y,z,layer\n1,2,3,19\n",
            ", row 2, column layer: layer 19 is not one of detector `atlas2010`, which has layers 0 to 18",
        ),
        ("x,y,z,layer\n1,2,3,-1\n", ", row 2, column layer: `-1` is not a whole number"),
        ("x,y,z,layer\n1,2,3,1.5\n", ", row 2, column layer: `1.5` is not a whole number"),
        ("event_id,x,y,z,layer\n-3,1,2,3,0\n", ", row 2, column event_id: `-3` is not a whole number"),
        ("roi_id,x,y,z,layer\n-3,1,2,3,0\n", ", row 2, column roi_id: `-3` is not a whole number"),
        ("x,y,z,layer\n0,0,3,0\n", ", row 2, column x: rho, the distance from the z axis, is 0 mm"),
        ("x,y,z,layer\n1e300,1,3,0\n", ", row 2, column x: rho, the distance from the z axis, is inf mm"),
        ("rho,phi,z,layer\n-1,0,3,0\n", ", row 2, column rho: rho is -1 mm; it must be above 0"),
        ("rho,phi,z,layer\n0,0,3,0\n", ", row 2, column rho: rho is 0 mm"),
        ("x,y,z,layer\n1,2,3,0\n1,2,3\n", ", row 3: the row has 3 fields, the header has 4"),
        ("x,y,z,layer\n1,2,3,0\n1,2,3,0,7\n", ", row 3: the row has 5 fields, the header has 4"),
        ("x,y,z,layer\n1,2,3,0,\n", ", row 2: the row has 5 fields, the header has 4"),
        ("x,y,z,layer\n1,2,3,256\n", ", row 2, column layer: layer 256 is not one of detector `atlas2010`"),
        ("x,y,z,layer\n1,2,3,4294967296\n", ", row 2, column layer: layer 4294967296 is not one of detector"),
        ("x,y,z,volume_id,layer_id\n1,2,3,4294967304,2\n", "4294967304 is not the number of a layer"),
        ("x,y,z,volume_id,layer_id\n1,2,3,8,4294967298\n", "4294967298 is not the number of a layer"),
        (
            "event_id,x,y,z,layer\n18446744073709551616,1,2,3,0\n",
            ", row 2, column event_id: `18446744073709551616` is not a whole number from 0 to 2^64 - 1",
        ),
        ("roi_id,x,y,z,layer\n99999999999999999999,1,2,3,0\n", ", row 2, column roi_id: `99999999999999999999` is not"),
    ] {
        let error = refused(&file(&dir, "bad.csv", text), Detector::atlas2010());
        assert!(error.contains(expected), "{text:?}: {error}");
        assert!(!expected.starts_with([',', ':']) || error.starts_with(expected), "{text:?}: {error}");
    }
    fs::write(dir.path().join("bad.csv"), b"x,y,z,layer\n1,2,\xff\xfe,0\n").expect("written");
    let error = refused(&dir.path().join("bad.csv"), Detector::atlas2010());
    assert_eq!(error, ", row 2, column z: is not text in UTF-8");
}

/// Ids have 64 bits, and the largest of them has 20 digits.
#[test]
fn ids_up_to_the_largest_are_read() {
    let dir = folder();
    let text = "event_id,roi_id,x,y,z,layer\n18446744073709551615,9999999999999999999,1,2,3,0\n\
                10000000000000000000,00000000000000000000007,1,2,3,18\n";
    let rois = read(&[file(&dir, "ids.csv", text)], Detector::atlas2010()).expect("good");
    assert_eq!(ids(&rois), [(u64::MAX, 9_999_999_999_999_999_999, 1), (10_000_000_000_000_000_000, 7, 1)]);
    assert_eq!(rois[1].spacepoints[0].layer, 18);
}

/// The layer of a geometry id has 12 bits: volume 8 of the generic detector has a layer 2, and none
/// of 258.
#[test]
fn a_layer_beyond_those_of_a_volume_is_none() {
    let dir = folder();
    let text = format!("geometry_id_1,x,y,z\n{},30,1,2\n", (8_u64 << 56) | (258 << 36));
    let error = refused(&file(&dir, "event1-spacepoint.csv", &text), Detector::generic());
    assert!(error.contains("(8, 258): 1"), "{error}");
}

#[test]
fn layers_that_the_detector_lacks_are_all_named() {
    let dir = folder();
    let id = |volume: u64, layer: u64| (volume << 56) | (layer << 36);
    let mut text = String::from("geometry_id_1,x,y,z\n");
    for (volume, layer) in [(8, 2), (40, 2), (41, 3), (40, 2)] {
        text.push_str(&format!("{},30,1,2\n", id(volume, layer)));
    }
    let error = refused(&file(&dir, "event1-spacepoint.csv", &text), Detector::generic());
    assert_eq!(
        error,
        ", row 3, column geometry_id_1: 3 spacepoints lie on 2 (volume, layer) that detector `generic` does not have, \
         this one the first (its volumes are 7, 8, 9, 12, 13, 14, 16, 17, 18); (volume, layer) and spacepoints: \
         (40, 2): 2, (41, 3): 1"
    );
    let path = file(&dir, "event2-spacepoint.csv", "sp_x,sp_y,sp_z\n32,0,5\n52,0,5\n");
    let error = refused(&path, Detector::generic());
    assert!(
        error.starts_with(", row 3, column sp_x: 1 spacepoint lies further than 10 mm from every layer"),
        "{error}"
    );
}

#[test]
fn damaged_gzip_and_missing_files() {
    let dir = folder();
    let rows = (0..5000).map(|i| format!("{},{},{},0\n", i + 1, i * 7 % 13, i * 31 % 101)).collect::<String>();
    let whole = gzip(&format!("x,y,z,layer\n{rows}"));
    let path = dir.path().join("cut.csv.gz");
    fs::write(&path, &whole[..whole.len() / 2]).expect("written");
    assert_eq!(refused(&path, Detector::atlas2010()), ": compressed data ends too early: the file is cut off");
    let mut damaged = whole.clone();
    let end = damaged.len() - 6;
    damaged[end] ^= 0xff; // in the checksum
    fs::write(&path, damaged).expect("written");
    assert!(refused(&path, Detector::atlas2010()).starts_with(": compressed data is damaged"));
    assert!(refused(&dir.path().join("none.csv"), Detector::atlas2010()).contains("os error"));
    assert!(refused(dir.path(), Detector::atlas2010()).contains("is a folder"));
}

const WITH_ROIS: &str = "event_id,roi_id,x,y,z,layer\n1,0,10,0,0,0\n1,1,0,10,0,0\n2,0,10,1,0,0\n";

#[test]
fn roi_lines_go_to_the_rois_of_the_input() {
    let dir = folder();
    let spacepoints = file(&dir, "s.csv", WITH_ROIS);
    let table = file(
        &dir,
        "rois.csv",
        "phi_max,phi_min,roi_id,event_id,eta,z_min,z_max\n0.5,-0.5,0,1,1.25,-10,20\n-3,3,0,2,,,\n0.5,0.1,3,2,0,,\n1,0,0,9,0,,\n",
    );
    let table = RoiTable::read(&table).expect("good");
    let mut reader = SpacepointReader::new(vec![spacepoints], Detector::atlas2010(), Some(table));
    let rois: Vec<Roi> = reader.by_ref().collect::<Result<_, _>>().expect("good");
    assert_eq!(ids(&rois), [(1, 0, 1), (1, 1, 1), (2, 0, 1), (2, 3, 0), (9, 0, 0)]);
    assert_eq!(rois[0].descriptor.window, Some(PhiWindow::new(-0.5, 0.5).expect("a window")));
    assert_eq!((rois[0].descriptor.eta, rois[0].descriptor.z_range), (1.25, Some((-10.0, 20.0))));
    assert_eq!(rois[1].descriptor.window, None, "no line: the default window");
    assert_eq!((rois[2].descriptor.eta, rois[2].descriptor.z_range), (0.0, None));
    let warnings = reader.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("1 RoI of the input has no line in"), "{warnings:?}");
    assert!(warnings[1].contains("of events that the input does not have: status empty"), "{warnings:?}");
}

#[test]
fn roi_lines_select_from_events_without_rois() {
    let dir = folder();
    let spacepoints = file(&dir, "s.csv", "event_id,x,y,z,layer\n1,10,0,0,0\n1,0,10,0,0\n2,10,1,0,0\n");
    let table = file(&dir, "rois.csv", "event_id,roi_id,phi_min,phi_max\n1,4,-0.5,0.5\n1,2,1,2\n");
    let table = RoiTable::read(&table).expect("good");
    let mut reader = SpacepointReader::new(vec![spacepoints], Detector::atlas2010(), Some(table));
    let rois: Vec<Roi> = reader.by_ref().collect::<Result<_, _>>().expect("good");
    assert_eq!(ids(&rois), [(1, 4, 2), (1, 2, 2)]);
    assert_eq!(rois[0].spacepoints, rois[1].spacepoints);
    let warnings = reader.warnings();
    assert!(warnings.len() == 1 && warnings[0].starts_with("1 event of the input has no RoI in"), "{warnings:?}");
}

#[test]
fn bad_roi_files_say_where_and_what() {
    let dir = folder();
    let header = "event_id,roi_id,phi_min,phi_max,eta,z_min,z_max\n";
    for (text, expected) in [
        ("", ": the file is empty"),
        (header, ": there is a header and no RoI below it"),
        (
            "event_id,roi_id,phi_min\n",
            ", row 1: missing column `phi_max`; the header has `event_id`, `roi_id`, `phi_min`",
        ),
        ("event_id,roi_id,phi_min,phi_max,z_min\n", ", row 1: missing column `z_max`"),
        ("event_id,roi_id,phi_min,phi_max\n0,0,1,1\n", ", row 2, column phi_min: phi window [1, 1] rad has zero width"),
        (
            "event_id,roi_id,phi_min,phi_max\n0,0,0,90\n",
            ", row 2, column phi_min: phi window [0, 90] rad must have edges within",
        ),
        ("event_id,roi_id,phi_min,phi_max\n0,0,0,x\n", ", row 2, column phi_max: `x` is not a number"),
        (&format!("{header}0,0,0,1,nan,,\n"), ", row 2, column eta: `nan` is not finite"),
        (&format!("{header}0,0,0,1,90,,\n"), ", row 2, column eta: 90 must lie in [-20, 20]"),
        (&format!("{header}0,0,0,1,0,5,\n"), ", row 2, column z_max: is empty"),
        (&format!("{header}0,0,0,1,0,5,5\n"), ", row 2, column z_max: 5 mm must be above z_min, which is 5 mm"),
        (&format!("{header}0,0,0,1,0,,\n0,0,2,3,0,,\n"), ", row 3, column roi_id: event 0, RoI 0 is on row 2 already"),
    ] {
        let path = file(&dir, "rois.csv", text);
        let error = RoiTable::read(&path).expect_err(text).to_string();
        assert!(error.starts_with(&format!("{}{expected}", path.display())), "{text:?}: {error}");
    }
    let path = file(&dir, "rois.csv", &format!("{header}0,0,0,1,0,-1e9,1e9\n"));
    let error = RoiTable::read(&path)
        .expect("numbers")
        .validate(&Config::preset(Preset::Default))
        .expect_err("too many bins")
        .to_string();
    assert!(error.contains(", row 2: option `z_bin_mm`"), "{error}");
}

#[test]
fn truth_is_read_by_header() {
    let truth = TruthTable::read(&sample("zee7_mu2/truth_vertices.csv")).expect("good");
    let id = |event_id, roi_id| RoiId { event_id, roi_id };
    assert_eq!(truth.hard_scatter_z(id(1, 0)), Some(-27.191313));
    assert_eq!(truth.hard_scatter_z(id(1, 7)), Some(-27.191313), "of every RoI of the event");
    assert_eq!(truth.hard_scatter_z(id(20, 0)), None, "only the sample's events");
    assert!(truth.vertices(id(0, 0)).len() > 1 && truth.has_pile_up());
    let primary = truth.vertices(id(0, 0)).iter().find(|vertex| vertex.is_hard_scatter).expect("a primary");
    assert_eq!((primary.tracks, primary.sum_pt2_gev2, primary.leading_pt_gev), (Some(10), Some(3150.681), None));
    assert!(truth.knows(|vertex| vertex.tracks) && !truth.knows(|vertex| vertex.leading_pt_gev));
    let dir = folder();
    for (text, expected) in [
        ("event,vz_mm\n", "missing column `is_hard_scatter`"),
        ("event,vz_mm,is_hard_scatter\n", "no vertex"),
        (
            "event,vz_mm,is_hard_scatter\n0,1,1\n0,2,1\n",
            ", row 3, column is_hard_scatter: event 0 has a hard scatter already",
        ),
        (
            "event,vz_mm,is_hard_scatter,n_charged_pt500_eta25\n0,1,1,\n0,2,0,few\n",
            ", row 3, column n_charged_pt500_eta25: `few` is not a whole number",
        ),
        ("event,vz_mm,is_hard_scatter\n0,1,2\n", ", row 2, column is_hard_scatter: 2 must be 0 or 1"),
        ("event_id,roi_id\n", ", row 1: missing column `z`; the header has `event_id`, `roi_id`; expected: `event`"),
        ("event_id,roi_id,z\n", "no vertex"),
        ("event_id,roi_id,z\n0,0,far\n", ", row 2, column z: `far` is not a number"),
        ("event_id,roi_id,z\n0,-1,1\n", ", row 2, column roi_id: `-1` is not a whole number"),
        (
            "event_id,roi_id,z\n0,1,1\n0,2,1\n0,1,3\n",
            ", row 4, column roi_id: event 0, RoI 1 has a vertex already; one row each is expected",
        ),
        ("z,event_id\n1,0\n2,0\n", ", row 3, column event_id: event 0 has a vertex already"),
    ] {
        let error = TruthTable::read(&file(&dir, "t.csv", text)).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn truth_of_rois_goes_before_that_of_their_event() {
    let dir = folder();
    let id = |event_id, roi_id| RoiId { event_id, roi_id };
    let rois = TruthTable::read(&file(&dir, "t.csv", "z, event_id,roi_id\n1.5,3,0\n-2,3,1\n9,3,\n")).expect("good");
    assert_eq!([0, 1, 2].map(|roi| rois.hard_scatter_z(id(3, roi))), [Some(1.5), Some(-2.0), Some(9.0)]);
    assert!(rois.vertices(id(4, 0)).is_empty() && !rois.has_pile_up());
    assert_eq!(rois.vertices(id(3, 1)).len(), 1);
    let events = TruthTable::read(&file(&dir, "t.csv", "event_id,z\n3,1.5\n4,-2\n")).expect("good");
    assert_eq!(events.hard_scatter_z(id(3, 8)), Some(1.5));
}

#[test]
fn the_sample_and_its_rois_are_whole() {
    let inputs = io::inputs(&[sample("zee7_mu2")]).expect("there");
    assert_eq!((inputs.files.len(), inputs.skipped.len()), (20, 0));
    let rois = read(&inputs.files, Detector::generic()).expect("good");
    assert_eq!(rois.len(), 20);
    let table = RoiTable::read(&sample("rois/rois.csv")).expect("good");
    assert_eq!(table.descriptors().len(), 12);
    for roi in read(&[sample("rois/spacepoints.csv")], Detector::generic()).expect("good") {
        assert!(table.get(roi.descriptor.id).is_some());
    }
    assert_eq!(table.of_event(2).map(|d| d.id).collect::<Vec<_>>(), [0, 1].map(|roi_id| RoiId { event_id: 2, roi_id }));
}

#[test]
fn shared_samples_are_read_whole() {
    let Some(shared) = shared("data") else { return };
    let low = read(&[shared.join("conformance/low.csv")], Detector::atlas2010()).expect("good");
    assert_eq!(low.len(), 24);
    let inputs = io::inputs(&[shared.join("acts/tt14_mu46")]).expect("there");
    let rois = read(&inputs.files, Detector::generic()).expect("good");
    assert_eq!(rois.len(), 8);
    assert_eq!(rois[1].spacepoints.len(), 18_733);
    // One of the four files of a TrackML event holds spacepoints. Its particles include no prompt
    // particle of the hard scatter.
    let inputs = io::inputs(&[shared.join("formats/trackml")]).expect("there");
    assert_eq!((inputs.files.len(), inputs.skipped.len()), (1, 0));
    let rois = read(&inputs.files, Detector::generic()).expect("good");
    assert_eq!(ids(&rois), [(1, 0, 5527)]);
    let truth = TruthTable::beside(&inputs.files, &io::ReadOptions::default()).expect("good").expect("there");
    let id = RoiId { event_id: 1, roi_id: 0 };
    assert_eq!((truth.hard_scatter_z(id), truth.vertices(id).len()), (None, 46));
}

#[test]
fn events_are_read_one_by_one() {
    let dir = folder();
    let text =
        "event_id,roi_id,rho,phi,z,layer\n5,0,50,1,1,0\n5,1,50,1,1,0\n5,0,50,1,2,0\n6,0,50,1,1,0\n5,0,50,1,3,0\n";
    let path = file(&dir, "again.csv", text);
    let mut reader = SpacepointReader::new(vec![path.clone()], Detector::atlas2010(), None);
    let good: Vec<Roi> = reader.by_ref().take(3).collect::<Result<_, _>>().expect("three RoIs");
    assert_eq!(ids(&good), [(5, 0, 2), (5, 1, 1), (6, 0, 1)]);
    let error = reader.next().expect("an error").expect_err("refused").to_string();
    assert!(error.contains("event 5, RoI 0 comes again") && error.contains("sort the file by event_id"), "{error}");
    assert!(reader.next().is_none());
    // Sorting by RoI is valid too: no RoI occurs twice.
    let sorted = "event_id,roi_id,rho,phi,z,layer\n5,0,50,1,1,0\n6,0,50,1,1,0\n5,1,50,1,1,0\n";
    let rois = read(&[file(&dir, "sorted.csv", sorted)], Detector::atlas2010()).expect("good");
    assert_eq!(ids(&rois), [(5, 0, 1), (6, 0, 1), (5, 1, 1)]);
}

#[test]
fn trackml_hits_and_particles_of_both_years() {
    let dir = folder();
    let hits = "hit_id,x,y,z,volume_id,layer_id,module_id\n6,-76.5,-11.25,-1502.5,7,2,1\n7,3,32,1.5,8,2,9\n";
    let hits = file(&dir, "event000000021-hits.csv", hits);
    let rois = read(std::slice::from_ref(&hits), Detector::generic()).expect("good");
    assert_eq!(ids(&rois), [(21, 0, 2)]);
    assert_eq!(rois[0].spacepoints[1], Spacepoint::from_xyz(3.0, 32.0, 1.5, 0));
    assert_eq!(io::addressing(&hits, &io::ReadOptions::default()).expect("a header"), Addressing::Geometry);
    assert!(TruthTable::beside(std::slice::from_ref(&hits), &io::ReadOptions::default()).expect("good").is_none());

    let id = |primary: u64, secondary: u64| (primary << 52) | (secondary << 40) | 77;
    let rows =
        [(id(3, 0), 30.0), (id(1, 2), 99.0), (id(1, 0), -12.5), (id(1, 0) + 1, -12.5), (0, 1.0), (id(7, 256), 5.0)];
    let with_type = rows.map(|(id, z)| format!("{id},211,0,0,{z},1,1,1,1,9\n")).concat();
    let without = rows.map(|(id, z)| format!("{id},0,0,{z},1,1,1,1,9\n")).concat();
    for (name, text) in [
        ("event000000021-particles.csv", format!("particle_id,particle_type,vx,vy,vz,px,py,pz,q,nhits\n{with_type}")),
        ("event000000021-particles.csv", format!("particle_id,vx,vy,vz,px,py,pz,q,nhits\n{without}")),
    ] {
        file(&dir, name, &text);
        let truth =
            TruthTable::beside(std::slice::from_ref(&hits), &io::ReadOptions::default()).expect("good").expect("there");
        let of_event = RoiId { event_id: 21, roi_id: 0 };
        assert_eq!(truth.hard_scatter_z(of_event), Some(-12.5));
        assert_eq!(truth.vertices(of_event).len(), 2, "prompt ones only");
    }
    let said =
        refused(&file(&dir, "event000000022-hits.csv", "x,y,z,volume_id,layer_id\n1,2,3,70,2\n"), Detector::generic());
    assert!(said.contains("row 2, column layer_id") && said.contains("(70, 2): 1"), "{said}");
}

/// Returns events with their spacepoints and invalid spacepoints, and the errors, of files read
/// with
/// `OnError::Skip`.
fn skipping(files: &[PathBuf]) -> (Vec<(u64, usize, usize)>, Vec<String>) {
    let options = io::ReadOptions { on_error: io::OnError::Skip, ..io::ReadOptions::default() };
    let reader = SpacepointReader::new(files.to_vec(), Detector::atlas2010(), None).with_options(options);
    read_all(reader)
}

#[test]
fn an_event_that_comes_back_is_invalid_where_it_comes_first() {
    let dir = folder();
    let row = |event: u64| format!("{event},50,1,12,0\n");
    let text = |events: &[u64]| {
        format!("event_id,x,y,z,layer\n{}", events.iter().map(|&event| row(event)).collect::<String>())
    };
    let path = file(&dir, "back.csv", &text(&[1, 1, 2, 1, 3]));
    let (rois, errors) = skipping(&[path]);
    assert_eq!(rois, [(1, 3, 1), (2, 1, 0), (3, 1, 0)]);
    assert!(errors.len() == 1 && errors[0].contains("event 1, RoI 0 comes again"), "{errors:?}");
    // In another file, also where the numbers are those of the names.
    let (first, second) = (file(&dir, "a.csv", &text(&[1, 2])), file(&dir, "b.csv", &text(&[4, 1])));
    let (rois, errors) = skipping(&[first, second]);
    assert_eq!(rois, [(1, 2, 1), (2, 1, 0), (4, 1, 0)]);
    assert!(errors.len() == 1 && errors[0].contains("was read from") && errors[0].contains("a.csv"), "{errors:?}");
    let files = ["x.csv", "y.csv"].map(|name| file(&dir, name, "x,y,z,layer\n50,1,12,0\n"));
    assert_eq!(skipping(&files).0, [(0, 2, 1)]);
    // Other RoIs of an event may be in another file.
    let files = [0, 1]
        .map(|roi| file(&dir, &format!("roi{roi}.csv"), &format!("event_id,roi_id,x,y,z,layer\n1,{roi},50,1,12,0\n")));
    assert_eq!(skipping(&files), (vec![(1, 1, 0), (1, 1, 0)], vec![]));
}
