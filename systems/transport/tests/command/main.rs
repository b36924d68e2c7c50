//! The command, as a user meets it.

mod bench;
mod common;
mod inputs;
mod outputs;
mod runs;

use std::path::Path;

use common::*;

/// Command lines that pages quote.
#[test]
fn quoted_command_lines_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    let page = std::fs::read_to_string(root.join("docs/transport.md")).expect("a page");
    let of = |line: &'_ str| -> Option<String> {
        let line = line
            .strip_prefix("cargo run --release -p zfinder-transport -- ")
            .or_else(|| line.strip_prefix("transport "))?;
        line.starts_with(|first: char| first.is_ascii_lowercase()).then(|| line.to_owned())
    };
    for line in page.lines().filter_map(of) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let help = run(&[words[0], "--help"]);
        assert!(help.status.success(), "{line}");
        for option in words.iter().filter(|word| word.starts_with("--")) {
            let there = text(&help.stdout).lines().any(|line| line.split_whitespace().next() == Some(option));
            assert!(there, "`{line}`: there is no option {option}");
        }
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn shells_and_man_know_the_command_line() {
    let script = printed(&["completions", "bash"]);
    assert!(script.contains("--geometry") && script.contains("--most-loops"), "{script}");
    let page = printed(&["man"]);
    assert!(page.contains(".TH transport"), "{page}");
    let quiet = run(&["-q", "run", "--engine", "cpu", "--tracks", "1"]);
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", said(&quiet));
    let verbose = run(&["run", "-v", "--engine", "cpu", "--tracks", "1"]);
    assert!(said(&verbose).contains("transported 1 particle"), "{}", said(&verbose));
}
