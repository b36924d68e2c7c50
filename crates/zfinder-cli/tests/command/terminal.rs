//! Terminals: a progress bar, and no flood of spacepoints.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::common::sample;

/// Runs the command with both outputs on a new terminal. Returns its exit code, and the text that
/// the terminal got.
fn on_terminal(arguments: &[&str]) -> (Option<i32>, String) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&screen).and_then(|()| unlockpt(&screen)).expect("a terminal");
    let name = ptsname(&screen, Vec::new()).expect("a name");
    let terminal = File::options().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).expect("opened");
    let mut child = Command::new(env!("CARGO_BIN_EXE_zfinder"))
        .args(arguments)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(terminal.try_clone().expect("a second one"))
        .stderr(terminal)
        .spawn()
        .expect("it starts");
    // The end is an error on Linux.
    let mut bytes = Vec::new();
    let _end = File::from(screen).read_to_end(&mut bytes);
    (child.wait().expect("it ends").code(), String::from_utf8_lossy(&bytes).into_owned())
}

#[test]
fn the_bar_of_a_file_has_percent_speed_and_the_time_left() {
    let find = ["find", "--engine", "cpu", &sample("zee7_mu2")];
    let (code, screen) = on_terminal(&find);
    assert_eq!(code, Some(0), "{screen}");
    for word in [" %, ", "B/s, ", " left, "] {
        assert!(screen.contains(word), "no `{word}` in {screen:?}");
    }
    for option in ["--quiet", "--no-progress"] {
        let (code, screen) = on_terminal(&[&find[..], &[option]].concat());
        assert!(code == Some(0) && !screen.contains(" left, "), "{option}: {screen:?}");
    }
}

#[test]
fn a_sample_is_not_printed_to_a_terminal() {
    let (code, screen) = on_terminal(&["simulate", "--rois", "1"]);
    assert_eq!(code, Some(2), "{screen}");
    assert!(screen.contains("standard output is a terminal") && screen.lines().count() < 10, "{screen}");
}
