//! Writes answers to standard output, or to a file that appears when it is complete.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use command_host::{Failure, Output, ending, file_of, note, write_file, write_json};
use zfinder::{Results, RoiResult};
use zfinder_io::{AnswerDigest, ParquetVertices, Provenance, TruthTable, VertexColumns, write_csv, write_json_line};

use crate::failure::unwritten;
use crate::search::counted;
use crate::table;

/// The name of the command, the prefix of temporary files.
pub(super) const PROGRAM: &str = "zfinder";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Table for people, with true vertices if there is truth
    Table,
    /// event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background,rank,fallback:
    /// a row for every vertex. With tracklets, x, y and the covariance follow
    Csv,
    /// One JSON document: an object with the provenance of the answers, and the list of RoIs
    Json,
    /// JSON lines: an object with the provenance of the answers, then one for every RoI
    Jsonl,
    /// The columns and rows of csv as Parquet, null where a field is empty
    Parquet,
}

impl Format {
    /// Returns the format for a file name.
    fn of_name(path: &Path) -> Option<Self> {
        match ending(path).as_str() {
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            "txt" => Some(Format::Table),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

/// Returns the requested format, else that of the file name; a table on standard output. Some
/// commands cannot write all formats.
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

/// A writer of answers in one format.
enum Answers<'a> {
    Text(Text<'a>),
    Parquet(Box<ParquetVertices<'a, Output>>, String),
}

/// Answers as text.
struct Text<'a> {
    target: Output,
    format: Format,
    columns: VertexColumns<'a>,
    truth: Option<&'a TruthTable>,
    provenance: &'a Provenance,
    begun: bool,
    /// Whether the list of RoIs of a JSON document has an element.
    has_element: bool,
    /// Whether the JSON document is complete.
    is_complete: bool,
}

/// Returns the file for the provenance of a CSV file of answers, in the same folder. None for
/// formats that contain it, for standard output, devices and pipes.
pub(super) fn provenance_file(path: Option<&Path>, format: Format) -> Option<PathBuf> {
    let path = file_of(path).filter(|path| format == Format::Csv && !zfinder_io::is_stream(path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".provenance.json");
    Some(name.into())
}

/// A file of answers, with the number of answers written.
pub(super) struct AnswerFile<'a> {
    answers: Answers<'a>,
    provenance: &'a Provenance,
    provenance_file: Option<PathBuf>,
    written: usize,
    /// Writing failed, so the output cannot be completed.
    is_broken: bool,
}

impl<'a> AnswerFile<'a> {
    pub(super) fn open(
        path: Option<&Path>,
        (format, columns): (Format, VertexColumns<'a>),
        truth: Option<&'a TruthTable>,
        provenance: &'a Provenance,
    ) -> Result<Self, Failure> {
        let answers = Answers::open(path, (format, columns), truth, provenance)?;
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

    pub(super) fn results(&mut self, results: &Results) -> Result<(), Failure> {
        let written = self.answers.results(results);
        self.written += results.len();
        self.is_broken |= written.is_err();
        written
    }

    /// Writes rows of a table, each with the reason why its first vertex is wrong.
    pub(super) fn wrong_rows(&mut self, rows: &[(RoiResult<'_>, String)]) -> Result<(), Failure> {
        let Answers::Text(text) = &mut self.answers else { return Ok(()) };
        text.begin()?;
        let truth = text.truth;
        self.written += rows.len();
        text.target.write(|out| {
            rows.iter().try_for_each(|(result, reason)| table::wrong_row(out, truth, *result, reason))?;
            out.flush()
        })
    }

    /// Writes lines below a table.
    pub(super) fn closing(&mut self, lines: &str) -> Result<(), Failure> {
        self.answers.closing(lines)
    }

    /// Writes the digest into JSON; nothing in other formats.
    pub(super) fn digest(&mut self, digest: &AnswerDigest) -> Result<(), Failure> {
        match &mut self.answers {
            Answers::Text(text) => text.digest(digest),
            _ => Ok(()),
        }
    }

    /// Completes the output: the file gets its name.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.answers.finish()?;
        match &self.provenance_file {
            Some(path) => write_file(path, PROGRAM, |mut out| write_json(&mut out, self.provenance)),
            None => Ok(()),
        }
    }

    /// Completes the output with the answers before an error, and reports it.
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
        (format, columns): (Format, VertexColumns<'a>),
        truth: Option<&'a TruthTable>,
        provenance: &'a Provenance,
    ) -> Result<Self, Failure> {
        if format == Format::Parquet && file_of(path).is_none() && io::stdout().is_terminal() {
            return Err(Failure::usage(
                "Parquet is not readable on a terminal",
                "name a file with -o, or send standard output to one",
            ));
        }
        let target = Output::open(path, PROGRAM)?;
        if format != Format::Parquet {
            return Ok(Self::Text(Text {
                target,
                format,
                columns,
                truth,
                provenance,
                begun: false,
                has_element: false,
                is_complete: false,
            }));
        }
        let name = target.name().to_owned();
        let mut file = ParquetVertices::new(target, name.as_ref(), columns).map_err(unwritten)?;
        file.add_provenance(provenance);
        Ok(Self::Parquet(Box::new(file), name))
    }

    fn name(&self) -> &str {
        match self {
            Self::Text(text) => text.target.name(),
            Self::Parquet(_, name) => name,
        }
    }

    fn results(&mut self, results: &Results) -> Result<(), Failure> {
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
                text.end_document()?;
                text.target.finish()
            }
            Self::Parquet(file, _) => file.finish().map_err(unwritten)?.finish(),
        }
    }
}

impl Text<'_> {
    /// Writes the header lazily: an error in the first batch then leaves standard output empty.
    fn begin(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let (format, truth, provenance) = (self.format, self.truth.is_some(), self.provenance);
        let columns = self.columns;
        self.target.write(|mut out| match format {
            Format::Table => table::header(out, truth),
            Format::Csv => writeln!(out, "{}", columns.csv_header()),
            Format::Json => {
                write!(out, "{{\"provenance\":")?;
                provenance.write_json_line(&mut out)?;
                write!(out, ",\"rois\":[")
            }
            Format::Jsonl => provenance.write_json_line(&mut out),
            Format::Parquet => Ok(()),
        })
    }

    fn results(&mut self, results: &Results) -> Result<(), Failure> {
        self.begin()?;
        let (format, columns, truth) = (self.format, self.columns, self.truth);
        let has_element = &mut self.has_element;
        self.target.write(|mut out| {
            for result in results {
                match format {
                    Format::Table => table::rows(out, truth, result)?,
                    Format::Csv => write_csv(&mut out, result, columns)?,
                    Format::Json => {
                        writeln!(out, "{}", if std::mem::replace(has_element, true) { "," } else { "" })?;
                        zfinder_io::write_json(&mut out, result, truth)?;
                    }
                    Format::Jsonl | Format::Parquet => write_json_line(&mut out, result, truth)?,
                }
            }
            out.flush()
        })
    }

    fn digest(&mut self, digest: &AnswerDigest) -> Result<(), Failure> {
        self.begin()?;
        match self.format {
            Format::Json => {
                self.is_complete = true;
                self.target.write(|out| writeln!(out, "\n],\"digest\":\"{digest}\"}}"))
            }
            Format::Jsonl => {
                self.target.write(|out| writeln!(out, r#"{{"rois":{},"digest":"{digest}"}}"#, digest.rois()))
            }
            _ => Ok(()),
        }
    }

    /// Ends a JSON document without a digest.
    fn end_document(&mut self) -> Result<(), Failure> {
        if self.format != Format::Json || self.is_complete {
            return Ok(());
        }
        self.target.write(|out| writeln!(out, "\n]}}"))
    }

    fn closing(&mut self, lines: &str) -> Result<(), Failure> {
        self.begin()?;
        self.target.write(|out| writeln!(out, "\n{}", lines.trim_end()))
    }
}
