//! Tests of the thesis's design and its steps.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use zfinder_testing::on_fast_adapters;

fn zfinder(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zfinder")).args(arguments).env("NO_COLOR", "1").output().expect("it starts")
}

#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = zfinder(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn failed(arguments: &[&str], code: i32, words: &str) {
    let output = zfinder(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "no `{words}` in:\n{said}");
}

/// Returns z of the vertices in the CSV of `find`.
fn vertices(csv: &str) -> Vec<f64> {
    csv.lines().skip(1).filter_map(|line| line.split(',').nth(3)?.parse().ok()).collect()
}

#[test]
fn the_design_has_the_answers_of_the_cpu_engine() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let (points, rois) = (format!("{root}/data/rois/spacepoints.csv"), format!("{root}/data/rois/rois.csv"));
    let find = ["find", &points, "--detector", "generic", "--rois", &rois, "--format", "csv"];
    let expected = vertices(&printed(&[&find[..], &["--preset", "thesis", "--engine", "cpu"]].concat()));
    assert!(!expected.is_empty());
    for adapter in on_fast_adapters() {
        let adapter = adapter.index.to_string();
        let found = vertices(&printed(&[&find[..], &["--design", "thesis", "--adapter", &adapter]].concat()));
        assert_eq!(found.len(), expected.len());
        let near = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 0.01);
        assert!(near, "{found:?} {expected:?}");
    }
    failed(&[&find[..], &["--design", "thesis", "--engine", "cpu"]].concat(), 2, "--design thesis");
    failed(&["bench", "--design", "thesis", "--engine", "cpu"], 2, "--design thesis");
}

#[test]
fn the_staircase_is_measured_checked_and_drawn() {
    let Some(adapter) = on_fast_adapters().into_iter().next_back() else { return };
    let (folder, index) = (tempfile::tempdir().expect("a folder"), adapter.index.to_string());
    let picture = folder.path().join("stairs.png").display().to_string();
    let bench = ["bench", "--staircase", "--adapter", &index, "--sample", "lowlum", "--limit", "1", "--rounds", "1"];
    let document = printed(&[&bench[..], &["--json", "--plot", &picture]].concat());
    let report: Value = serde_json::from_str(&document).expect("JSON");
    let sample = &report["samples"][0];
    let missing = sample["not_measured"].as_array().map_or(0, Vec::len);
    let steps = sample["steps"].as_array().expect("steps");
    assert_eq!(steps.len() + missing, 10, "{document}");
    for step in steps {
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
