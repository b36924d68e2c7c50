//! The command line: what a user types, and how failures are told. One file a subcommand.

mod bench;
mod count;
mod decode;
mod engine;
mod printout;
mod simulate;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::miette;

const EXIT_CODES: &str = "Exit codes:
  0  done
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage
  3  no such adapter, or the GPU failed
  4  a bench whose answers are wrong";

/// Counts what measures luminosity: energies, hits, tracks and vertices of events, with sums that are the same bits in any
/// order, on any GPU or on the CPU.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Simulate(simulate::Simulate),
    Count(count::Count),
    Decode(decode::Decode),
    Bench(bench::Bench),
}

/// Why the command ends early.
#[derive(Debug)]
enum Failure {
    Lumi(lumi::Error),
    WrongAnswer(String),
    Output(io::Error),
}

impl From<lumi::Error> for Failure {
    fn from(error: lumi::Error) -> Self {
        Self::Lumi(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Simulate(simulate) => simulate.run(),
        Command::Count(count) => count.run(),
        Command::Decode(decode) => decode.run(),
        Command::Bench(bench) => bench.run(),
    };
    let (code, message) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        // Whoever reads has had enough: `lumi decode ... | head`.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(Failure::Output(error)) => (1, format!("standard output: {error}")),
        Err(Failure::WrongAnswer(message)) => (4, message),
        Err(Failure::Lumi(error @ lumi::Error::Gpu(_))) => (3, error.to_string()),
        Err(Failure::Lumi(error)) => (1, error.to_string()),
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
