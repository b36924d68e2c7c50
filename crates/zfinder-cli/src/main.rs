//! The command `zfinder`.

use std::process::ExitCode;

fn main() -> ExitCode {
    zfinder_cli::main_from(std::env::args_os()).into()
}
