//! Files that appear when they are whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file. It has another name, which begins with that of the `program`, until it is complete; an old file is replaced
/// then, and left alone if anything fails.
///
/// # Errors
/// Those of `write`; a folder that is not there or that may not be written to.
pub fn write_file(
    path: &Path,
    program: &str,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let prefix = format!(".{program}-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any file that is made; the umask takes away what it takes.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(folder)?;
    let mut out = BufWriter::new(temporary.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    temporary.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_when_the_new_one_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("answers");
        let there = || std::fs::read_to_string(&path).ok();
        write_file(&path, "adds", |out| out.write_all(b"old")).expect("it can be written");
        assert_eq!(there().as_deref(), Some("old"));
        let failed = write_file(&path, "adds", |out| {
            out.write_all(b"half of")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.expect_err("it fails").to_string(), "no more");
        assert_eq!(there().as_deref(), Some("old"));
        write_file(&path, "adds", |out| out.write_all(b"new")).expect("it can be written");
        assert_eq!(there().as_deref(), Some("new"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing is left over");
        assert!(write_file(&folder.path().join("none/answers"), "adds", |_| Ok(())).is_err());
    }
}
