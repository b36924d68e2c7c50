//! Tests of the thesis's design.

use std::process::{Command, Output};

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
