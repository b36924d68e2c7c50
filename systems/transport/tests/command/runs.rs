//! `transport run`: engines, options, limits.

use kernel_host::testing::on_fast_adapters;
use serde_json::Value;

use super::common::*;

#[test]
fn runs_are_reported() {
    let report = few(&CPU);
    holds(&report);
    assert_eq!((&report["status"], &report["tracks"], &report["left"]), (&"finished".into(), &4.into(), &0.into()));
    assert!(list(&report["rejected"]).is_empty());
    let (pairs, ends) = (steps(&report, "pair"), steps(&report, "annihilation"));
    // A positron escapes now and then.
    assert!(pairs > 10 && ends <= pairs && ends > pairs / 2, "{pairs} pairs, {ends} ends");
    for key in ["secondaries", "slots", "iterations"] {
        assert!(number(&report[key]) > 10.0, "{key}: {report}");
    }
    let shares: f64 = list(&report["processes"]).iter().map(|row| number(&row["share"])).sum();
    close(shares, 1.0, 1e-9);
    let text = printed(&[&FEW[..], &CPU].concat());
    for part in [
        "CPU, f32",
        "split kernels",
        "4 particles (20 % photons), seed 1; the prototype's lead tungstate; parametrised field; random numbers by counter",
        "finished after ",
        " track-steps in ",
        "bremsstrahlung",
        "photoelectric",
        "beyond the histogram",
        "given up",
        "missing",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_same_seed_has_the_same_numbers_on_every_engine() {
    let wanted = few(&CPU);
    let again = few(&[&CPU[..], &["--kernels", "monolithic"]].concat());
    for key in ["processes", "energy", "secondaries", "iterations"] {
        assert_eq!(again[key], wanted[key], "{key}");
    }
    let other = few(&[&CPU[..], &["--seed", "2"]].concat());
    assert_ne!(other["energy"]["initial_mev"], wanted["energy"]["initial_mev"]);
    let hold = |report: &Value| {
        holds(report);
        close(number(&report["energy"]["initial_mev"]), number(&wanted["energy"]["initial_mev"]), 1e-5);
        close(number(&report["energy"]["deposited_mev"]), number(&wanted["energy"]["deposited_mev"]), 0.02);
        // A particle that a rounding sends another way makes another shower.
        close(number(&report["steps"]), number(&wanted["steps"]), 0.1);
    };
    hold(&few(&["--engine", "reference"]));
    for adapter in on_fast_adapters() {
        for (kernels, size) in [("split", "32"), ("monolithic", "128")] {
            let index = adapter.index.to_string();
            let report = few(&["--adapter", &index, "--kernels", kernels, "--workgroup-size", size]);
            hold(&report);
            assert!(report["engine"].as_str().is_some_and(|engine| engine.contains(&adapter.name)), "{report}");
        }
    }
}

#[test]
fn constant_numbers_and_other_fields_and_cuts_are_options() {
    // Bins that energy is in and beyond, for fields move what they do not change.
    let usual = [&CPU[..], &["--r", "1400:1450", "--z", "100:3000"]].concat();
    let found = |more: &[&str]| {
        let report = few(&[&usual[..], more].concat());
        holds(&report);
        (report["steps"].clone(), report["energy"].clone(), report["histogram"].clone())
    };
    let (wanted, constant) = (found(&[]), found(&["--constant-random"]));
    assert_eq!(constant, found(&["--constant-random"]));
    assert_ne!(constant, wanted);
    for other in [["--photon-cut", "1"], ["--stop", "1"], ["--electron-cut", "10"], ["--field", "uniform=0"]] {
        assert_ne!(found(&other), wanted, "{other:?}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let map = folder.path().join("map.npy");
    let map = map.to_str().expect("a name");
    // A map is the same whether it is made or read.
    let made = few(&["--engine", "cpu", "--field", "map", "--write-map", map]);
    let read = few(&["--engine", "cpu", "--field", map]);
    assert_eq!((&made["steps"], &made["energy"]), (&read["steps"], &read["energy"]));
    assert_eq!(read["field"], "map map.npy");
    // And another one if its points are elsewhere.
    assert_ne!(found(&["--field", map, "--map-step", "1"]), found(&["--field", map]));
    let photons = few(&["--engine", "cpu", "--photons", "1", "--iterations", "400"]);
    assert!(photons["particles"].as_str().is_some_and(|text| text.contains("100 % photons")), "{photons}");
}

/// A run that ends early writes its report and its files, and has an exit code.
#[test]
fn runs_that_do_not_finish_are_told_and_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = folder.path().join("e.csv");
    let csv = csv.to_str().expect("a name");
    let mut engines: Vec<Vec<String>> = vec![vec!["--engine".to_owned(), "cpu".to_owned()]];
    engines
        .extend(on_fast_adapters().into_iter().map(|adapter| vec!["--adapter".to_owned(), adapter.index.to_string()]));
    for engine in &engines {
        let engine: Vec<&str> = engine.iter().map(String::as_str).collect();
        for (more, status, told) in [
            (
                ["--capacity", "6"],
                "capacity exceeded",
                "tracks wait for room for what they make, and there are 6 slots",
            ),
            (["--iterations", "5"], "steps made", "tracks are left after 5 steps of all"),
        ] {
            let done = run(&[&FEW[..], &engine, &more, &["--output", csv, "--json"]].concat());
            assert_eq!(done.status.code(), Some(1), "{engine:?} {more:?}: {}", said(&done));
            assert!(said(&done).contains(told), "{told}: {}", said(&done));
            let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
            assert_eq!(report["status"], status);
            assert!(report["left"].as_u64().is_some_and(|left| left > 0), "{report}");
            holds(&report);
            let rows = std::fs::read_to_string(csv).expect("the file is written");
            assert_eq!(rows.lines().count(), 120 * 120 + 1);
            std::fs::remove_file(csv).expect("the file");
        }
    }
    let report = json(&["run", "--tracks", "4", "--engine", "cpu", "--most-steps", "20"]);
    holds(&report);
    assert!(number(&report["energy"]["given_up_mev"]) > 0.0, "{report}");
}
