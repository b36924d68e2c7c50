//! Outputs that would replace an input.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::file_of;

/// Checks that no output is one of the inputs or another output.
///
/// Paths are compared after symbolic links and relative parts are resolved, and existing files by
/// device and inode. A command names the files that it reads in a folder one by one. Devices and
/// pipes may be both. `-` among the inputs is the file behind standard input, if there is one;
/// among the outputs it is no file.
///
/// # Errors
/// [`Code::Usage`](crate::Code::Usage) with the name of the output.
pub fn check_distinct<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let mut written: Vec<Place> = Vec::new();
    let inputs: Vec<Place> =
        inputs.into_iter().filter_map(|path| Place::of(file_of(Some(path)).unwrap_or(Path::new(STDIN)))).collect();
    for output in outputs {
        let Some(place) = file_of(Some(output)).and_then(Place::of) else { continue };
        let help = "give it another name";
        if inputs.iter().any(|input| input.is_same(&place)) {
            let message = format!("the output file is one of the inputs: {}", output.display());
            return Err(Failure::usage(message, help));
        }
        if written.iter().any(|other| other.is_same(&place)) {
            return Err(Failure::usage(format!("two outputs are one file: {}", output.display()), help));
        }
        written.push(place);
    }
    Ok(())
}

/// A name of standard input that systems with devices resolve.
const STDIN: &str = "/dev/stdin";

/// The place of a file or folder.
struct Place {
    path: PathBuf,
    /// Device and inode of an existing file.
    id: Option<(u64, u64)>,
}

impl Place {
    /// Returns the place of a file or folder, there or not yet; None for a device or pipe.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            // The file behind standard input may have lost its name: it has an inode all the same.
            Ok(metadata) if metadata.is_file() || metadata.is_dir() => {
                let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
                Some(Self { path, id: id(&metadata) })
            }
            Ok(_) => None,
            Err(_) => {
                let folder = fs::canonicalize(crate::output::folder_of(path)).ok()?;
                Some(Self { path: folder.join(path.file_name()?), id: None })
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.path == other.path || (self.id.is_some() && self.id == other.id)
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have no inodes")]
fn id(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn id(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Code;

    #[test]
    fn an_output_is_neither_an_input_nor_another_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let [a, b, new] = ["a", "b", "new"].map(|name| folder.path().join(name));
        for path in [&a, &b] {
            fs::write(path, "1").expect("written");
        }
        let code = |inputs: &[&Path], outputs: &[&Path]| {
            check_distinct(inputs.iter().copied(), outputs.iter().copied()).map_err(|failure| failure.code())
        };
        let usage = Err(Some(Code::Usage));
        let around = folder.path().join(".").join("a");
        assert_eq!(code(&[&a, &b], &[&around]), usage);
        assert_eq!(code(&[&a], &[&b, &new]), Ok(()));
        assert_eq!(code(&[], &[&new, &folder.path().join("./new")]), usage);
        assert_eq!(code(&[Path::new("-")], &[Path::new("-"), Path::new("-")]), Ok(()));
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&a, &link).expect("a link");
            assert_eq!(code(&[&a], &[&link]), usage);
            let hard = folder.path().join("hard");
            fs::hard_link(&a, &hard).expect("a link");
            assert_eq!(code(&[&a], &[&hard]), usage, "one inode");
            assert_eq!(code(&[Path::new("/dev/null")], &[Path::new("/dev/null")]), Ok(()));
        }
    }
}
