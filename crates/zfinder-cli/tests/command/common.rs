//! Runs the command.
#![allow(dead_code)] // not every test program uses all of it

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

pub(crate) fn sample(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(path).display().to_string()
}

pub(crate) fn zfinder(arguments: &[&str]) -> Output {
    zfinder_with(arguments, &[])
}

/// Runs the command with variables of the environment.
pub(crate) fn zfinder_with(arguments: &[&str], variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zfinder"));
    command.args(arguments).env("NO_COLOR", "1").envs(variables.iter().copied());
    command.output().expect("it starts")
}

/// Starts the command with pipes for its input and its outputs.
pub(crate) fn spawn(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_zfinder"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[track_caller]
pub(crate) fn succeeded(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[track_caller]
pub(crate) fn failed(output: &Output, code: i32, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "no `{word}` in:\n{said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

pub(crate) fn written(dir: &TempDir, name: &str, text: &str) -> String {
    let path = dir.path().join(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
