//! Tests of commands: the command lines that pages quote, and hostile files.

#[cfg(unix)]
mod hostile;
mod quoted;

#[cfg(unix)]
pub use hostile::{HostileFile, check_hostile_files};
pub use quoted::check_quoted_lines;
