//! What went wrong, as the user sees it: the message, the place in the file, what to do, and the exit code.

use std::io;
use std::path::Path;

use miette::{Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use zfinder::Error;

/// Why the command ends early.
#[derive(Debug)]
pub(super) enum Failure {
    /// From the library.
    Zfinder { error: Error, excerpt: Option<Box<Excerpt>> },
    /// Options that do not go together.
    Usage { message: String, help: &'static str },
    /// An input with nothing to measure in it.
    NoRoi { message: String },
    /// An engine that does not answer as the reference engine.
    WrongAnswer { message: String },
    /// A process that needs more and more.
    Leak { message: String },
    /// An output that cannot be written.
    Output { name: String, source: io::Error },
    /// The reader of standard output has gone.
    ClosedPipe,
}

/// The row of a file that an error is about.
#[derive(Debug)]
pub(super) struct Excerpt {
    name: String,
    line: String,
    row: usize,
    span: SourceSpan,
    /// What stands there.
    label: Option<String>,
}

impl Failure {
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Failure::ClosedPipe => 0,
            Failure::Output { .. } | Failure::NoRoi { .. } => 1,
            Failure::WrongAnswer { .. } | Failure::Leak { .. } => 4,
            Failure::Usage { .. } => 2,
            Failure::Zfinder { error, .. } => match error {
                Error::Config { .. } | Error::Toml { .. } | Error::Detector { .. } => 2,
                Error::Gpu(_) | Error::Panicked { .. } | Error::Thread(_) => 3,
                _ => 1,
            },
        }
    }

    /// Of a writer of the library, which reads nothing: what fails is an output.
    pub(super) fn unwritten(error: Error) -> Self {
        match error {
            Error::Io { path, source } => Failure::output(&path.display().to_string(), source),
            other => other.into(),
        }
    }

    /// Of writing to standard output or to a file.
    pub(super) fn output(name: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Output { name: name.into(), source },
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let excerpt = match &error {
            Error::Input { path, row, column, .. } if *row > 0 => {
                Excerpt::read(path, *row, column.as_deref()).map(Box::new)
            }
            _ => None,
        };
        Failure::Zfinder { error, excerpt }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Zfinder { error, .. } => error.fmt(f),
            Failure::Usage { message, .. }
            | Failure::NoRoi { message }
            | Failure::WrongAnswer { message }
            | Failure::Leak { message } => f.write_str(message),
            Failure::Output { name, source } => write!(f, "cannot write {name}: {source}"),
            Failure::ClosedPipe => f.write_str("standard output was closed"),
        }
    }
}

impl std::error::Error for Failure {}

impl Diagnostic for Failure {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        let help = match self {
            Failure::Usage { help, .. } => help,
            Failure::NoRoi { .. } => "leave --input out for a simulated sample, or give --rois that select its events",
            Failure::WrongAnswer { .. } => {
                "no figure counts where an answer is wrong; if `--encoding lossless` is wrong as well, please report it"
            }
            Failure::Zfinder { error: Error::Input { column: Some(column), .. }, .. } => match column.as_str() {
                "layer" | "layer_id" | "geometry_id_1" | "geometry_id" | "sp_vollayer" | "sp_x" => {
                    "name the detector that the file is of: --detector atlas2010, generic, odd or FILE.toml"
                }
                _ => return None,
            },
            Failure::Zfinder { error: Error::Config { .. }, .. } => {
                "`zfinder find --help` says what each option means; --print-config shows the values in use"
            }
            Failure::Zfinder { error: Error::Toml { .. }, .. } => {
                "`zfinder find --print-config` shows every key of a configuration; data/detectors has detectors to copy from"
            }
            Failure::Zfinder { error: Error::Gpu(_), .. } => {
                "`zfinder adapters` lists the adapters; --engine cpu needs none"
            }
            _ => return None,
        };
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Failure::Zfinder { excerpt: Some(excerpt), .. } => Some(&**excerpt),
            _ => None,
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self {
            Failure::Zfinder { excerpt: Some(excerpt), .. } => {
                Some(Box::new(std::iter::once(LabeledSpan::new_with_span(excerpt.label.clone(), excerpt.span))))
            }
            _ => None,
        }
    }
}

impl Excerpt {
    /// The row, and in it the field of the column.
    fn read(path: &Path, row: u64, column: Option<&str>) -> Option<Self> {
        let line = zfinder::io::line(path, row).filter(|line| !line.is_empty())?;
        let mut span = 0..line.len();
        if let Some(column) = column {
            let header = zfinder::io::line(path, 1)?;
            let at = header.split(',').position(|name| name.trim() == column)?;
            let start: usize = line.split(',').take(at).map(|field| field.len() + 1).sum();
            let length = line.split(',').nth(at)?.len();
            span = start..start + length;
        }
        let span = SourceSpan::new(span.start.into(), span.len());
        Some(Self {
            name: path.display().to_string(),
            line,
            row: usize::try_from(row).ok()?,
            span,
            label: column.map(str::to_owned),
        })
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
        // Without lines around it is asked for where the span begins; with them, for the text to show.
        let column = if before == 0 { span.offset() } else { 0 };
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), bytes, whole, self.row - 1, column, 1)))
    }
}
