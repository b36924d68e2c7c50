//! The command, as a user meets it.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_p2r")).args(arguments).output().expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SMALL: [&str; 4] = ["--events", "2", "--tracks", "50"];

#[test]
fn run_prints_statistics_and_writes_tracks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fitted.npy");
    let path = path.to_str().expect("a name");
    let mut arguments = vec!["run", "--engine", "cpu", "--mode", "seed-state", "--output", path, "--bsize", "7"];
    arguments.extend(SMALL);
    let done = run(&arguments);
    let printed = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for part in ["2 events of 50 tracks, 20 layers", "pt [GeV]", "4.547", "100 tracks, 0 NaN, 0 failed"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let bytes = std::fs::read(path).expect("the file");
    let array = npyz::NpyFile::new(&bytes[..]).expect("an array");
    assert_eq!(array.shape(), [2, 50, 28]);
    let numbers: Vec<f64> = array.into_vec().expect("numbers");
    // x of the last track, and its status.
    assert!((numbers[99 * 28] + 6.233).abs() < 0.01 && numbers[99 * 28 + 27] == 0.0);

    arguments.push("--json");
    let json: serde_json::Value = serde_json::from_slice(&run(&arguments).stdout).expect("JSON");
    assert_eq!((&json["tracks"], &json["nans"]), (&100.into(), &0.into()));
}

#[test]
fn bench_and_scan_run_on_the_cpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scan.svg");
    let mut arguments = vec!["bench", "--engine", "cpu", "--rounds", "1", "--bsize", "8,0", "--json"];
    arguments.extend(SMALL);
    let json: serde_json::Value = serde_json::from_slice(&run(&arguments).stdout).expect("JSON");
    let measured = json["measured"].as_array().expect("a list");
    assert_eq!(measured.len(), 6);
    assert!(measured.iter().all(|row| row["tracks_per_s"].as_f64() > Some(0.0)), "{json}");
    let plot = path.to_str().expect("a name");
    let done = run(&["scan", "--engine", "cpu", "--tracks", "16,64", "--rounds", "1", "--plot", plot]);
    assert!(done.status.success() && text(&done.stdout).contains("tracks/s of one event"), "{}", text(&done.stderr));
    assert!(std::fs::read_to_string(&path).expect("a picture").contains("tracks of one event"));
}

#[test]
fn what_is_wrong_is_told() {
    let mut small = vec!["run"];
    small.extend(SMALL);
    for (more, code, told) in [
        (vec!["--engine", "cpu", "--bsize", "0"], 1, "groups of 1 or more, not of 0"),
        (vec!["--engine", "cpu", "--layers", "23"], 1, "23 layers, and there are 22 at most"),
        (vec!["--engine", "cpu", "--precision", "f64"], 1, "use f32, or the reference engine"),
        (vec!["--engine", "cpu", "--output", "/nowhere/there/x.npy"], 1, "/nowhere/there/x.npy"),
        (vec!["--adapter", "no such one"], 3, "no such one"),
        (vec!["--engine", "abacus"], 2, "abacus"),
    ] {
        let done = run(&[small.clone(), more].concat());
        let said = text(&done.stderr).replace("\n  │ ", " ");
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(told), "{told}: {said}");
        assert!(done.stdout.is_empty());
    }
}

/// Command lines that pages quote.
#[test]
fn quoted_command_lines_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    let page = std::fs::read_to_string(root.join("docs/p2r.md")).expect("a page");
    let of = |line: &'_ str| -> Option<String> {
        let line = line.strip_prefix("cargo run --release -p zfinder-p2r -- ").or_else(|| line.strip_prefix("p2r "))?;
        line.starts_with(|first: char| first.is_ascii_lowercase()).then(|| line.to_owned())
    };
    for line in page.lines().filter_map(of) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let help = run(&[words[0], "--help"]);
        assert!(help.status.success(), "{line}");
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(text(&help.stdout).contains(&format!("{option} ")), "`{line}`: there is no option {option}");
        }
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
}
