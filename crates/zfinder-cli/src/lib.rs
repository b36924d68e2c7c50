//! The command `zfinder`: options, and reports of failures. One file for each subcommand; no
//! physics.
//!
//! The command's program and the Python package both call [`main_from`].

mod adapters;
mod beam_spot;
#[doc(hidden)]
pub mod bench;
mod detector;
#[doc(hidden)]
pub mod engine;
mod evaluate;
#[doc(hidden)]
pub mod failure;
mod find;
mod follow;
mod histogram;
mod input;
mod inspect;
mod key_values;
mod options;
mod output;
mod outside_range;
mod plot;
mod search;
mod select;
#[cfg(feature = "serve")]
mod serve;
mod shard;
mod simulate;
mod table;
mod tracklet_file;
mod verify;

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::{ArgAction, CommandFactory, Parser, Subcommand};

const EXIT_CODES: &str = "Exit codes:
  0  done; each RoI has its status
  1  input that cannot be read or is wrong, output that cannot be written
  2  wrong usage: an unknown option, a value out of range, a bad configuration or detector file
  3  no such adapter, or the GPU or another engine failed
  5  done, and errors in the input were skipped (--on-error skip)
  130  interrupted (143 by TERM, 129 by HUP); no file is half-written";

/// Finds the z of the primary vertex from raw tracker spacepoints, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "zfinder", version, after_help = EXIT_CODES, propagate_version = true, max_term_width = 110)]
struct Cli {
    /// Print more about the work on standard error; -vv still more
    #[arg(short, long, global = true, action = ArgAction::Count, hide_short_help = true, help_heading = "Output")]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Find(Box<find::Find>),
    Evaluate(Box<evaluate::Evaluate>),
    Histogram(Box<histogram::Histogram>),
    Inspect(Box<inspect::Inspect>),
    Plot(plot::Plot),
    Simulate(Box<simulate::Simulate>),
    Detector(detector::Detector),
    Adapters(adapters::Adapters),
    Bench(Box<bench::Bench>),
    Verify(verify::Verify),
    #[cfg(feature = "serve")]
    Serve(Box<serve::Serve>),
    Completions(command_host::Completions),
    Man(command_host::Man),
}

impl Command {
    /// Whether the subcommand uses the threads of rayon. `simulate` starts its own number.
    fn computes(&self) -> bool {
        !matches!(self, Self::Simulate(_) | Self::Detector(_) | Self::Adapters(_) | Self::Completions(_) | Self::Man(_))
    }
}

/// Runs the command with these arguments, the first of which is its name, and returns the exit
/// code. Prints on standard output and standard error. Wrong usage, `--help` and a signal end the
/// process.
pub fn main_from(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let command = key_values::with_values(Cli::command(), &arguments);
    command_host::main_of(command, arguments, failure::diagnose, |cli: Cli| {
        let levels = [tracing::Level::WARN, tracing::Level::INFO, tracing::Level::DEBUG];
        let level = levels[usize::from(cli.verbose).min(2)];
        #[cfg(feature = "serve")]
        if let Command::Serve(serve) = cli.command {
            command_host::start_threads(None)?;
            return serve.run(level);
        }
        let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).without_time();
        // This fails only if the process already has a subscriber.
        let _ = subscriber.with_ansi(io::stderr().is_terminal()).try_init();
        if cli.command.computes() {
            command_host::start_threads(None)?;
        }
        match cli.command {
            Command::Find(find) => find.run(),
            Command::Evaluate(evaluate) => evaluate.run(),
            Command::Histogram(histogram) => histogram.run(),
            Command::Inspect(inspect) => inspect.run(),
            Command::Plot(plot) => plot.run(),
            Command::Detector(detector) => detector.run(),
            Command::Adapters(adapters) => adapters.run(),
            Command::Bench(bench) => bench.run(),
            Command::Verify(verify) => verify.run(),
            #[cfg(feature = "serve")]
            // Handled above.
            Command::Serve(_) => Ok(()),
            Command::Simulate(simulate) => simulate.run(),
            Command::Completions(completions) => completions.run(Cli::command()),
            Command::Man(man) => man.run(Cli::command()),
        }
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
