//! Where answers go: standard output, or a file that appears whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tempfile::NamedTempFile;
use zfinder::io::{CSV_HEADER, ParquetVertices, TruthTable, write_csv, write_json_line};
use zfinder::{RoiResult, plot};

use super::failure::Failure;
use super::interrupt::Unfinished;
use super::table;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// To be read by people; with truth beside it if there is truth
    Table,
    /// event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background: a row for every vertex
    Csv,
    /// JSON lines: an object for every RoI
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

/// The format that was asked for, else the one that the file's name asks for; a table on standard output. Not every
/// command can write all.
pub(super) fn format<F: TryFrom<Format>>(asked: Option<F>, path: Option<&Path>) -> Result<F, Failure> {
    let path = file(path);
    let by_name = || path.map_or(Some(Format::Table), Format::of_name).and_then(|format| F::try_from(format).ok());
    asked.or_else(by_name).ok_or_else(|| Failure::Usage {
        message: format!("the ending of `{}` does not say how to write it", path.unwrap_or(Path::new("")).display()),
        help: "`--help` has the formats and endings under --format; end it in one of these, or give --format",
    })
}

/// The file that is meant; None for standard output, which `-` means too.
pub(super) fn file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

/// Writes a line for people to standard error; that it cannot be written harms nobody.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

enum Sink {
    Stdout(BufWriter<io::Stdout>),
    /// Renamed to the target at the end.
    Temporary(BufWriter<NamedTempFile>, PathBuf, Unfinished),
    /// A device or a pipe, which cannot be renamed to.
    Direct(BufWriter<File>),
}

/// Standard output or a file, by the name that messages give it.
pub(super) struct Target {
    sink: Sink,
    name: String,
}

/// Answers on their way out, in one format.
pub(super) enum Output<'a> {
    Text(Text<'a>),
    Parquet(Box<ParquetVertices<Target>>),
}

/// Answers as text of some format.
pub(super) struct Text<'a> {
    target: Target,
    format: Format,
    truth: Option<&'a TruthTable>,
    begun: bool,
}

impl<'a> Output<'a> {
    pub(super) fn open(path: Option<&Path>, format: Format, truth: Option<&'a TruthTable>) -> Result<Self, Failure> {
        if format == Format::Parquet && file(path).is_none() && io::stdout().is_terminal() {
            return Err(Failure::Usage {
                message: "Parquet is nothing to read on a terminal".into(),
                help: "name a file with -o, or send standard output to one",
            });
        }
        let target = Target::open(path)?;
        if format != Format::Parquet {
            return Ok(Self::Text(Text { target, format, truth, begun: false }));
        }
        let name = target.name().to_owned();
        Ok(Self::Parquet(Box::new(ParquetVertices::new(target, name.as_ref()).map_err(Failure::unwritten)?)))
    }

    pub(super) fn results(&mut self, results: &[RoiResult]) -> Result<(), Failure> {
        match self {
            Self::Text(text) => text.results(results),
            Self::Parquet(file) => results.iter().try_for_each(|result| file.write(result)).map_err(Failure::unwritten),
        }
    }

    /// A line or more below a table.
    pub(super) fn closing(&mut self, lines: &str) -> Result<(), Failure> {
        match self {
            Self::Text(text) => text.closing(lines),
            Self::Parquet(_) => Ok(()),
        }
    }

    /// Everything is written: the file takes its name.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Text(mut text) => {
                text.begin()?;
                text.target.finish()
            }
            Self::Parquet(file) => file.finish().map_err(Failure::unwritten)?.finish(),
        }
    }
}

impl Text<'_> {
    /// The header, before anything else: an error in the first batch then leaves standard output untouched.
    fn begin(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let (format, truth) = (self.format, self.truth.is_some());
        self.target.write(|out| match format {
            Format::Table => table::header(out, truth),
            Format::Csv => writeln!(out, "{CSV_HEADER}"),
            Format::Json | Format::Parquet => Ok(()),
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

    fn closing(&mut self, lines: &str) -> Result<(), Failure> {
        self.begin()?;
        self.target.write(|out| writeln!(out, "\n{}", lines.trim_end()))
    }
}

/// For those who keep a target and report failures by its name.
impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Target {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let path = file(path);
        let name = path.map_or("standard output".into(), |path| path.display().to_string());
        let sink = match path {
            None => Sink::Stdout(BufWriter::new(io::stdout())),
            Some(path) => Sink::file(path).map_err(|source| Failure::output(&name, source))?,
        };
        Ok(Self { sink, name })
    }

    /// The name that messages give it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The file that is written meanwhile, for who must open it by name; none on standard output, a device or a pipe.
    #[cfg(feature = "root")]
    pub(super) fn temporary(&self) -> Option<&Path> {
        match &self.sink {
            Sink::Temporary(file, ..) => Some(file.get_ref().path()),
            Sink::Stdout(_) | Sink::Direct(_) => None,
        }
    }

    /// Where bytes go, for who reports failures by [`Target::name`].
    pub(super) fn writer(&mut self) -> &mut (dyn Write + Send) {
        match &mut self.sink {
            Sink::Stdout(out) => out,
            Sink::Temporary(out, ..) => out,
            Sink::Direct(out) => out,
        }
    }

    pub(super) fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        write(self.writer()).map_err(|source| Failure::output(&self.name, source))
    }

    /// Everything is written: a file takes its name.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.write(|out| out.flush())?;
        let Sink::Temporary(file, target, _unfinished) = self.sink else { return Ok(()) };
        let renamed = file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|file| file.persist(target).map_err(|error| error.error));
        renamed.map(|_| ()).map_err(|source| Failure::output(&self.name, source))
    }
}

/// A file that a picture goes to.
pub(super) struct PictureTarget {
    target: Target,
    format: plot::Format,
}

impl PictureTarget {
    /// In the format that the file's name asks for.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let format = plot::Format::of(path).ok_or_else(|| Failure::Usage {
            message: format!("the ending of `{}` is not that of a picture", path.display()),
            help: "pictures are written as SVG or PNG: end the name in .svg or .png",
        })?;
        Ok(Self { target: Target::open(Some(path))?, format })
    }

    pub(super) fn write(mut self, draw: impl FnOnce(plot::Format) -> zfinder::Result<Vec<u8>>) -> Result<(), Failure> {
        let picture = draw(self.format)?;
        self.target.write(|out| out.write_all(&picture))?;
        self.target.finish()
    }
}

impl Sink {
    fn file(path: &Path) -> io::Result<Self> {
        // A link keeps pointing at the file that is written.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Ok(metadata) = fs::metadata(&target)
            && !metadata.is_file()
        {
            return Ok(Sink::Direct(BufWriter::new(File::options().write(true).open(&target)?)));
        }
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let builder = temporary(0o666);
        let file = builder.tempfile_in(folder)?;
        let unfinished = Unfinished::new(file.path());
        Ok(Sink::Temporary(BufWriter::new(file), target, unfinished))
    }
}

/// Makes files or folders under a name that says that they are not finished. With these rights less the umask, as any new
/// one.
#[cfg_attr(not(unix), allow(unused_variables))]
pub(super) fn temporary(rights: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".zfinder-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(rights));
    }
    builder
}
