//! All tests in one program, because linking takes longer than running.

mod adapters;
#[cfg(feature = "command")]
mod command;
mod known;
mod problem;

// Parts of the command, whose unit tests run here: the command itself is compiled once, without
// them.
#[cfg(feature = "command")]
#[allow(dead_code)]
#[path = "../../src/cli/check.rs"]
mod check;
#[cfg(feature = "command")]
#[allow(dead_code)]
#[path = "../../src/cli/figures.rs"]
mod figures;
