//! The command line: subcommands, options, and how failures are reported. One file a subcommand.

mod average;
mod banks;
mod bench;
mod calibration;
mod count;
mod decode;
mod draw;
mod engine;
mod histogram;
mod printout;
mod schema;
mod simulate;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use command_host::{Code, Completions, Man, MessageOptions, exit_codes};
use lumi::Error;

const DATA: &str = "input that cannot be read or is wrong, too little memory, output that cannot be written";

/// Counts quantities that grow with luminosity: energies, hits, tracks and vertices of events. The
/// sums are the same bits in any order, on any GPU and on the CPU. Averages the counters and
/// estimates the number of collisions.
#[derive(Parser)]
#[command(name = "lumi", version, after_help = exit_codes(DATA), propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(flatten)]
    messages: MessageOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Simulate(simulate::Simulate),
    Count(count::Count),
    Decode(decode::Decode),
    Average(average::Average),
    Histogram(histogram::Histogram),
    Calibration(calibration::Calibration),
    Schema(schema::Schema),
    Bench(bench::Bench),
    Completions(Completions),
    Man(Man),
}

/// Returns the exit code of an error of the library.
fn exit_code(error: &Error) -> Code {
    match error {
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
            Command::Simulate(simulate) => simulate.run(cli.messages),
            Command::Count(count) => count.run(cli.messages),
            Command::Decode(decode) => decode.run(),
            Command::Average(average) => average.run(),
            Command::Histogram(histogram) => histogram.run(),
            Command::Calibration(calibration) => calibration.run(),
            Command::Schema(schema) => schema.run(),
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
        let seen = check_quoted_lines::<super::Cli>(&docs, "lumi");
        assert!(seen >= 8, "{seen}");
    }
}
