//! The command `p2r`.

// Each program of tests uses a part of it.
#[allow(dead_code)]
mod forward;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_p2r")).args(arguments).output().expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SMALL: [&str; 4] = ["--events", "2", "--tracks", "50"];

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

#[test]
fn run_prints_statistics_and_writes_tracks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "fitted.npy");
    let mut arguments = vec!["run", "--engine", "cpu", "--mode", "seed-state", "--spread", "seed", "--output", &file];
    arguments.extend(["--bsize", "7"]);
    arguments.extend(SMALL);
    let done = run(&arguments);
    let printed = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for part in
        ["100 tracks, 20 layers", "pt [GeV]", "4.547", "100 tracks, 0 NaN, 0 failed", "without a fault: 20.0 hits"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let bytes = std::fs::read(&file).expect("the file");
    let array = npyz::NpyFile::new(&bytes[..]).expect("an array");
    assert_eq!(array.shape(), [2, 50, 28]);
    let numbers: Vec<f64> = array.into_vec().expect("numbers");
    // x of the last track, and its status.
    assert!((numbers[99 * 28] + 6.233).abs() < 0.01 && numbers[99 * 28 + 27] == 0.0);

    arguments.push("--json");
    let json: serde_json::Value = serde_json::from_slice(&run(&arguments).stdout).expect("JSON");
    assert_eq!((&json["tracks"], &json["nans"]), (&100.into(), &0.into()));

    // These statistics say nothing of other tracks.
    let printed = text(&run(&[&["run", "--engine", "cpu"], &SMALL[..]].concat()).stdout);
    assert!(printed.contains("100 tracks without a fault"), "{printed}");
    assert!(["NaN", "failed", "std/mean"].iter().all(|part| !printed.contains(part)), "{printed}");
}

/// Writes three tracks of which the second has no hits and the third has fewer than the first.
fn write_sample(file: &Path) {
    write_sample_with(file, "track_id");
}

/// Writes the sample with this name of its numbers.
fn write_sample_with(file: &Path, ids: &str) {
    let simulation = p2r::Simulation {
        layout: p2r::Layout { events: 1, tracks: 3, layers: 20, bsize: 1 },
        spread: p2r::Spread::Helices,
        ..p2r::Simulation::default()
    };
    let (batch, truth) = simulation.simulate_with_truth::<f64>().expect("a batch");
    let tracks: Vec<p2r::Track> = (0..3).map(|i| batch.track(0, i)).collect();
    let hits: Vec<Vec<p2r::Hit>> = [(0, 20), (0, 0), (12, 20)]
        .into_iter()
        .enumerate()
        .map(|(i, (first, end))| (first..end).map(|layer| batch.hit(0, i, layer)).collect())
        .collect();
    let mut out = array_file::ArrayWriter::new(std::fs::File::create(file).expect("a file"));
    let all: Vec<p2r::Hit> = hits.iter().flatten().copied().collect();
    out.array("par", &[3, 6], tracks.iter().flat_map(|track| track.par)).expect("written");
    out.array("cov", &[3, 21], tracks.iter().flat_map(|track| track.cov.map(|entry| entry as f32))).expect("written");
    out.column("charge", tracks.iter().map(|track| track.charge)).expect("written");
    out.array("hit_pos", &[28, 3], all.iter().flat_map(|hit| hit.pos)).expect("written");
    out.array("hit_cov", &[28, 6], all.iter().flat_map(|hit| hit.cov)).expect("written");
    out.column("hit_offsets", [0_i64, 20, 20, 28]).expect("written");
    out.column(ids, [7_i64, 8, 9]).expect("written");
    out.array("truth", &[3, 6], truth.into_iter().flatten()).expect("written");
    out.finish().expect("written");
}

#[test]
fn tracks_come_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "tracks.npz");
    write_sample(Path::new(&file));
    let table = path(folder.path(), "fitted.csv");
    let done = run(&["run", &file, "--engine", "cpu", "-o", &table]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("3 tracks, 28 hits"), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("1 no_hits"), "{}", text(&done.stdout));
    let mut rows = csv::Reader::from_path(&table).expect("a table");
    let header = rows.headers().expect("a header").clone();
    let at = |name: &str| header.iter().position(|other| other == name).expect("a column");
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    let column = |name: &str| rows.iter().map(|row| row[at(name)].to_owned()).collect::<Vec<_>>();
    assert_eq!(column("track_id"), ["7", "8", "9"]);
    assert_eq!(column("status"), ["0", "32", "0"]);
    assert_eq!(
        (column("hits"), column("ndf")),
        (["20", "0", "8"].map(str::to_owned).to_vec(), ["40", "0", "16"].map(str::to_owned).to_vec())
    );
    for row in [&rows[0], &rows[2]] {
        let pull: f64 = row[at("pull_phi")].parse().expect("a number");
        assert!(pull.abs() < 5.0, "{row:?}");
    }

    let arrays = path(folder.path(), "fitted.npz");
    let done = run(&["run", &file, "--engine", "reference", "--precision", "f64", "-o", &arrays, "-q"]);
    assert!(done.status.success() && done.stderr.is_empty(), "{}", text(&done.stderr));
    let mut found = array_file::ArrayFile::open(Path::new(&arrays)).expect("arrays");
    assert_eq!(found.array::<f64>("pulls").expect("pulls").0, [3, 5]);
    assert_eq!(found.array::<f64>("state").expect("states").0, [3, 27]);
    assert_eq!(found.column::<u64>("ndf").expect("numbers"), [40, 0, 16]);
    let (shape, perigees) = found.array::<f64>("perigee").expect("perigees");
    assert_eq!((shape, found.array::<f64>("perigee_cov").expect("covariances").0), (vec![3, 5], vec![3, 15]));
    // The helices come from the beam line. In f32 the other engine finds the same.
    let (d0, d0_error) = (column("d0_cm"), column("d0_cm_error"));
    for track in [0, 2] {
        let [found, error] = [&d0[track], &d0_error[track]].map(|text| text.parse::<f64>().expect("a number"));
        assert!(found.abs() < 5.0 * error && (found - perigees[5 * track]).abs() < 0.1 * error, "{found}, {error}");
    }
    let mut sample = array_file::ArrayFile::open(Path::new(&file)).expect("arrays");
    let charges: Vec<f64> = sample.column("charge").expect("charges");
    assert!([0, 2].iter().all(|&track| perigees[5 * track + 4] * charges[track] > 0.0), "{perigees:?}");

    // The input stays as it is.
    let failed = run(&["run", &file, "--engine", "cpu", "-o", &file]);
    assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
}

#[test]
fn arrays_of_event_numbers_are_read_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, table) = (path(folder.path(), "tracks.npz"), path(folder.path(), "fitted.csv"));
    for name in ["event_id", "eventNumber", "event", "entry"] {
        write_sample_with(Path::new(&file), name);
        let done = run(&["run", &file, "--engine", "cpu", "-o", &table]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let written = std::fs::read_to_string(&table).expect("a table");
        let events: Vec<&str> = written.lines().filter_map(|line| line.split(',').next()).collect();
        assert_eq!(events, ["event_id", "7", "8", "9"], "{name}");
    }
    write_sample_with(Path::new(&file), "evnt_id");
    let done = run(&["run", &file, "--engine", "cpu"]);
    let said = text(&done.stderr).replace("\n  │ ", " ");
    assert!(done.status.code() == Some(1) && said.contains("column `evnt_id` looks like `event_id`"), "{said}");
}

/// Copies of the mini-app's track have the published formulas, and other tracks the exact ones.
#[test]
fn formulas_are_chosen_by_the_input() {
    let quality = |more: &[&str]| {
        let arguments = [&["run", "--engine", "cpu", "--json", "--mode", "seed-state"], &SMALL[..], more].concat();
        let json: serde_json::Value = serde_json::from_slice(&run(&arguments).stdout).expect("JSON");
        json["quality"].to_string()
    };
    for (spread, default, other) in [("seed", "p2r", "exact"), ("helices", "exact", "p2r")] {
        let found = quality(&["--spread", spread]);
        assert_eq!(quality(&["--spread", spread, "--formulas", default]), found, "{spread}");
        assert_ne!(quality(&["--spread", spread, "--formulas", other]), found, "{spread}");
    }
}

/// Material widens the errors, and each fault of a detector is reported.
#[test]
fn tracks_scatter_in_a_detector() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, table, detector] = ["tracks.npz", "fitted.csv", "detector.toml"].map(|name| path(folder.path(), name));
    write_sample(Path::new(&file));
    let layers = |key: &str| -> String {
        let (_, hits) = p2r::seed_track();
        let radii = hits.iter().map(|hit| 10.0 * hit.pos[0].hypot(hit.pos[1]));
        radii
            .map(|radius| format!("[[layer]]\nkind = \"barrel\"\nids = [[8, 2]]\nradius_mm = {radius}\n{key}"))
            .collect()
    };
    let fit = |more: &[&str]| {
        let done = run(&[&["run", &file, "--engine", "cpu", "-q", "-o", &table], more].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        let mut rows = csv::Reader::from_path(&table).expect("a table");
        let at = rows.headers().expect("a header").iter().position(|name| name == "phi0_error").expect("a column");
        let first = rows.records().next().expect("a row").expect("a row");
        (first[at].parse::<f64>().expect("a number"), text(&done.stderr))
    };
    let (exact, _) = fit(&[]);
    let scattered = |key: &str| {
        std::fs::write(&detector, layers(key)).expect("written");
        fit(&["--detector", &detector])
    };
    let (thin, said) = scattered("");
    assert!(said.is_empty(), "{said}");
    assert!(1.05 * exact < thin && 1.05 * thin < scattered("radiation_lengths = 0.05\n").0, "{exact}, {thin}");
    std::fs::write(&detector, "[[layer]]\nkind = \"barrel\"\nradius_mm = 4000.0\n").expect("written");
    let (far, said) = fit(&["--detector", &detector]);
    assert!(far == exact && said.starts_with("warning: 28 hits lie on no layer of "), "{far}, {exact}: {said}");
    for (layers, mode, code, told) in [
        (layers("radiation_lengths = 2.0\n"), "sequential", 1, "detector.toml: layer 0: its place is above 0"),
        ("layer = 7".to_owned(), "sequential", 1, "detector.toml: "),
        (layers(""), "seed-state", 2, "no track passes a layer"),
    ] {
        std::fs::write(&detector, layers).expect("written");
        let done = run(&["run", &file, "--engine", "cpu", "--mode", mode, "--detector", &detector]);
        let said = text(&done.stderr).replace("\n  │ ", " ");
        assert!(done.status.code() == Some(code) && said.contains(told), "{told}: {said}");
    }
    assert_eq!(run(&["run", "--detector", &detector]).status.code(), Some(2));
}

/// Copies a sample with these charges, and with whole numbers of other types.
fn write_in_other_types(from: &str, to: &str, charge: &[i8]) {
    let mut from = array_file::ArrayFile::open(Path::new(from)).expect("arrays");
    let mut out = array_file::ArrayWriter::new(std::fs::File::create(to).expect("a file"));
    for name in ["par", "cov", "hit_pos", "hit_cov", "truth"] {
        let (shape, values) = from.array::<f64>(name).expect("an array");
        out.array(name, &shape, values).expect("written");
    }
    out.column("charge", charge.iter().copied()).expect("written");
    out.column("hit_offsets", [0_u8, 20, 20, 28]).expect("written");
    out.column("track_id", [7.0_f32, 8.0, 9.0]).expect("written");
    out.finish().expect("written");
}

/// Arrays of other types of numpy's give the same tracks.
#[test]
fn tracks_of_other_types_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, other) = (path(folder.path(), "tracks.npz"), path(folder.path(), "other.npz"));
    write_sample(Path::new(&file));
    let charge: Vec<i8> =
        array_file::ArrayFile::open(Path::new(&file)).expect("arrays").column("charge").expect("whole numbers");
    write_in_other_types(&file, &other, &charge);
    let fitted = |file: &str| {
        let table = path(folder.path(), "fitted.csv");
        let done = run(&["run", file, "--engine", "cpu", "-o", &table]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        std::fs::read_to_string(&table).expect("a table")
    };
    assert_eq!(fitted(&other), fitted(&file));
    // A shape is refused by what it is and by what is wanted.
    write_in_other_types(&file, &other, &charge[..2]);
    let said = text(&run(&["run", &other, "--engine", "cpu"]).stderr).replace("\n  │ ", " ");
    assert!(said.contains("other.npz: `par` has shape [3, 6], and [2, 6] is wanted"), "{said}");
}

/// An event in ACTS's form: hits on a straight line of high momentum, a neutral particle, a slow
/// one.
#[test]
fn events_of_acts_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("written");
    write("event000000007-particles_initial.csv", "particle_id,q\n1,1\n2,0\n3,-1\n".to_owned());
    let row = |id: u32, i: u32, pt: f64| format!("{id},{}.0,0.0,{}.0,{pt},0.0,1.0\n", 30 + 50 * i, 10 + 5 * i);
    let rows: String = (0..9).flat_map(|i| [row(1, i, 100.0), row(2, i, 100.0), row(3, i, 0.1)]).collect();
    write("event000000007-hits.csv", format!("particle_id,tx,ty,tz,tpx,tpy,tpz\n{rows}"));
    let events = folder.path().to_str().expect("a name");
    let table = path(folder.path(), "fitted.csv");
    let done = run(&["run", events, "--field", "-2", "--engine", "cpu", "-o", &table]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said = text(&done.stderr).replace("\n  │ ", " ");
    assert!(said.contains("1 tracks, 9 hits") && said.contains("2 particles are left out"), "{said}");
    let fitted = std::fs::read_to_string(&table).expect("a table");
    assert!(fitted.lines().nth(1).is_some_and(|line| line.starts_with("7,1,")), "{fitted}");
    // A file of the input is not replaced.
    let hits = path(folder.path(), "event000000007-hits.csv");
    let before = std::fs::read(&hits).expect("there");
    let refused = run(&["run", events, "--field", "-2", "--engine", "cpu", "-o", &hits]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert_eq!(std::fs::read(&hits).expect("there"), before);
    // Whole numbers as pandas writes them, in gzip with a name of plain text.
    let floats: String = rows.lines().map(|row| row.replacen(',', ".0,", 1) + "\n").collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(format!("particle_id,tx,ty,tz,tpx,tpy,tpz\n{floats}").as_bytes()).expect("in memory");
    let bytes = [gzip.finish().expect("in memory"), vec![0; 100]].concat();
    std::fs::write(folder.path().join("event000000007-hits.csv"), bytes).expect("written");
    let done = run(&["run", events, "--field", "-2", "--engine", "cpu", "-o", &table]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(std::fs::read_to_string(&table).expect("a table"), fitted);
    write("event000000007-hits.csv", format!("particle_id,tx,ty,tz,tpx,tpy,tpz\n{rows}").replacen("1,", "1.5,", 1));
    let said = text(&run(&["run", events, "--engine", "cpu"]).stderr).replace("\n  │ ", " ");
    assert!(said.contains("line 2: `1.5` in column `particle_id` is not a whole number"), "{said}");
    for (change, told) in [("tpx", "there is no column `tpx`"), ("particle_id", "no column particle_id")] {
        write(
            "event000000007-hits.csv",
            format!("particle_id,tx,ty,tz,tpx,tpy,tpz\n{rows}").replacen(change, "other", 1),
        );
        let said = text(&run(&["run", events, "--engine", "cpu"]).stderr).replace("\n  │ ", " ");
        assert!(said.contains(told), "{said}");
    }
    write("event000000007-hits.csv", format!("particle_id,tx,ty,tz,tpx,tpy,tpz\n{rows}").replacen("100,", "NaN,", 1));
    let said = text(&run(&["run", events, "--engine", "cpu"]).stderr).replace("\n  │ ", " ");
    assert!(said.contains("line 2: `NaN` in column `tpx` is no finite number"), "{said}");
}

/// Events of forward helices in ACTS's form. Their layers tell which hits lie on disks; taken as on
/// cylinders, they would have wrong errors.
#[test]
fn hits_on_disks_are_fitted() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("written");
    let mut rng = fastrand::Rng::with_seed(5);
    let (mut particles, mut hits) = ("particle_id,q\n".to_owned(), String::new());
    for id in 0..600 {
        let helix = forward::Helix::random(&mut rng);
        particles += &format!("{id},{}\n", helix.charge);
        for (layer, (state, is_on_disk)) in helix.crossings(9).into_iter().enumerate() {
            let [x, y, z, ipt, phi, theta] = state;
            let side = u64::from(z > 0.0);
            let geometry = if is_on_disk { 1 + side } else { 3 } << 56 | (2 * layer as u64) << 36 | 77;
            let (px, py, pz) = (phi.cos() / ipt, phi.sin() / ipt, 1.0 / (ipt * theta.tan()));
            hits += &format!("{id},{geometry},{},{},{},{px},{py},{pz}\n", 10.0 * x, 10.0 * y, 10.0 * z);
        }
    }
    write("event000000001-particles.csv", particles);
    write("event000000001-hits.csv", format!("particle_id,geometry_id,tx,ty,tz,tpx,tpy,tpz\n{hits}"));
    let events = folder.path().to_str().expect("a name");
    let done = run(&["run", events, "--field", "3.8112", "--engine", "cpu", "--json", "--hit-errors", "0.03,0.2"]);
    assert!(text(&done.stderr).contains("600 tracks, 5400 hits, 3600 of them on disks"), "{}", text(&done.stderr));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    for pull in json["quality"]["pulls"].as_array().expect("a list") {
        let [mean, width] = ["mean", "spread"].map(|name| pull[name].as_f64().expect("a number"));
        assert!(mean.abs() < 0.15 && (width - 1.0).abs() < 0.12, "{json}");
    }
    assert!((json["quality"]["chi2_per_ndf"].as_f64().expect("a number") - 1.0).abs() < 0.05, "{json}");
    // Without the column all hits are taken as on cylinders.
    let hits = hits.lines().map(|line| {
        let (id, rest) = line.split_once(',').expect("columns");
        format!("{id},{}\n", rest.split_once(',').expect("columns").1)
    });
    write("event000000001-hits.csv", format!("particle_id,tx,ty,tz,tpx,tpy,tpz\n{}", hits.collect::<String>()));
    let said = text(&run(&["run", events, "--field", "3.8112", "--engine", "cpu"]).stderr);
    assert!(said.contains("600 tracks, 5400 hits\n"), "{said}");
    write("event000000001-hits.csv", "particle_id,geometry_id,tx,ty,tz,tpx,tpy,tpz\n1,x,1,1,1,1,1,1\n".to_owned());
    let said = text(&run(&["run", events, "--engine", "cpu"]).stderr).replace("\n  │ ", " ");
    assert!(said.contains("line 2: `x` in column `geometry_id` is not a whole number"), "{said}");
}

#[test]
fn events_of_trackml_are_read() {
    let Some(folder) = kernel_host::testing::shared("data/formats/trackml") else { return };
    let folder = folder.display().to_string();
    let done = run(&["run", &folder, "--engine", "cpu", "--json", "--min-pt", "1"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains(" of them on disks"), "{}", text(&done.stderr));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let (tracks, sound) = (json["tracks"].as_u64().expect("a number"), json["quality"]["tracks"].as_u64());
    assert!(tracks > 20 && sound > Some(tracks * 8 / 10), "{json}");
    // The field of TrackML falls along the beam, and its particles scatter, so pulls are wide. In
    // a field
    // of another sign or size the mean pull of 1/pt is above a thousand.
    let pull = json["quality"]["pulls"][2]["mean"].as_f64().expect("a number");
    assert!(pull.abs() < 200.0, "{json}");
}

#[test]
fn bench_and_scan_run_on_the_cpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = vec!["bench", "--engine", "cpu", "--rounds", "1", "--bsize", "8,0", "--json"];
    arguments.extend(SMALL);
    let json: serde_json::Value = serde_json::from_slice(&run(&arguments).stdout).expect("JSON");
    let measured = json["measured"].as_array().expect("a list");
    assert_eq!(measured.len(), 6);
    assert!(measured.iter().all(|row| row["tracks_per_s"].as_f64() > Some(0.0)), "{json}");
    let plot = path(folder.path(), "scan.svg");
    let done = run(&["scan", "--engine", "cpu", "--tracks", "16,64", "--rounds", "1", "--plot", &plot]);
    assert!(done.status.success() && text(&done.stdout).contains("tracks/s of one event"), "{}", text(&done.stderr));
    assert!(std::fs::read_to_string(&plot).expect("a picture").contains("tracks of one event"));
}

#[test]
fn shells_and_man_know_the_command_line() {
    for (arguments, part) in [(&["completions", "bash"][..], "--workgroup-size"), (&["man"], ".TH p2r 1")] {
        let done = run(arguments);
        assert!(done.status.success() && text(&done.stdout).contains(part), "{arguments:?}");
    }
}

#[test]
fn faults_are_reported() {
    let mut small = vec!["run"];
    small.extend(SMALL);
    for (more, code, told) in [
        (vec!["--engine", "cpu", "--bsize", "0"], 2, "groups of 1 or more, not of 0"),
        (vec!["--engine", "cpu", "--layers", "23"], 2, "there are 22 at most"),
        (vec!["--engine", "cpu", "--precision", "f64"], 1, "use f32, or the reference engine"),
        (vec!["--engine", "cpu", "--output", "/nowhere/there/x.npy"], 1, "/nowhere/there/x.npy"),
        (vec!["--engine", "cpu", "--output", "x.txt"], 2, "name a file .npz, .csv or .npy"),
        (vec!["--smear", "NaN"], 2, "it is not from 0 to 1"),
        (vec!["--engine", "cpu", "--field", "-2"], 2, "name a file or folder"),
        (vec!["--adapter", "no such one"], 3, "no such one"),
        (vec!["--engine", "abacus"], 2, "abacus"),
    ] {
        let done = run(&[small.clone(), more].concat());
        let said = text(&done.stderr).replace("\n  │ ", " ");
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(told), "{told}: {said}");
        assert!(done.stdout.is_empty());
    }
    for (arguments, code, told) in [
        (&["run", "--engine", "cpu", "--events", "50000", "--tracks", "100000"][..], 1, "GB are needed"),
        (&["run", "/nowhere/x.npz"], 1, "/nowhere/x.npz"),
        (&["run", "/nowhere/x.npz", "--field", "0"], 2, "a magnetic field of 0 T bends no track"),
        (&["scan", "--engine", "cpu", "--plot", "scan.gif"], 2, ".png, .svg or .pdf"),
        (&["bench", "--workgroup-size", "2x"], 2, "ROWSxCOLUMNS"),
    ] {
        let done = run(arguments);
        let said = text(&done.stderr).replace("\n  │ ", " ");
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(told), "{told}: {said}");
    }
}

#[test]
fn a_bench_needs_events_and_tracks() {
    for arguments in [
        &["scan", "--events", "0"][..],
        &["scan", "--tracks", "0"],
        &["scan", "--tracks", "32,0"],
        &["scan", "--bsize", "0"],
        &["bench", "--events", "0"],
        &["bench", "--tracks", "0"],
        &["bench", "--layers", "0"],
        &["run", "--layers", "0"],
    ] {
        let done = run(&[arguments, &["--engine", "cpu"]].concat());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("1 or more") && !said.contains("panicked"), "{arguments:?}: {said}");
    }
    for (arguments, told) in [
        (["run", "--events", "18446744073709551615"], "too many for one batch"),
        (["scan", "--rounds", "4294967295"], "1..=10000"),
        (["bench", "--rounds", "4294967295"], "1..=10000"),
    ] {
        let done = run(&[&arguments[..], &["--engine", "cpu"]].concat());
        let said = text(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(told), "{arguments:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_completed_gives_one_message() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a.npz", "a.npy", "a.csv"] {
        let file = path(folder.path(), name);
        // The limit stands for a full disk.
        let script = format!(
            "ulimit -f 8; exec '{}' run --engine cpu --events 2 --tracks 500 --output '{file}'",
            env!("CARGO_BIN_EXE_p2r")
        );
        let done = Command::new("sh").args(["-c", &script]).output().expect("there is sh");
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{said}");
        assert!(said.starts_with(&format!("error: cannot write {file}: File too large")), "{said}");
        assert!(!said.contains("ZipWriter") && !said.contains(".p2r-"), "{said}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 0, "nothing is left");
    }
}
