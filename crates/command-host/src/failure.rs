//! How a command ends: its message and its exit code.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use miette::{Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use crate::interrupt;

/// The exit code of a command that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Unreadable or invalid input, or unwritable output.
    Data = 1,
    /// Wrong usage. clap exits with it, too.
    Usage = 2,
    /// No such adapter, or the GPU failed.
    Gpu = 3,
    /// A bench with wrong answers.
    WrongAnswer = 4,
    /// The command is done, and errors in its input were skipped.
    Skipped = 5,
    /// An iteration that did not converge.
    NotConverged = 6,
}

/// Returns the exit codes as text for `after_help`. `data` describes [`Code::Data`] in this
/// command.
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

/// The reason why a command ends early. `?` makes one of any error.
#[derive(Debug)]
pub struct Failure(Reason);

#[derive(Debug)]
enum Reason {
    /// The reader of standard output has closed it: `lumi decode ... | head`.
    ClosedPipe,
    /// A message of the command.
    Message { code: Code, message: String, help: Option<&'static str> },
    /// An error of a library, which [`main`] diagnoses.
    Error(Box<dyn Error + Send + Sync>),
}

/// Failure of a command, made from an error of a library.
#[derive(Debug)]
pub struct Diagnosis {
    /// The exit code.
    pub code: Code,
    /// Remedy for the user.
    pub help: Option<&'static str>,
    /// The line of a file that the error is about.
    pub excerpt: Option<Excerpt>,
}

impl From<Code> for Diagnosis {
    fn from(code: Code) -> Self {
        Self { code, help: None, excerpt: None }
    }
}

impl Failure {
    /// Makes a failure of a message and its exit code.
    #[must_use]
    pub fn new(code: Code, message: impl fmt::Display) -> Self {
        Self(Reason::Message { code, message: message.to_string(), help: None })
    }

    /// Makes the failure of options that do not go together, with what the user can do.
    #[must_use]
    pub fn usage(message: impl fmt::Display, help: &'static str) -> Self {
        Self::new(Code::Usage, message).with_help(help)
    }

    /// Makes the failure of a bench whose answers are wrong.
    #[must_use]
    pub fn wrong_answer(message: impl fmt::Display) -> Self {
        Self::new(Code::WrongAnswer, message)
    }

    /// Makes the failure of an output that cannot be written. A closed pipe ends the command
    /// successfully.
    #[must_use]
    pub fn output(name: &str, source: &io::Error) -> Self {
        match source.kind() {
            ErrorKind::BrokenPipe => Self(Reason::ClosedPipe),
            _ => Self::new(Code::Data, format_args!("cannot write {name}: {source}")),
        }
    }

    /// Says what the user can do. The help of an error of a library comes from its [`Diagnosis`].
    #[must_use]
    pub fn with_help(mut self, text: &'static str) -> Self {
        if let Reason::Message { help, .. } = &mut self.0 {
            *help = Some(text);
        }
        self
    }

    /// Returns the exit code that the failure was made with.
    ///
    /// None for an error of a library, whose code [`main`] finds, and for a closed pipe, which ends
    /// a command successfully.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self.0 {
            Reason::Message { code, .. } => Some(code),
            Reason::ClosedPipe | Reason::Error(_) => None,
        }
    }

    /// Returns what is printed, or None for a closed pipe.
    fn report(self, diagnose: impl FnOnce(&(dyn Error + 'static)) -> Diagnosis) -> Option<Report> {
        let (code, message, help, excerpt) = match self.0 {
            Reason::ClosedPipe => return None,
            Reason::Message { code, message, help } => (code, message, help, None),
            Reason::Error(error) => {
                let Diagnosis { code, help, excerpt } = diagnose(&*error);
                (code, error.to_string(), help, excerpt)
            }
        };
        let message = printable(&shortened(message));
        Some(Report { code, message, help, excerpt: excerpt.map(Excerpt::printable) })
    }
}

/// Writes the message.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::ClosedPipe => f.write_str("standard output was closed"),
            Reason::Message { message, .. } => f.write_str(message),
            Reason::Error(error) => error.fmt(f),
        }
    }
}

/// Converts any error. An [`io::Error`] is taken as one of standard output: a command reports files
/// by their names, as [`Output`](crate::Output) does.
impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let error: Box<dyn Error + Send + Sync> = Box::new(error);
        match error.downcast::<io::Error>() {
            Ok(error) => Self::output("standard output", &error),
            Err(error) => Self(Reason::Error(error)),
        }
    }
}

/// Runs a command: parses the command line, calls `run`, and prints a failure on standard error. An
/// interrupt removes unfinished output.
///
/// `exit_code` chooses the exit code for errors of the command's library. Other errors have
/// [`Code::Gpu`] if they are [`kernel_host::Error`]s, and [`Code::Data`] if not.
pub fn main<C: Parser, E: Error + 'static>(
    exit_code: impl FnOnce(&E) -> Code,
    run: impl FnOnce(C) -> Result<(), Failure>,
) -> ExitCode {
    let diagnose = |error: &(dyn Error + 'static)| {
        let fallback = if error.is::<kernel_host::Error>() { Code::Gpu } else { Code::Data };
        error.downcast_ref().map_or(fallback, exit_code).into()
    };
    main_from(std::env::args_os(), diagnose, run).into()
}

/// [`main`] for a command that diagnoses errors of several libraries, and that another program can
/// run in its own process: takes the arguments, the first of which is the command's name, and
/// returns the exit code.
///
/// Wrong usage, `--help` and an interrupt end the process.
pub fn main_from<C: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
    diagnose: impl FnOnce(&(dyn Error + 'static)) -> Diagnosis,
    run: impl FnOnce(C) -> Result<(), Failure>,
) -> u8 {
    main_of(C::command(), arguments, diagnose, run)
}

/// As [`main_from`], with a command line that was made from `C`'s, for example with other help.
pub fn main_of<C: Parser>(
    mut command: clap::Command,
    arguments: impl IntoIterator<Item = OsString>,
    diagnose: impl FnOnce(&(dyn Error + 'static)) -> Diagnosis,
    run: impl FnOnce(C) -> Result<(), Failure>,
) -> u8 {
    // It fails only where a hook is set already.
    let _ = miette::set_hook(Box::new(|_| {
        Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).terminal_links(false).build())
    }));
    #[cfg(target_os = "linux")]
    crate::quiet::restart_quietly();
    interrupt::watch();
    let options = command.try_get_matches_from_mut(arguments).and_then(|matches| C::from_arg_matches(&matches));
    let options = options.unwrap_or_else(|error| error.format(&mut command).exit());
    let Err(failure) = run(options) else { return 0 };
    let Some(report) = failure.report(diagnose) else { return 0 };
    let code = report.code;
    let rendered = format!("{:?}", miette::Report::new(report));
    let _ = writeln!(io::stderr().lock(), "{}", with_prefix(&rendered));
    code as u8
}

/// Replaces miette's icon before the message by `error:`, as clap's failures begin.
fn with_prefix(rendered: &str) -> String {
    let text = rendered.trim_start();
    match text.strip_prefix("x ") {
        Some(message) => format!("error: {message}"),
        None => text.replacen('\u{d7}', "error:", 1),
    }
}

/// Writes a line for people to standard error, without control characters. A line that cannot be
/// written is lost.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(text));
}

/// Cuts a message that repeats a large part of a file.
fn shortened(mut message: String) -> String {
    const MOST_BYTES: usize = 8000;
    if message.len() > MOST_BYTES {
        message.truncate(message.floor_char_boundary(MOST_BYTES));
        message.push_str("...");
    }
    message
}

/// Escapes control characters but newlines: names and content of files may hold some that steer a
/// terminal.
fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            printed.extend(c.escape_default());
        } else {
            printed.push(c);
        }
    }
    printed
}

/// A failure as miette renders it.
#[derive(Debug)]
struct Report {
    code: Code,
    message: String,
    help: Option<&'static str>,
    excerpt: Option<Excerpt>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Report {}

impl Diagnostic for Report {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.map(|help| Box::new(help) as _)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| excerpt as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = LabeledSpan::new_with_span(excerpt.label.clone(), excerpt.span());
        Some(Box::new(std::iter::once(label)))
    }
}

/// A line of a file, and the part of it that an error is about.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The file's name.
    pub name: String,
    /// The line.
    pub line: String,
    /// Its number, from 1.
    pub row: usize,
    /// The bytes of the line that are marked.
    pub marked: Range<usize>,
    /// Text below the mark.
    pub label: Option<String>,
}

impl Excerpt {
    /// Replaces control characters by as many bytes, so that the mark stays where it is.
    fn printable(mut self) -> Self {
        let line = self.line.chars().map(|c| {
            let width = if c.is_control() { c.len_utf8() } else { 0 };
            (c, width)
        });
        self.line = line
            .flat_map(|(c, width)| {
                let other = (width == 0).then_some(c);
                std::iter::repeat_n('?', width).chain(other)
            })
            .collect();
        self.name = printable(&self.name);
        self
    }

    fn span(&self) -> SourceSpan {
        SourceSpan::new(self.marked.start.into(), self.marked.len())
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = SourceSpan::new(0.into(), self.line.len());
        let bytes = self.line.as_bytes();
        // miette asks without context for the place of the mark, and with context for the text to
        // show.
        let column = if before == 0 { span.offset() } else { 0 };
        let row = self.row.saturating_sub(1);
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), bytes, whole, row, column, 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(failure: Failure) -> Option<(Code, String)> {
        failure.report(|_| Code::Usage.into()).map(|report| (report.code, report.message))
    }

    #[test]
    fn a_closed_pipe_is_a_success_and_a_full_disk_is_a_failure() {
        let of = |kind: ErrorKind| told(Failure::from(io::Error::from(kind)));
        assert_eq!(of(ErrorKind::BrokenPipe), None);
        let (code, message) = of(ErrorKind::StorageFull).expect("a message");
        assert!(code == Code::Data && message.starts_with("cannot write standard output: "), "{message}");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31m\tb\r\nc\u{9b}"), "a\\u{1b}[31m\\tb\\r\nc\\u{9b}");
        let (_, message) = told(Failure::new(Code::Data, "`\u{1b}[2J` is not a number")).expect("a message");
        assert_eq!(message, "`\\u{1b}[2J` is not a number");
        let line = "1,\u{1b}\u{9b},2".to_owned();
        let excerpt = Excerpt { name: "a\rb".into(), line, row: 1, marked: 2..5, label: None }.printable();
        assert_eq!((excerpt.name.as_str(), excerpt.line.as_str()), ("a\\rb", "1,???,2"));
    }

    #[test]
    fn a_long_message_is_cut() {
        let (_, message) = told(Failure::new(Code::Data, "é".repeat(1 << 20))).expect("a message");
        assert!(message.len() < 8010 && message.ends_with("é..."), "{}", message.len());
    }

    #[test]
    fn a_report_begins_with_error() {
        for rendered in ["  \u{d7} no file\n  help: a\n", "  x no file\n  help: a\n"] {
            assert_eq!(with_prefix(rendered), "error: no file\n  help: a\n");
        }
        let coloured = with_prefix("  \u{1b}[31m\u{d7}\u{1b}[0m 2 \u{d7} 2 is not 5");
        assert_eq!(coloured, "\u{1b}[31merror:\u{1b}[0m 2 \u{d7} 2 is not 5");
    }

    #[test]
    fn errors_have_the_exit_code_of_their_diagnosis() {
        assert_eq!(told(fmt::Error.into()), Some((Code::Usage, fmt::Error.to_string())));
        assert_eq!(told(Failure::wrong_answer("2 + 2 = 5")), Some((Code::WrongAnswer, "2 + 2 = 5".into())));
        assert_eq!(Failure::usage("a and b", "leave one out").code(), Some(Code::Usage));
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
