//! Interrupts (INT, TERM, HUP): a command that is stopped leaves nothing half-written.

use crate::note;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::{Arc, atomic::AtomicBool};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files and folders that are being written, under their temporary names.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Called at the first interrupt, in place of the end of the process.
static HANDLER: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Text that an interrupted command prints on standard error.
static REPORT: Mutex<Option<Box<dyn Fn() -> String + Send>>> = Mutex::new(None);

/// A shell reports 128 and the signal's number for a command that a signal ended.
const SIGNAL_EXIT_CODE: i32 = 128;

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a handler at the first interrupt (INT, TERM or HUP), for a command that must finish its
/// work first. The second interrupt ends the process.
pub fn on_interrupt(handler: impl FnOnce() + Send + 'static) {
    *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(handler));
}

/// Sets the text that the command prints on standard error if an interrupt ends it: the work that
/// was done, and the files that were not written.
pub fn report_interrupt(report: impl Fn() -> String + Send + 'static) {
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(report));
}

/// Calls the handler, or ends the process if no handler is set.
fn interrupt(signal: i32) {
    let handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner).take();
    match handler {
        Some(handler) => handler(),
        None => end(signal),
    }
}

/// Removes unfinished files and exits with 128 and the number of the signal.
fn end(signal: i32) {
    // The lock is held to the end: no other file begins.
    let files = unfinished();
    files.iter().for_each(|path| remove(path));
    if let Some(report) = REPORT.lock().unwrap_or_else(PoisonError::into_inner).take() {
        note(&format!("interrupted: {}", report()));
    }
    std::process::exit(SIGNAL_EXIT_CODE + signal);
}

/// Removes a file or folder. Another thread may add a file to the folder meanwhile, so that a
/// failure is retried.
fn remove(path: &Path) {
    const TRIES: usize = 10;
    if !path.is_dir() {
        let _ = std::fs::remove_file(path);
        return;
    }
    let _ = (0..TRIES).any(|_| std::fs::remove_dir_all(path).is_ok() || !path.exists());
}

/// Removes unfinished files and exits when the process is interrupted, from now on. A write beyond
/// the limit on the size of files fails with an error, in place of the signal XFSZ.
///
/// Without the handlers the command works; an interrupt then may leave a temporary file.
#[cfg(unix)]
pub(crate) fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

    // Any handler replaces the default action, which ends the process. The flag is never read.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) {
        let watch = move || signals.forever().for_each(interrupt);
        let _ = std::thread::Builder::new().name("signals".into()).spawn(watch);
    }
}

/// Returns whether the parent process lets this one ignore the signal, as `nohup` does with HUP. A
/// handler would undo that.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    // Other systems than Linux have no such file; there the handler is set.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Removes unfinished files and exits when the process is interrupted, from now on.
#[cfg(not(unix))]
pub(crate) fn watch() {
    const INTERRUPT: i32 = 2;
    let _ = ctrlc::set_handler(|| interrupt(INTERRUPT));
}

/// A file or folder that an interrupt removes, until this guard is dropped.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

/// Makes a temporary file or folder and registers it. An interrupt waits until both steps are done,
/// so that it removes every temporary file.
pub(crate) fn register<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> io::Result<(T, Unfinished)> {
    let mut files = unfinished();
    let made = make()?;
    let path = path(&made).to_owned();
    files.push(path.clone());
    drop(files);
    Ok((made, Unfinished(path)))
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut files = unfinished();
        if let Some(at) = files.iter().position(|file| *file == self.0) {
            files.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_interrupt_waits_for_the_registration_of_a_new_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let (send, receive) = mpsc::channel();
        let make = || {
            std::fs::write(&path, "1")?;
            let seen = path.clone();
            // As `end` does.
            std::thread::spawn(move || send.send(unfinished().contains(&seen)));
            assert!(receive.recv_timeout(Duration::from_millis(50)).is_err(), "the list is locked");
            Ok(path.clone())
        };
        let (_, guard) = register(make, |path| path).expect("made");
        assert!(receive.recv().expect("an answer"), "the new file is in the list");
        drop(guard);
        assert!(!unfinished().contains(&path));
    }

    #[test]
    fn a_folder_is_removed_with_its_content() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("folder");
        std::fs::create_dir(&folder).expect("made");
        std::fs::write(folder.join("a"), "1").expect("written");
        remove(&folder);
        assert!(!folder.exists());
    }
}
