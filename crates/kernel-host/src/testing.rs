//! Support for tests that run on every adapter, and for tests with data outside the repository.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

use crate::adapter::{AdapterChoice, adapters};
use crate::gpu::Gpu;
use crate::open::GpuOptions;
use crate::status::lock;
use crate::summary::AdapterSummary;

/// Optional features of compute: numbers, atomics, subgroups, times, and buffers that can be
/// mapped.
pub const FEATURES: wgpu::Features = wgpu::Features::SHADER_F64
    .union(wgpu::Features::SHADER_INT64)
    .union(wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS)
    .union(wgpu::Features::SHADER_FLOAT32_ATOMIC)
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::TIMESTAMP_QUERY)
    .union(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);

/// Returns every adapter, software adapters included, and prints each one once on standard error.
///
/// Environment variables:
/// - `ZFINDER_REQUIRE_ADAPTERS`: parts of adapter names, comma-separated. Each part must match an
///   adapter.
/// - `ZFINDER_ALLOW_NO_ADAPTER=1`: allows a machine without adapters. The result is empty then, and
///   tests skip.
///
/// # Panics
/// If a required adapter is missing, or if there is no adapter and `ZFINDER_ALLOW_NO_ADAPTER` is
/// not `1`.
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

/// Returns the adapters for a test of the program around the kernels: [`on_adapters`] without slow
/// ones, unless all are slow. Tests of kernels take all.
///
/// # Panics
/// As [`on_adapters`].
#[must_use]
pub fn on_fast_adapters() -> Vec<AdapterSummary> {
    let all = on_adapters();
    let fast: Vec<AdapterSummary> = all.iter().filter(|adapter| !is_slow(&adapter.name)).cloned().collect();
    if fast.is_empty() { all } else { fast }
}

/// Returns whether a short form leaves out cases on the adapter of this name: SwiftShader takes ten
/// times as long as lavapipe. With `ZFINDER_EVERY_ADAPTER=1`, as in `scripts/test full`, no
/// adapter is slow.
#[must_use]
pub fn is_slow(adapter: &str) -> bool {
    let takes_all = std::env::var("ZFINDER_EVERY_ADAPTER").is_ok_and(|value| value == "1");
    adapter.contains("SwiftShader") && !takes_all
}

/// A device on this adapter that all tests of the process share, so that each kernel is compiled
/// once, with what the adapter offers of [`FEATURES`]. Not for tests that limit memory or lose
/// devices.
///
/// # Panics
/// If the device cannot be opened.
#[must_use]
pub fn shared_device(adapter: &AdapterSummary) -> Gpu {
    shared_device_with(adapter, FEATURES)
}

/// [`shared_device`] with what the adapter offers of other features.
///
/// # Panics
/// If the device cannot be opened.
#[must_use]
pub fn shared_device_with(adapter: &AdapterSummary, optional_features: wgpu::Features) -> Gpu {
    static OPEN: Mutex<Vec<(usize, wgpu::Features, Gpu)>> = Mutex::new(Vec::new());
    let mut open = lock(&OPEN);
    if let Some((.., gpu)) = open.iter().find(|(index, with, _)| (*index, *with) == (adapter.index, optional_features))
    {
        return gpu.clone();
    }
    let choice = AdapterChoice::Index(adapter.index);
    let gpu = Gpu::new(&GpuOptions { adapter: choice, optional_features, ..GpuOptions::default() })
        .unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
    open.push((adapter.index, optional_features, gpu.clone()));
    gpu
}

/// Returns a path under `../shared` beside the repository, or under `ZFINDER_SHARED`: data with
/// known answers that are outside the repository. If the path is absent, prints that the test
/// skips and returns None.
///
/// # Panics
/// If the path is absent and `ZFINDER_REQUIRE_SHARED` is `1`.
#[must_use]
pub fn shared(below: &str) -> Option<PathBuf> {
    let root = std::env::var_os("ZFINDER_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = root.join(below);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("ZFINDER_REQUIRE_SHARED").is_ok_and(|value| value == "1");
    assert!(!required, "{} is absent, and ZFINDER_REQUIRE_SHARED=1 asks for it", path.display());
    eprintln!("SKIPPED: {} is absent (ZFINDER_SHARED names another folder)", path.display());
    None
}
