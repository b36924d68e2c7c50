//! Tests of embedding the library: few crates, a CPU library without a GPU stack, and every type
//! that a program needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cargo(arguments: &[&str]) -> Output {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).args(arguments).output().expect("cargo starts")
}

#[track_caller]
fn succeeded(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the crates that a Linux program compiles for the library, including the library.
fn crates(features: &[&str]) -> BTreeSet<String> {
    let tree = ["tree", "-p", "zfinder", "-e", "normal", "--prefix", "none", "--no-dedupe", "--offline", "--locked"];
    let arguments = [&tree[..], &["--target", "x86_64-unknown-linux-gnu"], features].concat();
    succeeded(cargo(&arguments)).lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_library_has_few_dependencies() {
    for (features, most) in [(&[][..], 85), (&["--no-default-features"], 25)] {
        let crates = crates(features);
        assert!(crates.len() > 10, "{crates:?}");
        assert!(crates.len() <= most, "{features:?}: {} crates, at most {most} wanted: {crates:#?}", crates.len());
    }
    let without_gpu = crates(&["--no-default-features"]);
    for gpu in ["wgpu", "naga", "kernel-host", "ash"] {
        assert!(!without_gpu.iter().any(|name| name.starts_with(gpu)), "{gpu} without the feature `gpu`");
    }
}

/// Calls cargo for a program of `examples/embed`, a package outside of the workspace, as its owner
/// would.
fn embedded(command: &str, arguments: &[&str]) -> String {
    let root = root();
    // The versions that the product is built with. Cargo leaves out what the example does not use.
    fs::copy(root.join("Cargo.lock"), root.join("examples/embed/Cargo.lock")).expect("copied");
    let target = root.join("target/embed");
    let target = target.to_str().expect("UTF-8");
    let first =
        [command, "--quiet", "--offline", "--manifest-path", "examples/embed/Cargo.toml", "--target-dir", target];
    succeeded(cargo(&[&first[..], arguments].concat()))
}

#[test]
fn a_program_that_embeds_the_library_without_a_gpu_compiles() {
    embedded("check", &["--bin", "embed"]);
}

#[test]
#[ignore = "builds the library once more: scripts/test full"]
fn a_program_embeds_the_library_without_a_gpu() {
    let said = embedded("run", &["--bin", "embed"]);
    assert!(said.contains("CPU engine") && said.contains("z = 12.5"), "{said}");
}

#[test]
#[ignore = "builds wgpu once more: scripts/test full (engines.rs builds on a caller's device)"]
fn a_program_embeds_the_library_on_its_own_device() {
    let said = embedded("run", &["--bin", "on_my_device", "--features", "gpu"]);
    assert!(said.contains("z = 12.5") || said.contains("no adapter"), "{said}");
}
