//! Data for tests that are outside the repository.
#![allow(clippy::print_stderr, reason = "a skip is said aloud")]

use std::path::{Path, PathBuf};

/// Returns a path under `../shared` (or `ZFINDER_SHARED`). If it is absent, prints a note and
/// returns None; with `ZFINDER_REQUIRE_SHARED=1` it panics.
pub fn shared(below: &str) -> Option<PathBuf> {
    let root = std::env::var_os("ZFINDER_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = root.join(below);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("ZFINDER_REQUIRE_SHARED").is_ok_and(|value| value == "1");
    assert!(!required, "{} is absent, and ZFINDER_REQUIRE_SHARED=1 asks for it", path.display());
    eprintln!("SKIPPED: {} is absent (ZFINDER_SHARED says where else to look)", path.display());
    None
}
