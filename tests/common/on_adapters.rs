//! Which adapters a test runs on: all that there are.
#![allow(dead_code)] // not every test program needs one
#![allow(clippy::print_stderr)] // a skip is said aloud

use std::sync::Once;

use kernel_host::AdapterSummary;

/// Every adapter, software included. None at all is a failure, unless `ZFINDER_ALLOW_NO_ADAPTER=1` says that this is
/// known; so is the absence of one that `ZFINDER_REQUIRE_ADAPTERS` (parts of names, comma-separated) asks for.
pub(crate) fn on_adapters() -> Vec<AdapterSummary> {
    let found = kernel_host::adapters().expect("the list of adapters");
    let wanted = std::env::var("ZFINDER_REQUIRE_ADAPTERS").unwrap_or_default();
    for part in wanted.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        assert!(
            found.iter().any(|adapter| adapter.name.to_lowercase().contains(&part.to_lowercase())),
            "ZFINDER_REQUIRE_ADAPTERS asks for `{part}`; there are: {:?}",
            found.iter().map(|adapter| &adapter.name).collect::<Vec<_>>()
        );
    }
    if found.is_empty() {
        assert!(
            std::env::var("ZFINDER_ALLOW_NO_ADAPTER").is_ok_and(|value| value == "1"),
            "no adapter: install a driver (lavapipe and SwiftShader need no GPU) or set ZFINDER_ALLOW_NO_ADAPTER=1"
        );
        eprintln!("SKIPPED on GPUs: there is no adapter, and ZFINDER_ALLOW_NO_ADAPTER=1 allows that");
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| found.iter().for_each(|adapter| eprintln!("adapter {adapter}")));
    found
}
