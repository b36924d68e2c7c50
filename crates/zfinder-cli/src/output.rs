//! Where answers go: standard output, or a file that appears whole or not at all.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use command_host::{Failure, Output, file_of, note, write_file, write_json};
use zfinder::RoiResult;
use zfinder_io::{AnswerDigest, CSV_HEADER, ParquetVertices, Provenance, TruthTable, write_csv, write_json_line};

use crate::failure::unwritten;
use crate::search::counted;
use crate::table;

/// The name of the command, with which temporary files begin.
pub(super) const PROGRAM: &str = "zfinder";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// To be read by people; with truth beside it if there is truth
    Table,
    /// event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background,rank,fallback:
    /// a row for every vertex
    Csv,
    /// JSON lines: an object that says how the answers came about, then one for every RoI
    Json,
    /// The columns and rows of csv as Parquet, null where a field is empty
    Parquet,
}

impl Format {
    /// What a file's name asks for.
    fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_lowercase().as_str() {
            "csv" => Some(Format::Csv),
            "json" | "jsonl" | "ndjson" => Some(Format::Json),
            "txt" => Some(Format::Table),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

/// The format that was asked for, else the one that the file's name asks for; a table on standard
/// output. Not every command can write all.
pub(super) fn format<F: TryFrom<Format>>(asked: Option<F>, path: Option<&Path>) -> Result<F, Failure> {
    let path = file_of(path);
    let by_name = || path.map_or(Some(Format::Table), Format::of_name).and_then(|format| F::try_from(format).ok());
    asked.or_else(by_name).ok_or_else(|| {
        Failure::usage(
            format!("the ending of `{}` does not say how to write it", path.unwrap_or(Path::new("")).display()),
            "end it in .csv, .json, .jsonl, .txt or, of `find`, .parquet, or give --format",
        )
    })
}

/// Answers on their way out, in one format.
enum Answers<'a> {
    Text(Text<'a>),
    Parquet(Box<ParquetVertices<Output>>, String),
}

/// Answers as text of some format.
struct Text<'a> {
    target: Output,
    format: Format,
    truth: Option<&'a TruthTable>,
    provenance: &'a Provenance,
    begun: bool,
}

/// Returns the file beside a CSV file of answers that says how they came about. None for formats
/// that hold that themselves, standard output, devices and pipes.
pub(super) fn provenance_file(path: Option<&Path>, format: Format) -> Option<PathBuf> {
    let path = file_of(path).filter(|path| format == Format::Csv && !zfinder_io::is_stream(path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".provenance.json");
    Some(name.into())
}

/// Answers, and how many of them were written.
pub(super) struct AnswerFile<'a> {
    answers: Answers<'a>,
    provenance: &'a Provenance,
    provenance_file: Option<PathBuf>,
    written: usize,
    /// Writing failed: there is nothing to complete.
    is_broken: bool,
}

impl<'a> AnswerFile<'a> {
    pub(super) fn open(
        path: Option<&Path>,
        format: Format,
        truth: Option<&'a TruthTable>,
        provenance: &'a Provenance,
    ) -> Result<Self, Failure> {
        let answers = Answers::open(path, format, truth, provenance)?;
        let provenance_file = provenance_file(path, format);
        Ok(Self { answers, provenance, provenance_file, written: 0, is_broken: false })
    }

    /// Leaves out the header of CSV, so that the file can follow another one.
    pub(super) fn continue_csv(&mut self) {
        if let Answers::Text(text) = &mut self.answers
            && text.format == Format::Csv
        {
            text.begun = true;
        }
    }

    pub(super) fn results(&mut self, results: &[RoiResult]) -> Result<(), Failure> {
        let written = self.answers.results(results);
        self.written += results.len();
        self.is_broken |= written.is_err();
        written
    }

    /// A line or more below a table.
    pub(super) fn closing(&mut self, lines: &str) -> Result<(), Failure> {
        self.answers.closing(lines)
    }

    /// The last line of JSON lines; other formats have none.
    pub(super) fn digest(&mut self, digest: &AnswerDigest) -> Result<(), Failure> {
        match &mut self.answers {
            Answers::Text(text) if text.format == Format::Json => text.digest(digest),
            _ => Ok(()),
        }
    }

    /// Everything is written: the file takes its name.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.answers.finish()?;
        match &self.provenance_file {
            Some(path) => write_file(path, PROGRAM, |mut out| write_json(&mut out, self.provenance)),
            None => Ok(()),
        }
    }

    /// Completes the output with the answers before an error, if there are any, and says so.
    pub(super) fn finish_early(self) -> Result<(), Failure> {
        if self.written == 0 || self.is_broken {
            return Ok(());
        }
        let text = format!("warning: {} ends before the error: {}", self.answers.name(), counted(self.written, "RoI"));
        self.finish()?;
        note(&text);
        Ok(())
    }
}

impl<'a> Answers<'a> {
    fn open(
        path: Option<&Path>,
        format: Format,
        truth: Option<&'a TruthTable>,
        provenance: &'a Provenance,
    ) -> Result<Self, Failure> {
        if format == Format::Parquet && file_of(path).is_none() && io::stdout().is_terminal() {
            return Err(Failure::usage(
                "Parquet is nothing to read on a terminal",
                "name a file with -o, or send standard output to one",
            ));
        }
        let target = Output::open(path, PROGRAM)?;
        if format != Format::Parquet {
            return Ok(Self::Text(Text { target, format, truth, provenance, begun: false }));
        }
        let name = target.name().to_owned();
        let mut file = ParquetVertices::new(target, name.as_ref()).map_err(unwritten)?;
        file.add_provenance(provenance);
        Ok(Self::Parquet(Box::new(file), name))
    }

    fn name(&self) -> &str {
        match self {
            Self::Text(text) => text.target.name(),
            Self::Parquet(_, name) => name,
        }
    }

    fn results(&mut self, results: &[RoiResult]) -> Result<(), Failure> {
        match self {
            Self::Text(text) => text.results(results),
            Self::Parquet(file, _) => results.iter().try_for_each(|result| file.write(result)).map_err(unwritten),
        }
    }

    fn closing(&mut self, lines: &str) -> Result<(), Failure> {
        match self {
            Self::Text(text) => text.closing(lines),
            Self::Parquet(..) => Ok(()),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Text(mut text) => {
                text.begin()?;
                text.target.finish()
            }
            Self::Parquet(file, _) => file.finish().map_err(unwritten)?.finish(),
        }
    }
}

impl Text<'_> {
    /// The header, before anything else: an error in the first batch then leaves standard output
    /// untouched.
    fn begin(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let (format, truth, provenance) = (self.format, self.truth.is_some(), self.provenance);
        self.target.write(|mut out| match format {
            Format::Table => table::header(out, truth),
            Format::Csv => writeln!(out, "{CSV_HEADER}"),
            Format::Json => provenance.write_json_line(&mut out),
            Format::Parquet => Ok(()),
        })
    }

    fn results(&mut self, results: &[RoiResult]) -> Result<(), Failure> {
        self.begin()?;
        let (format, truth) = (self.format, self.truth);
        self.target.write(|mut out| {
            for result in results {
                match format {
                    Format::Table => table::rows(out, truth, result)?,
                    Format::Csv => write_csv(&mut out, result)?,
                    Format::Json | Format::Parquet => write_json_line(&mut out, result)?,
                }
            }
            out.flush()
        })
    }

    fn digest(&mut self, digest: &AnswerDigest) -> Result<(), Failure> {
        self.begin()?;
        self.target.write(|out| writeln!(out, r#"{{"rois":{},"digest":"{digest}"}}"#, digest.rois()))
    }

    fn closing(&mut self, lines: &str) -> Result<(), Failure> {
        self.begin()?;
        self.target.write(|out| writeln!(out, "\n{}", lines.trim_end()))
    }
}
