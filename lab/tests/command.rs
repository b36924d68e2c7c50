//! Tests of the laboratory's command.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use zfinder_testing::on_fast_adapters;

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zfinder-lab")).args(arguments).env("NO_COLOR", "1").output().expect("it starts")
}

#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = lab(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn failed(arguments: &[&str], code: i32, words: &str) {
    let output = lab(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "no `{words}` in:\n{said}");
}

#[track_caller]
fn positive(value: &Value, path: &str) {
    let found = value.pointer(path).and_then(Value::as_f64);
    assert!(found.is_some_and(|number| number > 0.0), "{path}: {found:?} in {value:#}");
}

#[test]
fn soaks_check_every_answer() {
    let soak = |arguments: &[&str]| {
        let arguments = [&["bench", "--soak", "500ms", "--case", "pairs", "--json"], arguments].concat();
        let document: Value = serde_json::from_str(&printed(&arguments)).expect("JSON");
        let soaked = &document["soaked"];
        assert_eq!(soaked.as_array().map(Vec::len), Some(1), "{document:#}");
        for path in ["/batches", "/rois", "/spacepoints", "/vertices", "/identical", "/seconds"] {
            positive(&soaked[0], path);
        }
        assert_eq!(soaked[0]["rois"], soaked[0]["cases"][0][1]);
        soaked[0].clone()
    };
    let cpu = soak(&["--engine", "cpu"]);
    assert_eq!((&cpu["identical"], &cpu["rounded"]), (&cpu["rois"], &0.into()));
    positive(&cpu, "/against_reference");
    for adapter in on_fast_adapters() {
        let gpu = soak(&["--engine", "gpu", "--adapter", &adapter.index.to_string(), "--seed", "5"]);
        assert_eq!(gpu["adapters"][0], adapter.index);
    }
}

#[test]
fn the_staircase_is_measured_checked_and_drawn() {
    let Some(adapter) = on_fast_adapters().into_iter().next_back() else { return };
    let (folder, index) = (tempfile::tempdir().expect("a folder"), adapter.index.to_string());
    let picture = folder.path().join("stairs.png").display().to_string();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (points, windows) = (path("points.csv"), path("rois.csv"));
    // Few slices: a simulated RoI has 517, and 28 steps of it take a software adapter long.
    let track = |phi: f64| [50.5, 88.5, 122.5].map(|rho| (rho, phi, 12.0 + (phi - 0.3) * rho));
    let rows = (0..12).flat_map(|i| track(0.1 + 0.01 * f64::from(i))).enumerate();
    let rows: String = rows.map(|(i, (rho, phi, z))| format!("{rho},{phi},{z},{}\n", i % 3)).collect();
    fs::write(&points, format!("rho,phi,z,layer\n{rows}")).expect("spacepoints");
    fs::write(&windows, "event_id,roi_id,phi_min,phi_max\n0,0,0.1,0.2\n").expect("windows");
    let bench = ["bench", "--staircase", "--adapter", &index, "--input", &points, "--rois", &windows, "--rounds", "1"];
    let document = printed(&[&bench[..], &["--limit", "1", "--json", "--plot", &picture]].concat());
    let report: Value = serde_json::from_str(&document).expect("JSON");
    let sample = &report["samples"][0];
    let missing = sample["not_measured"].as_array().map_or(0, Vec::len);
    let steps = sample["steps"].as_array().expect("steps");
    let sides = sample["variations"].as_array().expect("variations");
    assert_eq!((steps.len(), sides.len() + missing), (14, 14), "{document}");
    for step in steps.iter().chain(sides) {
        assert!(step["with_copies_us_per_roi"].as_f64().is_some_and(|time| time > 0.0), "{step}");
        assert!(step["entries_checked"].as_u64().is_some_and(|entries| entries > 0), "{step}");
    }
    assert_eq!(sample["library"].as_array().map(Vec::len), Some(2));
    assert!(fs::read(&picture).expect("the picture").starts_with(b"\x89PNG"));
    failed(&["bench", "--staircase", "--case", "pairs"], 2, "cannot be used with");
    failed(&["bench", "--staircase", "--adapter", &index, "--plot", "stairs.gif"], 2, ".png, .svg or .pdf");
}

#[test]
fn errors_against_the_accurate_extrapolation() {
    let Some(adapter) = on_fast_adapters().into_iter().next_back() else { return };
    let bench = ["bench", "--against", "accurate", "--sample", "lowlum", "--limit", "40", "--json", "--adapter"];
    let index = adapter.index.to_string();
    let rms = |arguments: &[&str]| -> Vec<f64> {
        let document = printed(&[&bench[..], &[&index], arguments].concat());
        let report: Value = serde_json::from_str(&document).expect("JSON");
        let engines = report["samples"][0]["engines"].as_array().expect("engines").clone();
        engines.iter().map(|engine| engine["rms_mm"].as_f64().expect("a number")).collect()
    };
    let (plain, offset) = (rms(&[]), rms(&["--half-bin-offset"]));
    assert!(plain.len() >= 3, "the CPU in f64 and f32, the GPU in f32 at least: {plain:?}");
    assert!(plain.iter().all(|rms| (0.001..0.1).contains(rms)), "{plain:?}");
    // Shifted bins of 0.4 mm: 0.4 mm / sqrt(12).
    assert!(offset.iter().all(|rms| (0.08..0.16).contains(rms)), "{offset:?}");
    failed(&["bench", "--half-bin-offset"], 2, "--against");
}

#[test]
fn buses_are_measured() {
    for adapter in on_fast_adapters() {
        let index = adapter.index.to_string();
        let document = printed(&["bench", "--bus", "--adapter", &index, "--rounds", "1", "--json"]);
        let buses: Value = serde_json::from_str(&document).expect("JSON");
        assert_eq!(buses[0]["name"], adapter.name);
        positive(&buses, "/0/bus_gb_per_s");
    }
    failed(&["bench", "--bus", "--case", "pairs"], 2, "cannot be used with");
}

#[test]
fn other_measurements_are_those_of_the_product() {
    let arguments = "bench --sample lowlum --case pairs --engine cpu --limit 2 --rounds 1 --seconds 0.01 --json";
    let document: Value = serde_json::from_str(&printed(&arguments.split(' ').collect::<Vec<_>>())).expect("JSON");
    positive(&document, "/samples/0/results/0/streamed/roi_per_s");
    failed(&["bench", "--soak", "10m", "--quick"], 2, "cannot be used with");
}
