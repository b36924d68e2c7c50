//! The command `zfinder-lab`: measurements of the laboratory that users of zfinder do not need.

mod bench;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Measurements and studies of zfinder's laboratory.
#[derive(Parser)]
#[command(name = "zfinder-lab", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(Box<bench::LabBench>),
}

fn main() -> ExitCode {
    let run = |cli: Cli| match cli.command {
        Command::Bench(bench) => bench.run(),
    };
    command_host::main_of(Cli::command(), std::env::args_os(), zfinder_cli::failure::diagnose, run).into()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
