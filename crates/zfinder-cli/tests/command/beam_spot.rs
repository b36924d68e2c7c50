//! `--beam-spot auto`: the beam spot of the first events is found, reported and used for all
//! events.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::{failed, folder, stderr, stdout, succeeded, written, zfinder};
use serde_json::Value;

const BEAM: [f64; 2] = [0.6, -0.4];

/// Events with truth whose beam lies at [`BEAM`]: the files of spacepoints and of truth.
fn events(dir: &tempfile::TempDir, number: &str) -> [String; 2] {
    let [points, truth] = ["points.csv", "truth.csv"].map(|name| dir.path().join(name).display().to_string());
    let size = ["--rois", number, "--full-scan", "--pile-up", "3"];
    let beam = ["--beam-spot", "0.6,-0.4", "--beam-sigma-x", "0.015", "--beam-sigma-y", "0.015"];
    succeeded(zfinder(&[&["simulate", "-q", "-o", &points, "--truth", &truth], &size[..], &beam].concat()));
    [points, truth]
}

/// Returns the options in the note about the beam spot.
fn options(said: &str) -> Vec<String> {
    let note = said.lines().find(|line| line.starts_with("beam spot: x ")).expect("a note");
    let options = note.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).expect("options");
    options.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_beam_spot_is_found_reported_and_used() {
    let dir = folder();
    let [points, truth] = events(&dir, "60");
    let find = |arguments: &[&str]| {
        let output =
            zfinder(&[&["find", "--engine", "cpu", "--format", "jsonl", "--truth", &truth], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (stdout(&output), stderr(&output))
    };
    let (found, said) = find(&[&points, "--beam-spot", "auto"]);
    assert!(said.contains("60 events, 60 RoIs"), "{said}");
    assert!(!said.contains("warning"), "{said}");
    let provenance: Value = serde_json::from_str(found.lines().next().expect("a line")).expect("JSON");
    for (axis, wanted) in ["x_mm", "y_mm"].into_iter().zip(BEAM) {
        let value = provenance["beam_spot"][axis].as_f64().expect("a number");
        let error = provenance["beam_spot"]["errors"][axis].as_f64().expect("a number");
        assert!((value - wanted).abs() < 5.0 * error && error < 0.01, "{axis}: {value} +- {error}");
    }

    // The options of the note give the same answers, and the same configuration.
    let given = options(&said);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let (again, _) = find(&[&[points.as_str()], &given[..]].concat());
    let mut first: Value = provenance.clone();
    first.as_object_mut().expect("an object").remove("beam_spot");
    assert_eq!(serde_json::from_str::<Value>(again.lines().next().expect("a line")).expect("JSON"), first);
    assert!(found.lines().skip(1).eq(again.lines().skip(1)));

    // The answers are better than about the z axis, which gives a warning.
    let right = |said: &str| -> u32 {
        let (_, rest) = said.split_once("of the true hard scatter in ").expect("a score");
        rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let (_, about_axis) = find(&[&points]);
    assert!(about_axis.contains("mm from the beam spot of the configuration; --beam-spot auto finds"), "{about_axis}");
    assert!(right(&said) > 55 && right(&said) >= right(&about_axis), "{said}\n{about_axis}");
}

/// A stream is read once, and still all its events are searched.
#[test]
fn streams_are_read_once() {
    let dir = folder();
    let [points, _] = events(&dir, "30");
    let arguments = [
        "find",
        "--engine",
        "cpu",
        "--beam-spot",
        "auto",
        "--beam-spot-events",
        "20",
        "--peaks",
        "1",
        "--format",
        "csv",
    ];
    let from_file = zfinder(&[&arguments[..], &[&points]].concat());
    let mut piped = Command::new(env!("CARGO_BIN_EXE_zfinder"));
    let piped = piped.args(arguments).arg("-").stdin(Stdio::from(fs::File::open(&points).expect("the file")));
    let piped = piped.output().expect("it starts");
    assert_eq!(options(&stderr(&piped)), options(&stderr(&from_file)));
    let answers = succeeded(piped);
    assert_eq!(answers, succeeded(from_file));
    assert_eq!(answers.lines().count(), 31);

    // Fewer events give another beam spot.
    let few = [&arguments[..4], &["auto", "--beam-spot-events", "15", &points]].concat();
    assert_ne!(options(&stderr(&zfinder(&few))), options(&stderr(&zfinder(&[&arguments[..], &[&points]].concat()))));
}

#[test]
fn evaluate_and_histogram_find_it_too() {
    let dir = folder();
    let [points, truth] = events(&dir, "30");
    let arguments = ["--engine", "cpu", "--beam-spot", "auto", "--truth", &truth, &points];
    let report: Value = serde_json::from_str(&succeeded(zfinder(
        &[&["evaluate", "--preset", "default", "--preset", "auto", "--format", "json", "-q"], &arguments[..]].concat(),
    )))
    .expect("JSON");
    for configuration in report["configurations"].as_array().expect("configurations") {
        let x = &configuration["beam_spot"]["x_mm"];
        assert_eq!(x, &configuration["config"]["beam_spot_mm"][0]);
        assert!((x.as_f64().expect("a number") - BEAM[0]).abs() < 0.02, "{x}");
        assert!(configuration["beam_spot"]["tracks"].as_u64().expect("a number") > 50);
    }
    let histogram = zfinder(&["histogram", "--beam-spot", "auto", "--event", "3", &points]);
    assert!(!options(&stderr(&histogram)).is_empty());
    assert!(succeeded(histogram).starts_with("event_id,roi_id,z_low_mm"));
}

#[test]
fn errors_say_what_is_missing() {
    let dir = folder();
    let [points, _] = events(&dir, "4");
    let find = |arguments: &[&str]| zfinder(&[&["find", "--engine", "cpu", &points], arguments].concat());
    let few = ["--beam-spot", "auto", "--beam-spot-events", "1", "--field-t", "0.02"];
    failed(&find(&few), 1, &["50 tracks from one place are needed, and 1 RoIs have", "--beam-spot-events"]);
    failed(&find(&["--beam-spot", "auto", "--beam-spot-tilt", "0,0"]), 2, &["finds the slope and the width"]);
    failed(&find(&["--beam-spot", "auto", "--beam-width", "0.03"]), 2, &["leave out", "--beam-width"]);
    failed(&find(&["--beam-spot", "auto", "--print-config"]), 2, &["reads no events"]);
    failed(&find(&["--beam-spot", "automatic"]), 2, &["`auto`, or two numbers"]);
    failed(&find(&["--beam-spot", "auto", "--beam-spot-events", "0"]), 2, &["--beam-spot-events"]);

    let layer = |radius: f64| format!("[[layer]]\nkind = \"barrel\"\nsensor = \"pixel\"\nradius_mm = {radius}\n");
    let two = written(&dir, "two.toml", &format!("name = \"two\"\n{}{}", layer(50.5), layer(88.5)));
    let two = ["find", "--engine", "cpu", "--beam-spot", "auto", "--detector", &two, &points];
    failed(&zfinder(&two), 2, &["it has 2 barrel layers, and 3 are needed", "--beam-spot X,Y"]);

    // An unreadable row is the reason for too few tracks.
    let bad = written(&dir, "bad.csv", "event_id,rho,phi,z,layer\n0,50.5,x,1,0\n");
    failed(&zfinder(&["find", "--engine", "cpu", "--beam-spot", "auto", &bad]), 1, &["bad.csv", "phi"]);
}
