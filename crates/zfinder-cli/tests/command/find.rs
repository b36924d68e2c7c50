//! Tests of `zfinder find`: output, files and exit codes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::common::{failed, folder, sample, spawn, stderr, stdout, succeeded, written, zfinder};
use tempfile::TempDir;

/// Runs `find` on the reference engine with -q.
fn find(arguments: &[&str]) -> Output {
    zfinder(&[&["find", "--engine", "reference", "-q"], arguments].concat())
}

/// Event 3 has four straight tracks from z = 12.5 mm, and an RoI 1 with all spacepoints on one
/// layer; event 4 has a single spacepoint.
fn tracks(dir: &TempDir) -> String {
    let mut text = String::from("event_id,roi_id,rho,phi,z,layer\n");
    for (phi, slope) in [(0.1, 0.5), (0.7, -0.25), (1.5, 0.125), (2.5, -1.0)] {
        for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
            text.push_str(&format!("3,0,{rho},{phi},{},{layer}\n", 12.5 + slope * rho));
        }
    }
    text.push_str("4,0,50.5,0.1,3,0\n3,1,50.5,0.1,3,0\n3,1,50.5,0.2,3,0\n");
    written(dir, "tracks.csv", &text)
}

#[test]
fn csv_and_json_are_exact() {
    let dir = folder();
    let input = tracks(&dir);
    let csv = succeeded(find(&[&input, "--preset", "default", "--format", "csv"]));
    assert_eq!(
        csv,
        "event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background,rank,fallback\n\
         3,0,0,12.5,12,ok,0.0527838430417217,0,0.018009004502251125,12,false\n\
         4,0,,,,no_peak,,,,,false\n3,1,,,,no_peak,,,,,false\n"
    );
    let json = succeeded(find(&[&input, "--preset", "default", "--format", "jsonl"]));
    let (header, lines) = json.split_once('\n').expect("a line");
    assert!(header.starts_with(r#"{"schema":"zfinder-answers/1","version":"#), "{header}");
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(
        lines[0],
        concat!(
            r#"{"event_id":3,"roi_id":0,"status":"ok","spacepoints":12,"outside_window":0,"fallback":false,"vertices":["#,
            r#"{"z_mm":12.5,"weight":12.0,"pairs":12,"z_error_mm":0.0527838430417217,"rank":12.0,"significance":0.0,"#,
            r#""background":0.018009004502251125}]}"#
        )
    );
    assert_eq!(
        lines[1],
        r#"{"event_id":4,"roi_id":0,"status":"no_peak","spacepoints":1,"outside_window":0,"fallback":false,"vertices":[]}"#
    );
    assert_eq!(lines.len(), 3);
    // Without hard tracks the default preset falls back to counting pairs.
    let auto = succeeded(find(&[&input, "--format", "csv"]));
    assert!(
        auto.lines().nth(1).is_some_and(|line| line.starts_with("3,0,0,12.5,12,ok,") && line.ends_with(",12,true")),
        "{auto}"
    );
    let table = succeeded(find(&[&input]));
    assert_eq!(table.lines().next().expect("a header").split_whitespace().last(), Some("status"));
    assert!(table.lines().all(|line| line.trim_end() == line), "{table}");
}

#[test]
fn json_is_one_document() {
    let dir = folder();
    let input = tracks(&dir);
    let read = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&succeeded(find(&[&[input.as_str(), "--format", "json"], arguments].concat())))
            .expect("JSON")
    };
    let document = read(&[]);
    let ids = |document: &serde_json::Value| -> Vec<u64> {
        let rois = document["rois"].as_array().expect("a list");
        rois.iter().map(|roi| roi["event_id"].as_u64().expect("a number")).collect()
    };
    assert_eq!(ids(&document), [3, 4, 3]);
    assert_eq!(document["provenance"]["schema"], "zfinder-answers/1");
    assert_eq!((document.get("digest"), document["rois"][0].get("true_z_mm")), (None, None));
    assert!(read(&["--digest"])["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    let lone = written(&dir, "lone.csv", "event_id,x,y,z,layer\n");
    assert_eq!(find(&[&lone, "--format", "json"]).status.code(), Some(1));
}

#[test]
fn answers_have_the_true_z() {
    let input = sample("zee7_mu2");
    let truth = format!("{input}/truth_vertices.csv");
    let find = |arguments: &[&str]| {
        find(&[&[input.as_str(), "--event", "3", "--truth", &truth, "--format"], arguments].concat())
    };
    let json = succeeded(find(&["jsonl"]));
    let roi: serde_json::Value = serde_json::from_str(json.lines().nth(1).expect("an RoI")).expect("JSON");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let (true_z, z) = (number(&roi["true_z_mm"]), number(&roi["vertices"][0]["z_mm"]));
    assert!((true_z - 14.853546).abs() < 1e-9, "{true_z}");
    assert_eq!(number(&roi["vertices"][0]["delta_mm"]), z - true_z);
    let csv = succeeded(find(&["csv"]));
    let (header, row) = csv.trim_end().split_once('\n').expect("a row");
    assert!(header.ends_with(",fallback,true_z_mm,delta_mm"), "{header}");
    assert!(row.ends_with(&format!(",{true_z},{}", z - true_z)), "{row}");
    let fitted = succeeded(find(&["csv", "--preset", "all-vertices"]));
    assert!(
        fitted.lines().next().is_some_and(|header| header.ends_with(",sum_pt2_gev2,true_z_mm,delta_mm")),
        "{fitted}"
    );
    let columns = |line: &str| line.split(',').count();
    assert!(fitted.lines().all(|line| columns(line) == columns(fitted.lines().next().expect("a header"))), "{fitted}");
    // An RoI without a vertex still has the true one.
    let none = succeeded(find(&["csv", "--z-min", "150", "--peaks", "1"]));
    let row = none.lines().nth(1).expect("a row");
    assert!(row.split(',').nth(11) == Some("14.853546"), "{row}");
}

#[test]
fn wrong_vertices_are_listed_with_the_reason() {
    let input = sample("zee7_mu2");
    let arguments = ["--preset", "thesis", "--detector", "generic"];
    let table = succeeded(find(&[&[input.as_str(), "--wrong"], &arguments[..]].concat()));
    let rows: Vec<&str> = table.lines().filter(|line| line.contains(", wrong: ")).collect();
    assert!(rows.iter().all(|row| row.contains("pairs point at it")) && !rows.is_empty(), "{table}");
    let last = table.lines().last().expect("a score");
    assert!(last.contains(&format!("true hard scatter in {} (", 20 - rows.len())), "{table}");
    let outside = succeeded(find(&[&input, "--wrong", "--event", "3", "--z-min", "20"]));
    assert!(outside.contains("wrong: true z is outside the searched range, 19.8 to 200.2 mm"), "{outside}");
    failed(&find(&[&input, "--wrong", "--format", "csv"]), 2, &["true_z_mm and delta_mm"]);
    let dir = folder();
    failed(&find(&[&tracks(&dir), "--wrong"]), 2, &["there are none", "--truth"]);
}

#[test]
fn columns_have_the_names_of_the_user() {
    let dir = folder();
    let rows = "3,50.5,5,3,0\n3,88.5,9,3,1\n";
    let right = written(&dir, "right.csv", &format!("event_id,x,y,z,layer\n{rows}"));
    let other = written(&dir, "other.csv", &format!("Run,X,y_mm,z,lay\n{rows}"));
    let csv = |arguments: &[&str]| succeeded(find(&[arguments, &["--format", "csv"]].concat()));
    let names = "event_id=Run,x=X,y=y_mm,layer=lay";
    assert_eq!(csv(&[&other, "--columns", names]), csv(&[&right]));
    assert_eq!(csv(&[&other, "--columns", names, "--on-error", "skip"]), csv(&[&right]));
    failed(
        &find(&[&other]),
        1,
        &["`X` looks like `x`, `y_mm` like `y`, `lay` like `layer`: rename them", "--columns x=X,layer=lay"],
    );
    let polar = written(&dir, "polar.csv", "Event,R_mm,Phi,Z,Layer\n1,50,0.1,3,0\n");
    failed(&find(&[&polar]), 1, &["`R_mm` looks like `rho`, `Phi` like `phi`, `Z` like `z`, `Layer` like `layer`"]);
    failed(&find(&[&other, "--columns", "x=U"]), 1, &["there is no column `U`, which is to be `x`", "`Run`, `X`"]);
    failed(&find(&[&other, "--columns", "x"]), 2, &["`x` is no NAME=COLUMN"]);
    let parquet = dir.path().join("points.parquet").display().to_string();
    succeeded(zfinder(&["simulate", "--rois", "2", "-q", "-o", &parquet]));
    let swapped = csv(&[&parquet, "--columns", "event_id=roi_id,roi_id=event_id"]);
    let ids: Vec<&str> = swapped.lines().map(|row| &row[..3]).collect();
    assert!(ids.contains(&"0,0") && ids.contains(&"0,1") && !ids.contains(&"1,0"), "{swapped}");
}

#[test]
fn events_are_selected_by_number() {
    let dir = folder();
    let text = "event_id,roi_id,rho,phi,z,layer\n3,0,50.5,0.1,3,0\n5,0,50.5,0.1,3,0\n9,0,50.5,0.1,3,0\n";
    let csv = written(&dir, "points.csv", text);
    let parquet = dir.path().join("points.parquet").display().to_string();
    succeeded(zfinder(&["simulate", "--rois", "12", "-q", "-o", &parquet]));
    let events = |output: &str| -> Vec<u64> {
        let rows = output.lines().skip(1);
        rows.map(|row| row.split(',').next().and_then(|event| event.parse().ok()).expect("an event")).collect()
    };
    let selected = |input: &str, numbers: &str| {
        let output = find(&[input, "--detector", "atlas2010", "--peaks", "1", "--format", "csv", "--events", numbers]);
        let said = stderr(&output);
        (events(&succeeded(output)), said)
    };
    assert_eq!(selected(&csv, "4-9").0, [5, 9]);
    assert_eq!(selected(&parquet, "2,7-8").0, [2, 7, 8]);
    let (found, said) = selected(&csv, "3,4,10-11");
    assert_eq!(found, [3]);
    assert!(said.contains("warning: the input has no event 4,10-11: it has 3, with numbers from 3 to 9"), "{said}");
    for command in ["find", "histogram"] {
        failed(&zfinder(&[command, &csv, "--event", "4"]), 2, &["the input has no event 4: it has 3, with numbers"]);
    }
    let skipping = [&csv, "--event", "4", "--on-error", "skip"];
    failed(&find(&skipping), 2, &["the input has no event 4: it has 3, with numbers"]);
    failed(&find(&[&csv, "--events", "7-3"]), 2, &["`7-3` is no event number and no range"]);
    // RoIs of other events are not missing, and not searched.
    let rois = written(&dir, "rois.csv", "event_id,roi_id,phi_min,phi_max\n3,0,0,1\n5,0,0,1\n7,0,0,1\n");
    let output = find(&[&csv, "--rois", &rois, "--format", "csv", "--event", "5"]);
    let said = stderr(&output);
    assert_eq!(events(&succeeded(output)), [5]);
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn outputs_go_to_files_whole_or_not_at_all() {
    let dir = folder();
    let input = tracks(&dir);
    let target = dir.path().join("out.csv");
    let name = target.display().to_string();
    assert_eq!(succeeded(find(&[&input, "-o", &name])), "");
    assert!(fs::read_to_string(&target).expect("there").starts_with("event_id,roi_id,vertex"));
    for (ending, first) in [("jsonl", '{'), ("txt", ' ')] {
        let path = dir.path().join(format!("out.{ending}"));
        succeeded(find(&[&input, "-o", &path.display().to_string()]));
        assert!(fs::read_to_string(&path).expect("there").starts_with(first));
    }

    // An error before any answer leaves the old output, and no other file.
    fs::write(&target, "old").expect("written");
    let bad = written(&dir, "zbad.csv", "event_id,x,y,z,layer\n9,1,2,bad,0\n");
    let before = fs::read_dir(dir.path()).expect("there").count();
    let message = "zbad.csv, row 2, column z: `bad` is not a number";
    failed(&find(&[&bad, &input, "-o", &name]), 1, &[message]);
    assert_eq!(fs::read_to_string(&target).expect("there"), "old");
    // After an error the file has the answers before it.
    failed(&find(&[&input, &bad, "-o", &name]), 1, &[message, "out.csv ends before the error: 3 RoIs"]);
    assert_eq!(fs::read_to_string(&target).expect("there"), succeeded(find(&[&input, "--format", "csv"])));
    assert_eq!(fs::read_dir(dir.path()).expect("there").count(), before);

    failed(&find(&[&input, "-o", "vertices.dat"]), 2, &["vertices.dat", "--format"]);
    failed(&find(&[&input, "-o", &input]), 2, &["the output file is one of the inputs"]);
    failed(&find(&[&input, "-o", "/none/such/out.csv"]), 1, &["cannot write /none/such/out.csv"]);
}

#[test]
fn truth_stands_beside_what_was_found() {
    let table = succeeded(find(&["--preset", "default", &sample("zee7_mu2")]));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        [
            "event_id",
            "roi_id",
            "vertex",
            "z_mm",
            "error_mm",
            "true_z_mm",
            "delta_mm",
            "weight",
            "significance",
            "status"
        ]
    );
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>()[5], "26.993");
    assert_eq!(lines.len(), 1 + 20 + 2);
    assert_eq!(lines[22], "20 RoIs with truth: first vertex within 1 mm of the true hard scatter in 20 (100.0 %)");
    let five = succeeded(find(&[&sample("zee7_mu2/event000000000-spacepoint.csv.gz"), "--peaks", "5"]));
    assert!(five.contains("1 RoI with truth") && five.contains("any of at most 5 in 1 (100.0 %)"), "{five}");
    let dir = folder();
    let bad = written(&dir, "truth.csv", "event,vz\n");
    failed(&find(&[&sample("zee7_mu2"), "--truth", &bad]), 1, &["truth.csv, row 1: missing column `z`"]);
}

#[test]
fn triplets_hold_at_high_pile_up() {
    let table = succeeded(find(&["--preset", "default", "--pair-weight", "any", &sample("tt14_mu46")]));
    assert!(table.contains("hard scatter in 1 (100.0 %)"), "{table}");
}

#[test]
fn rois_select_and_warn() {
    let dir = folder();
    let input = tracks(&dir);
    let rois = written(&dir, "rois.csv", "event_id,roi_id,phi_min,phi_max\n3,0,0,1\n3,1,0,1\n8,0,0,1\n");
    let output = find(&["--preset", "default", &input, "--rois", &rois, "--format", "csv"]);
    failed(&output, 0, &["1 RoI of the input has no line in", "of events that the input does not have: status empty"]);
    assert_eq!(
        stdout(&output),
        "event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background,rank,fallback\n\
         3,0,0,12.5,6,ok,0.05773502691896258,0,0.009004502251125562,6,false\n\
         4,0,,,,no_peak,,,,,false\n3,1,,,,no_peak,,,,,false\n8,0,,,,empty,,,,,false\n"
    );
    let sample = succeeded(find(&[
        "--detector",
        "generic",
        "--rois",
        &sample("rois/rois.csv"),
        &sample("rois/spacepoints.csv"),
    ]));
    assert!(sample.contains("12 RoIs with truth"), "{sample}");
    let bad = written(&dir, "bad.csv", "event_id,roi_id,phi_min,phi_max\n3,0,1,1\n");
    failed(&find(&[&input, "--rois", &bad]), 1, &["bad.csv, row 2, column phi_min", "zero width", "3,0,1,1"]);
}

#[test]
fn bad_input_ends_with_1_and_shows_the_row() {
    let dir = folder();
    let bad = written(&dir, "bad.csv", "x,y,z,layer\n1,2,3,0\n1,2,3,99\n");
    assert_eq!(stdout(&find(&[&bad])), "", "no header without an answer");
    failed(
        &find(&[&bad]),
        1,
        &["bad.csv:3:7", "bad.csv, row 3, column layer", "layers 0 to 18", "1,2,3,99", "--detector"],
    );
    failed(&find(&["/none/such.csv"]), 1, &["/none/such.csv: ", "os error"]);
    let empty = written(&dir, "empty.csv", "");
    failed(&find(&[&empty]), 1, &["empty.csv: the file is empty"]);
    let header = written(&dir, "header.csv", "x,y,z,layer\n");
    failed(&find(&[&header]), 1, &["header.csv: there is a header and no spacepoint below it"]);
    let none = folder();
    failed(&find(&[&none.path().display().to_string()]), 1, &["the folder and the folders in it hold no"]);
    let acts = written(&none, "event000000007-spacepoint.csv", "geometry_id_1,x,y,z\n");
    assert!(succeeded(find(&[&acts, "--format", "csv"])).ends_with("7,0,,,,empty,,,,,false\n"));
    failed(&find(&[&acts, &bad]), 2, &["some files of the input have a column `layer`", "--detector"]);
    failed(&find(&[&sample("zee7_mu2"), "--detector", "atlas2010"]), 1, &["(volume, layer)", "geometry_id_1"]);
}

#[test]
fn wrong_usage_ends_with_2() {
    let dir = folder();
    let input = tracks(&dir);
    failed(&find(&[]), 2, &["FILE|FOLDER"]);
    failed(&find(&[&input, "--z-bin", "0"]), 2, &["`z_bin_mm`: 0 must be a number, 0.001 to 10000 mm"]);
    failed(&find(&[&input, "--z-max", "-300"]), 2, &["`z_max_mm`: -300 must be"]);
    failed(&find(&[&input, "--neighbours", "some"]), 2, &["single", "bending"]);
    failed(&find(&[&input, "--beam-spot", "1"]), 2, &["two numbers"]);
    failed(&find(&[&input, "--adapter", "0"]), 2, &["engine reference uses no GPU"]);
    failed(&find(&[&input, "--adapter", "all"]), 2, &["engine reference uses no GPU"]);
    failed(&find(&[&input, "--detector", "cms"]), 2, &["there is no detector `cms`"]);
    let config = written(&dir, "config.toml", "peaks = 2\nz_bin = 0.4\n");
    failed(&find(&[&input, "--config", &config]), 2, &["config.toml", "line 2", "z_bin"]);
    let detector = written(&dir, "detector.toml", "name = \"x\"\nlayer = []\n");
    failed(&find(&[&input, "--detector", &detector]), 2, &["detector `x`: has 0 layers"]);
    failed(&find(&[&input, "--config", "/none/such.toml"]), 1, &["/none/such.toml"]);
}

#[test]
fn no_adapter_ends_with_3() {
    // A backend that this system does not support.
    let backend = if cfg!(windows) { "metal" } else { "dx12" };
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_zfinder"))
            .args(arguments)
            .env("WGPU_BACKEND", backend)
            .env("NO_COLOR", "1")
            .output()
            .expect("it starts")
    };
    failed(&run(&["adapters"]), 3, &["no adapters at all"]);
    let dir = folder();
    failed(&run(&["find", "--engine", "gpu", &tracks(&dir)]), 3, &["no adapters at all", "zfinder adapters"]);
}

/// `all` selects all hardware adapters, or all software adapters without one.
#[test]
fn all_adapters_are_all_hardware_and_several_can_be_named() {
    let adapters = zfinder::gpu::adapters().expect("the list of adapters");
    let dir = folder();
    let input = tracks(&dir);
    let arguments = ["find", &input, "--format", "csv"];
    let run = |more: &[&str]| zfinder(&[&arguments[..], more].concat());
    let output = run(&["--adapter", "all"]);
    let hardware = adapters.iter().filter(|adapter| adapter.kind != zfinder::gpu::AdapterKind::Software).count();
    if hardware > 0 {
        assert!(succeeded(output).starts_with("event_id"));
    } else if adapters.is_empty() {
        failed(&output, 3, &["hardware", "no adapters at all"]);
    } else {
        let names: Vec<&str> = adapters.iter().map(|adapter| adapter.name.as_str()).collect();
        failed(&output, 3, &[&["no GPU adapter is hardware"], &names[..]].concat());
    }
    let indices: Vec<String> = adapters.iter().map(|adapter| adapter.index.to_string()).collect();
    if !indices.is_empty() {
        let output = run(&indices.iter().flat_map(|index| ["--adapter", index]).collect::<Vec<_>>());
        assert!(stderr(&output).contains(&adapters[adapters.len() - 1].name), "{}", stderr(&output));
        assert!(succeeded(output).contains("3,0,0,12.5,12,ok"));
    }
}

#[test]
fn print_config_goes_round_and_the_order_is_preset_file_option() {
    let dir = folder();
    let print = |arguments: &[&str]| succeeded(zfinder(&[&["find", "--print-config"], arguments].concat()));
    let all = print(&[
        "--preset",
        "thesis",
        "--peaks",
        "7",
        "--pair-weight",
        "count",
        "--phi-window",
        "spacepoints",
        "--beam-spot",
        "-0.5,1.25",
        "--first-layers",
        "5",
        "--z-bin-eta-coeff",
        "0",
        "--z-min",
        "-150",
        "--z-max-mm",
        "120",
        "--prefer-central",
        "false",
        "--phi-slice-deg",
        "0.5",
        "--wrap-full-scan",
        "false",
        "--neighbour-multiplier",
        "2",
        "--neighbour-max",
        "9",
        "--bending-pt-gev",
        "1",
        "--field-t",
        "3.8",
        "--dphi-deta",
        "-0.01",
        "--triplet-dz",
        "3",
        "--triplet-dk",
        "0.1",
        "--triplet-dp",
        "0.2",
    ]);
    for line in ["neighbours = \"single\"", "z_bin_mm = 0.4", "beam_spot_mm = [-0.5, 1.25]", "neighbour_max = 9"] {
        assert!(all.lines().any(|l| l == line), "no `{line}` in:\n{all}");
    }
    let file = written(&dir, "all.toml", &all);
    assert_eq!(print(&["--config", &file]), all);

    // Every key is an option under its own name.
    for line in all.lines() {
        let (key, value) = line.split_once(" = ").expect("a key");
        let option = format!("--{}={}", key.replace('_', "-"), value.trim_matches(['"', '[', ']']));
        assert_eq!(print(&["--config", &file, &option]), all, "{option}");
    }
    let part = written(&dir, "part.toml", "z_bin_mm = 0.3\npeaks = 4\n");
    let layered = print(&["--preset", "thesis", "--config", &part, "--peaks", "5"]);
    for line in ["z_bin_mm = 0.3", "peaks = 5", "first_layers = 64"] {
        assert!(layered.lines().any(|l| l == line), "no `{line}` in:\n{layered}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let data = sample("zee7_mu2");
    let mut child = spawn(&["find", "--engine", "reference", "--format", "jsonl", "--peaks", "1000", &data]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert!(line.starts_with("{\"schema\":"));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn it_says_what_ran_and_how_to_use_it() {
    let dir = folder();
    let output = zfinder(&["find", "--engine", "reference", &tracks(&dir)]);
    let said = stderr(&output);
    assert!(said.contains("reference engine") && said.contains("detector atlas2010"), "{said}");
    assert!(said.contains("2 events, 3 RoIs, 15 spacepoints"), "{said}");
    let short = succeeded(zfinder(&["find", "-h"]));
    assert!(short.starts_with("Examples:\n  zfinder find ") && short.lines().count() <= 60, "{short}");
    let help = succeeded(zfinder(&["find", "--help"]));
    for word in ["Exit codes:", "geometry_id_1", "--rois", "phi_min > phi_max", "Examples:"] {
        assert!(help.contains(word), "no `{word}` in:\n{help}");
    }
    assert!(PathBuf::from(sample("README.md")).is_file());
}

/// Threads belong to the CPU engine, and do not change the answers.
#[test]
fn threads_are_counted_and_change_nothing() {
    let dir = folder();
    let file = tracks(&dir);
    let find = |arguments: &[&str]| zfinder(&[&["find", "-q"], arguments, &[&file]].concat());
    let found = |threads: &str| succeeded(find(&["--engine", "cpu", "--threads", threads]));
    assert_eq!(found("1"), found("3"));
    for (arguments, told) in [
        (["--engine", "reference", "--threads", "2"], "--threads is of the CPU engine"),
        (["--engine", "cpu", "--threads", "0"], "non-zero"),
    ] {
        let output = find(&arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
}

/// Runs `zfinder` with these bytes on standard input.
fn fed(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = spawn(arguments);
    // A command that ends early closes the pipe.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("it ends")
}

#[test]
fn standard_input_is_a_file_like_others() {
    let dir = folder();
    let path = tracks(&dir);
    let text = fs::read(&path).expect("there");
    let arguments = ["find", "--engine", "reference", "-q", "--format", "csv", "-"];
    let expected = succeeded(find(&[&path, "--format", "csv"]));
    assert_eq!(succeeded(fed(&arguments, &text)), expected);
    assert_eq!(succeeded(fed(&[&arguments[..], &["-o", "-"]].concat(), &text)), expected);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).expect("in memory");
    assert_eq!(succeeded(fed(&arguments, &gzip.finish().expect("in memory"))), expected);
    let bad = fed(&arguments, b"rho,phi,z,layer\n50,1,1,0\n50,1,x,0\n");
    failed(&bad, 1, &["standard input, row 3, column z", "`x` is not a number"]);
    failed(&fed(&[&arguments[..], &["/dev/stdin"]].concat(), &text), 1, &["/dev/stdin: is named twice"]);
    failed(
        &fed(&arguments, b"PAR1 and more"),
        1,
        &["standard input: Parquet files are read from their end", "save this"],
    );
    failed(&fed(&arguments, b""), 1, &["standard input: the file is empty"]);
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = succeeded(zfinder(&["completions", shell]));
        assert!(script.contains("zfinder") && script.contains("evaluate"), "{shell}");
    }
    assert!(succeeded(zfinder(&["man"])).contains(".TH zfinder 1"));
    let dir = folder();
    succeeded(zfinder(&["man", &dir.path().display().to_string()]));
    let page = fs::read_to_string(dir.path().join("zfinder-find.1")).expect("a page a subcommand");
    assert!(page.contains("print\\-config"), "{page:.300}");
    failed(&zfinder(&["man", "/no/such/folder"]), 1, &["cannot write /no/such/folder"]);
}

/// Adapters report what they support, and support it.
#[test]
fn adapters_are_checked() {
    if zfinder_testing::on_adapters().is_empty() {
        return;
    }
    let said = succeeded(zfinder(&["adapters", "--check"]));
    let answered = said.lines().filter(|line| line.contains("answers as the reference engine")).count();
    assert!(answered >= 2 && said.contains("f32, compare-exchange"), "{said}");
}

#[test]
fn rois_without_a_significant_vertex_are_counted() {
    let words = "without a significant vertex: no peak stands above the background (significance 0). The first: event";
    let dir = folder();
    let found = zfinder(&["find", "--engine", "cpu", "--preset", "default", &tracks(&dir)]);
    assert!(stderr(&found).contains(&format!("1 RoI {words} 3, RoI 0\n")), "{}", stderr(&found));
    let found = zfinder(&["find", "--engine", "cpu", &sample("tt14_mu46")]);
    assert!(found.status.success() && !stderr(&found).contains(words), "{}", stderr(&found));
}
