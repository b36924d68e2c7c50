//! Outputs that would replace an input.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::file_of;

/// Checks that no output is one of the inputs or another output.
///
/// Paths are compared after symbolic links and relative parts are resolved. Devices and pipes may
/// be both. `-` is no file.
///
/// # Errors
/// [`Code::Usage`](crate::Code::Usage) with the name of the output.
pub fn check_distinct<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let mut written: Vec<PathBuf> = Vec::new();
    let inputs: Vec<PathBuf> = inputs.into_iter().filter_map(|path| resolve(file_of(Some(path))?)).collect();
    for output in outputs {
        let Some(path) = file_of(Some(output)).and_then(resolve) else { continue };
        let help = "give it another name";
        if inputs.contains(&path) {
            let message = format!("the output file is one of the inputs: {}", output.display());
            return Err(Failure::usage(message, help));
        }
        if written.contains(&path) {
            return Err(Failure::usage(format!("two outputs are one file: {}", output.display()), help));
        }
        written.push(path);
    }
    Ok(())
}

/// Returns the place of a file or folder, there or not yet; None for a device or pipe.
fn resolve(path: &Path) -> Option<PathBuf> {
    if let Ok(path) = fs::canonicalize(path) {
        let metadata = fs::metadata(&path).ok()?;
        return (metadata.is_file() || metadata.is_dir()).then_some(path);
    }
    if fs::metadata(path).is_ok() {
        // An anonymous pipe has no place: /dev/stdout.
        return None;
    }
    let folder = fs::canonicalize(crate::output::folder_of(path)).ok()?;
    Some(folder.join(path.file_name()?))
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
            assert_eq!(code(&[Path::new("/dev/null")], &[Path::new("/dev/null")]), Ok(()));
        }
    }
}
