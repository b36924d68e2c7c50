//! The command line: what a user types, and how failures are told. One file a subcommand.

mod bench;
mod check;
mod options;
mod run;
mod scan;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use command_host::{Code, exit_codes};
use p2r::Error;

const DATA: &str = "a batch that cannot be, output that cannot be written";

/// Propagates tracks to the radii of their hits and updates them (Kalman), with the ways to lay tracks out in memory and to map
/// them onto threads side by side, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "p2r", version, after_help = exit_codes(DATA), propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Scan(scan::Scan),
    Bench(bench::Bench),
}

/// Returns the exit code of an error of the library.
fn exit_code(error: &Error) -> Code {
    match error {
        Error::WorkgroupSize { .. } => Code::Usage,
        Error::Gpu(_) | Error::NoF64 { .. } => Code::Gpu,
        _ => Code::Data,
    }
}

pub(crate) fn main() -> ExitCode {
    command_host::main(exit_code, |cli: Cli| match cli.command {
        Command::Run(run) => run.run(),
        Command::Scan(scan) => scan.run(),
        Command::Bench(bench) => bench.run(),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
