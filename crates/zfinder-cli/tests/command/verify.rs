//! Tests of digests of answers, and of the built-in set of RoIs whose digests are published.

use crate::common::{folder, sample, stderr, stdout, succeeded, zfinder};
use serde_json::Value;

/// Returns the digest that `find` prints with these additional arguments.
fn digest(arguments: &[&str]) -> String {
    let dir = folder();
    let path = dir.path().join("answers.csv").display().to_string();
    let output = zfinder(
        &[&["find", "-q", "--digest", "-o", &path, "--preset", "default", "--pair-weight", "any"], arguments].concat(),
    );
    let said = stderr(&output);
    succeeded(output);
    let line = said.lines().find(|line| line.contains("sha256:")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.ends_with(" of 20 RoIs"), "{line}");
    line.to_owned()
}

#[test]
fn a_digest_is_that_of_the_answers_alone() {
    let data = sample("zee7_mu2");
    let mut files: Vec<String> = std::fs::read_dir(&data)
        .expect("the sample")
        .map(|entry| entry.expect("there").path().display().to_string())
        .filter(|name| name.ends_with("-spacepoint.csv.gz"))
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let wanted = digest(&["--engine", "cpu", &data]);
    let backwards = [&["--engine", "cpu", "--threads", "1"], &files[..]].concat();
    assert_eq!(digest(&backwards), wanted, "files in another order");
    for adapter in zfinder_testing::on_adapters() {
        assert_eq!(digest(&["--adapter", &adapter.index.to_string(), &data]), wanted, "{}", adapter.name);
    }
    assert_ne!(digest(&["--engine", "cpu", "--z-bin", "0.25", &data]), wanted);

    let text = succeeded(zfinder(&[
        "find",
        "-q",
        "--digest",
        "--preset",
        "default",
        "--pair-weight",
        "any",
        "--format",
        "jsonl",
        "--engine",
        "cpu",
        &data,
    ]));
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert!(wanted.contains(last["digest"].as_str().expect("a digest")), "{last} and {wanted}");
    assert_eq!(last["rois"], 20);
}

/// In every case and both encodings.
#[test]
fn the_cpu_engine_has_the_published_digests() {
    let text = succeeded(zfinder(&["verify", "--json"]));
    let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(all.len(), 18);
    for verified in &all {
        let engines = verified["engines"].as_array().expect("engines");
        assert!(!engines.is_empty() && engines.iter().all(|engine| engine["is_right"] == true), "{verified}");
        assert!(engines.iter().all(|engine| engine["digest"] == verified["published"]), "{verified}");
    }
}

/// Software adapters compile a case for seconds, so the long form tests all cases.
#[test]
fn gpus_have_the_published_digests() {
    verify_gpus(&["--case", "pairs"]);
}

#[test]
#[ignore = "long form of `gpus_have_the_published_digests`: scripts/test full"]
fn gpus_have_the_published_digests_in_every_case() {
    verify_gpus(&[]);
}

fn verify_gpus(arguments: &[&str]) {
    let adapters: Vec<String> =
        zfinder_testing::on_adapters().iter().map(|adapter| adapter.index.to_string()).collect();
    let adapters: Vec<&str> = adapters.iter().flat_map(|index| ["--adapter", index]).collect();
    if adapters.is_empty() {
        return;
    }
    let output = zfinder(&[&["verify"], arguments, &adapters].concat());
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stdout(&output), stderr(&output));
    assert!(!stdout(&output).contains("WRONG"), "{}", stdout(&output));
}
