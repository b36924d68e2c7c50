//! The user interface that all commands of this family share, without physics.
//!
//! - [`main`] parses the command line, runs the command, and prints a [`Failure`] with its exit
//!   [`Code`];
//! - [`EngineOptions`] are `--engine` and `--adapter`, and [`precision_parser`] parses
//!   `--precision`;
//! - [`table`], [`Rows`], [`scientific`] and [`write_json`] print; [`median`], [`rate`], [`timed`]
//!   and [`bench_heading`] serve benches;
//! - [`Output`], [`OutputFolder`] and [`write_file`] write files that appear when they are
//!   complete, also where the command is interrupted, and [`check_distinct`] keeps them apart from
//!   the files that are read;
//! - [`MessageOptions`] are `-q` and `-v`, and show progress; [`Completions`] and [`Man`] are
//!   subcommands for shells and `man`;
//! - [`on_interrupt`] lets a command finish after an interrupt, and [`report_interrupt`] says what
//!   it leaves undone;
//! - [`start_threads`] starts the threads that compute, or fails with a message;
//! - with the feature `plot`, `PictureOptions` are the options of every command that draws, and a
//!   `Picture` is the file of a figure of the crate `hep-figure`;
//! - with the feature `testing`, `testing` checks the command lines that pages quote, and runs a
//!   command on hostile files.
//!
//! A system brings its subcommands, and chooses the exit codes of its library's errors. The library
//! does not depend on this crate:
//!
//! ```
//! use std::fmt;
//! use std::io::{self, Write};
//! use std::process::ExitCode;
//!
//! use clap::{Parser, Subcommand};
//! use command_host::{Code, EngineOptions, Engines, Failure};
//!
//! // In the library.
//! #[derive(Debug)]
//! enum Error {
//!     NoEvent,
//!     NoAtomics,
//! }
//!
//! impl std::error::Error for Error {}
//!
//! impl fmt::Display for Error {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
//!         f.write_str(match self {
//!             Self::NoEvent => "there is no event",
//!             Self::NoAtomics => "the GPU has no atomics",
//!         })
//!     }
//! }
//!
//! // In the command.
//! fn exit_code(error: &Error) -> Code {
//!     match error {
//!         Error::NoEvent => Code::Data,
//!         Error::NoAtomics => Code::Gpu,
//!     }
//! }
//!
//! struct Sums;
//!
//! impl Engines for Sums {
//!     const WHAT: &str = "What sums";
//! }
//!
//! #[derive(Parser)]
//! #[command(after_help = command_host::exit_codes("no event, output that cannot be written"))]
//! struct Cli {
//!     #[command(subcommand)]
//!     command: Command,
//! }
//!
//! #[derive(Subcommand)]
//! enum Command {
//!     /// Sums events
//!     Sum {
//!         #[command(flatten)]
//!         engine: EngineOptions<Sums>,
//!     },
//! }
//!
//! fn run(cli: Cli) -> Result<(), Failure> {
//!     let Command::Sum { engine } = cli.command;
//!     // The library goes on with engine.engine().open(GpuOptions::default()).
//!     writeln!(io::stdout(), "{:?}", engine.engine())?;
//!     Err(Error::NoEvent)? // any error converts
//! }
//!
//! /// `main` of the command.
//! fn command() -> ExitCode {
//!     command_host::main(exit_code, run)
//! }
//!
//! let cli = Cli::parse_from(["adds", "sum", "--engine", "cpu"]);
//! assert!(run(cli).is_err());
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `failure`, `interrupt`: [`main`](fn@main), [`Failure`], exit codes and signals.
//! - `threads`: the threads of rayon.
//! - `engine`, `messages`, `shell`: options and subcommands that commands share.
//! - `output`, `distinct`: files that are written atomically, and never over an input.
//! - `print`, `bench`: tables, JSON, medians and rates.
//! - `picture`: files of figures, with the feature `plot`; `quiet`: messages of GPU drivers.
//! - `testing`: quoted command lines and hostile files, with the feature `testing`.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod bench;
mod distinct;
mod engine;
mod failure;
mod interrupt;
mod messages;
mod output;
#[cfg(feature = "plot")]
mod picture;
mod print;
#[cfg(target_os = "linux")]
mod quiet;
mod shell;
#[cfg(feature = "testing")]
pub mod testing;
mod threads;

pub use bench::{bench_heading, median, rate, timed};
pub use distinct::check_distinct;
pub use engine::{EngineOptions, Engines, precision_parser};
pub use failure::{Code, Diagnosis, Excerpt, Failure, exit_codes, main, main_from, main_of, note};
/// The crate of the figures that a [`Picture`] draws.
#[cfg(feature = "plot")]
pub use hep_figure as figure;
pub use indicatif::ProgressBar;
pub use interrupt::{on_interrupt, report_interrupt};
pub use messages::MessageOptions;
pub use output::{Output, OutputFolder, SeekableWrite, ending, file_of, write_file};
#[cfg(feature = "plot")]
pub use picture::{Picture, PictureOptions};
pub use print::{Rows, scientific, table, write_json};
pub use shell::{Completions, Man};
pub use threads::start_threads;
