//! Tests of `zfinder bench`: it measures, checks and reports. The figures themselves mean nothing
//! here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use zfinder_testing::on_fast_adapters;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zfinder"))
        .args([&["bench", "--quick", "--rounds", "2"], arguments].concat())
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let document = succeeded(&bench(&[arguments, &["--seconds", "0.01", "--json"]].concat()));
    serde_json::from_str(&document).unwrap_or_else(|error| panic!("{error}:\n{document}"))
}

#[track_caller]
fn failed(arguments: &[&str], code: i32, words: &[&str]) {
    let output = bench(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "no `{word}` in:\n{said}");
    }
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(text(&output.stdout), "", "nothing was measured");
}

fn root(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).display().to_string()
}

/// Collects the names of all keys in a document.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                // Keys of the configuration have their own page: `zfinder find --print-config`.
                if key != "config" {
                    keys(value, found);
                }
            }
        }
        Value::Array(array) => array.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[track_caller]
fn positive(value: &Value, path: &str) {
    let number = value.pointer(path).and_then(Value::as_f64);
    assert!(number.is_some_and(|number| number > 0.0), "{path}: {number:?} in {value:#}");
}

#[test]
fn json_has_the_documented_keys_and_a_passed_check() {
    let document = json(&[
        "--sample",
        "lowlum",
        "--limit",
        "20",
        "--engine",
        "cpu,reference",
        "--case",
        "pairs",
        "--check",
        "5",
        "--stream-rois",
        "7,30",
        "--in-flight",
        "2",
    ]);
    let sample = &document["samples"][0];
    assert_eq!((&sample["name"], &sample["rois"], &sample["seed"]), (&"lowlum".into(), &20.into(), &1.into()));
    assert_eq!(sample["results"].as_array().map(Vec::len), Some(2));
    let cpu = &sample["results"][0];
    assert_eq!((&cpu["engine"], &cpu["case"]), (&"cpu".into(), &"pairs".into()));
    assert_eq!((&cpu["check"]["rois"], &cpu["config"]["neighbours"]), (&5.into(), &"single".into()));
    for path in ["/end_to_end/roi_per_s", "/latency/p50_us", "/latency/p99_us", "/one_core/us_per_roi"] {
        positive(cpu, path);
    }
    assert_eq!(cpu["callers"][0]["callers"], 1);
    positive(cpu, "/callers/0/rate/roi_per_s");
    assert_eq!((&cpu["streamed"]["in_flight"], &cpu["streamed"]["rounds"]), (&2.into(), &2.into()));
    assert_eq!(cpu["long_streams"][1]["rois"], 30);
    positive(cpu, "/long_streams/1/us_per_roi");
    if cfg!(target_os = "linux") {
        positive(cpu, "/long_streams/0/peak_memory_bytes");
    }
    let reference = &sample["results"][1];
    assert_eq!((&reference["engine"], &reference["check"]), (&"reference".into(), &Value::Null));
    positive(reference, "/one_core/us_per_roi");

    let documented = fs::read_to_string(root("docs/reference/bench.md")).expect("the page");
    let mut found = BTreeSet::new();
    keys(&document, &mut found);
    assert!(found.len() > 50, "{found:?}");
    for key in found {
        assert!(documented.contains(&format!("`{key}`")), "docs/reference/bench.md does not have `{key}`");
    }
}

#[test]
fn gpus_are_measured_one_by_one() {
    for adapter in on_fast_adapters() {
        let index = adapter.index.to_string();
        let arguments = ["--sample", "lowlum", "--limit", "4", "--case", "pairs", "--batch", "4", "--check", "2"];
        let document = json(&[&arguments[..], &["--engine", "gpu", "--adapter", &index]].concat());
        assert_eq!(document["adapters"][0]["name"], adapter.name);
        let result = &document["samples"][0]["results"][0];
        assert_eq!((&result["engine"], &result["adapters"][0]), (&"gpu".into(), &adapter.index.into()));
        assert_eq!(result["check"]["rois"], 2);
        for path in ["/streamed/roi_per_s", "/resident/roi_per_s", "/transfer/bytes_per_roi", "/transfer/gb_per_s"] {
            positive(result, path);
        }
        if adapter.timestamps {
            // One kernel searches a few small RoIs.
            assert_eq!(result["kernels"][0]["name"], "walk");
        }
        let documented = fs::read_to_string(root("docs/reference/bench.md")).expect("the page");
        let mut found = BTreeSet::new();
        keys(&document, &mut found);
        assert!(found.iter().all(|key| documented.contains(&format!("`{key}`"))), "{found:?}");
    }
}

#[test]
fn tables_are_for_people() {
    let input = root("data/zee7_mu2/event000000000-spacepoint.csv.gz");
    let output = bench(&["--input", &input, "--engine", "cpu,reference", "--case", "bending-pairs,triplets"]);
    let table = succeeded(&output);
    for word in [
        "input (",
        "lossless encoding",
        "1 RoIs",
        "bending-pairs",
        "triplets",
        "p99 us",
        "checked against the reference engine",
    ] {
        assert!(table.contains(word), "no `{word}` in:\n{table}");
    }
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width <= 120), "{widest:?} columns:\n{table}");
    assert!(table.lines().all(|line| line.trim_end() == line), "{table}");
    assert!(text(&output.stderr).lines().all(|line| line.starts_with("warning: this is a debug build")));
}

#[test]
fn what_is_wrong_is_said() {
    failed(&["--sample", "midlum"], 2, &["midlum", "lowlum", "highlum"]);
    failed(&["--case", "quadruplets"], 2, &["bending-triplets"]);
    failed(&["--engine", "tpu"], 2, &["gpu, cpu, reference"]);
    failed(&["--limit", "0"], 2, &["--limit"]);
    failed(&["--seconds", "nan"], 2, &["0.001 to 3600"]);
    failed(&["--engine", "cpu", "--adapter", "0"], 2, &["--adapter names a GPU"]);
    failed(&["--engine", "cpu", "--in-flight", "5000", "--limit", "2"], 2, &["--in-flight", "5000"]);
    failed(&["--rois", "rois.csv"], 2, &["--input"]);
    failed(&["--sample", "lowlum", "--input", "x.csv"], 2, &["cannot be used with"]);
    failed(&["--adapter", "no such adapter"], 3, &["no such adapter", "zfinder adapters"]);
    failed(&["--engine", "cpu", "--input", "/none/such.csv"], 1, &["/none/such.csv"]);

    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        path.display().to_string()
    };
    let spacepoints = file("spacepoints.csv", "event_id,x,y,z,layer\n3,50,0,1,0\n");
    let rois = file("rois.csv", "event_id,roi_id,phi_min,phi_max\n4,0,0,1\n");
    let arguments = ["--engine", "cpu", "--input", &spacepoints, "--rois", &rois];
    failed(&arguments, 1, &["no RoI with a spacepoint in the input", "spacepoints.csv", "--rois"]);
}

#[test]
fn the_help_names_figures_and_exit_codes() {
    let help = succeeded(&bench(&["--help"]));
    for word in
        ["--stream-rois", "--in-flight", "Exit codes:", "docs/reference/bench.md", "bending-triplets", "[default: 1]"]
    {
        assert!(help.contains(word), "no `{word}` in:\n{help}");
    }
}
