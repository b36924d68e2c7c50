//! Runs the readers, as the fuzz targets do but on stable Rust, on every file of the committed
//! corpus, truncated at several places and with changed bytes. `fuzz/run` searches further.

#[expect(unreachable_pub, reason = "it is a library to the fuzz targets")]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use targets::{TARGETS, Target};

/// Number of truncations of each file.
const CUTS: usize = 8;
/// Number of changed bytes of each file, one at a time.
const CHANGES: usize = 40;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// Bytes that a number, a size or a separator may turn into.
fn changed(random: &mut fastrand::Rng, byte: u8) -> u8 {
    match random.u8(..4) {
        0 => byte ^ (1 << random.u8(..8)),
        1 => *random.choice(b"\n\r,\"'-.0e[]= \x00\x01\x7f\x80\xff").expect("there are some"),
        2 => byte.wrapping_add(1),
        _ => random.u8(..),
    }
}

fn run(name: &str) {
    let &(_, target): &Target = TARGETS.iter().find(|(other, _)| *other == name).expect("a target");
    let folder = corpus().join(name);
    let files = names(&folder);
    assert!(files.len() > 2, "{files:?}");
    let mut random = fastrand::Rng::with_seed(7);
    for file in files {
        let whole = fs::read(folder.join(&file)).expect("a file");
        let of = |what: String, bytes: &[u8]| {
            catch_unwind(AssertUnwindSafe(|| target(bytes))).unwrap_or_else(|panic| {
                eprintln!("{name}/{file}, {what}");
                resume_unwind(panic)
            });
        };
        of("whole".into(), &whole);
        for cut in 0..CUTS {
            let length = (whole.len() * (2 * cut + 1)).div_ceil(2 * CUTS).min(whole.len());
            of(format!("{length} bytes of it"), &whole[..length]);
        }
        let mut bytes = whole.clone();
        for _ in 0..CHANGES {
            let at = random.usize(..bytes.len());
            bytes[at] = changed(&mut random, bytes[at]);
            of(format!("byte {at} is {:#x}", bytes[at]), &bytes);
            bytes[at] = whole[at];
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_a_program() {
    let targets = TARGETS.map(|(name, _)| name);
    assert_eq!(names(&corpus()), targets);
    let programs = names(&corpus().with_file_name("targets"));
    assert_eq!(programs, targets.map(|name| format!("{name}.rs")));
}

#[test]
fn config() {
    run("config");
}

#[test]
fn csv() {
    run("csv");
}

#[test]
fn detector() {
    run("detector");
}

#[test]
fn parquet() {
    run("parquet");
}

#[test]
fn rntuple() {
    run("rntuple");
}

#[test]
fn rois() {
    run("rois");
}

#[test]
fn root() {
    run("root");
}

#[test]
fn truth() {
    run("truth");
}
