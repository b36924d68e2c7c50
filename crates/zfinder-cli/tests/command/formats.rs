//! Tests that the same events give the same answers in every format, from one command to the next.

use crate::common::{failed, folder, sample, stdout, succeeded, zfinder, zfinder_with};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use zfinder_testing::shared;

fn find(arguments: &[&str]) -> String {
    succeeded(zfinder(&[&["find", "--engine", "cpu", "-q", "--format", "csv"], arguments].concat()))
}

/// Simulated RoIs written as CSV, Parquet and ROOT, with their windows, give the same bytes of
/// vertices.
#[test]
fn a_sample_is_the_same_in_every_format() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let rois = at("rois.csv");
    let simulate = |name: &str| {
        let told = ["simulate", "-q", "--rois", "60", "--seed", "4", "-o", &at(name), "--rois-file", &rois];
        succeeded(zfinder(&told));
        find(&[&at(name), "--rois", &rois, "--preset", "default", "--pair-weight", "any", "--peaks", "3"])
    };
    let csv = simulate("sample.csv");
    assert!(csv.lines().count() > 100, "{csv:.300}");
    assert_eq!(simulate("sample.parquet"), csv);
    #[cfg(feature = "root")]
    assert_eq!(simulate("sample.root"), csv);
}

/// The specimens: ACTS's CSV, ColliderML's Parquet and uproot's TTree of the same events, with the
/// truth that each brings.
#[test]
fn the_specimens_are_the_same_events() {
    let Some(shared) = shared("data") else { return };
    let path = |below: &str| shared.join(below).display().to_string();
    let by_default = ["--preset", "default"];
    let parquet = find(&[&by_default[..], &[&path("formats/colliderml/zee7_mu2_tracker_hits.parquet")]].concat());
    let events: Vec<String> =
        (0..50).map(|event| path(&format!("acts/zee7_mu2/event{event:09}-spacepoint.csv.gz"))).collect();
    let csv = find(&by_default.into_iter().chain(events.iter().map(String::as_str)).collect::<Vec<_>>());
    assert_eq!(csv, parquet);
    #[cfg(feature = "root")]
    {
        let root = path("formats/root/acts_zee7_mu2_20ev_uproot_jagged.root");
        let of_20: String = csv.lines().take(21).map(|line| format!("{line}\n")).collect();
        assert_eq!(find(&["--preset", "default", &root]), of_20);
        let table = succeeded(zfinder(&["find", "--engine", "cpu", "-q", &root]));
        assert!(
            table.contains("20 RoIs with truth: first vertex within 1 mm of the true hard scatter in 20"),
            "{table}"
        );
        let ntuple = path("formats/root/acts_zee7_mu2_20ev_rntuple.root");
        assert_eq!(succeeded(zfinder(&["find", "--engine", "cpu", "-q", &ntuple])), table);
    }
    // ColliderML's particles are in a file next to its hits.
    let hits = path("formats/colliderml/tt14_mu46_tracker_hits.parquet");
    let table = succeeded(zfinder(&["find", "--engine", "cpu", "-q", "--preset", "hard-scatter", &hits]));
    assert!(table.contains("5 RoIs with truth: first vertex within 1 mm of the true hard scatter in 5"), "{table}");
}

/// Answers in Parquet equal those in CSV.
#[test]
fn answers_as_parquet() {
    let dir = folder();
    let file = dir.path().join("vertices.parquet");
    let name = file.display().to_string();
    let arguments = ["--peaks", "2", &sample("zee7_mu2")];
    let csv = find(&arguments);
    succeeded(zfinder(&[&["find", "--engine", "cpu", "-q", "-o", &name], &arguments[..]].concat()));
    let written = SerializedFileReader::new(std::fs::File::open(&file).expect("written")).expect("a Parquet file");
    let rows: Vec<Row> = written.get_row_iter(None).expect("rows").collect::<Result<_, _>>().expect("rows");
    let names: Vec<&str> = rows[0].get_column_iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.join(","), csv.lines().next().expect("a header"));
    let z: Vec<f64> = rows.iter().filter_map(|row| row.get_double(3).ok()).collect();
    let expected: Vec<f64> =
        csv.lines().skip(1).filter_map(|row| row.split(',').nth(3).and_then(|z| z.parse().ok())).collect();
    assert_eq!(z, expected);
    assert!(z.len() > 20);
}

/// Formats that are read from their end cannot come through a pipe; the error says what to do.
#[test]
fn parquet_and_root_are_no_streams() {
    let dir = folder();
    let file = dir.path().join("sample.parquet").display().to_string();
    succeeded(zfinder(&["simulate", "-q", "--rois", "3", "-o", &file]));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_zfinder"))
        .args(["find", "-q", "-"])
        .stdin(std::fs::File::open(&file).expect("written"))
        .output()
        .expect("it starts");
    failed(&output, 1, &["standard input", "save this in a file"]);
    assert!(stdout(&output).is_empty());
    #[cfg(feature = "root")]
    failed(&zfinder(&["simulate", "-q", "--rois", "3", "--format", "root"]), 2, &["name the file with -o"]);
}

/// A sample of ColliderML is found by its name in the folder of the environment variable.
#[test]
fn a_sample_by_its_name() {
    let dir = folder();
    let hits = dir.path().join("CERN__R1/t_pu9_tracker_hits/data/t_pu9_tracker_hits");
    std::fs::create_dir_all(&hits).expect("made");
    let file = hits.join("train-0.parquet").display().to_string();
    succeeded(zfinder(&["simulate", "-q", "--rois", "5", "--seed", "4", "-o", &file]));
    let by_name = |name: &str| {
        let arguments = ["find", "--engine", "cpu", "-q", "--format", "csv", name];
        zfinder_with(&arguments, &[("COLLIDERML_DATA_DIR", dir.path())])
    };
    assert_eq!(succeeded(by_name("colliderml:t_pu9")), find(&[&file]));
    failed(&by_name("colliderml:zee_pu9"), 1, &["colliderml:zee_pu9", "COLLIDERML_DATA_DIR", "t_pu9_tracker_hits"]);
}
