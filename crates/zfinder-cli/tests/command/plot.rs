//! Tests of `zfinder plot`, `zfinder histogram` and `zfinder find --show`.

use std::fs;

use crate::common::{failed, folder, sample, stderr, stdout, succeeded, written, zfinder};
use serde_json::Value;
use tempfile::TempDir;

/// Event 3 has four straight tracks from z = 12.5 mm, and an RoI 1 with two spacepoints; event 4
/// has an invalid spacepoint.
fn tracks(dir: &TempDir) -> String {
    let mut text = String::from("event_id,roi_id,rho,phi,z,layer\n");
    for (phi, slope) in [(0.1, 0.5), (0.7, -0.25), (1.5, 0.125), (-2.5, -1.0)] {
        for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
            text.push_str(&format!("3,0,{rho},{phi},{},{layer}\n", 12.5 + slope * rho));
        }
    }
    text.push_str("3,1,50.5,0.1,3,0\n3,1,50.5,0.2,3,0\n4,0,1e12,0.1,3,0\n");
    written(dir, "tracks.csv", &text)
}

fn truth(dir: &TempDir) -> String {
    written(dir, "truth.csv", "event,vz_mm,is_hard_scatter\n3,12.4,1\n3,-80,0\n")
}

#[test]
fn every_picture_of_every_roi_is_drawn() {
    let dir = folder();
    let (input, truth) = (tracks(&dir), truth(&dir));
    for (picture, widths) in [("histogram", [900u32; 2]), ("event", [600, 1200])] {
        for which in [&["--event", "3"][..], &["--roi", "1"], &["--event", "4"], &[]] {
            for (name, begin) in [("picture.svg", &b"<svg xmlns"[..]), ("picture.PNG", b"\x89PNG\r\n\x1a\n")] {
                let path = dir.path().join(name);
                let output = path.display().to_string();
                let arguments = [&["plot", picture, &input, "--truth", &truth, "-o", &output], which].concat();
                assert_eq!(succeeded(zfinder(&arguments)), "");
                let drawn = fs::read(&path).expect("written");
                assert!(drawn.starts_with(begin), "{arguments:?}");
                if name == "picture.PNG" {
                    // An event without a vertex has one panel.
                    assert!(widths.iter().any(|width| drawn[16..20] == width.to_be_bytes()));
                } else {
                    let text = String::from_utf8(drawn).expect("UTF-8");
                    let (event, roi) = (if which.contains(&"4") { 4 } else { 3 }, u32::from(which.contains(&"--roi")));
                    for word in [&format!("event {event}, RoI {roi}: "), "z [mm]"] {
                        assert!(text.contains(word), "no `{word}` in:\n{text:.3000}");
                    }
                    assert_eq!(text.contains("true hard scatter"), event == 3);
                }
            }
        }
    }
}

#[test]
fn pictures_of_samples_have_pairs_and_thirds() {
    let dir = folder();
    let path = dir.path().join("event.svg");
    let output = path.display().to_string();
    let input = sample("zee7_mu2/event000000003-spacepoint.csv.gz");
    succeeded(zfinder(&["plot", "event", "--preset", "hard-scatter", &input, "-o", &output]));
    let text = fs::read_to_string(&path).expect("written");
    for word in ["pairs of the first vertex", "third spacepoint", "true pile-up", "near the first vertex"] {
        assert!(text.contains(word), "no `{word}`");
    }
    assert!(succeeded(zfinder(&["plot", "event", "--preset", "jet", "--print-config"])).contains("pair_weight"));
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let dir = folder();
    let input = tracks(&dir);
    let output = dir.path().join("picture.svg").display().to_string();
    let plot = |arguments: &[&str]| zfinder(&[&["plot", "histogram", &input], arguments].concat());
    failed(&plot(&["-o", &output, "--event", "7", "--roi", "2"]), 2, &["the input has no event 7: it has"]);
    failed(&plot(&["-o", &output, "--roi", "7"]), 2, &["no selected event has an RoI 7"]);
    failed(&plot(&["-o", "picture.gif"]), 2, &["picture.gif", ".png, .svg or .pdf"]);
    failed(&plot(&["-o", &input]), 2, &["the output file is one of the inputs"]);
    failed(&plot(&[]), 2, &["--output"]);
    failed(&plot(&["-o", "/none/such/picture.svg"]), 1, &["cannot write /none/such/picture.svg"]);
    let bad = written(&dir, "bad.csv", "event_id,x,y,z,layer\n9,1,2,bad,0\n");
    failed(&zfinder(&["plot", "event", &bad, "-o", &output]), 1, &["bad.csv, row 2, column z"]);
    assert!(!dir.path().join("picture.svg").exists());
}

#[test]
fn histograms_are_written_as_csv_and_json() {
    let dir = folder();
    let input = tracks(&dir);
    let output = zfinder(&["histogram", "--preset", "default", &input]);
    assert!(stderr(&output).contains("event 4, RoI 0: bad_spacepoint, no histogram"), "{}", stderr(&output));
    let csv = succeeded(output);
    assert_eq!(csv.lines().count(), 1 + 2 * 2001);
    // Three pairs of each track, on the edge of two bins.
    let full: Vec<&str> = csv.lines().skip(1).filter(|line| !line.ends_with(",0,0,0")).collect();
    let entries: u64 = full.iter().filter_map(|line| line.rsplit(',').next()?.parse::<u64>().ok()).sum();
    assert_eq!(entries, 12);
    assert!(full.iter().all(|line| line.starts_with("3,0,12.")), "{full:?}");

    let path = dir.path().join("histograms.json");
    let name = path.display().to_string();
    succeeded(zfinder(&["histogram", "--preset", "default", &input, "--event", "3", "--roi", "1", "-o", &name]));
    let json: Value = serde_json::from_str(&fs::read_to_string(&path).expect("written")).expect("JSON");
    assert_eq!(json.as_object().expect("by name").keys().collect::<Vec<_>>(), ["event_3_roi_1"]);
    assert_eq!(json["event_3_roi_1"]["storage"]["values"].as_array().map(Vec::len), Some(2001));

    failed(&zfinder(&["histogram", &input, "-o", "h.svg"]), 2, &["h.svg", "zfinder plot histogram"]);
    failed(&zfinder(&["histogram", &input, "--event", "8"]), 2, &["the input has no event 8"]);
}

#[test]
fn find_shows_histograms_below_its_table() {
    let dir = folder();
    let (input, truth) = (tracks(&dir), truth(&dir));
    let find = |arguments: &[&str]| {
        zfinder(&[&["find", "--engine", "reference", "-q", "--preset", "default", &input], arguments].concat())
    };
    let text = succeeded(find(&["--show", "--truth", &truth]));
    assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
    let pictures: Vec<&str> = text.split("\n\n").collect();
    // The table, three RoIs, and the score.
    assert_eq!(pictures.len(), 1 + 3 + 1, "{text}");
    assert!(pictures[1].starts_with("event 3, RoI 0: 12 spacepoints, status ok\n"), "{text}");
    for sign in ["█", "▲", "◆ hard scatter", "· pile-up"] {
        assert!(pictures[1].contains(sign), "{text}");
    }
    assert!(pictures[1].lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(pictures[2].contains("no_peak") && !pictures[2].contains('▲'), "{text}");
    assert!(pictures[3].contains("bad_spacepoint") && pictures[3].ends_with("no histogram"), "{text}");
    assert_eq!(succeeded(find(&["--show=1"])).matches("spacepoints, status").count(), 1);
    assert!(!stdout(&find(&[])).contains('█'));
    for format in ["csv", "json"] {
        failed(&find(&["--show", "--format", format]), 2, &["--show", "zfinder histogram"]);
    }
}

#[test]
fn an_evaluation_is_drawn_from_its_json() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let input = sample("zee7_mu2");
    let evaluate = |arguments: &[&str], name: &str| {
        let output = path(name);
        let all = [&["evaluate", "--engine", "cpu", "-q", &input, "-o", &output], arguments].concat();
        succeeded(zfinder(&all));
    };
    evaluate(&["--preset", "default", "--preset", "jet"], "one.json");
    evaluate(&["--by", "spacepoints"], "two.json");
    evaluate(&["--by", "none"], "none.json");
    let efficiency = |arguments: &[&str]| {
        let output = path("efficiency.svg");
        zfinder(&[&["plot", "efficiency", "-o", &output], arguments].concat())
    };
    succeeded(efficiency(&[&path("one.json")]));
    let text = fs::read_to_string(dir.path().join("efficiency.svg")).expect("written");
    for word in ["width=\"1080\"", "20 RoIs, right within", "default", "jet", "true vertices", "[µm]"] {
        assert!(text.contains(word), "no `{word}` in:\n{text:.3000}");
    }
    fs::copy(dir.path().join("one.json"), dir.path().join("again.json")).expect("copied");
    succeeded(efficiency(&[&path("one.json"), &path("again.json")]));
    let text = fs::read_to_string(dir.path().join("efficiency.svg")).expect("written");
    assert!(text.contains("one: jet") && text.contains("again: jet"));

    failed(&efficiency(&[&path("one.json"), &path("two.json")]), 2, &["not against the same thing"]);
    failed(&efficiency(&[&path("none.json")]), 2, &["--by pile-up"]);
    failed(&efficiency(&["/none/such.json"]), 1, &["/none/such.json"]);
    let bad = written(&dir, "bad.json", "{\n\"by\": 3}\n");
    failed(&efficiency(&[&bad]), 1, &["bad.json, row 2", "zfinder evaluate --format json"]);
}

#[test]
fn tracklets_of_an_event_are_drawn() {
    let dir = folder();
    let path = dir.path().join("event.svg");
    let output = path.display().to_string();
    let input = sample("tt14_mu46");
    let draw = |options: &[&str]| {
        succeeded(zfinder(&[&["plot", "event", "-o", &output, &input], options].concat()));
        fs::read_to_string(&path).expect("written")
    };
    let all = draw(&["--preset", "all-vertices", "--tracklets", "all"]);
    for word in [
        "30 vertices, first z = ",
        "; 32 true, hard scatter -38.7",
        " mm; generic, preset ",
        " tracklets of the first vertex",
        "of no vertex",
        "true pile-up",
    ] {
        assert!(all.contains(word), "no `{word}` in:\n{all:.3000}");
    }
    // The vertices of the peaks, with the tracklets of the first one.
    let window = draw(&["--tracklets", "window"]);
    assert!(
        window.contains("2 vertices, first z = ") && window.contains(" tracklets of the first vertex"),
        "{window:.3000}"
    );
    assert!(!draw(&[]).contains("tracklet"));
}

#[test]
fn a_detector_is_checked_drawn_and_printed() {
    let dir = folder();
    let path = dir.path().join("layers.svg");
    let output = path.display().to_string();
    let table = succeeded(zfinder(&["detector", "check", "generic", "-o", &output]));
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(table.starts_with("detector generic: 29 layers\n"), "{table}");
    let first = table.lines().nth(2).map(cells).expect("a layer");
    assert_eq!(first[..3], ["0", "barrel", "pixel"]);
    assert_eq!(first[first.len() - 4..], ["1,", "2,", "10,", "11"]);
    assert!(!table.contains("warning"), "{table}");
    let drawn = fs::read_to_string(&path).expect("written");
    assert!(drawn.contains("detector generic: 11 pixel layers, 23 pairs"), "{drawn:.3000}");
    // The printed TOML is the detector.
    let printed = succeeded(zfinder(&["detector", "print", "generic"]));
    let copy = written(&dir, "copy.toml", &printed);
    assert_eq!(succeeded(zfinder(&["detector", "print", &copy])), printed);
    assert_eq!(succeeded(zfinder(&["detector", "check", &copy])), table);
    // A layer names those that follow it.
    let layer = |radius: u32, keys: &str| {
        format!("[[layer]]\nkind = \"barrel\"\nsensor = \"pixel\"\nradius_mm = {radius}.0\n{keys}\n")
    };
    let text = format!("name = \"own\"\n{}{}{}", layer(30, "next = [2]"), layer(60, ""), layer(90, ""));
    let own = succeeded(zfinder(&["detector", "check", &written(&dir, "own.toml", &text)]));
    let followers: Vec<_> = own.lines().skip(2).filter_map(|line| cells(line).pop()).collect();
    assert_eq!(followers, ["2", "2", "-"], "{own}");
    for (from, to, doubt) in [
        ("pixel", "long-strip", "warning: no pixel layer follows another one"),
        ("0.0", ".0", "radius of 9 mm: are all sizes in mm?"),
        ("60.0", "30.0", "layer 1 has the same place as layer 0"),
        ("60.0", "20.0", "layer 1 lies inside of a barrel above it"),
    ] {
        let changed = written(&dir, "changed.toml", &text.replace(from, to).replace("next = [2]", ""));
        let checked = succeeded(zfinder(&["detector", "check", &changed]));
        assert!(checked.contains(doubt), "{checked}");
    }
    let wrong = written(&dir, "wrong.toml", &text.replace("60.0", "\"60\""));
    failed(&zfinder(&["detector", "check", &wrong]), 2, &["10 | radius_mm = \"60\"", "^^^^", "detector print"]);
    failed(&zfinder(&["detector", "check", "generic", "--z-range", "5", "-5"]), 2, &["--z-range"]);
    failed(&zfinder(&["detector", "print", "generics"]), 2, &["there is no detector `generics`", "odd"]);
}
