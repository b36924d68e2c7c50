//! Files that are made to exhaust memory or time.

use command_host::testing::{HostileFile, check_hostile_files};

#[test]
fn hostile_files_are_refused() {
    let run = |option| ["run", "--engine", "cpu", "--tracks", "1", option, "FILE"];
    let (geometry, field) = (run("--geometry"), run("--field"));
    let input = ["run", "--engine", "cpu", "--input", "FILE"];
    check_hostile_files(
        env!("CARGO_BIN_EXE_transport"),
        &[
            HostileFile { name: "a.csv", array: "", arguments: &input, beside: &[] },
            HostileFile { name: "a.toml", array: "", arguments: &geometry, beside: &[] },
            HostileFile { name: "a.npy", array: "", arguments: &field, beside: &[] },
        ],
    );
}
