//! `transport bench`.

use kernel_host::testing::on_fast_adapters;
use serde_json::Value;

use super::common::*;

const SHORT: [&str; 13] = [
    "bench",
    "--elements",
    "5001",
    "--states",
    "64",
    "--path-steps",
    "3",
    "--tracks",
    "300",
    "--showers",
    "2",
    "--most-steps",
    "300",
];

#[test]
fn bench_times_what_it_has_checked_on_the_cpu() {
    let report = json(&[&SHORT[..], &CPU, &["--rounds", "2"]].concat());
    let threads = if std::thread::available_parallelism().map_or(1, Into::into) > 1 { 2 } else { 1 };
    for (part, rows) in [("counts", 1), ("sorts", 1), ("paths", 6), ("first", 2), ("runs", 2)] {
        let found = list(&report[part]);
        assert_eq!(found.len(), rows * threads, "{part}: {report}");
        for row in found {
            assert!(row["threads"].is_u64(), "{row}");
            assert!(number(&row["time"]["slowest_us"]) >= number(&row["time"]["fastest_us"]), "{row}");
            assert!(part == "first" || number(&row["times_one_thread"]) > 0.0, "{row}");
        }
    }
    assert!(report["read_gb_per_s"].is_null());
    // The first step is the difference of two runs, which can vanish for few tracks. The report
    // then says so.
    let few = json(&["bench", "--engine", "cpu", "--part", "step", "--tracks", "2", "--rounds", "2"]);
    for report in [report, few] {
        let (unseen, seen): (Vec<_>, Vec<_>) =
            list(&report["first"]).iter().partition(|row| number(&row["time"]["median_us"]) == 0.0);
        assert_eq!(list(&report["left_out"]).len(), unseen.len(), "{report}");
        for row in unseen {
            assert!(row["tracks_per_s"].is_null() && row["times_one_thread"].is_null(), "{row}");
        }
        let alone = seen.iter().any(|row| row["threads"] == 1);
        for row in seen {
            assert!(number(&row["tracks_per_s"]) > 0.0, "{row}");
            assert!(row["times_one_thread"].as_f64().map_or(!alone, |ratio| ratio > 0.0), "{row}");
        }
    }
    let text = printed(&[&SHORT[..], &CPU, &["--part", "classes,step"]].concat());
    assert!(text.contains("Counting elements of 8 classes") && text.contains("The first step of 300 tracks"), "{text}");
    assert!(!text.contains("Runs of"), "{text}");
}

/// Returns an adapter's rows of a bench of some parts; None if the adapter has no clock.
fn on_gpu(adapter: &kernel_host::AdapterSummary, parts: &str) -> Option<Value> {
    on_gpu_with(adapter, parts, &[])
}

fn on_gpu_with(adapter: &kernel_host::AdapterSummary, parts: &str, more: &[&str]) -> Option<Value> {
    let index = adapter.index.to_string();
    let mut report = json(&[&SHORT[..], &["--rounds", "1", "--adapter", &index, "--part", parts], more].concat());
    if !list(&report["left_out"]).is_empty() {
        eprintln!("{}: left out: {}", adapter.name, report["left_out"]);
    }
    for part in ["counts", "sorts", "paths", "first", "runs"] {
        report[part].as_array_mut().expect("a list").retain(|row| row["threads"].is_null());
    }
    (!report["left_out"].to_string().contains("clock")).then_some(report)
}

fn words<'a>(rows: &'a Value, key: &str) -> Vec<&'a str> {
    list(rows).iter().filter_map(|row| row[key].as_str()).collect()
}

#[test]
fn bench_times_classes_and_paths_on_each_adapter() {
    for adapter in on_fast_adapters() {
        let Some(report) = on_gpu(&adapter, "classes,paths,layouts") else { continue };
        let variants = words(&report["counts"], "variant");
        assert!(variants.contains(&"atomics") && variants.contains(&"tree"), "{}: {variants:?}", adapter.name);
        let sorts = words(&report["sorts"], "part");
        assert!(sorts.contains(&"sort") && sorts.contains(&"gather"), "{sorts:?}");
        assert_eq!(words(&report["paths"], "field").len(), 6, "{report}");
        assert_eq!(words(&report["paths"], "way")[..2], ["plain", "halved"]);
        assert_eq!(words(&report["layouts"], "layout").len(), 3, "{report}");
    }
}

#[test]
fn bench_times_steps_and_runs_on_each_adapter() {
    for adapter in on_fast_adapters() {
        let Some(report) = on_gpu(&adapter, "step,run") else { continue };
        assert_eq!(words(&report["runs"], "kernels"), ["split", "monolithic"], "{}", adapter.name);
        let first = &report["first"][0];
        assert_eq!(words(&first["stages"], "stage"), ["step_length", "sort", "interact", "plan"]);
        let slides = list(&first["stages"]).iter().map(|row| &row["of_slides"]);
        assert_eq!(slides.filter(|share| share.is_null()).count(), 1, "the slides have no plan");
        let sizes = on_gpu_with(&adapter, "run", &["--workgroup-size", "32,64"]).expect("it has a clock");
        let sizes = list(&sizes["runs"]).iter().filter_map(|row| row["workgroup_size"].as_u64());
        assert_eq!(sizes.collect::<Vec<_>>(), [32, 64, 32, 64], "{}", adapter.name);
        let shares: f64 = list(&first["stages"]).iter().map(|row| number(&row["share"])).sum();
        assert!(shares > 0.5 && shares < 2.0, "{shares}");
    }
}
