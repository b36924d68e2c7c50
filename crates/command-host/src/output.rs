//! Output: standard output, or a file or folder that appears when it is complete.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::{TempDir, TempPath};

use crate::failure::Failure;
use crate::interrupt::{self, Unfinished};

/// Standard output or a file, known by its name in messages.
///
/// A regular file has a temporary name until [`Output::finish`]. An old file is replaced then, and
/// stays if anything fails. The new file has the rights of the old one. Devices, pipes and the
/// targets of symbolic links are written through, never replaced. A file whose name ends in `.gz`
/// is compressed with gzip.
#[derive(Debug)]
pub struct Output {
    sink: Sink,
    name: String,
}

#[derive(Debug)]
enum Sink {
    Stdout(BufWriter<io::Stdout>),
    /// Renamed to the target at the end.
    Temporary {
        file: BufWriter<File>,
        path: TempPath,
        target: PathBuf,
        rights: Option<Permissions>,
        unfinished: Unfinished,
    },
    /// A device or a pipe, which cannot be renamed to.
    Direct(BufWriter<File>),
    /// Compresses what another sink gets.
    Gzip(Box<GzEncoder<Sink>>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Output {
    /// Opens a file, or standard output for None and for `-`. The temporary name begins with that
    /// of the `program`.
    ///
    /// # Errors
    /// [`Code::Data`](crate::Code::Data) if the folder is missing or cannot be written to.
    pub fn open(path: Option<&Path>, program: &str) -> Result<Self, Failure> {
        let Some(path) = file_of(path) else {
            return Ok(Self { sink: Sink::Stdout(BufWriter::new(io::stdout())), name: "standard output".into() });
        };
        Self::named(path, path.display().to_string(), program)
    }

    fn named(path: &Path, name: String, program: &str) -> Result<Self, Failure> {
        let mut sink = Sink::file(path, program).map_err(|source| Failure::output(&name, &without_path(source)))?;
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz")) {
            sink = Sink::Gzip(Box::new(GzEncoder::new(sink, Compression::default())));
        }
        Ok(Self { sink, name })
    }

    /// Returns the name of the file, or "standard output".
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the temporary file, for a writer that must open it by name. None for standard
    /// output, devices and pipes.
    #[must_use]
    pub fn temporary(&self) -> Option<&Path> {
        match &self.sink {
            Sink::Temporary { path, .. } => Some(path),
            Sink::Stdout(_) | Sink::Direct(_) | Sink::Gzip(_) => None,
        }
    }

    /// Returns the stream itself, for a writer that reports its own errors.
    pub fn writer(&mut self) -> &mut (dyn Write + Send) {
        self.sink.writer()
    }

    /// Writes a part of the output.
    ///
    /// # Errors
    /// [`Code::Data`](crate::Code::Data) with the name of the output; a closed pipe ends the
    /// command successfully.
    pub fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        write(self.writer()).map_err(|source| Failure::output(&self.name, &source))
    }

    /// Completes the output: a regular file takes its name.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn finish(mut self) -> Result<(), Failure> {
        let sink = match self.sink {
            Sink::Gzip(packed) => packed.finish().map_err(|source| Failure::output(&self.name, &source))?,
            sink => sink,
        };
        self.sink = sink;
        self.write(|out| out.flush())?;
        let Sink::Temporary { file, path, target, rights, unfinished: _unfinished } = self.sink else { return Ok(()) };
        let renamed = file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|file| rights.map_or(Ok(()), |rights| file.set_permissions(rights)))
            .and_then(|()| path.persist(target).map_err(|error| error.error));
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
    fn writer(&mut self) -> &mut (dyn Write + Send) {
        match self {
            Self::Stdout(out) => out,
            Self::Temporary { file, .. } => file,
            Self::Direct(out) => out,
            Self::Gzip(out) => out,
        }
    }

    fn file(path: &Path, program: &str) -> io::Result<Self> {
        if is_open_file(path) {
            // A file that the shell has opened keeps its content, as with `>>`.
            return Ok(Self::Direct(BufWriter::new(File::options().append(true).open(path)?)));
        }
        // A link keeps pointing at the file that is written.
        let target = link_target(path)?;
        let old = fs::metadata(&target).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return Ok(Self::Direct(BufWriter::new(File::options().write(true).open(&target)?)));
        }
        let ((file, rights), unfinished) = interrupt::register(
            || {
                let file =
                    with_temporary(program, old.as_ref(), 0o666, |builder| builder.tempfile_in(folder_of(&target)))?;
                let rights = copy_rights(old.as_ref(), file.as_file())?;
                Ok((file, rights))
            },
            |(file, _)| file.path(),
        )?;
        // Errors of the file alone hold no temporary path.
        let (file, path) = file.into_parts();
        Ok(Self::Temporary { file: BufWriter::new(file), path, target, rights, unfinished })
    }
}

/// Returns the file of `-o`; None for standard output, which `-` means too.
#[must_use]
pub fn file_of(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

/// Returns the ending of a name in lower case, empty without one. Text that is packed has the
/// ending of the text: `csv` for `a.csv.gz`. Binary formats are not packed, and `a.parquet.gz` has
/// `gz`.
#[must_use]
pub fn ending(path: &Path) -> String {
    const TEXTS: [&str; 5] = ["csv", "json", "jsonl", "ndjson", "txt"];
    let own = |path: &Path| path.extension().map_or_else(String::new, |ending| ending.to_string_lossy().to_lowercase());
    match own(path) {
        gz if gz == "gz" => {
            let text = own(&path.with_extension(""));
            if TEXTS.contains(&text.as_str()) { text } else { gz }
        }
        ending => ending,
    }
}

/// Returns the folder that holds a file.
#[must_use]
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the path names a file descriptor of this process: `/dev/stdout`, `/dev/fd/3`.
fn is_open_file(path: &Path) -> bool {
    cfg!(unix)
        && (["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder))
            || ["/dev/stdout", "/dev/stderr"].iter().any(|file| path == Path::new(file)))
}

/// Returns the path at the end of symbolic links, whether a file is there or not.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(file) = fs::canonicalize(&target) {
            return Ok(file);
        }
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Returns the system's error without the temporary name that `tempfile` adds to it.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.rsplit_once(" at path ") {
        Some((message, _)) if error.get_ref().is_some() => io::Error::new(error.kind(), message),
        _ => error,
    }
}

/// Makes a file or folder `.PROGRAM-*.tmp`. It has at most the rights of the file or folder that it
/// will replace, and the owner's. Without an old one it has the given rights less the umask, as any
/// new file.
#[cfg_attr(not(unix), allow(unused_variables))]
fn with_temporary<T>(
    program: &str,
    old: Option<&Metadata>,
    rights: u32,
    make: impl FnOnce(&tempfile::Builder<'_, '_>) -> io::Result<T>,
) -> io::Result<T> {
    let prefix = format!(".{program}-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        const OWNER: u32 = 0o700;
        let rights = old.map_or(rights, |old| (old.permissions().mode() | OWNER) & rights);
        builder.permissions(Permissions::from_mode(rights));
    }
    make(&builder)
}

/// Gives an empty temporary file or folder the rights of the old one, which the umask may have
/// reduced, and the right of the owner to write. Returns the rights of the old one, for the end. A
/// process with the privilege to do so also keeps the owner and the group.
#[cfg(unix)]
fn copy_rights(old: Option<&Metadata>, new: &File) -> io::Result<Option<Permissions>> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    const RIGHTS: u32 = 0o777;
    const OF_THE_GROUP: u32 = 0o070;
    const OWNER_OF_FILE: u32 = 0o600;
    const OWNER_OF_FOLDER: u32 = 0o700;
    let Some(old) = old else { return Ok(None) };
    let mut rights = old.permissions().mode() & RIGHTS;
    if old.uid() != new.metadata()?.uid() {
        let _ = fchown(new, Some(old.uid()), None);
    }
    if old.gid() != new.metadata()?.gid() && fchown(new, None, Some(old.gid())).is_err() {
        // Another group must not get the rights of the old one.
        rights &= !OF_THE_GROUP;
    }
    let while_written = rights | if old.is_dir() { OWNER_OF_FOLDER } else { OWNER_OF_FILE };
    new.set_permissions(Permissions::from_mode(while_written))?;
    Ok(Some(Permissions::from_mode(rights)))
}

/// Other systems have no rights that a new file must copy.
#[cfg(not(unix))]
fn copy_rights(_: Option<&Metadata>, _: &File) -> io::Result<Option<Permissions>> {
    Ok(None)
}

/// A folder that takes its name when everything is in it. Before, it has a temporary name, and any
/// failure or interrupt removes it.
#[derive(Debug)]
pub struct OutputFolder {
    temporary: TempDir,
    target: PathBuf,
    /// Rights of the old folder.
    rights: Option<Permissions>,
    /// As the user names it.
    name: PathBuf,
    program: String,
    _unfinished: Unfinished,
}

impl OutputFolder {
    /// Makes the folder under a temporary name, which begins with that of the `program`.
    ///
    /// # Errors
    /// [`Code::Usage`](crate::Code::Usage) if there is a folder of that name with something in it;
    /// [`Code::Data`](crate::Code::Data) if the folder cannot be made.
    pub fn open(path: &Path, program: &str) -> Result<Self, Failure> {
        let failed = |source| Failure::output(&path.display().to_string(), &without_path(source));
        // Events of two samples in one folder would be taken for one.
        let is_occupied = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        if is_occupied {
            return Err(Failure::usage(
                format!("the folder {} is not empty", path.display()),
                "name a new one, so that two samples are not mixed",
            ));
        }
        let target = link_target(path).map_err(failed)?;
        let old = fs::metadata(&target).ok();
        let make = || {
            let folder =
                with_temporary(program, old.as_ref(), 0o777, |builder| builder.tempdir_in(folder_of(&target)))?;
            let rights = match cfg!(unix) {
                true => copy_rights(old.as_ref(), &File::open(folder.path())?)?,
                false => None,
            };
            Ok((folder, rights))
        };
        let made = interrupt::register(make, |(folder, _): &(TempDir, _)| folder.path());
        let ((temporary, rights), _unfinished) = made.map_err(failed)?;
        Ok(Self { temporary, target, rights, name: path.to_owned(), program: program.to_owned(), _unfinished })
    }

    /// Returns the temporary folder, for a writer that makes files in it.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Returns the name that the folder will have.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Opens a file in the folder.
    ///
    /// # Errors
    /// As [`Output::open`].
    pub fn output(&self, name: &str) -> Result<Output, Failure> {
        Output::named(&self.path().join(name), self.name.join(name).display().to_string(), &self.program)
    }

    /// Completes the folder: it takes its name.
    ///
    /// # Errors
    /// [`Code::Data`](crate::Code::Data) if a folder of that name is not empty any more.
    pub fn finish(self) -> Result<(), Failure> {
        // Removes an empty folder of that name. A missing folder is no error.
        let _ = fs::remove_dir(&self.target);
        let rights = self.rights.clone().map_or(Ok(()), |rights| fs::set_permissions(self.path(), rights));
        let renamed = rights.and_then(|()| fs::rename(self.path(), &self.target));
        renamed.map_err(|source| Failure::output(&self.name.display().to_string(), &source))?;
        // The folder has another name now: nothing is left to be removed.
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// A stream that formats with an index at a known place need.
pub trait SeekableWrite: Write + Seek {}

impl<T: Write + Seek> SeekableWrite for T {}

/// Writes a whole file, as [`Output`] does. Data for a device, a pipe or gzip is collected in
/// memory first, because these cannot seek.
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
        Sink::Temporary { file, .. } => write(file),
        Sink::Direct(_) | Sink::Stdout(_) | Sink::Gzip(_) => {
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
    fn a_name_that_ends_in_gz_is_packed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.csv.gz");
        let mut output = Output::open(Some(&path), "test").expect("opened");
        output.write(|out| out.write_all(b"a,b\n1,2\n")).expect("written");
        output.finish().expect("finished");
        let mut text = String::new();
        let mut packed = flate2::read::GzDecoder::new(File::open(&path).expect("a file"));
        io::Read::read_to_string(&mut packed, &mut text).expect("gzip");
        assert_eq!(text, "a,b\n1,2\n");
        for (name, wanted) in [("a.csv.gz", "csv"), ("a.CSV", "csv"), ("a.parquet.gz", "gz"), ("a", "")] {
            assert_eq!(ending(Path::new(name)), wanted);
        }
    }

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
        let failed = write_file(&folder.path().join("none/answers"), "adds", |_| Ok(())).expect_err("no folder");
        assert!(!failed.to_string().contains(".adds-"), "{failed}");
    }

    #[test]
    fn a_folder_appears_when_it_is_complete() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("sample");
        let folder = OutputFolder::open(&path, "adds").expect("it can be made");
        let mut file = folder.output("a.csv").expect("it can be made");
        assert_eq!(file.name(), path.join("a.csv").display().to_string());
        assert_eq!(folder.name(), path);
        file.write(|out| out.write_all(b"1")).expect("written");
        file.finish().expect("written");
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).expect("the folder").count(), 0, "an unfinished folder is removed");

        OutputFolder::open(&path, "adds").and_then(OutputFolder::finish).expect("it can be made");
        fs::write(path.join("a"), "1").expect("written");
        let occupied = OutputFolder::open(&path, "adds").expect_err("something is in it");
        assert_eq!(occupied.code(), Some(Code::Usage));
        let failed = OutputFolder::open(&parent.path().join("none/sample"), "adds").expect_err("no folder");
        assert!(!failed.to_string().contains(".adds-"), "{failed}");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_keeps_the_rights_of_the_old_one() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().expect("a folder");
        let rights = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
        let path = parent.path().join("answers");
        // The umask of a test leaves no rights of others to write: 666 is kept all the same.
        for mode in [0o600, 0o640, 0o666, 0o444] {
            fs::write(&path, "old").expect("written");
            set(&path, mode);
            let mut output = Output::open(Some(&path), "adds").expect("opened");
            let temporary = output.temporary().expect("a regular file").to_owned();
            assert_eq!(rights(&temporary), mode | 0o200, "before there is content");
            output.write(|out| out.write_all(b"new")).expect("written");
            output.finish().expect("written");
            assert_eq!((rights(&path), fs::read_to_string(&path).expect("the file")), (mode, "new".into()));
            fs::remove_file(&path).expect("removed");
        }
        let folder = parent.path().join("sample");
        fs::create_dir(&folder).expect("made");
        set(&folder, 0o700);
        let output = OutputFolder::open(&folder, "adds").expect("it can be made");
        assert_eq!(rights(output.path()), 0o700);
        output.finish().expect("finished");
        assert_eq!(rights(&folder), 0o700);
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

        // A link to a file that is not there yet stays a link, too.
        fs::remove_file(&file).expect("it was there");
        write_file(&link, "adds", |out| out.write_all(b"first")).expect("it can be written");
        assert_eq!(fs::read_to_string(&file).expect("the file"), "first");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
    }
}
