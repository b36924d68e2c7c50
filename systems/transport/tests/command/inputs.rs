//! Files that `transport run` reads, and invalid command lines.

use std::io::{Read, Write};

use kernel_host::testing::on_fast_adapters;

use super::common::*;

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

    // Particles that cannot be transported are reported, and all other ones are transported.
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
    for adapter in on_fast_adapters() {
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

/// A column that looks like an event number is read or refused by name.
#[test]
fn columns_of_event_numbers_are_read_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let (beam, scores) = (path("beam.csv"), path("scores.csv"));
    let run_with = |columns: &str, numbers: [&str; 3]| {
        let [a, b, c] = numbers;
        let rows = format!("{a},electron,0,0,-10,0,0,200\n{b},photon,0,0,-10,0,0,100\n{c},electron,0,0,-10,0,0,150\n");
        std::fs::write(&beam, format!("{columns},kind,x,y,z,px,py,pz\n{rows}")).expect("a file");
        run(&["run", "--engine", "cpu", "--most-steps", "20", "--input", &beam, "--scores", &scores])
    };
    for name in ["event", "event_id", "Event_ID", "eventNumber", "event_number", "ievent", "event_index", "entry"] {
        let done = run_with(name, ["7", "7", "9"]);
        assert!(done.status.success(), "{name}: {}", said(&done));
        let text = std::fs::read_to_string(&scores).expect("scores");
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split(',').take(2).collect()).collect();
        assert_eq!(rows, [["7", "2"], ["9", "1"]], "{name}");
    }
    for (columns, numbers, told) in [
        ("evnt_id", ["7", "7", "9"], "beam.csv:1: column `evnt_id` looks like `event_id`"),
        ("event,eventNumber", ["7,1", "7,1", "9,1"], "beam.csv:1: columns `event` and `eventNumber` both look like"),
        ("eventNumber", ["7", "7.5", "9"], "beam.csv:3: column `eventNumber`: `7.5` is not a whole number"),
    ] {
        let done = run_with(columns, numbers);
        assert!(done.status.code() == Some(1) && said(&done).contains(told), "{columns}: {}", said(&done));
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("in memory");
    encoder.finish().expect("in memory")
}

/// Particles come from gzip and from standard input, and scores go to gzip.
#[test]
fn compressed_files_and_standard_input_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let (header, rows) = ("event_id,kind,x,y,z,px,py,pz\n", "7,electron,0,0,-10,0,0,200\n9,photon,0,0,-10,0,0,100\n");
    let (plain, scores, compressed) = (path("beam.csv"), path("scores.csv"), path("scores.csv.gz"));
    std::fs::write(&plain, format!("{header}{rows}")).expect("a file");
    let common = ["run", "--engine", "cpu", "--most-steps", "20", "--input"];
    printed(&[&common[..], &[&plain, "--scores", &scores]].concat());
    let wanted = std::fs::read(&scores).expect("scores");

    // pandas writes whole numbers of a column with gaps as floats.
    let floats = rows.replace("7,el", "7.0,el").replace("9,ph", "9.0,ph");
    let members = [gzip(header), gzip(&floats), vec![0; 512]].concat();
    for name in ["beam.csv.gz", "beam.dat"] {
        std::fs::write(path(name), &members).expect("a file");
        printed(&[&common[..], &[&path(name), "--scores", &compressed]].concat());
        let mut found = Vec::new();
        let file = std::fs::File::open(&compressed).expect("scores");
        flate2::read::GzDecoder::new(file).read_to_end(&mut found).expect("gzip");
        assert_eq!(found, wanted, "{name}");
    }
    for input in [format!("{header}{rows}").as_bytes(), &members] {
        let done = run_with_input(&[&common[..], &["-", "--scores", &scores]].concat(), input);
        assert!(done.status.success(), "{}", said(&done));
        assert!(text(&done.stdout).contains("2 particles of standard input, seed 1"), "{}", text(&done.stdout));
        assert_eq!(std::fs::read(&scores).expect("scores"), wanted);
    }
    let output = path("deposits.csv.gz");
    printed(&[&common[..], &[&plain, "--output", &output]].concat());
    let mut deposits = String::new();
    let file = std::fs::File::open(&output).expect("deposits");
    flate2::read::GzDecoder::new(file).read_to_string(&mut deposits).expect("gzip");
    assert_eq!(deposits.lines().count(), 1 + 120 * 120);

    let whole = gzip(&format!("{header}{rows}"));
    for (bytes, told) in [
        (&whole[..whole.len() - 9], "beam.csv.gz: compressed data ends too early: the file is cut off"),
        (&[&whole[..], b"more"].concat(), "beam.csv.gz: other data follows the compressed data"),
        (b"BZh91AY&SY", "beam.csv.gz: this is a bzip2 file: unpack it"),
        (&gzip(&format!("{header}1.5,photon,0,0,0,1,0,0\n")), "beam.csv.gz:2: column `event_id`: `1.5` is not a whole"),
    ] {
        std::fs::write(path("beam.csv.gz"), bytes).expect("a file");
        let done = run(&[&common[..], &[&path("beam.csv.gz")]].concat());
        assert!(done.status.code() == Some(1) && said(&done).contains(told), "{told}: {}", said(&done));
    }
    let done = run_with_input(&[&common[..], &["-"]].concat(), format!("{header}1,muon,0,0,0,1,0,0\n").as_bytes());
    assert!(said(&done).contains("standard input:2: column `kind`: `muon` is none of"), "{}", said(&done));
}

/// Energies beyond the trusted range are warned of, also with -q and in the JSON.
#[test]
fn energies_beyond_the_trusted_range_are_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("beam.csv");
    let path = path.to_str().expect("a name");
    for (kind, momentum, is_warned) in [
        ("photon", "0.009", true),
        ("photon", "0.02", false),
        ("electron", "0.05", false),
        ("electron", "10001", true),
        ("photon", "9999", false),
    ] {
        // The first particle leaves the world.
        let rows = format!("photon,0,0,15999,0,0,100\n{kind},0,0,15999,0,0,{momentum}\n");
        std::fs::write(path, format!("kind,x,y,z,px,py,pz\n{rows}")).expect("a file");
        let done = run(&["run", "--engine", "cpu", "-q", "--json", "--input", path]);
        assert!(done.status.success(), "{}", said(&done));
        let words = "warning: 1 of 2 particles are beyond the trusted range: photons of 10 keV to 10 GeV";
        assert_eq!(said(&done).contains(words), is_warned, "{kind} {momentum}: {}", said(&done));
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(list(&report["warnings"]).len(), usize::from(is_warned));
    }
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
        ("run", &["--r", "5:1"], 2, "two numbers that rise"),
        ("run", &["--r", "-5:1"], 2, "ranges that rise from 0 on in r"),
        ("run", &["--most-steps", "70000"], 2, "70000 is not in 1..=65535"),
        ("run", &["--sagitta", "NaN"], 2, "numbers above 0"),
        ("run", &["--sagitta", "-1"], 2, ""),
        ("run", &["--field", "uniform=NaN"], 2, "100 T at most"),
        ("run", &["--geometry", "/nowhere/g.toml"], 1, "/nowhere/g.toml: "),
        ("run", &["--scores", "/nowhere/s.csv"], 1, "there is no folder /nowhere"),
        ("run", &["--score-by", "volume"], 2, "--scores"),
        ("run", &["--bins", "5"], 2, "as 120x120"),
        ("run", &["--bins", "50000x50000"], 2, "50000 x 50000 bins"),
        ("run", &["--plot", "e.gif"], 2, ".png, .svg or .pdf"),
        ("run", &["--plot", "e.png", "--bins", "500x20"], 2, "a picture has room for 480 of r"),
        ("run", &["--plot", "e.svg", "--bins", "300x300"], 2, "an SVG or PDF has 50000 at most"),
        ("run", &["--plot", "/nowhere/e.png"], 1, "there is no folder /nowhere"),
        ("run", &["--output", "e.txt"], 2, "deposits are written as .csv (a row a bin), .csv.gz or .npz"),
        ("run", &["--output", "/nowhere/e.csv"], 1, "there is no folder /nowhere"),
        ("run", &["--kernels", "woven"], 2, "woven"),
        ("run", &["--engine", "abacus"], 2, "abacus"),
        ("run", &["--workgroup-size", "4"], 2, "4 is not in 8..=1024"),
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
    for part in ["Exit codes:", "tracks left", "a run whose energies do not add up", "run", "bench", "completions"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}
