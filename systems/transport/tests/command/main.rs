//! The command, as a user meets it.

mod bench;
mod common;
#[cfg(unix)]
mod hostile;
mod inputs;
mod outputs;
mod runs;

use common::*;

#[test]
fn shells_and_man_know_the_command_line() {
    let script = printed(&["completions", "bash"]);
    assert!(script.contains("--geometry") && script.contains("--most-loops"), "{script}");
    let page = printed(&["man"]);
    assert!(page.contains(".TH transport"), "{page}");
    let quiet = run(&["-q", "run", "--engine", "cpu", "--tracks", "1"]);
    assert!(quiet.status.success() && quiet.stdout.len() > 100 && said(&quiet).is_empty(), "{}", said(&quiet));
    let verbose = run(&["run", "-v", "--engine", "cpu", "--tracks", "1"]);
    assert!(said(&verbose).contains("transported 1 particle"), "{}", said(&verbose));
}
