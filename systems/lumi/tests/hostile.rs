//! Files that are made to exhaust memory or time.
#![cfg(unix)]

use command_host::testing::{HostileFile, check_hostile_files};

#[test]
fn hostile_files_are_refused() {
    let count = ["count", "FILE", "--engine", "cpu"];
    // The calibration is read before the events.
    let with_calibration = ["count", "none.npz", "--engine", "cpu", "--calibration", "FOLDER/a.toml"];
    let geometry = [("a.toml", "plane = [0, 0, 1, -12620]\ncells = \"a.csv\"\n")];
    check_hostile_files(
        env!("CARGO_BIN_EXE_lumi"),
        &[
            HostileFile { name: "a.npz", array: "event_id", arguments: &count, beside: &[] },
            HostileFile { name: "a.npz", array: "event_id", arguments: &["decode", "FILE"], beside: &[] },
            HostileFile { name: "a.toml", array: "", arguments: &with_calibration, beside: &[] },
            HostileFile { name: "a.csv", array: "", arguments: &with_calibration, beside: &geometry },
        ],
    );
}
