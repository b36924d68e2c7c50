//! Suppresses messages of GPU drivers that do not concern the user.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const VARIABLE: &str = "XDG_RUNTIME_DIR";
/// A folder that does not exist, and so holds no Wayland display.
const NOWHERE: &str = "/nonexistent";

/// Starts the process again with `XDG_RUNTIME_DIR`, if the variable is missing.
///
/// Mesa's Vulkan layer looks for a Wayland display. Without an absolute path in that variable,
/// libwayland prints an error for each device that is looked for, though no display is needed. A
/// process cannot change its own environment safely, but can replace itself: the process id, the
/// open files and the standard streams stay. If it cannot, it goes on as it is.
pub(crate) fn restart_quietly() {
    if env::var_os(VARIABLE).is_some_and(|folder| Path::new(&folder).is_absolute()) {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut arguments = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // It returns only if it fails.
    let _failed = command.args(arguments).env(VARIABLE, NOWHERE).exec();
}
