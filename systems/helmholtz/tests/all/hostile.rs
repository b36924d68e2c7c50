//! Files that are made to exhaust memory or time.

use command_host::testing::{HostileFile, check_hostile_files};

#[test]
fn hostile_files_are_refused() {
    let assemble = ["assemble", "--engine", "cpu", "--mesh", "FILE"];
    let solve = |field| ["solve", "--engine", "cpu", "--squares", "2", "--levels", "2", "--rhs", field];
    let (named, alone) = (solve("@FILE:u"), solve("@FILE"));
    let triangles = [("a.ele", "1 3\n1 1 2 3\n")];
    let vertices = [("a.node", "3 2\n1 0 0\n2 1 0\n3 0 1\n")];
    check_hostile_files(
        env!("CARGO_BIN_EXE_helmholtz"),
        &[
            HostileFile { name: "a.msh", array: "", arguments: &assemble, beside: &[] },
            HostileFile { name: "a.mesh", array: "", arguments: &assemble, beside: &[] },
            HostileFile { name: "a.node", array: "", arguments: &assemble, beside: &triangles },
            HostileFile { name: "a.ele", array: "", arguments: &assemble, beside: &vertices },
            HostileFile { name: "a.npz", array: "u", arguments: &named, beside: &[] },
            HostileFile { name: "a.vtu", array: "", arguments: &named, beside: &[] },
            HostileFile { name: "a.npy", array: "", arguments: &alone, beside: &[] },
        ],
    );
}
