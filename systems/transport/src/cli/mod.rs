//! The command line: what a user types, and how failures are told. One file a subcommand.

mod bench;
mod input;
mod options;
mod output;
mod plot;
mod report;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use command_host::Code;
use transport::Error;

const DATA: &str =
    "particles, a map or a file that is wrong, output that cannot be written, a run that ends with tracks left";

/// Takes electrons, positrons and photons through the magnetic field and the lead tungstate of a detector, step by step, until their
/// showers end, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "transport", version, after_help = exit_codes(), propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Bench(bench::Bench),
}

/// A run checks its answer, too.
fn exit_codes() -> String {
    format!("{}, or a run whose energies do not add up", command_host::exit_codes(DATA))
}

/// Returns the exit code of an error of the library.
fn exit_code(error: &Error) -> Code {
    match error {
        Error::Options { .. } => Code::Usage,
        Error::Gpu(_) => Code::Gpu,
        _ => Code::Data,
    }
}

pub(crate) fn main() -> ExitCode {
    command_host::main(exit_code, |cli: Cli| match cli.command {
        Command::Run(run) => run.run(),
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
