//! Tests of messages of failures: their first word, and control characters that a terminal must not
//! receive.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{failed, folder, sample, stderr, succeeded, written, zfinder};

#[test]
fn every_failure_begins_with_error() {
    let dir = folder();
    let bad = written(&dir, "bad.csv", "x,y,z,layer\n1,2,\u{1b}[2J,0\n");
    let find = ["find", "-q", "--engine", "reference"];
    for (arguments, code) in
        [(&[&bad[..]][..], 1), (&["no/such/file"], 1), (&[&bad, "--peaks", "0"], 2), (&["--no"], 2)]
    {
        let output = zfinder(&[&find, arguments].concat());
        failed(&output, code, &[]);
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
    failed(&zfinder(&[&find[..], &[&bad, "-o", "out.foo"]].concat()), 2, &[".csv, .json, .jsonl, .txt", ".parquet"]);
    let output = zfinder(&[&find[..], &[&bad]].concat());
    failed(&output, 1, &["row 2, column z", "\\u{1b}[2J"]);
    assert!(!stderr(&output).contains('\u{1b}'), "{:?}", stderr(&output));
}

#[test]
fn more_threads_than_a_system_has_are_refused() {
    for command in [&["find", "--engine", "cpu", "x.csv"][..], &["simulate"], &["bench", "--engine", "cpu"]] {
        failed(&zfinder(&[command, &["--threads", "100000"]].concat()), 2, &["is the most: 8 for each core"]);
    }
}

/// Mesa's layer complains through libwayland during each enumeration of adapters.
#[test]
fn drivers_do_not_speak_to_the_user() {
    let said = |value: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zfinder"));
        command.args(["find", "-q", "--format", "csv", &sample("rois/spacepoints.csv"), "--detector", "generic"]);
        command.env_remove("XDG_RUNTIME_DIR").envs(value.map(|value| ("XDG_RUNTIME_DIR", value)));
        let output = command.output().expect("it starts");
        let said = stderr(&output);
        succeeded(output);
        said
    };
    for value in [None, Some(""), Some("relative"), Some("/nowhere")] {
        assert_eq!(said(value), "", "{value:?}");
    }
}

#[test]
fn a_detector_that_does_not_fit_is_told() {
    let points = sample("rois/spacepoints.csv");
    let find = |detector: &str| zfinder(&["find", "-q", "--engine", "reference", "--detector", detector, &points]);
    failed(&find("odd"), 0, &["mm from their layers of detector `odd`; they fit detector `generic`; --detector NAME"]);
    failed(&find("generic"), 0, &[]);
    assert_eq!(stderr(&find("generic")), "");
    let dir = folder();
    let atlas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/detectors/generic.toml");
    let moved = fs::read_to_string(atlas).expect("there").replace("name = \"generic\"", "name = \"mine\"");
    let moved = moved.replace("radius_mm = ", "radius_mm = 9");
    failed(&find(&written(&dir, "mine.toml", &moved)), 0, &["detector `mine`; they fit detector `generic`"]);
}

#[test]
fn truth_that_was_found_is_named() {
    let find =
        |more: &[&str]| stderr(&zfinder(&[&["find", "--engine", "reference", &sample("zee7_mu2")], more].concat()));
    let truth = sample("zee7_mu2/truth_vertices.csv");
    let told = format!("truth found next to the input: {truth}\n");
    assert!(find(&[]).contains(&told), "{}", find(&[]));
    assert_eq!(find(&["-q"]), "");
    assert!(!find(&["--truth", &truth]).contains("found"));
}
