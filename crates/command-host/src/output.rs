//! Output: standard output, or a file that appears when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::interrupt::Unfinished;

/// Standard output or a file, known by its name in messages.
///
/// A regular file has a temporary name until [`Output::finish`]. An old file is replaced then, and stays if anything
/// fails. Devices, pipes and the targets of symbolic links are written through, never replaced.
#[derive(Debug)]
pub struct Output {
    sink: Sink,
    name: String,
}

#[derive(Debug)]
enum Sink {
    Stdout(BufWriter<io::Stdout>),
    /// Renamed to the target at the end.
    Temporary(BufWriter<NamedTempFile>, PathBuf, Unfinished),
    /// A device or a pipe, which cannot be renamed to.
    Direct(BufWriter<File>),
}

impl Output {
    /// Opens a file, or standard output for None and for `-`. The temporary name begins with that of the `program`.
    ///
    /// # Errors
    /// [`Code::Data`](crate::Code::Data) if the folder is missing or cannot be written to.
    pub fn open(path: Option<&Path>, program: &str) -> Result<Self, Failure> {
        let Some(path) = file_of(path) else {
            return Ok(Self { sink: Sink::Stdout(BufWriter::new(io::stdout())), name: "standard output".into() });
        };
        let name = path.display().to_string();
        let sink = Sink::file(path, program).map_err(|source| Failure::output(&name, &source))?;
        Ok(Self { sink, name })
    }

    /// Returns the name of the file, or "standard output".
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the temporary file, for a writer that must open it by name. None for standard output, devices and pipes.
    #[must_use]
    pub fn temporary(&self) -> Option<&Path> {
        match &self.sink {
            Sink::Temporary(file, ..) => Some(file.get_ref().path()),
            Sink::Stdout(_) | Sink::Direct(_) => None,
        }
    }

    /// Returns the stream itself, for a writer that reports its own errors.
    pub fn writer(&mut self) -> &mut (dyn Write + Send) {
        match &mut self.sink {
            Sink::Stdout(out) => out,
            Sink::Temporary(out, ..) => out,
            Sink::Direct(out) => out,
        }
    }

    /// Writes a part of the output.
    ///
    /// # Errors
    /// [`Code::Data`](crate::Code::Data) with the name of the output; a closed pipe ends the command successfully.
    pub fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        write(self.writer()).map_err(|source| Failure::output(&self.name, &source))
    }

    /// Completes the output: a regular file takes its name.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn finish(mut self) -> Result<(), Failure> {
        self.write(|out| out.flush())?;
        let Sink::Temporary(file, target, _unfinished) = self.sink else { return Ok(()) };
        let renamed = file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|file| file.persist(target).map_err(|error| error.error));
        renamed.map(|_| ()).map_err(|source| Failure::output(&self.name, &source))
    }
}

/// For writers that keep an output and report its errors by [`Output::name`].
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Sink {
    fn file(path: &Path, program: &str) -> io::Result<Self> {
        // A link keeps pointing at the file that is written.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Ok(metadata) = fs::metadata(&target)
            && !metadata.is_file()
        {
            return Ok(Self::Direct(BufWriter::new(File::options().write(true).open(&target)?)));
        }
        let file = with_temporary(program, 0o666, |builder| builder.tempfile_in(folder_of(&target)))?;
        let unfinished = Unfinished::new(file.path());
        Ok(Self::Temporary(BufWriter::new(file), target, unfinished))
    }
}

/// Returns the file of `-o`; None for standard output, which `-` means too.
#[must_use]
pub fn file_of(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

/// Returns the folder that holds a file.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a file or folder `.PROGRAM-*.tmp`, with these rights less the umask, as any new one.
///
/// # Errors
/// Those of `make`.
#[cfg_attr(not(unix), allow(unused_variables))]
pub fn with_temporary<T>(
    program: &str,
    rights: u32,
    make: impl FnOnce(&tempfile::Builder<'_, '_>) -> io::Result<T>,
) -> io::Result<T> {
    let prefix = format!(".{program}-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(rights));
    }
    make(&builder)
}

/// A stream that formats with an index at a known place need.
pub trait SeekableWrite: Write + Seek {}

impl<T: Write + Seek> SeekableWrite for T {}

/// Writes a whole file, as [`Output`] does. What goes to a device or a pipe is collected in memory first, because it
/// cannot seek.
///
/// # Errors
/// [`Code::Data`](crate::Code::Data) with the name of the file.
pub fn write_file(
    path: &Path,
    program: &str,
    write: impl FnOnce(&mut dyn SeekableWrite) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut output = Output::open(Some(path), program)?;
    let written = match &mut output.sink {
        Sink::Temporary(file, ..) => write(file),
        Sink::Direct(_) | Sink::Stdout(_) => {
            let mut content = Cursor::new(Vec::new());
            write(&mut content).and_then(|()| output.writer().write_all(content.get_ref()))
        }
    };
    written.map_err(|source| Failure::output(output.name(), &source))?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Code;

    #[test]
    fn a_file_is_replaced_when_the_new_one_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("answers");
        let there = || fs::read_to_string(&path).ok();
        write_file(&path, "adds", |out| out.write_all(b"old")).expect("it can be written");
        assert_eq!(there().as_deref(), Some("old"));
        let failed = write_file(&path, "adds", |out| {
            out.write_all(b"half of")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.expect_err("it fails").code(), Some(Code::Data));
        assert_eq!(there().as_deref(), Some("old"));
        write_file(&path, "adds", |out| out.write_all(b"new")).expect("it can be written");
        assert_eq!(there().as_deref(), Some("new"));
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing is left over");
        assert!(write_file(&folder.path().join("none/answers"), "adds", |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_are_written_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write_file(&link, "adds", |out| out.write_all(b"new")).expect("it can be written");
        assert_eq!(fs::read_to_string(&file).expect("the file"), "new");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        write_file(Path::new("/dev/null"), "adds", |out| out.write_all(b"new")).expect("it can be written");
        assert!(!fs::metadata("/dev/null").expect("the device").is_file());
    }
}
