//! Tests of `zfinder simulate`: it writes the library's sample, and the files read back unchanged.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{failed, folder, spawn, stderr, stdout, succeeded, zfinder};
use zfinder::{Config, Detector, Engine, PhiWindow, Preset, Roi, RoiBatch, ZFinder};
use zfinder_io::{RoiTable, SpacepointReader, TruthTable, inputs};
use zfinder_study::simulate::{Geometry, SimulatedRoi, Simulation};

fn simulate(arguments: &[&str]) -> Output {
    zfinder(&[&["simulate"], arguments].concat())
}

/// Reads a file below a folder as text.
fn at(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

fn read(files: Vec<PathBuf>, detector: Detector, rois: Option<&Path>) -> Vec<Roi> {
    let rois = rois.map(|path| RoiTable::read(path).expect("a table of RoIs"));
    SpacepointReader::new(files, detector, rois).collect::<zfinder_io::Result<_>>().expect("readable")
}

/// Returns the first vertices of a configuration \[mm\].
fn found(rois: impl IntoIterator<Item = Roi>, detector: Detector) -> Vec<Option<f64>> {
    let batch: RoiBatch = rois.into_iter().collect();
    let builder = ZFinder::builder(detector).config(Config::preset(Preset::Default)).engine(Engine::Cpu);
    let results = builder.build().and_then(|finder| finder.find_batch(&batch)).expect("answers");
    results.iter().map(|roi| roi.vertices().first().map(|vertex| vertex.z_mm)).collect()
}

fn events(simulation: &Simulation) -> Vec<SimulatedRoi> {
    simulation.chunks().flatten().collect()
}

#[test]
fn threads_change_no_byte() {
    let dir = folder();
    let text = |threads: &str, seed: &str| {
        let truth = at(dir.path(), "truth.csv");
        let text =
            succeeded(simulate(&["--rois", "200", "--seed", seed, "--threads", threads, "--truth", &truth, "-q"]));
        (text, fs::read_to_string(truth).expect("truth"))
    };
    let alone = text("1", "1");
    assert!(alone.0.lines().count() > 200 * 250);
    assert_eq!(text("2", "1"), alone);
    assert_eq!(text("5", "1"), alone);
    assert_ne!(text("2", "2").0, alone.0);
    // More RoIs do not change the first ones.
    assert!(succeeded(simulate(&["--rois", "203", "-q"])).starts_with(&alone.0));
}

#[test]
fn csv_reads_back_bit_for_bit() {
    let dir = folder();
    let [file, truth, rois] = ["sample.csv", "truth.csv", "rois.csv"].map(|name| at(dir.path(), name));
    let output = simulate(&["--rois", "40", "-o", &file, "--truth", &truth, "--rois-file", &rois]);
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).starts_with("40 RoIs in atlas2010, seed 1: "), "{}", stderr(&output));
    let made = events(&Simulation { rois: 40, ..Simulation::lowlum() });
    let back = read(vec![file.clone().into()], Detector::atlas2010(), Some(Path::new(&rois)));
    assert_eq!(back, made.iter().map(|made| made.roi.clone()).collect::<Vec<_>>());
    let table = TruthTable::read(Path::new(&truth)).expect("a table of truth");
    for event in &made {
        let known: Vec<f64> = table.vertices(event.roi.descriptor.id).iter().map(|vertex| vertex.z_mm).collect();
        assert_eq!(known, event.truth.iter().map(|vertex| vertex.z_mm).collect::<Vec<_>>());
        assert_eq!(table.hard_scatter_z(event.roi.descriptor.id), Some(event.truth[0].z_mm));
    }
    // The command finds the same vertices as the library in memory.
    let csv = succeeded(zfinder(&[
        "find", "--engine", "cpu", "-q", "--preset", "default", "--format", "csv", "--rois", &rois, &file,
    ]));
    let told: Vec<Option<f64>> =
        csv.lines().skip(1).map(|row| row.split(',').nth(3).and_then(|z| z.parse().ok())).collect();
    assert_eq!(told, found(made.into_iter().map(|made| made.roi), Detector::atlas2010()));
    let table = succeeded(zfinder(&["find", "--engine", "cpu", "-q", "--rois", &rois, "--truth", &truth, &file]));
    assert!(table.contains("40 RoIs with truth"), "{table}");
}

/// Asserts that coordinates of a file with x and y agree within a rounding error.
#[track_caller]
fn near(back: &Roi, made: &Roi, rounding: f64) {
    assert_eq!(back.spacepoints.len(), made.spacepoints.len());
    for (b, m) in back.spacepoints.iter().zip(&made.spacepoints) {
        assert_eq!(b.layer, m.layer);
        let (rho, phi, z) = ((b.rho - m.rho).abs(), (b.phi - m.phi).abs(), (b.z - m.z).abs());
        let good = rho < rounding * m.rho && phi < rounding && z <= rounding * m.z.abs();
        assert!(good, "{b:?} is not {m:?}");
    }
}

/// Rounding of single precision, which ACTS uses.
const SINGLE: f64 = 1.2e-7;

#[test]
fn acts_files_read_back() {
    let dir = folder();
    let target = at(dir.path(), "events");
    succeeded(simulate(&["--full-scan", "--events", "30", "--pile-up", "2", "--format", "acts", "-o", &target]));
    let sample = Simulation { rois: 30, pile_up: 2.0, geometry: Geometry::Generic, ..Simulation::lowlum() };
    let made = events(&sample.whole_events());
    let files = inputs(&[target.clone().into()]).expect("files").files;
    assert_eq!(files.len(), 30);
    assert!(files[7].ends_with("event000000007-spacepoint.csv"));
    let back = read(files.clone(), Detector::generic(), None);
    for (back, made) in back.iter().zip(&made) {
        assert_eq!(back.descriptor.id, made.roi.descriptor.id);
        assert_eq!(made.roi.descriptor.window, Some(PhiWindow::FullScan));
        near(back, &made.roi, SINGLE);
    }
    let text = fs::read_to_string(&files[0]).expect("text");
    let row: Vec<&str> = text.lines().nth(1).expect("a row").split(',').collect();
    assert_eq!((row[0], row[1], row[3], row[7]), ("0", "18446744073709551615", "0", "nan"));
    assert!(!dir.path().join("events/rois.csv").exists(), "whole events have no windows");
    // Truth is in the same folder, where `find` reads it.
    let table = succeeded(zfinder(&["find", "--engine", "cpu", "-q", &target]));
    let score = table.lines().last().expect("a score");
    let right: usize =
        score.split(" in ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a count");
    assert!(score.starts_with("30 RoIs with truth") && right > 27, "{score}");
    let evaluated = succeeded(zfinder(&["evaluate", "--engine", "cpu", "-q", &target]));
    assert!(!evaluated.is_empty());
}

#[test]
fn rois_of_acts_files_have_windows_beside_them() {
    let dir = folder();
    let target = dir.path().join("events");
    let name = target.display().to_string();
    succeeded(simulate(&["--rois", "5", "--format", "acts", "-o", &name]));
    let made = events(&Simulation { rois: 5, geometry: Geometry::Generic, ..Simulation::lowlum() });
    let files = inputs(std::slice::from_ref(&target)).expect("files").files;
    let back = read(files, Detector::generic(), Some(&target.join("rois.csv")));
    assert_eq!(back.len(), 5);
    for (back, made) in back.iter().zip(&made) {
        assert_eq!(back.descriptor, made.roi.descriptor);
        near(back, &made.roi, SINGLE);
    }
}

#[test]
fn trackml_files_have_hits_and_particles() {
    let dir = folder();
    let target = dir.path().join("events");
    let name = target.display().to_string();
    let beam = ["--beam-spot", "0.5,-0.25", "--beam-sigma-x", "0.015", "--beam-sigma-y-mm", "0.015"];
    succeeded(simulate(&[&["--full-scan", "--rois", "2", "--format", "trackml", "-o", &name], &beam[..]].concat()));
    let sample = Simulation {
        rois: 2,
        geometry: Geometry::Generic,
        beam_spot_mm: [0.5, -0.25],
        beam_sigma_x_mm: 0.015,
        beam_sigma_y_mm: 0.015,
        ..Simulation::lowlum()
    };
    let detector = Detector::generic();
    for made in events(&sample.whole_events()) {
        let rows = |what: &str| -> Vec<Vec<f64>> {
            let event = made.roi.descriptor.id.event_id;
            let text = fs::read_to_string(target.join(format!("event{event:09}-{what}.csv"))).expect("a file");
            text.lines().skip(1).map(|row| row.split(',').map(|x| x.parse().expect("a number")).collect()).collect()
        };
        let hits = rows("hits");
        assert_eq!(hits.len(), made.roi.spacepoints.len());
        for (hit, s) in hits.iter().zip(&made.roi.spacepoints) {
            let layer = detector.layer_by_id(hit[4] as u32, hit[5] as u32).expect("a layer of the detector");
            assert_eq!((layer, hit[3]), (s.layer, s.z));
            assert!((hit[1].hypot(hit[2]) - s.rho).abs() < 1e-9);
            // Volumes above the barrel's are at +z, those below at -z.
            if detector.layers()[layer as usize].is_endcap() {
                assert_eq!(matches!(hit[4] as u32, 9 | 14 | 18), s.z > 0.0);
            }
        }
        let particles = rows("particles");
        assert_eq!(particles.len(), made.tracks.len());
        let mut by_vertex: HashMap<u64, usize> = HashMap::new();
        for particle in &particles {
            // 53 bits of an f64 hold an id: its last 24 are 0.
            let vertex = (particle[0] as u64 >> 52) as usize;
            let truth = &made.truth[vertex - 1];
            assert_eq!(particle[1..4], [truth.x_mm, truth.y_mm, truth.z_mm]);
            *by_vertex.entry(particle[0] as u64).or_default() += 1;
        }
        assert!(by_vertex.values().all(|&count| count == 1), "ids differ");
        assert!(particles.iter().any(|particle| particle[0] as u64 >> 52 == 1 && particle[8] > 5.0));
        let hits_of_tracks: f64 = particles.iter().map(|particle| particle[8]).sum();
        assert!(hits_of_tracks > 0.8 * hits.len() as f64 && hits_of_tracks < hits.len() as f64, "the rest is noise");
    }
}

#[test]
fn wrong_usage_names_the_option() {
    let dir = folder();
    for (arguments, told) in [
        (&["--pile-up", "-1"][..], "--pile-up: -1 must lie in [0, 10000]"),
        (&["--efficiency", "1.5"], "--efficiency: 1.5 must lie in [0, 1]"),
        (&["--beam-sigma-z", "nan"], "--beam-sigma-z: NaN must lie in [0, 1000]"),
        (&["--beam-spot", "0,11"], "--beam-spot: 11 must lie in [-10, 10]"),
        (&["--beam-spot", "3"], "two numbers with a comma"),
        (&["--hard-pt-power", "3"], "--hard-pt-power: 3 must lie in [3.1, 100]"),
        (&["--window-deg", "359.5"], "--window-deg: 359.5 must be at most 359"),
        (&["--full-scan", "--window-deg", "100"], "cannot be used with"),
        (&["--rois", "0"], "--rois"),
        (&["--threads", "0"], "--threads"),
        (&["--format", "acts"], "name the folder with -o"),
        (&["--format", "acts", "--detector", "atlas2010", "-o", "x"], "--detector atlas2010 does not have"),
        (&["-o", "sample.dat"], "sample.dat"),
        (&["--full-scan", "--rois-file", "rois.csv"], "whole events have no windows"),
        (&["--truth", "a.csv", "--rois-file", "a.csv"], "two outputs are one file"),
    ] {
        let output = simulate(arguments);
        failed(&output, 2, &[told]);
        assert_eq!(stdout(&output), "");
    }
    let occupied = dir.path().join("occupied");
    fs::create_dir(&occupied).expect("made");
    fs::write(occupied.join("event000000000-spacepoint.csv"), "old").expect("written");
    let name = occupied.display().to_string();
    failed(&simulate(&["--format", "acts", "-o", &name]), 2, &["is not empty"]);
    failed(&simulate(&["-o", "/none/such/sample.csv"]), 1, &["cannot write /none/such/sample.csv"]);
    let entries = |path: &Path| fs::read_dir(path).expect("there").count();
    assert_eq!((entries(dir.path()), entries(&occupied)), (1, 1), "nothing is left behind");
    // Only an event that exceeds the ids fails late. The folder must then be absent.
    let target = at(dir.path(), "many");
    let output = simulate(&["--rois", "1", "--pile-up", "6000", "--format", "trackml", "-o", &target]);
    failed(&output, 1, &["collisions; TrackML's ids have room for 4095"]);
    assert_eq!(entries(dir.path()), 1);
}

#[test]
fn folders_appear_whole_and_may_be_there_empty() {
    let dir = folder();
    let target = dir.path().join("events");
    fs::create_dir(&target).expect("made");
    succeeded(simulate(&["--rois", "3", "--format", "acts", "-o", &target.display().to_string()]));
    let mut names: Vec<_> =
        fs::read_dir(&target).expect("there").map(|entry| entry.expect("readable").file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 5, "{names:?}");
    assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 1);
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let mut child = spawn(&["simulate", "--rois", "1000000000"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, "event_id,roi_id,rho,phi,z,layer\n");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

/// The values in the help of the presets, given as options, change nothing.
#[test]
fn the_help_knows_the_presets() {
    let help = succeeded(simulate(&["--help"]));
    let words: Vec<&str> = help.split_whitespace().collect();
    let mut knobs: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    let mut option = "";
    for (at, word) in words.iter().enumerate() {
        let value = |after: usize| words[at + after].trim_end_matches([',', ']']);
        let values = match *word {
            "[preset:" => [value(1), value(1)],
            "[lowlum:" => [value(1), value(3)],
            _ => {
                option = if word.starts_with("--") { word } else { option };
                continue;
            }
        };
        for (knobs, value) in knobs.iter_mut().zip(values) {
            knobs.push(format!("{option}={value}"));
        }
    }
    assert_eq!(knobs[0].len(), 23, "{:?}", knobs[0]);
    for (preset, knobs) in ["lowlum", "highlum"].into_iter().zip(&knobs) {
        let plain = succeeded(simulate(&["--preset", preset, "--rois", "2", "-q"]));
        let knobs: Vec<&str> = knobs.iter().map(String::as_str).collect();
        // Starting from the other preset and from its own.
        for start in ["lowlum", "highlum"] {
            let arguments = [&["--preset", start, "--rois", "2", "-q"], &knobs[..]].concat();
            assert_eq!(succeeded(simulate(&arguments)), plain, "{start} turned into {preset}");
        }
    }
    for word in ["Exit codes:", "Examples:", "zfinder find -", "Hard scatter"] {
        assert!(help.contains(word), "no `{word}` in:\n{help}");
    }
}

#[cfg(all(target_os = "linux", feature = "root"))]
#[test]
fn a_root_file_has_its_own_name_and_reproducible_bytes() {
    let dir = folder();
    for name in ["a.root", "a_name_that_is_longer_than_the_path_of_a_descriptor.root"] {
        let path = at(dir.path(), name);
        let write = || {
            succeeded(simulate(&["-q", "--full-scan", "--rois", "3", "--format", "root", "-o", &path]));
            fs::read(&path).expect("there")
        };
        let bytes = write();
        assert!(bytes == write(), "{name}: two runs give the same bytes");
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(name), "{name}");
        for other in [".zfinder-", "/dev/fd/", "/proc/self/", &*dir.path().display().to_string()] {
            assert!(!text.contains(other), "{name} holds {other}");
        }
        assert_eq!(read(vec![path.into()], Detector::atlas2010(), None).len(), 3);
    }
}
