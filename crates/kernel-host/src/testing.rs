//! Support for tests that run on every adapter.

use std::sync::Once;

use crate::adapter::adapters;
use crate::summary::AdapterSummary;

/// Returns every adapter, software adapters included, and prints each one once on standard error.
///
/// Environment variables:
/// - `ZFINDER_REQUIRE_ADAPTERS`: parts of adapter names, comma-separated. Each part must match an adapter.
/// - `ZFINDER_ALLOW_NO_ADAPTER=1`: allows a machine without adapters. The result is empty then, and tests skip.
///
/// # Panics
/// If a required adapter is missing, or if there is no adapter and `ZFINDER_ALLOW_NO_ADAPTER` is not `1`.
#[must_use]
pub fn on_adapters() -> Vec<AdapterSummary> {
    let found = adapters().expect("the list of adapters");
    let required = std::env::var("ZFINDER_REQUIRE_ADAPTERS").unwrap_or_default();
    for part in required.split(',').map(str::trim).filter(|part| !part.is_empty()) {
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
