//! The command line. One file a subcommand.

mod bench;
mod geometry;
mod input;
mod options;
mod output;
mod plot;
mod report;
mod run;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use command_host::{Code, Completions, Man, MessageOptions};
use transport::Error;

const DATA: &str = "an invalid file of particles, a field or a geometry, output that cannot be written, a run that ends with tracks left";

/// Transports electrons, positrons and photons through a magnetic field and matter, step by step,
/// until their showers end, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "transport", version, after_help = exit_codes(), propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(flatten)]
    messages: MessageOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Bench(bench::Bench),
    Completions(Completions),
    Man(Man),
}

/// A run checks its energy balance.
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
    command_host::main(exit_code, |cli: Cli| {
        if !matches!(cli.command, Command::Completions(_) | Command::Man(_)) {
            command_host::start_threads(None)?;
        }
        match cli.command {
            Command::Run(run) => run.run(&cli.messages),
            Command::Bench(bench) => bench.run(&cli.messages),
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
        let seen = check_quoted_lines::<super::Cli>(&docs, "transport");
        assert!(seen >= 15, "{seen}");
    }
}
