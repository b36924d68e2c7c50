//! The command line: subcommands, options, and how failures are reported. One file a subcommand.

mod bench;
mod check;
mod input;
mod options;
mod run;
mod scan;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use command_host::{Code, Completions, Man, MessageOptions, exit_codes};
use p2r::Error;

const DATA: &str = "input that cannot be read or is wrong, too little memory, output that cannot be written";

/// Propagates tracks to the radii of their hits and updates them (Kalman filter), on any GPU or on
/// the CPU; compares memory layouts of tracks and mappings of tracks onto threads.
#[derive(Parser)]
#[command(name = "p2r", version, after_help = exit_codes(DATA), propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(flatten)]
    messages: MessageOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Scan(scan::Scan),
    Bench(bench::Bench),
    Completions(Completions),
    Man(Man),
}

/// Returns the exit code of an error of the library.
fn exit_code(error: &Error) -> Code {
    match error {
        // The layout of a batch and the field are options.
        Error::WorkgroupSize { .. } | Error::Batch { .. } => Code::Usage,
        Error::Gpu(_) | Error::NoF64 { .. } => Code::Gpu,
        _ => Code::Data,
    }
}

pub(crate) fn main() -> ExitCode {
    command_host::main(exit_code, |cli: Cli| {
        if !matches!(cli.command, Command::Completions(_) | Command::Man(_)) {
            command_host::start_threads(None)?;
        }
        match cli.command {
            Command::Run(run) => run.run(cli.messages),
            Command::Scan(scan) => scan.run(cli.messages),
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
        let seen = check_quoted_lines::<super::Cli>(&docs, "p2r");
        assert!(seen >= 15, "{seen}");
    }
}
