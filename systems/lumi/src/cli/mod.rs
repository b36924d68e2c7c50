//! The command line: what a user types, and how failures are told. One file a subcommand.

mod bench;
mod count;
mod decode;
mod engine;
mod printout;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use command_host::{Code, exit_codes};
use lumi::Error;

const DATA: &str = "input that cannot be read or is wrong, output that cannot be written";

/// Counts what measures luminosity: energies, hits, tracks and vertices of events, with sums that are the same bits in any
/// order, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "lumi", version, after_help = exit_codes(DATA), propagate_version = true, max_term_width = 110)]
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

/// Returns the exit code of an error of the library.
fn exit_code(error: &Error) -> Code {
    match error {
        Error::Gpu(_) => Code::Gpu,
        _ => Code::Data,
    }
}

pub(crate) fn main() -> ExitCode {
    command_host::main(exit_code, |cli: Cli| match cli.command {
        Command::Simulate(simulate) => simulate.run(),
        Command::Count(count) => count.run(),
        Command::Decode(decode) => decode.run(),
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
