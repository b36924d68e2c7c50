//! Tests of output files: they never replace an input, and are complete or absent.

use std::fs;
use std::path::Path;

use crate::common::{failed, folder, succeeded, written, zfinder};

const TRACKS: &str = "event_id,x,y,z,layer\n3,50,1,12,0\n3,88,2,13,1\n";

#[test]
fn an_output_replaces_no_input_of_any_kind() {
    let dir = folder();
    let points = written(&dir, "points.csv", TRACKS);
    let truth = written(&dir, "truth_vertices.csv", "event,vz_mm,is_hard_scatter\n3,12,1\n");
    let rois = written(&dir, "windows.csv", "event_id,roi_id,phi_min,phi_max\n3,0,-1,1\n");
    let config = written(&dir, "config.toml", "peaks = 2\n");
    let atlas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/detectors/atlas2010.toml");
    let detector = written(&dir, "detector.toml", &fs::read_to_string(atlas).expect("there"));
    let before = |path: &str| fs::read(path).expect("there");
    let find = ["find", "-q", "--engine", "reference", "--format", "csv", &points];
    for (name, read) in [
        (&truth, &[][..]), // found beside the input
        (&truth, &["--truth", &truth]),
        (&rois, &["--rois", &rois]),
        (&config, &["--config", &config]),
        (&detector, &["--detector", &detector]),
        (&points, &[]),
    ] {
        let content = before(name);
        let output = zfinder(&[&find, read, &["-o", name]].concat());
        failed(&output, 2, &["the output file is one of the inputs", name]);
        assert_eq!(before(name), content);
    }
    let report = written(&dir, "report.svg", "{}");
    failed(&zfinder(&["plot", "efficiency", &report, "-o", &report]), 2, &["the output file is one of the inputs"]);
    let two = dir.path().join("two.svg").display().to_string();
    failed(
        &zfinder(&["evaluate", &points, "-o", &two, "--format", "csv", "--plot", &two]),
        2,
        &["two outputs are one file"],
    );
}

/// Every file of a folder of events stays, also one that the command does not read.
#[test]
fn an_output_replaces_no_file_of_an_input_folder() {
    let dir = folder();
    let files = [
        ("points.csv", TRACKS),
        ("part2.csv", "event_id,x,y,z,layer\n4,50,1,12,0\n4,88,2,13,1\n"),
        ("truth_vertices.csv", "event,vz_mm,is_hard_scatter\n3,12,1\n"),
        ("rois.csv", "event_id,roi_id,phi_min,phi_max\n3,0,-1,1\n"),
        ("event3-particles.csv", "particle_id\n"),
    ];
    let files = files.map(|(name, content)| (written(&dir, name, content), content));
    let events = dir.path().display().to_string();
    let link = dir.path().join("link.csv").display().to_string();
    fs::hard_link(dir.path().join("rois.csv"), &link).expect("a link");
    let find = ["find", "-q", "--engine", "reference", "--format", "csv", &events];
    let evaluate = ["evaluate", "--engine", "reference", "--format", "csv", &events];
    let histogram = ["histogram", "--format", "csv", &events];
    for path in files.iter().map(|(path, _)| path).chain([&link]) {
        for command in [&find[..], &[&find[..], &["--shard", "1/2"]].concat(), &evaluate, &histogram] {
            failed(&zfinder(&[command, &["-o", path]].concat()), 2, &["the output file is one of the inputs", path]);
        }
    }
    for (path, content) in &files {
        assert_eq!(fs::read_to_string(path).expect("there"), *content);
    }
    // Another file of the folder is no input: a second run replaces the answers of the first.
    let answers = dir.path().join("vertices.csv").display().to_string();
    for _ in 0..2 {
        succeeded(zfinder(&[&["find", "-q", "--engine", "reference", &events, "-o"], &[&*answers][..]].concat()));
    }
}

#[test]
fn a_temporary_name_is_in_no_message() {
    let dir = folder();
    for (format, name) in [("csv", "none/a.csv"), ("root", "none/a.root"), ("acts", "none/a"), ("trackml", "none/a")] {
        let path = dir.path().join(name).display().to_string();
        let output = zfinder(&[
            "simulate",
            "-q",
            "--full-scan",
            "--detector",
            "generic",
            "--rois",
            "1",
            "--format",
            format,
            "-o",
            &path,
        ]);
        failed(&output, 1, &[&path]);
        assert!(!crate::common::stderr(&output).contains(".zfinder-"), "{}", crate::common::stderr(&output));
    }
    let whole = dir.path().join("whole").display().to_string();
    succeeded(zfinder(&["simulate", "-q", "--full-scan", "--rois", "1", "--format", "trackml", "-o", &whole]));
    let mut names: Vec<_> =
        fs::read_dir(&whole).expect("there").map(|entry| entry.expect("there").file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[cfg(unix)]
mod unix {
    use std::io::Write;
    use std::process::{Command, Output, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// Starts the command, and sends a signal after it has begun an output.
    fn interrupted(arguments: &[&str], dir: &Path, signal: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zfinder"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("piped");
        input.write_all(b"event_id,rho,phi,z,layer\n0,50,1,1,0\n").expect("it reads");
        let begin = Instant::now();
        while fs::read_dir(dir).expect("there").count() == 0 {
            assert!(begin.elapsed().as_secs() < 60, "no output is begun");
            std::thread::sleep(Duration::from_millis(5));
        }
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
        assert!(killed.success());
        let output = child.wait_with_output().expect("it ends");
        drop(input);
        output
    }

    /// As `nohup` does with HUP.
    fn is_ignored(signal: i32) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0) >> (signal - 1) & 1 == 1
    }

    #[test]
    fn signals_leave_neither_file_nor_folder() {
        let dir = folder();
        let [file, sample] = ["out.csv", "sample"].map(|name| dir.path().join(name).display().to_string());
        let find = ["find", "--engine", "reference", "-", "-o", &file];
        let simulate = [
            "simulate",
            "-q",
            "--full-scan",
            "--format",
            "acts",
            "--rois",
            "1000000",
            "--pile-up",
            "100",
            "-o",
            &sample,
        ];
        for (arguments, signal, code) in
            [(&find[..], "-INT", 130), (&find, "-TERM", 143), (&find, "-HUP", 129), (&simulate, "-TERM", 143)]
        {
            if is_ignored(code - 128) {
                eprintln!("SKIPPED: {signal}, which this process ignores, and so do those that it starts");
                continue;
            }
            let output = interrupted(arguments, dir.path(), signal);
            assert_eq!(output.status.code(), Some(code), "{signal}");
            let report = format!("interrupted: 0 RoIs searched; {file} is not written");
            let is_reported = crate::common::stderr(&output).contains(&report);
            assert_eq!(is_reported, arguments == find, "{signal}: {}", crate::common::stderr(&output));
            assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 0, "{signal}");
        }
    }

    #[test]
    fn an_output_above_the_limit_of_a_file_fails_with_a_message() {
        let dir = folder();
        let file = dir.path().join("points.csv").display().to_string();
        let command = format!(
            "ulimit -f 8; exec '{}' simulate -q --full-scan --rois 10 -o '{file}'",
            env!("CARGO_BIN_EXE_zfinder")
        );
        let output = Command::new("sh").args(["-c", &command]).output().expect("there is sh");
        failed(&output, 1, &["cannot write", &file, "File too large"]);
        assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 0, "nothing is left");
    }

    #[test]
    fn a_replaced_file_keeps_its_rights() {
        use std::os::unix::fs::PermissionsExt;
        let dir = folder();
        let points = written(&dir, "points.csv", TRACKS);
        let old = written(&dir, "vertices.csv", "old");
        fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).expect("set");
        succeeded(zfinder(&["find", "-q", "--engine", "reference", &points, "-o", &old]));
        assert_eq!(fs::metadata(&old).expect("there").permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&old).expect("there").starts_with("event_id,"));
    }

    #[test]
    fn the_file_behind_standard_input_is_not_replaced() {
        let dir = folder();
        let points = written(&dir, "points.csv", TRACKS);
        for name in ["-", "/dev/stdin"] {
            let output = Command::new(env!("CARGO_BIN_EXE_zfinder"))
                .args(["find", "-q", "--engine", "reference", "--detector", "atlas2010", name, "-o", &points])
                .env("NO_COLOR", "1")
                .stdin(fs::File::open(&points).expect("there"))
                .output()
                .expect("it starts");
            failed(&output, 2, &["the output file is one of the inputs", &points]);
            assert_eq!(fs::read_to_string(&points).expect("there"), TRACKS);
        }
    }

    #[test]
    fn links_and_open_files_stay() {
        let dir = folder();
        let points = written(&dir, "points.csv", TRACKS);
        let (file, link) = (dir.path().join("later.csv"), dir.path().join("link.csv"));
        std::os::unix::fs::symlink("later.csv", &link).expect("a link");
        let find = ["find", "-q", "--engine", "reference", "--format", "csv", &points, "-o"];
        succeeded(zfinder(&[&find[..], &[&link.display().to_string()]].concat()));
        assert!(file.is_file() && fs::symlink_metadata(&link).expect("there").is_symlink());

        let log = dir.path().join("log");
        fs::write(&log, "before\n").expect("written");
        let appended = fs::File::options().append(true).open(&log).expect("there");
        let status = Command::new(env!("CARGO_BIN_EXE_zfinder"))
            .args([&find[..], &["/dev/stdout"]].concat())
            .stdout(appended)
            .status()
            .expect("it starts");
        let text = fs::read_to_string(&log).expect("there");
        assert!(status.success() && text.starts_with("before\nevent_id,"), "{text}");
    }
}

/// Sorts the rows of a CSV file, the header first.
fn sorted_rows(text: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = text.lines().collect();
    rows[1..].sort_unstable();
    rows
}

#[test]
fn the_outputs_of_shards_make_up_the_whole() {
    let dir = folder();
    let data = crate::common::sample("zee7_mu2");
    let find = ["find", "-q", "--engine", "cpu", "--format", "csv", &data];
    let whole = succeeded(zfinder(&find));
    let shards: String = (0..3)
        .map(|shard| {
            let path = dir.path().join(format!("{shard}.csv")).display().to_string();
            succeeded(zfinder(&[&find[..], &["--shard", &format!("{shard}/3"), "-o", &path]].concat()));
            fs::read_to_string(path).expect("there")
        })
        .collect();
    assert_eq!(sorted_rows(&shards), sorted_rows(&whole));
    failed(&zfinder(&[&find[..], &["--shard", "3/3"]].concat()), 2, &["--shard", "numbered from 0"]);
}

#[test]
fn a_batch_system_says_which_shard() {
    let data = crate::common::sample("zee7_mu2");
    let find = ["find", "-q", "--engine", "cpu", "--format", "csv", &data, "--shard"];
    let wanted = succeeded(zfinder(&[&find[..], &["1/4"]].concat()));
    let dir = folder();
    let ad = written(&dir, "job.ad", "ProcId = 1\nTotalSubmitProcs = 4\n");
    let run = |shard: &str, variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_zfinder"));
        command.args(find).arg(shard).envs(variables.iter().copied()).output().expect("it runs")
    };
    let slurm = |[id, count, min, max]: [&'static str; 4]| {
        let names = ["ID", "COUNT", "MIN", "MAX"].into_iter().zip([id, count, min, max]);
        names.map(|(name, value)| (format!("SLURM_ARRAY_TASK_{name}"), value)).collect::<Vec<_>>()
    };
    for (shard, variables) in [
        ("auto", slurm(["1", "4", "0", "3"])),
        ("auto/4", slurm(["1", "1", "1", "1"])),
        ("auto/1-4", slurm(["2", "1", "2", "2"])),
        ("auto", vec![("_CONDOR_JOB_AD".to_owned(), ad.as_str())]),
        ("auto/1-4", vec![("LSB_JOBINDEX".to_owned(), "2")]),
    ] {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(succeeded(run(shard, &variables)), wanted, "{shard} {variables:?}");
    }
    // A task that was submitted again alone, an array with gaps, and one of LSF.
    for variables in [slurm(["2", "1", "2", "2"]), slurm(["2", "3", "0", "5"]), vec![("LSB_JOBINDEX".to_owned(), "2")]]
    {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        failed(&run("auto", &variables), 2, &["--shard", "write auto/"]);
    }
    failed(&run("auto", &[]), 2, &["SLURM_ARRAY_TASK_ID"]);
}
