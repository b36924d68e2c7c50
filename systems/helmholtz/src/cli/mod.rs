//! The command line: what a user types, and how failures are told. One file a subcommand.

mod assemble;
mod bench;
mod check;
mod figures;
mod options;
mod output;
mod plot;
mod report;
mod solve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use command_host::{Code, exit_codes};
use helmholtz::Error;

const DATA: &str =
    "a mesh or a file that is wrong, output that cannot be written, a solve that does not reach its tolerance";

/// Assembles the Helmholtz problem -div grad u + u = f on triangles extruded to columns of prisms, by scatter or by gather, and
/// solves it, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "helmholtz", version, after_help = exit_codes(DATA), propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Assemble(assemble::Assemble),
    Solve(solve::Solve),
    Bench(bench::Bench),
}

/// Returns the exit code of an error of the library.
fn exit_code(error: &Error) -> Code {
    match error {
        Error::WorkgroupSize { .. } => Code::Usage,
        Error::Gpu(_) | Error::NoF64 { .. } | Error::NoAtomics { .. } => Code::Gpu,
        _ => Code::Data,
    }
}

pub(crate) fn main() -> ExitCode {
    command_host::main(exit_code, |cli: Cli| match cli.command {
        Command::Assemble(assemble) => assemble.run(),
        Command::Solve(solve) => solve.run(),
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
