//! Starts the command, and reads its reports.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_transport")).args(arguments).output().expect("the command")
}

/// Runs the command with this standard input.
pub(crate) fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_transport"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command");
    // The input is shorter than a pipe's buffer, so no thread is needed.
    child.stdin.take().expect("a pipe").write_all(input).expect("written");
    child.wait_with_output().expect("the command")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns standard error without the line breaks of a narrow terminal.
pub(crate) fn said(done: &Output) -> String {
    text(&done.stderr).replace("\n  │ ", " ")
}

/// Returns the output of a run that must succeed.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let done = run(arguments);
    assert!(done.status.success(), "{arguments:?}: {}", said(&done));
    text(&done.stdout)
}

pub(crate) fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--json"]].concat())).expect("JSON")
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

pub(crate) fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

pub(crate) fn close(found: f64, wanted: f64, relative: f64) {
    assert!((found - wanted).abs() <= relative * wanted.abs(), "{found}, not {wanted}");
}

/// Returns the steps that end in this process.
pub(crate) fn steps(report: &Value, process: &str) -> u64 {
    let row = list(&report["processes"]).iter().find(|row| row["process"] == process);
    row.and_then(|row| row["steps"].as_u64()).unwrap_or_else(|| panic!("no {process}: {report}"))
}

pub(crate) const FEW: [&str; 5] = ["run", "--tracks", "4", "--most-steps", "400"];
pub(crate) const CPU: [&str; 2] = ["--engine", "cpu"];

pub(crate) fn few(more: &[&str]) -> Value {
    json(&[&FEW, more].concat())
}

/// Asserts properties of every run.
pub(crate) fn holds(report: &Value) {
    let energy = |key: &str| number(&report["energy"][key]);
    let sum: f64 = ["deposited_mev", "escaped_mev", "given_up_mev", "left_mev"].into_iter().map(energy).sum();
    close(sum, energy("initial_mev"), 1e-4);
    assert!(energy("missing").abs() < 1e-4, "{report}");
    let all: u64 = list(&report["processes"]).iter().filter_map(|row| row["steps"].as_u64()).sum();
    assert_eq!(Some(all), report["steps"].as_u64());
    assert!(number(&report["seconds"]) > 0.0 && number(&report["steps_per_s"]) > 0.0);
}
