//! The command line: what a user types, and how failures are told. One file a subcommand.

mod bench;
mod options;
mod run;
mod scan;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::miette;

const EXIT_CODES: &str = "Exit codes:
  0  done
  1  a batch that cannot be, output that cannot be written
  2  wrong usage
  3  no such adapter, or the GPU failed
  4  a bench whose answers are wrong";

/// Propagates tracks to the radii of their hits and updates them (Kalman), with the ways to lay tracks out in memory and to map
/// them onto threads side by side, on any GPU or on the CPU.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, propagate_version = true, max_term_width = 110)]
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

/// Why the command ends early.
#[derive(Debug)]
enum Failure {
    P2r(p2r::Error),
    WrongAnswer(String),
    Plot(String),
    Output(io::Error),
}

impl From<p2r::Error> for Failure {
    fn from(error: p2r::Error) -> Self {
        Self::P2r(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(run) => run.run(),
        Command::Scan(scan) => scan.run(),
        Command::Bench(bench) => bench.run(),
    };
    let (code, message) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        // Whoever reads has had enough: `p2r bench | head`.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(Failure::Output(error)) => (1, format!("standard output: {error}")),
        Err(Failure::Plot(message)) => (1, message),
        Err(Failure::WrongAnswer(message)) => (4, message),
        Err(Failure::P2r(error @ p2r::Error::WorkgroupSize { .. })) => (2, error.to_string()),
        Err(Failure::P2r(error @ (p2r::Error::Gpu(_) | p2r::Error::NoF64 { .. }))) => (3, error.to_string()),
        Err(Failure::P2r(error)) => (1, error.to_string()),
    };
    let _ = writeln!(io::stderr(), "{:?}", miette!("{message}"));
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
