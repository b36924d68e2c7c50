//! The command, as a user meets it.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use std::path::Path;
use std::process::{Command, Output};

use kernel_host::testing::on_adapters;
use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_transport")).args(arguments).output().expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Without the line ends that a narrow terminal makes.
fn said(done: &Output) -> String {
    text(&done.stderr).replace("\n  │ ", " ")
}

/// Of a run that is to be done.
fn printed(arguments: &[&str]) -> String {
    let done = run(arguments);
    assert!(done.status.success(), "{arguments:?}: {}", said(&done));
    text(&done.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--json"]].concat())).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn close(found: f64, wanted: f64, relative: f64) {
    assert!((found - wanted).abs() <= relative * wanted.abs(), "{found}, not {wanted}");
}

/// Steps that end so.
fn steps(report: &Value, process: &str) -> u64 {
    let row = list(&report["processes"]).iter().find(|row| row["process"] == process);
    row.and_then(|row| row["steps"].as_u64()).unwrap_or_else(|| panic!("no {process}: {report}"))
}

const FEW: [&str; 5] = ["run", "--tracks", "4", "--most-steps", "400"];
const CPU: [&str; 2] = ["--engine", "cpu"];

fn few(more: &[&str]) -> Value {
    json(&[&FEW, more].concat())
}

/// What every run is to be.
fn holds(report: &Value) {
    let energy = |key: &str| number(&report["energy"][key]);
    let sum: f64 = ["deposited_mev", "escaped_mev", "given_up_mev", "left_mev"].into_iter().map(energy).sum();
    close(sum, energy("initial_mev"), 1e-4);
    assert!(energy("missing").abs() < 1e-4, "{report}");
    let all: u64 = list(&report["processes"]).iter().filter_map(|row| row["steps"].as_u64()).sum();
    assert_eq!(Some(all), report["steps"].as_u64());
    assert!(number(&report["seconds"]) > 0.0 && number(&report["steps_per_s"]) > 0.0);
}

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
        "4 particles (20 % photons), seed 1; parametrised field; random numbers by counter",
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
    for adapter in on_adapters() {
        for kernels in ["split", "monolithic"] {
            let report = few(&["--adapter", &adapter.index.to_string(), "--kernels", kernels]);
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

#[test]
fn energy_is_drawn_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let (png, svg, csv, npz) = (at("e.png"), at("e.svg"), at("e.csv"), at("e.npz"));
    let common = [&CPU[..], &["--r", "1250:1600", "--z", "-2500:3000", "--bins", "35x20"]].concat();
    let report = few(&[&common[..], &["--plot", &png, "--output", &csv]].concat());
    let within = number(&report["energy"]["deposited_mev"]) - number(&report["histogram"]["beyond_mev"]);
    assert!(within > 100.0);

    let rows = std::fs::read_to_string(csv).expect("the file");
    let mut rows = rows.lines();
    assert_eq!(rows.next(), Some("r_low_mm,r_high_mm,z_low_mm,z_high_mm,energy_mev"));
    let rows: Vec<Vec<f64>> =
        rows.map(|row| row.split(',').map(|number| number.parse().expect("a number")).collect()).collect();
    assert_eq!(rows.len(), 35 * 20);
    assert_eq!(
        (&rows[0][..4], &rows[21][..4]),
        (&[1250.0, 1260.0, -2500.0, -2225.0][..], &[1260.0, 1270.0, -2225.0, -1950.0][..])
    );
    close(rows.iter().map(|row| row[4]).sum(), within, 1e-9);

    few(&[&common[..], &["--plot", &svg, "--output", &npz]].concat());
    let mut archive = zip::ZipArchive::new(Cursor::new(std::fs::read(npz).expect("the file"))).expect("a zip");
    let mut array = |name: &str| {
        let mut bytes = Vec::new();
        archive.by_name(name).expect("an array").read_to_end(&mut bytes).expect("bytes");
        let array = npyz::NpyFile::new(&bytes[..]).expect("an array");
        (array.shape().to_vec(), array.into_vec::<f64>().expect("numbers of 64 bits"))
    };
    let (shape, energies) = array("energies.npy");
    assert_eq!(shape, [35, 20]);
    assert!(energies.iter().zip(&rows).all(|(energy, row)| *energy == row[4]));
    let (r, z) = (array("r_edges.npy"), array("z_edges.npy"));
    assert_eq!((r.0, r.1[35], z.0, z.1[20]), (vec![36], 1600.0, vec![21], 3000.0));
    close(array("beyond.npy").1[0], number(&report["histogram"]["beyond_mev"]), 1e-9);

    let picture = std::fs::read_to_string(svg).expect("a picture");
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
    for part in
        ["Energy deposited by 4 particles", "parametrised field", "z [mm]", "r [mm]", "MeV in a bin of 275 mm x 10 mm"]
    {
        assert!(picture.contains(part), "{part}");
    }
    // Bins that have something, and only they, are drawn; beside them the ground, frames and the scale.
    let filled = energies.iter().filter(|&&energy| energy > 0.0).count();
    let drawn = picture.matches("<rect").count();
    assert!(filled > 20 && drawn > filled && drawn < filled + 1000, "{filled}, {drawn}");

    let picture = std::fs::read(png).expect("a picture");
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB`\x82"));
    // Signature, size, and what is compressed: rows of a filter, which is none, and pixels.
    let word = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().expect("four bytes")) as usize;
    let (width, height, length) = (word(16), word(20), word(33));
    let mut pixels = Vec::new();
    flate2::read::ZlibDecoder::new(&picture[41..41 + length]).read_to_end(&mut pixels).expect("pixels");
    assert_eq!(pixels.len(), height * (1 + 3 * width));
    let mut colours = BTreeSet::new();
    let mut white = 0;
    for row in pixels.chunks(1 + 3 * width) {
        // Left of the scale of colours.
        for pixel in row[1..=3 * (width - 150)].chunks(3) {
            white += usize::from(pixel == [255; 3]);
            colours.insert([pixel[0], pixel[1], pixel[2]]);
        }
    }
    let are_some = |is_it: &dyn Fn([i32; 3]) -> bool| {
        let number = colours.iter().filter(|colour| is_it(colour.map(i32::from))).count();
        assert!(number > 3, "{number} of {}", colours.len());
    };
    are_some(&|[r, g, _]| g > r + 40);
    are_some(&|[r, g, b]| b > r + 30 && b > g);
    assert!(white > width * height / 4, "{white} white pixels");
}

#[test]
fn particles_are_read_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).expect("a file");
        folder.path().join(name).to_str().expect("a name").to_owned()
    };
    let good = write(
        "good.csv",
        "# of a test beam\nkind,x,y,z,px,py,pz,note\nelectron,1300,0,0,100,0,0,a\nphoton, 0, 1300, 5, 0, 50, 0,b\n\npositron,-1300,0,0,-80,0,0,c\n",
    );
    let report = json(&["run", "--engine", "cpu", "--input", &good]);
    holds(&report);
    assert_eq!((&report["tracks"], &report["particles"]), (&3.into(), &"3 particles of good.csv, seed 1".into()));
    let kinetic = |p: f64| p.hypot(0.510_998_95) - 0.510_998_95;
    close(number(&report["energy"]["initial_mev"]), kinetic(100.0) + 50.0 + kinetic(80.0) + 2.0 * 0.510_998_95, 1e-6);

    // What cannot be transported is told, and the others are.
    let odd = write(
        "odd.csv",
        "px,py,pz,x,y,z,kind\n10,0,0,1300,0,0,electron\n0,0,0,1300,0,0,electron\n10,0,0,9500,0,0,photon\n10,0,0,0,0,17000,photon\n10,0,0,NaN,0,0,photon\n0,0,3e7,1300,0,0,electron\n",
    );
    let report = json(&["run", "--engine", "cpu", "--input", &odd]);
    assert_eq!(report["tracks"], 1);
    let told: Vec<(&str, u64, u64)> = list(&report["rejected"])
        .iter()
        .map(|row| {
            let count = |key: &str| row[key].as_u64().expect("a number");
            (row["reason"].as_str().expect("a reason"), count("particles"), count("first"))
        })
        .collect();
    assert_eq!(
        told,
        [("above 10 TeV", 1, 5), ("no momentum", 1, 1), ("not finite", 1, 4), ("outside the world", 2, 2)]
    );
    let text = printed(&["run", "--engine", "cpu", "--input", &odd]);
    assert!(
        text.contains("2 not transported: outside the world (the first is number 2, ") && text.contains("odd.csv:4)"),
        "{text}"
    );
    for adapter in on_adapters() {
        let report = json(&["run", "--adapter", &adapter.index.to_string(), "--input", &odd]);
        assert_eq!((&report["tracks"], list(&report["rejected"]).len()), (&1.into(), 4), "{}", adapter.name);
    }

    let header = "kind,x,y,z,px,py,pz\n";
    for (name, content, told) in [
        (
            "muon.csv",
            format!("{header}muon,0,0,0,1,0,0\n"),
            "muon.csv:2: column `kind`: `muon` is none of photon, electron and positron",
        ),
        (
            "word.csv",
            format!("{header}photon,0,0,0,1,0,0\nphoton,0,0,0,1,five,0\n"),
            "word.csv:3: column `py`: `five` is no number",
        ),
        (
            "less.csv",
            "kind,x,y,z,px,py\nphoton,0,0,0,1,0\n".to_owned(),
            "less.csv:1: there is no column `pz`: kind,x,y,z,px,py,pz are wanted",
        ),
        ("short.csv", format!("{header}photon,0,0\n"), "short.csv:2: 3 columns, and the header has 7"),
        ("long.csv", format!("{header}photon,0,0,0,1,0,0,9\n"), "long.csv:2: 8 columns, and the header has 7"),
        ("none.csv", header.to_owned(), "none.csv: there are no particles in it"),
        ("empty.csv", String::new(), "empty.csv:1: there is no column `kind`"),
        (
            "lost.csv",
            format!("{header}photon,9e9,0,0,1,0,0\n"),
            "no particle can be transported: 1 not transported: outside the world",
        ),
    ] {
        let done = run(&["run", "--engine", "cpu", "--input", &write(name, &content)]);
        assert_eq!(done.status.code(), Some(1), "{name}: {}", said(&done));
        assert!(said(&done).contains(told), "{told}: {}", said(&done));
        assert!(done.stdout.is_empty());
    }
    std::fs::write(folder.path().join("bytes.csv"), b"kind,x,y,z,px,py,pz\nphoton,\xff,0,0,1,0,0\n").expect("a file");
    let done = run(&["run", "--engine", "cpu", "--input", folder.path().join("bytes.csv").to_str().expect("a name")]);
    assert!(
        done.status.code() == Some(1) && said(&done).contains("bytes.csv:2: it is no text in UTF-8"),
        "{}",
        said(&done)
    );
}

/// What ends early has its report and its files, and an exit code.
#[test]
fn runs_that_do_not_finish_are_told_and_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = folder.path().join("e.csv");
    let csv = csv.to_str().expect("a name");
    let mut engines: Vec<Vec<String>> = vec![vec!["--engine".to_owned(), "cpu".to_owned()]];
    engines.extend(on_adapters().into_iter().map(|adapter| vec!["--adapter".to_owned(), adapter.index.to_string()]));
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

#[test]
fn what_is_wrong_is_told() {
    for (command, more, code, told) in [
        ("run", &["--tracks", "0"][..], 2, "0 is not in 1"),
        ("run", &["--photons", "1.5"], 2, "a part from 0 to 1"),
        ("run", &["--tracks", "5", "--input", "a.csv"], 2, "cannot be used with"),
        ("run", &["--input", "/nowhere/there.csv"], 1, "/nowhere/there.csv: "),
        ("run", &["--field", "dipole"], 2, "uniform=TESLA or a FILE.npy is wanted"),
        ("run", &["--field", "uniform=strong"], 2, "`strong` is no number of tesla"),
        ("run", &["--field", "uniform=500"], 2, "100 T at most"),
        ("run", &["--field", "/nowhere/map.npy"], 1, "/nowhere/map.npy: "),
        ("run", &["--map-step", "5"], 2, "--map-step is of --field FILE.npy"),
        ("run", &["--write-map", "map.npy"], 2, "add --field map"),
        ("run", &["--stop", "0.01"], 2, "a cut of 0.01 MeV for stopping"),
        ("run", &["--electron-cut", "NaN"], 2, "NaN MeV for electrons"),
        ("run", &["--capacity", "3", "--tracks", "4"], 1, "4 tracks in 3 slots"),
        ("run", &["--iterations", "0"], 2, "0 is not in 1"),
        ("run", &["--r", "5:1"], 2, "two numbers of mm that rise"),
        ("run", &["--r", "-5:1"], 2, ""),
        ("run", &["--bins", "5"], 2, "as 120x120"),
        ("run", &["--bins", "50000x50000"], 2, "50000 x 50000 bins"),
        ("run", &["--plot", "e.pdf"], 2, "--plot e.pdf: pictures are .png or .svg"),
        ("run", &["--plot", "e.png", "--bins", "500x20"], 2, "a picture has room for 480 of r"),
        ("run", &["--plot", "e.svg", "--bins", "300x300"], 2, "an SVG is drawn of 50000 at most"),
        ("run", &["--plot", "/nowhere/e.png"], 1, "there is no folder /nowhere"),
        ("run", &["--output", "e.txt"], 2, "deposits are written as .csv (a row a bin) or .npz"),
        ("run", &["--output", "/nowhere/e.csv"], 1, "there is no folder /nowhere"),
        ("run", &["--kernels", "woven"], 2, "woven"),
        ("run", &["--engine", "abacus"], 2, "abacus"),
        ("run", &["--engine", "auto", "--adapter", "no such one"], 3, "no such one"),
        ("bench", &["--part", "lunch"], 2, "lunch"),
        ("bench", &["--rounds", "0"], 2, "0 is not in 1"),
        ("bench", &["--engine", "reference"], 2, "not to be timed"),
    ] {
        let mut arguments = vec![command];
        if !more.contains(&"--engine") {
            arguments.extend(["--engine", "cpu"]);
        }
        arguments.extend(more);
        let done = run(&arguments);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {}", said(&done));
        assert!(said(&done).contains(told), "{told}: {}", said(&done));
        assert!(done.stdout.is_empty());
    }
    let help = printed(&["--help"]);
    for part in ["Exit codes:", "tracks left", "a run whose energies do not add up", "run", "bench"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

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
    // A first step is the difference of two runs, which few tracks may leave nothing of. It is said so, then.
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

/// What an adapter has of a bench of some parts, the CPU's rows left out; none if it has no clock.
fn on_gpu(adapter: &kernel_host::AdapterSummary, parts: &str) -> Option<Value> {
    let index = adapter.index.to_string();
    let mut report = json(&[&SHORT[..], &["--rounds", "1", "--adapter", &index, "--part", parts]].concat());
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
    for adapter in on_adapters() {
        let Some(report) = on_gpu(&adapter, "classes,paths") else { continue };
        let variants = words(&report["counts"], "variant");
        assert!(variants.contains(&"atomics") && variants.contains(&"tree"), "{}: {variants:?}", adapter.name);
        let sorts = words(&report["sorts"], "part");
        assert!(sorts.contains(&"sort") && sorts.contains(&"gather"), "{sorts:?}");
        assert_eq!(words(&report["paths"], "field").len(), 6, "{report}");
        assert_eq!(words(&report["paths"], "way")[..2], ["plain", "halved"]);
    }
}

#[test]
fn bench_times_steps_and_runs_on_each_adapter() {
    for adapter in on_adapters() {
        let Some(report) = on_gpu(&adapter, "step,run") else { continue };
        assert_eq!(words(&report["runs"], "kernels"), ["split", "monolithic"], "{}", adapter.name);
        let first = &report["first"][0];
        assert_eq!(words(&first["stages"], "stage"), ["step_length", "sort", "interact", "plan"]);
        let slides = list(&first["stages"]).iter().map(|row| &row["of_slides"]);
        assert_eq!(slides.filter(|share| share.is_null()).count(), 1, "the slides have no plan");
        let shares: f64 = list(&first["stages"]).iter().map(|row| number(&row["share"])).sum();
        assert!(shares > 0.5 && shares < 2.0, "{shares}");
    }
}

/// Command lines that pages quote.
#[test]
fn quoted_command_lines_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    let page = std::fs::read_to_string(root.join("docs/transport.md")).expect("a page");
    let of = |line: &'_ str| -> Option<String> {
        let line = line
            .strip_prefix("cargo run --release -p zfinder-transport -- ")
            .or_else(|| line.strip_prefix("transport "))?;
        line.starts_with(|first: char| first.is_ascii_lowercase()).then(|| line.to_owned())
    };
    for line in page.lines().filter_map(of) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let help = run(&[words[0], "--help"]);
        assert!(help.status.success(), "{line}");
        for option in words.iter().filter(|word| word.starts_with("--")) {
            let there = text(&help.stdout).lines().any(|line| line.split_whitespace().next() == Some(option));
            assert!(there, "`{line}`: there is no option {option}");
        }
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
}
