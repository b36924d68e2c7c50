//! The command line: what a user types, and how failures are told. One file a subcommand.

mod bench;
mod check;
mod options;
mod run;
mod scan;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use command_host::exit_codes;

const DATA: &str = "a batch that cannot be, output that cannot be written";

/// Propagates tracks to the radii of their hits and updates them (Kalman), with the ways to lay tracks out in memory and to map
/// them onto threads side by side, on any GPU or on the CPU.
#[derive(Parser)]
#[command(version, after_help = exit_codes(DATA), propagate_version = true, max_term_width = 110)]
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

pub(crate) fn main() -> ExitCode {
    command_host::main(|cli: Cli| match cli.command {
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
