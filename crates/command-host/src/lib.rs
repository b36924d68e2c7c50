//! The user's side of a command, and no physics: what the commands of the family do alike.
//!
//! - [`main`] parses the command line, runs it, and tells what fails: a [`Failure`] with its exit [`Code`];
//! - [`EngineOptions`] are `--engine` and `--adapter`;
//! - [`table`], [`scientific`] and [`write_json`] print; [`median`], [`rate`], [`timed`] and [`bench_heading`] are of benches;
//! - [`write_file`] writes a file that appears when it is whole;
//! - with the feature `plot`, `line_chart` draws lines, and a `Picture` is a file of a `Drawing` in colours.
//!
//! A system brings its subcommands, and says which of its errors has which exit code:
//!
//! ```
//! use std::io::{self, Write};
//! use std::process::ExitCode;
//!
//! use clap::{Parser, Subcommand};
//! use command_host::{Code, EngineOptions, Engines, Failure};
//!
//! // In the library, beside its errors.
//! #[derive(Debug)]
//! enum Error {
//!     NoEvent,
//!     Gpu(kernel_host::Error),
//! }
//!
//! impl From<Error> for Failure {
//!     fn from(error: Error) -> Self {
//!         match error {
//!             Error::NoEvent => Self::new(Code::Data, "there is no event"),
//!             Error::Gpu(error) => Self::new(Code::Gpu, error),
//!         }
//!     }
//! }
//!
//! // In the command.
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
//!     Err(Error::NoEvent.into())
//! }
//!
//! /// `main` of the command.
//! fn command() -> ExitCode {
//!     command_host::main(run)
//! }
//!
//! let cli = Cli::parse_from(["adds", "sum", "--engine", "cpu"]);
//! assert_eq!(run(cli).map_err(|failure| failure.code()), Err(Some(Code::Data)));
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod bench;
mod engine;
mod failure;
mod file;
#[cfg(feature = "plot")]
mod picture;
#[cfg(feature = "plot")]
mod plot;
#[cfg(feature = "plot")]
mod png;
mod print;

pub use bench::{bench_heading, median, rate, timed};
pub use engine::{EngineOptions, Engines};
pub use failure::{Code, Failure, exit_codes, main};
pub use file::write_file;
#[cfg(feature = "plot")]
pub use picture::{Drawing, Picture, colour};
#[cfg(feature = "plot")]
pub use plot::{Chart, line_chart};
/// What a [`Drawing`] is drawn with.
#[cfg(feature = "plot")]
pub use plotters;
pub use print::{scientific, table, write_json};
