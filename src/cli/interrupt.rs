//! What is left when the user stops the command: nothing half-written.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files and folders that are being written, under the names that they have meanwhile.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// As a shell tells of a command that SIGINT ended.
const EXIT_CODE: i32 = 130;

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on Ctrl-C, or a request to end, removes unfinished files and ends the command.
pub(super) fn watch() {
    let watching = ctrlc::set_handler(|| {
        // Held to the end: no other file begins.
        let files = unfinished();
        for path in files.iter() {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        std::process::exit(EXIT_CODE);
    });
    // Without it the command works; an interrupt may leave a file `.zfinder-*.tmp`.
    debug_assert!(watching.is_ok(), "set once, in main");
}

/// A file or folder that is not to outlive an interrupt, until this is dropped.
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    pub(super) fn new(path: &Path) -> Self {
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
