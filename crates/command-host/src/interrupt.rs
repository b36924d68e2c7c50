//! Interrupts (INT, TERM, HUP): a command that is stopped leaves nothing half-written.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files and folders that are being written, under their temporary names.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The exit code that a shell reports for a command that SIGINT ended.
const EXIT_CODE: i32 = 130;

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes unfinished files and exits when the process is interrupted, from now on.
pub(crate) fn watch() {
    // Without the handler the command works; an interrupt then may leave a temporary file.
    let _ = ctrlc::set_handler(|| {
        // The lock is held to the end: no other file begins.
        let files = unfinished();
        for path in files.iter() {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        std::process::exit(EXIT_CODE);
    });
}

/// A file or folder that an interrupt removes, until this guard is dropped.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Registers a temporary file or folder.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        unfinished().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut files = unfinished();
        if let Some(at) = files.iter().position(|file| *file == self.0) {
            files.swap_remove(at);
        }
    }
}
