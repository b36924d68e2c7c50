//! Compares the answers with those of the experiment's own program (../shared/data/conformance), by
//! the example `conformance`.

#[path = "../../examples/conformance.rs"]
#[allow(dead_code, clippy::print_stdout, clippy::print_stderr)] // its main; it is a program
mod example;

use example::{Args, run};
use zfinder::gpu::AdapterChoice;
use zfinder::{Config, Detector, Preset};
use zfinder_testing::{is_slow, on_adapters, shared};

const CASES: [&str; 17] = [
    "default_pairs",
    "default_pairs_fullscan",
    "thesis_pairs",
    "thesis_triplets",
    "triplets_kept",
    "triplets_counted",
    "left_most_tie",
    "beam_spot",
    "five_peaks",
    "mixed_peaks",
    "jet",
    "wide_roi_eta",
    "charge_aware",
    "histogram_per_slice",
    "charge_aware_per_slice",
    "egamma",
    "muon",
];

/// Checks these cases on an engine, for both samples. One test for each engine, so that they run in
/// parallel.
fn check(engine: &str, adapter: Option<usize>, cases: &[&str], change: impl FnOnce(&mut Args)) {
    let Some(dir) = shared("data/conformance") else { return };
    let mut args = Args {
        dir,
        engine: engine.to_owned(),
        adapter: adapter.map(AdapterChoice::Index),
        case: cases.iter().map(|&case| case.to_owned()).collect(),
        compare_exchange: false,
        f64: false,
    };
    change(&mut args);
    let what = format!("{engine}, adapter {adapter:?}, compare_exchange {}, f64 {}", args.compare_exchange, args.f64);
    let all_agree = run(&args).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(all_agree, "{what}: some RoIs disagree; they are printed above");
}

#[test]
fn reference() {
    check("reference", None, &CASES, |_| {});
}

#[test]
fn cpu() {
    check("cpu", None, &CASES, |_| {});
}

#[test]
fn cpu_by_compare_and_exchange() {
    check("cpu", None, &CASES, |args| args.compare_exchange = true);
}

#[test]
fn cpu_in_f64() {
    check("cpu", None, &CASES, |args| args.f64 = true);
}

/// Each case on one kind of adapter, and two on all, because software adapters compile a case for
/// seconds.
#[test]
fn gpu() {
    let adapters = on_adapters();
    let has_both = adapters.iter().any(|a| is_slow(&a.name)) && !adapters.iter().all(|a| is_slow(&a.name));
    for adapter in adapters {
        let is_for_slow = |turn: usize| turn % 5 == 4;
        let is_here = |turn: usize| !has_both || is_for_slow(turn) == is_slow(&adapter.name);
        let mut cases: Vec<&str> =
            CASES.iter().enumerate().filter(|&(turn, _)| is_here(turn)).map(|(_, &case)| case).collect();
        cases.extend(
            ["default_pairs", "thesis_triplets"].iter().filter(|case| !cases.contains(case)).collect::<Vec<_>>(),
        );
        check("gpu", Some(adapter.index), &cases, |_| {});
    }
}

#[test]
#[ignore = "long form of `gpu`: scripts/test full"]
fn gpu_in_every_case() {
    for adapter in on_adapters() {
        check("gpu", Some(adapter.index), &CASES, |_| {});
    }
}

#[test]
fn gpu_by_compare_and_exchange() {
    for adapter in on_adapters() {
        // A selection, because software adapters compile a case for seconds.
        let cases = ["thesis_triplets", "default_pairs", "triplets_counted"];
        let cases = if is_slow(&adapter.name) { &cases[..1] } else { &cases };
        check("gpu", Some(adapter.index), cases, |args| args.compare_exchange = true);
    }
}

#[test]
fn gpu_in_f64() {
    for adapter in on_adapters() {
        if adapter.shader_f64 {
            check("gpu", Some(adapter.index), &["default_pairs", "triplets_kept"], |args| args.f64 = true);
        }
    }
}

/// n(A, B) of every pair of layers.
#[test]
fn neighbours() {
    let Some(path) = shared("data/conformance/neighbours_0.2deg.txt") else { return };
    let text = std::fs::read_to_string(path).expect("it can be read");
    let row = |line: &str| line.split_whitespace().map(|n| n.parse().expect("a count")).collect::<Vec<u32>>();
    let wanted: Vec<Vec<u32>> = text.lines().map(row).collect();
    let found = Detector::atlas2010().neighbours(&Config::preset(Preset::Default));
    assert_eq!(wanted.len(), 19);
    for (a, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        assert_eq!(found, wanted, "inner layer {a}");
    }
    assert_eq!(found.len(), wanted.len());
}
