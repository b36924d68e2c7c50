//! The command line: subcommands, options, and how failures are reported. One file a subcommand.

mod assemble;
mod bench;
mod check;
mod figures;
mod gpu_options;
mod options;
mod output;
mod plot;
mod problem;
mod report;
mod solve;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use command_host::{Code, Completions, Man, MessageOptions, exit_codes};
use helmholtz::Error;

const DATA: &str = "an invalid mesh, file or problem, too little memory, output that cannot be written";

fn after_help() -> String {
    format!("{}\n  6  a solve that did not reach its tolerance; its output is written", exit_codes(DATA))
}

/// Assembles and solves Helmholtz problems -div(a grad u) + c u = f on triangles extruded to
/// columns of prisms, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "helmholtz", version, after_help = after_help(), propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(flatten)]
    messages: MessageOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Assemble(assemble::Assemble),
    Solve(Box<solve::Solve>),
    Bench(bench::Bench),
    Completions(Completions),
    Man(Man),
}

/// Returns the exit code of an error of the library.
fn exit_code(error: &Error) -> Code {
    match error {
        Error::WorkgroupSize { .. } | Error::Expression { .. } | Error::Part { .. } | Error::Singular => Code::Usage,
        // Values of options; a file has none of these faults.
        Error::Levels { .. } | Error::Height { .. } | Error::Generator { .. } => Code::Usage,
        Error::Gpu(_) | Error::NoF64 { .. } | Error::NoAtomics { .. } => Code::Gpu,
        _ => Code::Data,
    }
}

pub(crate) fn main() -> ExitCode {
    command_host::main(exit_code, |cli: Cli| {
        if !matches!(cli.command, Command::Completions(_) | Command::Man(_)) {
            command_host::start_threads(None)?;
        }
        match cli.command {
            Command::Assemble(assemble) => assemble.run(cli.messages),
            Command::Solve(solve) => solve.run(cli.messages),
            Command::Bench(bench) => bench.run(cli.messages),
            Command::Completions(completions) => completions.run(Cli::command()),
            Command::Man(man) => man.run(Cli::command()),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory;
    use command_host::testing::check_quoted_lines;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    /// The number is that of today's pages, or a little less: pages change.
    #[test]
    fn quoted_command_lines_are_understood() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let seen = check_quoted_lines::<super::Cli>(&docs, "helmholtz");
        assert!(seen >= 15, "{seen}");
    }
}
