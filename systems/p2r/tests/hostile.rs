//! Files that are made to exhaust memory or time.
#![cfg(unix)]

use command_host::testing::{HostileFile, check_hostile_files};

#[test]
fn hostile_files_are_refused() {
    let run = ["run", "--engine", "cpu", "FILE"];
    let folder = ["run", "--engine", "cpu", "FOLDER"];
    let particles = [("event1-particles.csv", "particle_id,q\n1,1\n")];
    let hits = [("event1-hits.csv", "particle_id,tx,ty,tz,tpx,tpy,tpz\n1,1,2,3,4,5,6\n")];
    check_hostile_files(
        env!("CARGO_BIN_EXE_p2r"),
        &[
            HostileFile { name: "a.npz", array: "charge", arguments: &run, beside: &[] },
            HostileFile { name: "event1-hits.csv.gz", array: "", arguments: &folder, beside: &particles },
            HostileFile { name: "event1-particles.csv", array: "", arguments: &folder, beside: &hits },
        ],
    );
}
