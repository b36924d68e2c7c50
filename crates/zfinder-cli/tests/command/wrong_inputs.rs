//! Inputs whose answers would be wrong without a word: each gets an error, a status or a warning.

use std::fmt::Write;
use std::fs;

use tempfile::TempDir;
use zfinder_testing::shared;

use super::common::{failed, folder, stderr, stdout, succeeded, zfinder, zfinder_with};

/// A column of spacepoints for each of six tracks from this z, on the pixel layers of the generic
/// detector: rho, phi, z and layer.
fn tracks(z: f64) -> Vec<(f64, f64, f64, u32)> {
    let layers = [32.0, 72.0, 116.0, 172.0].into_iter().zip(0..);
    let slopes = [0.5, -0.3, 0.2, -1.0, 0.9, 0.1].into_iter().zip(0..);
    slopes
        .flat_map(|(slope, track)| {
            layers.clone().map(move |(rho, layer)| (rho, 0.1 + f64::from(track), z + slope * rho, layer))
        })
        .collect()
}

/// Events 1, 2, 3 at z = 12.5, -33.25 and 71 mm, as CSV. `edit` changes rho, phi, z and layer.
fn events(edit: impl Fn((f64, f64, f64, u32)) -> (f64, f64, f64, u32)) -> String {
    let mut text = String::from("event_id,rho,phi,z,layer\n");
    for (event, z) in [(1, 12.5), (2, -33.25), (3, 71.0)] {
        for point in tracks(z) {
            let (rho, phi, z, layer) = edit(point);
            writeln!(text, "{event},{rho},{phi},{z},{layer}").expect("in memory");
        }
    }
    text
}

fn written(dir: &TempDir, text: &str) -> String {
    let path = dir.path().join("events.csv");
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

const FIND: [&str; 7] = ["find", "--engine", "cpu", "--detector", "generic", "--format", "csv"];

fn find(more: &[&str]) -> std::process::Output {
    zfinder(&[&FIND[..], more].concat())
}

/// Returns event, z of the first vertex (0 without a vertex) and status of each RoI.
fn answers(csv: &str) -> Vec<(u64, f64, String)> {
    let mut all: Vec<(u64, f64, String)> = Vec::new();
    for row in csv.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let event = fields[0].parse().expect("a number");
        if fields[2] == "0" || fields[2].is_empty() {
            all.push((event, fields[3].parse().unwrap_or(0.0), fields[5].to_owned()));
        }
    }
    all
}

#[track_caller]
fn assert_right(csv: &str) {
    let all = answers(csv);
    let right = [(1, 12.5), (2, -33.25), (3, 71.0)];
    assert_eq!(all.len(), 3, "{csv}");
    for ((event, z, status), (right_event, right_z)) in all.iter().zip(right) {
        assert!(*event == right_event && (z - right_z).abs() < 0.05 && status == "ok", "{csv}");
    }
}

#[test]
fn the_events_are_found() {
    let dir = folder();
    let path = written(&dir, &events(|point| point));
    let output = find(&[&path]);
    assert!(!stderr(&output).contains("warning"), "{}", stderr(&output));
    assert_right(&succeeded(output));
}

#[test]
fn units_and_layers_that_do_not_fit_are_named() {
    let dir = folder();
    for (text, words) in [
        (events(|(rho, phi, z, layer)| (rho / 10.0, phi, z / 10.0, layer)), "lengths are in cm: give lengths in mm"),
        (events(|(rho, phi, z, layer)| (rho / 1e3, phi, z / 1e3, layer)), "lengths are in m: give lengths in mm"),
        (events(|(rho, phi, z, layer)| (rho, phi, z, layer + 1)), "counted from 1: count layers from 0"),
    ] {
        let path = written(&dir, &text);
        for detector in ["generic", "odd", "atlas2010"] {
            let output = zfinder(&["find", "--engine", "cpu", "--detector", detector, &path]);
            let said = stderr(&output);
            assert!(said.contains("they fit detector `generic`") && said.contains(words), "{said}");
        }
    }
    let path = written(&dir, &events(|point| point));
    let said = stderr(&zfinder(&["find", "--engine", "cpu", &path]));
    assert!(said.contains("they fit detector `generic`; --detector NAME|FILE.toml"), "{said}");
    let path = written(&dir, &events(|(rho, phi, z, layer)| (rho, phi.to_degrees(), z, layer)));
    failed(&find(&[&path]), 1, &["row 6, column phi", "are these degrees?"]);
}

#[test]
fn an_event_from_a_part_of_its_spacepoints_is_not_ok() {
    let dir = folder();
    let text = events(|point| point);
    let mut rows: Vec<&str> = text.lines().collect();
    let moved = rows.remove(5);
    rows.push(moved);
    let path = written(&dir, &rows.join("\n"));
    let output = find(&["--on-error", "skip", &path]);
    failed(&output, 5, &["event 1, RoI 0 comes again", "status `bad_spacepoint`"]);
    let all = answers(&stdout(&output));
    let statuses: Vec<&str> = all.iter().map(|(_, _, status)| status.as_str()).collect();
    assert_eq!(statuses, ["bad_spacepoint", "ok", "ok"]);
    // A stream cannot be read ahead, so the run ends.
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_zfinder"))
        .args(FIND)
        .args(["--on-error", "skip", "-"])
        .stdin(fs::File::open(&path).expect("a file"))
        .output()
        .expect("it starts");
    failed(&child, 1, &["event 1, RoI 0 comes again", "an earlier answer to it is made from a part"]);
}

#[test]
fn a_configuration_file_starts_from_auto_or_from_its_preset() {
    let dir = folder();
    let config = dir.path().join("mine.toml");
    let print = |text: &str, more: &[&str]| {
        fs::write(&config, text).expect("written");
        let config = config.display().to_string();
        zfinder(&[&["find", "--config", &config, "--print-config"][..], more].concat())
    };
    let printed = |arguments: &[&str]| succeeded(zfinder(&[&["find", "--print-config"][..], arguments].concat()));
    // 4 is the value of auto, so nothing changes.
    assert_eq!(succeeded(print("peaks = 4", &[])), printed(&[]));
    assert_eq!(succeeded(print("peaks = 2", &[])), printed(&["--peaks", "2"]));
    assert_eq!(succeeded(print("preset = \"jet\"", &[])), printed(&["--preset", "jet"]));
    assert_eq!(succeeded(print("peaks = 2", &["--preset", "jet"])), printed(&["--preset", "jet", "--peaks", "2"]));
    assert_eq!(succeeded(print("preset = \"jet\"", &["--preset", "jet"])), printed(&["--preset", "jet"]));
    failed(&print("preset = \"jet\"", &["--preset", "tau"]), 2, &["starts from the preset jet", "--preset is tau"]);
    failed(&print("preset = \"jets\"", &[]), 2, &["jets", "hard-scatter"]);
    // Printed configurations are read back, also where the preset limits layers.
    for preset in ["auto", "default", "full-scan", "high-pileup"] {
        let text = printed(&["--preset", preset, "--max-layer", "all", "--z-bin", "0.7"]);
        assert_eq!(succeeded(print(&text, &[])), text);
    }
}

#[test]
fn a_printed_configuration_has_a_detector_that_can_be_read() {
    let dir = folder();
    let wrong = written(&dir, "name = 3");
    for command in [&["find"][..], &["histogram"], &["plot", "event"]] {
        let print = |detector: &str| zfinder(&[command, &["--print-config", "--detector", detector]].concat());
        failed(&print("/nonexistent.toml"), 1, &["/nonexistent.toml"]);
        failed(&print(&wrong), 2, &[&wrong]);
        failed(&print("atlas"), 2, &["there is no detector `atlas`"]);
        assert!(succeeded(print("generic")).contains("peaks"));
    }
}

#[test]
fn absurd_numbers_are_wrong_usage() {
    for (arguments, option) in [
        (&["find", "--threads", "100000", "a.csv"][..], "--threads"),
        (&["serve", "--detector", "generic", "--in-flight", "100000"], "--in-flight"),
        (&["bench", "--in-flight", "100000"], "--in-flight"),
        (&["bench", "--batch", "18446744073709551615"], "--batch"),
        (&["bench", "--limit", "18446744073709551615"], "--limit"),
    ] {
        failed(&zfinder(arguments), 2, &[option, "is the most"]);
    }
}

#[test]
fn an_absurd_number_of_threads_of_rayon_is_an_error() {
    let dir = folder();
    let points = written(&dir, &events(|point| point));
    let simulate = ["simulate", "--rois", "1"];
    let find = ["find", "--engine", "cpu", &points];
    let serve = ["serve", "--detector", "generic", "--engine", "cpu", "--grpc", "off", "--http", "0"];
    for arguments in [&simulate[..], &find, &serve] {
        let output = zfinder_with(arguments, &[("RAYON_NUM_THREADS", "1000000".as_ref())]);
        failed(&output, 3, &["RAYON_NUM_THREADS is 1000000"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lack_of_memory_for_threads_is_an_error() {
    // The limit of the address space leaves no room for the stacks of threads.
    let dir = folder();
    let points = written(&dir, &events(|point| point));
    let command = env!("CARGO_BIN_EXE_zfinder");
    for arguments in [format!("find --engine cpu '{points}'"), "serve --detector generic --engine cpu".into()] {
        for room_kib in ["40000", "60000"] {
            let script = format!(
                "ulimit -v $(( {room_kib} + $(stat -L -c %s '{command}') / 1024 )); exec '{command}' {arguments}"
            );
            let output = std::process::Command::new("sh").args(["-c", &script]).env("RAYON_NUM_THREADS", "64").output();
            let output = output.expect("there is sh");
            failed(&output, 3, &["cannot start threads"]);
        }
    }
}

#[test]
fn reports_name_preset_and_changed_keys() {
    let dir = folder();
    let path = written(&dir, &events(|point| point));
    let config = dir.path().join("mine.toml");
    fs::write(&config, "peaks = 2\nmax_layer = \"all\"").expect("written");
    let config = config.display().to_string();
    let words = "preset auto, peaks = 2, max_layer = \"all\"";
    assert!(stderr(&find(&[&path])).contains("detector generic; preset auto\n"));
    assert!(stderr(&find(&["--config", &config, &path])).contains(words));
    let json = dir.path().join("answers.jsonl").display().to_string();
    succeeded(zfinder(&["find", "--engine", "cpu", "--detector", "generic", "--config", &config, &path, "-o", &json]));
    let first = fs::read_to_string(&json).expect("answers");
    let first: serde_json::Value = serde_json::from_str(first.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["preset"], &first["changed_keys"]["peaks"]), (&"auto".into(), &2.into()));
    let truth = dir.path().join("truth.csv").display().to_string();
    fs::write(&truth, "event_id,z\n1,12.5\n2,-33.25\n3,71\n").expect("written");
    let plot = dir.path().join("plot.svg").display().to_string();
    let arguments = ["evaluate", "--engine", "cpu", "--detector", "generic", "--truth", &truth, "--config", &config];
    let output = zfinder(&[&arguments[..], &["--format", "json", "--plot", &plot, "--by", "none", &path]].concat());
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&succeeded(output)).expect("JSON");
    let configuration = &report["configurations"][0];
    assert_eq!(configuration["config"]["preset"], "auto");
    assert_eq!(configuration["changed_keys"], serde_json::json!(["peaks", "max_layer"]));
    assert!(fs::read_to_string(&plot).expect("a picture").contains("peaks = 2"));
    let plot = dir.path().join("event.svg").display().to_string();
    succeeded(zfinder(&["plot", "histogram", "--detector", "generic", "--config", &config, &path, "-o", &plot]));
    assert!(fs::read_to_string(&plot).expect("a picture").contains("peaks = 2"));
}

#[test]
fn help_shows_the_values_of_the_preset_of_the_run() {
    let help = |arguments: &[&str]| succeeded(zfinder(&[&["find"][..], arguments, &["--help"]].concat()));
    assert!(help(&[]).contains("[auto: 4]") && help(&[]).contains("[auto: 0.0001]"), "{}", help(&[]));
    assert!(help(&["--preset", "jet"]).contains("[jet: 3]"));
    assert!(help(&["--preset=default"]).contains("[default: 1]"));
    assert!(succeeded(zfinder(&["evaluate", "-h"])).contains("[auto: 4]"));
    assert!(!succeeded(zfinder(&["simulate", "-h"])).contains("[auto: "));
}

#[test]
fn vertices_outside_the_range_of_z_are_hinted_at() {
    let dir = folder();
    let path = written(&dir, &events(|(rho, phi, z, layer)| (rho, phi, z + 500.0, layer)));
    let output = find(&[&path]);
    let said = stderr(&output);
    assert!(said.contains("3 RoIs without a peak have one outside the range of z from -200 to 200 mm"), "{said}");
    assert!(said.contains("event 1 at 512.5 mm: widen the range with --z-min and --z-max"), "{said}");
    assert!(answers(&succeeded(output)).iter().all(|(_, _, status)| status == "no_peak"));
}

/// The inputs of reports of users elsewhere. Their README says what is right.
#[test]
fn inputs_from_reports_have_their_right_outcome() {
    let Some(reports) = shared("data/reports") else { return };
    let path = |name: &str| reports.join(name).display().to_string();
    for name in ["three_events.csv", "three_events_groups.parquet"] {
        assert_right(&succeeded(find(&[&path(name)])));
    }
    let renumbered = succeeded(find(&[&path("entry_subentry.csv")]));
    let all = answers(&renumbered);
    assert_eq!(all.iter().map(|(event, ..)| *event).collect::<Vec<_>>(), [0, 1, 2], "{renumbered}");
    for (names, events) in [
        (&["event_returns.csv"][..], &["bad_spacepoint", "ok", "ok"][..]),
        (&["event_in_two_files/a.csv", "event_in_two_files/b.csv"], &["bad_spacepoint", "ok"]),
        (&["null_in_last_row.parquet"], &["ok", "ok", "bad_spacepoint"]),
    ] {
        let paths: Vec<String> = names.iter().map(|name| path(name)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let output = find(&[&["--on-error", "skip"], &paths[..]].concat());
        failed(&output, 5, &[]);
        let all = answers(&stdout(&output));
        assert_eq!(all.iter().map(|(_, _, status)| status.as_str()).collect::<Vec<_>>(), events, "{names:?}");
    }
    let output = find(&[&path("null_in_last_row.parquet")]);
    failed(&output, 1, &["row 3", "is null"]);
    assert_eq!(answers(&stdout(&output)).len(), 2);
    failed(&find(&[&path("two_trees.root")]), 1, &["tree `sim` and tree `reco`", "--tree"]);
    assert_right(&succeeded(find(&["--tree", "reco", &path("two_trees.root")])));
    failed(&find(&[&path("phi_degrees.csv")]), 1, &["are these degrees?"]);
    failed(&find(&["--objects", &path("objects_mev.csv"), &path("three_events.csv")]), 1, &["are these MeV?"]);
    let warned = |output: std::process::Output, words: &str| {
        let said = stderr(&output);
        assert!(said.contains(words), "no `{words}` in {said}");
    };
    warned(find(&[&path("centimetres.csv")]), "if their lengths are in cm");
    warned(find(&[&path("far_vertices.csv")]), "3 RoIs without a peak have one outside the range");
    for detector in ["generic", "odd"] {
        let output = zfinder(&["find", "--engine", "cpu", "--detector", detector, &path("layers_from_one.csv")]);
        warned(output, "they fit detector `generic` if its layers are counted from 1");
    }
    warned(zfinder(&["find", "--engine", "cpu", &path("three_events.csv")]), "they fit detector `generic`");
    let detector = path("disks_without_sensor.toml");
    let disks = ["find", "--engine", "cpu", "--detector", &detector, &path("disks.csv")];
    failed(&zfinder(&disks), 2, &["add `sensor", "full-scan"]);
}
