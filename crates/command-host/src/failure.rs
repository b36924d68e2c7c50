//! How a command ends: what is told, and the exit code.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use miette::miette;

/// The exit code of a command that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Input that cannot be read or is wrong, output that cannot be written.
    Data = 1,
    /// Wrong usage. clap ends with it, too.
    Usage = 2,
    /// No such adapter, or the GPU failed.
    Gpu = 3,
    /// Of a bench: answers that are wrong.
    WrongAnswer = 4,
}

/// The exit codes for `after_help`; `data` says what [`Code::Data`] is in this command.
#[must_use]
pub fn exit_codes(data: &str) -> String {
    format!(
        "Exit codes:
  0  done
  1  {data}
  2  wrong usage
  3  no such adapter, or the GPU failed
  4  a bench whose answers are wrong"
    )
}

/// Why a command ends early.
#[derive(Debug)]
pub struct Failure(Reason);

#[derive(Debug)]
enum Reason {
    /// Whoever reads has had enough: `lumi decode ... | head`.
    ClosedPipe,
    Told(Code, String),
}

impl Failure {
    /// What is told, and the exit code.
    #[must_use]
    pub fn new(code: Code, what: impl fmt::Display) -> Self {
        Self(Reason::Told(code, what.to_string()))
    }

    /// The exit code. None if it is only that the reader of standard output has gone: the command is done then.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self.0 {
            Reason::ClosedPipe => None,
            Reason::Told(code, _) => Some(code),
        }
    }

    /// Of a bench whose answers are wrong.
    #[must_use]
    pub fn wrong_answer(what: impl fmt::Display) -> Self {
        Self::new(Code::WrongAnswer, what)
    }
}

/// Of writing to standard output. Who writes to a file has an error of its own, with the name of the file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self(Reason::ClosedPipe),
            _ => Self::new(Code::Data, format_args!("standard output: {error}")),
        }
    }
}

/// What `main` is: parses the command line, runs it, and tells on standard error what fails.
pub fn main<C: Parser>(run: impl FnOnce(C) -> Result<(), Failure>) -> ExitCode {
    match run(C::parse()) {
        Ok(()) | Err(Failure(Reason::ClosedPipe)) => ExitCode::SUCCESS,
        Err(Failure(Reason::Told(code, message))) => {
            let _ = writeln!(io::stderr(), "{:?}", miette!("{message}"));
            ExitCode::from(code as u8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is_one() {
        let of = |kind: ErrorKind| Failure::from(io::Error::from(kind)).0;
        assert!(matches!(of(ErrorKind::BrokenPipe), Reason::ClosedPipe));
        let Reason::Told(code, message) = of(ErrorKind::StorageFull) else { panic!("it is told") };
        assert!(code == Code::Data && message.starts_with("standard output: "), "{message}");
    }

    #[test]
    fn the_help_has_every_code() {
        let text = exit_codes("no file");
        for (code, what) in [
            (Code::Data, "no file"),
            (Code::Usage, "wrong usage"),
            (Code::Gpu, "no such adapter"),
            (Code::WrongAnswer, "a bench"),
        ] {
            assert!(text.contains(&format!("\n  {}  {what}", code as u8)), "{text}");
        }
    }
}
