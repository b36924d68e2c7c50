//! Tests of `zfinder evaluate`: figures compared with counts, formats and failures.

use std::fmt::Write;
use std::fs;
use std::process::Output;

use crate::common::{failed, folder, sample, stderr, stdout, succeeded, written, zfinder};
use serde_json::Value;
use tempfile::TempDir;
use zfinder_testing::shared;
use zfinder_testing::toy::Toy;

/// Toy events, their truth in both formats, and the true z of each primary.
struct Sample {
    dir: TempDir,
    spacepoints: String,
    acts: String,
    own: String,
    primaries: Vec<f64>,
}

const EVENTS: u64 = 24;

fn toys() -> Sample {
    let dir = folder();
    let mut rng = fastrand::Rng::with_seed(7);
    let mut spacepoints = String::from("event_id,roi_id,rho,phi,z,layer\n");
    let mut acts = String::from("event,vz_mm,is_hard_scatter\n");
    let mut own = String::from("event_id,roi_id,z\n");
    let mut primaries = Vec::new();
    for event in 0..EVENTS {
        let toy = Toy { tracks: 32, vertices: 1 + event as usize % 6, ..Toy::default() };
        let made = toy.event(&mut rng, event);
        for point in &made.roi.spacepoints {
            let _ = writeln!(spacepoints, "{event},0,{},{},{},{}", point.rho, point.phi, point.z, point.layer);
        }
        // The primary does not always have the most tracks.
        let primary = usize::from(made.truth.len() > 3);
        for (number, z) in made.truth.iter().enumerate() {
            let _ = writeln!(acts, "{event},{z},{}", u8::from(number == primary));
        }
        let _ = writeln!(own, "{event},0,{}", made.truth[primary]);
        primaries.push(made.truth[primary]);
    }
    let [spacepoints, acts, own] = [("toys.csv", spacepoints), ("acts.csv", acts), ("own.csv", own)]
        .map(|(name, text)| written(&dir, name, &text));
    Sample { dir, spacepoints, acts, own, primaries }
}

fn evaluate(arguments: &[&str]) -> Output {
    zfinder(&[&["evaluate", "--engine", "cpu", "-q"], arguments].concat())
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let document = succeeded(evaluate(&[arguments, &["--format", "json"]].concat()));
    serde_json::from_str(&document).unwrap_or_else(|error| panic!("{error}:\n{document}"))
}

/// Returns the number of RoIs whose first vertex, and whose any vertex, is within 1 mm, from the
/// output of `find`.
fn counted(sample: &Sample, options: &[&str]) -> (u64, u64) {
    let arguments = [&["find", "--engine", "cpu", "-q", "--format", "jsonl", &sample.spacepoints], options].concat();
    let (mut first, mut any) = (0, 0);
    for line in succeeded(zfinder(&arguments)).lines().skip(1) {
        let roi: Value = serde_json::from_str(line).expect("a line of JSON");
        let true_z = sample.primaries[roi["event_id"].as_u64().expect("a number") as usize];
        let near = |vertex: &Value| (vertex["z_mm"].as_f64().expect("a number") - true_z).abs() < 1.0;
        let vertices = roi["vertices"].as_array().expect("vertices");
        first += u64::from(vertices.first().is_some_and(near));
        any += u64::from(vertices.iter().any(near));
    }
    (first, any)
}

#[test]
fn both_formats_of_truth_give_the_efficiency_that_find_has() {
    let sample = toys();
    let options = ["--peaks", "4", "--first-layers", "2"];
    let expected = counted(&sample, &options);
    assert!(expected.0 > 0 && expected.0 < expected.1, "a sample that tells the two apart: {expected:?}");
    for (truth, by) in [(&sample.acts, "pile-up"), (&sample.own, "spacepoints")] {
        let report = json(&[&[&sample.spacepoints, "--truth", truth], &options[..]].concat());
        assert_eq!(report["by"], by);
        let one = &report["configurations"][0];
        assert_eq!((&one["name"], &one["config"]["first_layers"]), (&"auto".into(), &2.into()));
        let figures = &one["figures"];
        assert_eq!(figures["rois"], EVENTS);
        let passed = |figures: &Value, name: &str| figures[name]["passed"].as_u64().expect("a count");
        assert_eq!((passed(figures, "first"), passed(figures, "any")), expected);
        assert_eq!(figures["residual_mm"]["number"], expected.0);
        // Without pile-up in the truth, figures of pile-up and of close primaries are empty.
        let knows_pile_up = by == "pile-up";
        assert_eq!(passed(figures, "pile_up_vertices") > 0, knows_pile_up);
        assert_eq!(figures["close"]["first"]["of"].as_u64() > Some(0), knows_pile_up);
        let bins = one["bins"].as_array().expect("bins");
        assert_eq!(bins.len(), 2, "10 RoIs or more in each");
        assert_eq!(bins.iter().map(|bin| passed(&bin["figures"], "first")).sum::<u64>(), expected.0);
        assert!(bins[0]["high"].as_u64() < bins[1]["low"].as_u64());
    }
    // `find` reads the same truth.
    for truth in [&sample.acts, &sample.own] {
        let table = succeeded(zfinder(&["find", "--engine", "cpu", "-q", &sample.spacepoints, "--truth", truth]));
        assert!(table.contains(&format!("{EVENTS} RoIs with truth")), "{table}");
    }
}

#[test]
fn configurations_stand_side_by_side() {
    let sample = toys();
    let file = written(&sample.dir, "wide.toml", "z_bin_mm = 0.6\npeaks = 5\n");
    let input = [sample.spacepoints.as_str(), "--truth", &sample.acts];
    let columns = ["--preset", "jet", "--preset", "default", "--config", &file, "--peaks", "2", "--bins", "3"];
    let arguments = [&input[..], &columns[..]].concat();
    let report = json(&arguments);
    let all = report["configurations"].as_array().expect("configurations");
    let of_all = |key: &str| all.iter().map(|one| one["config"][key].clone()).collect::<Vec<_>>();
    assert_eq!(all.iter().map(|one| &one["name"]).collect::<Vec<_>>(), ["jet", "default", "wide"]);
    assert_eq!(of_all("peaks"), [2, 2, 2]);
    assert_eq!(of_all("z_bin_mm"), [0.4, 0.2, 0.6]);
    // Each configuration has the figures that it has alone.
    let alone = json(&[&input[..], &["--config", &file, "--peaks", "2", "--bins", "3"]].concat());
    assert_eq!(alone["configurations"][0], all[2]);

    let short = succeeded(evaluate(&arguments));
    assert!(short.lines().count() <= 22 && short.contains("first vertex right, %"), "{short}");
    assert!(short.contains("--all: all figures") && !short.contains("vertex-vertex resolution"), "{short}");
    let table = succeeded(evaluate(&[&arguments[..], &["--all"]].concat()));
    assert_eq!(
        table.lines().next().expect("a header").split_whitespace().collect::<Vec<_>>(),
        ["jet", "default", "wide"]
    );
    let row = table.lines().find(|line| line.contains("first vertex right, %")).expect("a row");
    let percent = format!("{:.1}", 100.0 * all[0]["figures"]["first"]["value"].as_f64().expect("a fraction"));
    assert_eq!(row.split_whitespace().nth(4), Some(percent.as_str()), "{row}");
    assert_eq!(table.matches(" true vertices  RoIs").count(), 25, "a block for each figure");
    for words in ["vertex-vertex resolution, mm", "right vertex at position 1, 2", " above 3 "] {
        assert!(table.contains(words), "no `{words}` in:\n{table}");
    }
    assert!(table.lines().all(|line| line.trim_end() == line), "{table}");

    let csv = succeeded(evaluate(&[&arguments[..], &["--format", "csv"]].concat()));
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0].join(","), "configuration,by,low,high,rois,figure,value,low_error,high_error");
    assert!(rows.iter().all(|row| row.len() == 9));
    let binned = rows.iter().filter(|row| row[1] == "pile-up" || row[1] == "all" && row[5] != "vertex_resolution_mm");
    assert_eq!(binned.count(), 3 * (1 + 3) * 37, "three configurations, all RoIs and three bins, 37 figures");
    let above = |row: &&Vec<&str>| row[0] == "jet" && row[1] == "significance" && row[5] == "false_vertices_above";
    assert_eq!(rows.iter().filter(above).map(|row| row[2]).collect::<Vec<_>>(), ["0", "1", "2", "3", "4", "5", "6"]);
    let value = all[0]["figures"]["first"]["value"].as_f64().expect("a fraction").to_string();
    assert_eq!(rows[1][..7], ["jet", "all", "", "", "24", "efficiency_first", &value]);
    assert_eq!(rows[38][..6], ["jet", "pile-up", "1", "2", "8", "efficiency_first"]);
}

#[test]
fn outputs_go_to_files_and_a_plot_is_drawn() {
    let sample = toys();
    let input = [sample.spacepoints.as_str(), "--truth", &sample.acts];
    let path = |name: &str| sample.dir.path().join(name);
    for (name, begin) in [("figures.csv", "configuration,"), ("figures.json", "{\n"), ("figures.txt", "  ")] {
        let plot = path("figures.svg").display().to_string();
        let output = path(name).display().to_string();
        assert_eq!(succeeded(evaluate(&[&input[..], &["-o", &output, "--plot", &plot]].concat())), "");
        let text = fs::read_to_string(output).expect("written");
        assert!(text.starts_with(begin), "{text}");
        let drawn = fs::read_to_string(plot).expect("written");
        for word in ["<svg", "auto", "true vertices", "68 % width", "first vertex less true z [mm]"] {
            assert!(drawn.contains(word), "no `{word}` in:\n{drawn}");
        }
    }
    let plot = path("vertices.svg").display().to_string();
    succeeded(evaluate(&[&input[..], &["--peaks", "4", "--plot-vertices", &plot]].concat()));
    let drawn = fs::read_to_string(plot).expect("written");
    assert!(drawn.contains("position of the right vertex in the list"), "{drawn}");
    let none = json(&[&input[..], &["--by", "none"]].concat());
    assert_eq!((&none["by"], &none["configurations"][0]["bins"]), (&Value::Null, &Value::Array(vec![])));
    let table = succeeded(evaluate(&[&input[..], &["--by", "none"]].concat()));
    assert!(!table.contains("true vertices  RoIs"), "{table}");
}

#[test]
fn truth_beside_the_input_is_found_and_what_it_lacks_is_counted() {
    let report = json(&[&sample("zee7_mu2"), "--within-mm", "0.5", "--isolation-mm", "5"]);
    assert_eq!((&report["within_mm"], &report["isolation_mm"]), (&0.5.into(), &5.0.into()));
    assert_eq!(report["configurations"][0]["figures"]["first"]["passed"], 20);

    let sample = toys();
    let part = written(&sample.dir, "part.csv", &format!("event_id,z\n3,{}\n", sample.primaries[3]));
    let output = evaluate(&[&sample.spacepoints, "--truth", &part, "--format", "json"]);
    failed(&output, 0, &["warning: 23 RoIs without a primary vertex in", "part.csv: not counted"]);
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let one = &report["configurations"][0];
    assert_eq!((&one["without_truth"], &one["figures"]["rois"]), (&23.into(), &1.into()));
}

/// Truth of `simulate` has all optional columns.
#[test]
fn figures_are_shown_against_the_primary() {
    let dir = folder();
    let [points, truth] = ["points.csv", "truth.csv"].map(|name| dir.path().join(name).display().to_string());
    succeeded(zfinder(&["simulate", "-q", "--rois", "40", "-o", &points, "--truth", &truth]));
    let mut ends = Vec::new();
    for by in ["tracks", "leading-pt", "sum-pt", "distance"] {
        let report = json(&[&points, "--truth", &truth, "--by", by, "--bins", "2"]);
        assert_eq!(report["by"], by);
        let bins = report["configurations"][0]["bins"].as_array().expect("bins").clone();
        assert_eq!(bins.len(), 2, "{by}");
        ends.push(bins[1]["high"].as_u64().expect("a number"));
    }
    let [tracks, leading_pt, sum_pt, distance] = ends[..] else { panic!("{ends:?}") };
    assert!((5..500).contains(&tracks) && (500..500_000).contains(&leading_pt), "{ends:?}");
    assert!(sum_pt >= leading_pt && (1_000..400_000).contains(&distance), "{ends:?}");
}

#[test]
fn failures_say_what_to_do() {
    let sample = toys();
    let input = sample.spacepoints.as_str();
    let with_truth = |more: &[&str]| evaluate(&[&[input, "--truth", &sample.acts], more].concat());
    failed(&evaluate(&[input]), 2, &["there is no truth to compare with", "--truth"]);
    failed(&evaluate(&["--truth", &sample.acts]), 2, &["FILE|FOLDER"]);
    failed(&evaluate(&[input, "--truth", "/none/such.csv"]), 1, &["/none/such.csv", "os error"]);
    failed(
        &evaluate(&[input, "--truth", input]),
        1,
        &["toys.csv, row 3, column roi_id: event 0, RoI 0 has a vertex already"],
    );
    let other = written(&sample.dir, "other.csv", "event_id,roi_id,z\n99,0,1\n");
    failed(
        &evaluate(&[input, "--truth", &other]),
        1,
        &["other.csv: no primary vertex of any of the 24 RoIs of the input", "event numbers"],
    );
    failed(
        &evaluate(&[input, "--truth", &sample.own, "--by", "pile-up"]),
        2,
        &["own.csv lists no pile-up", "--by spacepoints"],
    );
    let lacks = "acts.csv lists no n_charged_pt500_eta25 of a hard scatter";
    failed(&with_truth(&["--by", "tracks"]), 2, &[lacks, "--by spacepoints"]);
    failed(&with_truth(&["--by", "leading-pt"]), 2, &["lists no max_pt_GeV"]);
    failed(&with_truth(&["--preset", "best"]), 2, &["'best'", "thesis"]);
    failed(&with_truth(&["--preset", "jet", "--preset", "jet"]), 2, &["two configurations are named `jet`"]);
    failed(&evaluate(&["-", "--preset", "jet", "--preset", "thesis"]), 2, &["for one configuration only"]);
    failed(&with_truth(&["--within-mm", "0"]), 2, &["a number of mm above 0"]);
    failed(&with_truth(&["--bins", "0"]), 2, &["--bins"]);
    failed(&with_truth(&["--z-bin", "0"]), 2, &["`z_bin_mm`: 0 must be a number, 0.001 to 10000 mm"]);
    failed(&with_truth(&["--config", "/none/such.toml"]), 1, &["/none/such.toml"]);
    failed(&with_truth(&["--plot", "figures.gif"]), 2, &["figures.gif", "end the name in .png, .svg or .pdf"]);
    let twice = ["--plot", "figures.svg", "-o", "figures.svg", "--format", "csv"];
    failed(&with_truth(&twice), 2, &["two outputs are one file"]);
    failed(&with_truth(&["-o", "figures.dat"]), 2, &["figures.dat", "--format"]);
    failed(&with_truth(&["-o", input]), 2, &["the output file is one of the inputs"]);
    failed(&with_truth(&["-o", "/none/such/out.csv"]), 1, &["cannot write /none/such/out.csv"]);
    let bad = written(&sample.dir, "bad.csv", "event_id,x,y,z,layer\n9,1,2,bad,0\n");
    let output = with_truth(&[&bad]);
    failed(&output, 1, &["bad.csv, row 2, column z: `bad` is not a number"]);
    assert_eq!(stdout(&output), "");
}

#[test]
fn it_says_what_ran_and_how_to_use_it() {
    let sample = toys();
    let output = zfinder(&["evaluate", "--engine", "reference", &sample.spacepoints, "--truth", &sample.own]);
    let said = stderr(&output);
    assert!(said.contains("reference engine") && said.contains("auto: 24 events, 24 RoIs"), "{said}");
    let help = succeeded(zfinder(&["evaluate", "--help"]));
    for word in ["Exit codes:", "Examples:", "--isolation-mm", "--first-layers", "--preset", "pile-up"] {
        assert!(help.contains(word), "no `{word}` in:\n{help}");
    }
}

#[test]
fn the_documented_figures_are_measured() {
    let Some(set) = shared("data/acts/zee7_mu2") else { return };
    let report = json(&["--preset", "default", &set.display().to_string()]);
    let figures = &report["configurations"][0]["figures"];
    assert_eq!((&figures["first"]["passed"], &figures["first"]["of"]), (&60.into(), &60.into()));
    let rounded = |value: &Value| format!("{:.3}", value.as_f64().expect("a number"));
    assert_eq!(rounded(&figures["residual_mm"]["rms"]), "0.077");
    assert_eq!(&rounded(&figures["pull"]["rms"])[..4], "0.92");
}

/// Answers in files have the figures of the search that wrote them.
#[test]
fn answers_in_files_have_the_figures_of_their_search() {
    let toys = toys();
    let searched = json(&[&toys.spacepoints, "--truth", &toys.acts, "--peaks", "3", "--by", "pile-up"]);
    for format in ["csv", "parquet"] {
        let path = toys.dir.path().join(format!("answers.{format}")).display().to_string();
        let find = ["find", "-q", "--engine", "cpu", "--peaks", "3", &toys.spacepoints, "-o", &path];
        succeeded(zfinder(&find));
        let read = json(&["--answers", &path, "--truth", &toys.acts]);
        for part in ["figures", "bins", "statuses", "without_truth"] {
            assert_eq!(read["configurations"][0][part], searched["configurations"][0][part], "{format}: {part}");
        }
        assert_eq!(read["configurations"][0]["name"], "answers");
        assert_eq!(read["configurations"][0].get("config"), None);
    }
    let answers = toys.dir.path().join("answers.csv").display().to_string();
    failed(&evaluate(&["--answers", &answers]), 2, &["--truth"]);
    failed(&evaluate(&["--answers", &answers, &toys.spacepoints]), 2, &["cannot be used with"]);
    failed(&evaluate(&["--answers", &toys.spacepoints, "--truth", &toys.acts]), 1, &["z_mm"]);
    let again = written(&toys.dir, "again.csv", "event_id,z_mm\n1,2\n2,3\n1,4\n");
    failed(&evaluate(&["--answers", &again, "--truth", &toys.acts]), 1, &["row 4", "comes again"]);
    let unknown = written(&toys.dir, "unknown.csv", "event_id,z_mm,status\n1,2,fine\n");
    failed(&evaluate(&["--answers", &unknown, "--truth", &toys.acts]), 1, &["column status", "no_peak"]);
}
