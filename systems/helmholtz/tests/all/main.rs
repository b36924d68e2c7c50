//! All tests in one program, because linking takes longer than running.

mod adapters;
#[cfg(feature = "command")]
mod command;
#[cfg(all(feature = "command", unix))]
mod hostile;
mod known;
mod problem;

// The command, whose unit tests run here: the program itself is compiled once, without them.
#[cfg(feature = "command")]
#[allow(dead_code)]
#[path = "../../src/cli/mod.rs"]
mod cli;
