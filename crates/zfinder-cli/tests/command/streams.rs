//! Tests of streams, of errors in the input, and of memory.

use std::fs;
use std::io::Write;

use crate::common::{failed, folder, sample, stderr, stdout, succeeded, written, zfinder};
use flate2::Compression;
use flate2::write::GzEncoder;

const HEADER: &str = "event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background,rank,fallback\n";

fn find(arguments: &[&str]) -> std::process::Output {
    zfinder(&[&["find", "-q", "--engine", "reference", "--format", "csv"], arguments].concat())
}

/// Two straight tracks of an event from z = 0.
fn tracks(event: u64) -> String {
    let mut text = String::new();
    for (phi, slope) in [(0.1, 0.5), (0.7, -0.25)] {
        for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
            text.push_str(&format!("{event},{rho},{phi},{},{layer}\n", slope * rho));
        }
    }
    text
}

/// The status of each RoI.
fn statuses(csv: &str) -> Vec<(u64, String)> {
    let mut all: Vec<(u64, String)> = csv
        .strip_prefix(HEADER)
        .expect("the header")
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            (fields[0].parse().expect("an event"), fields[5].to_owned())
        })
        .collect();
    all.dedup();
    all
}

#[test]
fn bad_rows_events_and_files_are_skipped_and_counted() {
    let dir = folder();
    let header = "event_id,rho,phi,z,layer\n";
    // Bad rows are in events 1 (a field), 2 (an unknown layer) and 3 (too few fields). Event 4
    // comes again; 5 is good.
    let rows = [
        &tracks(0),
        &tracks(1).replace("0.7", "bad"),
        &tracks(2),
        "2,50.5,0.1,3,99\n",
        &tracks(3),
        "3,50.5\n",
        &tracks(4),
        &tracks(5),
        &tracks(4),
    ];
    let mixed = written(&dir, "mixed.csv", &[&[header], &rows[..]].concat().concat());
    let broken = written(&dir, "broken.csv", "a,b\n1,2\n");
    let more = written(&dir, "more.csv", &format!("{header}{}", tracks(7)));
    let missing = dir.path().join("missing.csv").display().to_string();
    let good = find(&["--on-error", "skip", &more]);
    assert_eq!(statuses(&succeeded(good)), [(7, "ok".to_owned())]);

    let files = [mixed.as_str(), &broken, &missing, &more];
    let output = find(&[&["--on-error", "skip"], &files[..]].concat());
    failed(
        &output,
        5,
        &[
            "skipped: ",
            "mixed.csv, row 11, column phi: `bad` is not a number",
            "mixed.csv, row 20, column layer: layer 99",
            "mixed.csv, row 27: the row has 2 fields, the header has 5",
            "mixed.csv: event 4, RoI 0 comes again",
            "broken.csv, row 1: missing columns",
            "missing.csv: ",
            "error: the input has 8 errors, which were skipped",
        ],
    );
    let of = |event: u64, status: &str| (event, status.to_owned());
    let wanted = [
        of(0, "ok"),
        of(1, "bad_spacepoint"),
        of(2, "bad_spacepoint"),
        of(3, "bad_spacepoint"),
        // It comes again.
        of(4, "bad_spacepoint"),
        of(5, "ok"),
        of(7, "ok"),
    ];
    assert_eq!(statuses(&stdout(&output)), wanted);

    // By default the run ends at the first error, and earlier answers are written.
    let target = dir.path().join("out.csv").display().to_string();
    let output = find(&["-o", &target, &mixed, &more]);
    failed(&output, 1, &["mixed.csv, row 11, column phi", "out.csv ends before the error: 1 RoI"]);
    assert_eq!(statuses(&fs::read_to_string(&target).expect("written")), [of(0, "ok")]);
}

#[test]
fn a_row_of_no_event_and_a_file_that_is_cut_spoil_their_event() {
    let dir = folder();
    let text = format!("event_id,rho,phi,z,layer\n{}x,1,1,1,0\n{}{}", tracks(0), tracks(1), tracks(2));
    let mixed = written(&dir, "mixed.csv", &text);
    let skip = |path: &str| find(&["--on-error", "skip", path]);
    let output = skip(&mixed);
    failed(&output, 5, &["mixed.csv, row 8, column event_id: `x` is not", "1 error,"]);
    let of = |event: u64, status: &str| (event, status.to_owned());
    // The row may belong to the event before it or to the one after it.
    let wanted = [of(0, "bad_spacepoint"), of(1, "bad_spacepoint"), of(2, "ok")];
    assert_eq!(statuses(&stdout(&output)), wanted);

    let told = zfinder(&["find", "--engine", "reference", "--on-error", "skip", &mixed]);
    failed(&told, 5, &["3 events, 3 RoIs, 20 spacepoints, 1 error skipped: "]);

    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(text.replace("x,1,1,1,0\n", "").as_bytes()).expect("in memory");
    let bytes = gzip.finish().expect("in memory");
    let cut = dir.path().join("cut.csv.gz");
    fs::write(&cut, &bytes[..bytes.len() - 20]).expect("written");
    let output = skip(&cut.display().to_string());
    failed(&output, 5, &["cut.csv.gz: compressed data ends too early"]);
    assert_eq!(statuses(&stdout(&output)), [of(0, "ok"), of(1, "ok"), of(2, "bad_spacepoint")]);

    // An RoI of a table without spacepoints may have lost them, so it does not count as empty.
    let rois = written(&dir, "windows.csv", "event_id,roi_id,phi_min,phi_max\n1,0,-1,1\n8,0,-1,1\n");
    let output = find(&["--on-error", "skip", &mixed, "--rois", &rois]);
    failed(&output, 5, &["no spacepoints, and parts of the input were not read: left out"]);
    assert_eq!(statuses(&stdout(&output)), [of(1, "bad_spacepoint")]);
}

#[test]
fn an_event_above_the_limit_is_an_error_or_is_left_out() {
    let dir = folder();
    let text = format!("event_id,rho,phi,z,layer\n{}{}{}{}", tracks(0), tracks(1), tracks(1), tracks(2));
    let input = written(&dir, "big.csv", &text);
    let words = "big.csv, row 14: event 1 has more than 6 spacepoints";
    let output = find(&["--max-spacepoints", "6", &input]);
    failed(&output, 1, &[words]);
    assert_eq!(statuses(&stdout(&output)), [(0, "ok".to_owned())]);
    let output = find(&["--max-spacepoints", "6", "--on-error", "skip", &input]);
    failed(&output, 5, &[words, "1 error,"]);
    assert_eq!(statuses(&stdout(&output)), [(0, "ok".to_owned()), (2, "ok".to_owned())]);
    assert_eq!(succeeded(find(&["--max-spacepoints", "12", &input])).lines().count(), 1 + 3);
    for command in ["find", "evaluate", "histogram"] {
        failed(&zfinder(&[command, "--max-spacepoints", "0", &input]), 2, &["--max-spacepoints"]);
    }
}

#[test]
fn evaluate_skips_too_and_counts_once() {
    let dir = folder();
    let input = written(&dir, "a.csv", &format!("event_id,rho,phi,z,layer\n{}9,x,1,1,0\n", tracks(0)));
    let truth = written(&dir, "t.csv", "event,vz_mm,is_hard_scatter\n0,0,1\n");
    let evaluate = ["evaluate", "-q", "--engine", "reference", "--truth", &truth, "--preset", "default", "--preset"];
    let output = zfinder(&[&evaluate[..], &["thesis", "--on-error", "skip", &input]].concat());
    failed(&output, 5, &["a.csv, row 8, column rho", "the input has 1 error, which was"]);
    assert_eq!(stderr(&output).matches("skipped: ").count(), 1, "{}", stderr(&output));
    failed(&zfinder(&[&evaluate[..], &["thesis", &input]].concat()), 1, &["a.csv, row 8, column rho"]);
}

#[cfg(unix)]
mod unix {
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    use super::*;

    /// Runs a script of bash, in which `zfinder` is `$0`, with a limit on the address space
    /// \[KiB\].
    fn bash(script: &str, arguments: &[&str], most_kib: Option<u64>) -> Output {
        let limit = most_kib.map(|kib| format!("ulimit -v {kib}; ")).unwrap_or_default();
        Command::new("bash")
            .args(["-c", &(limit + script), env!("CARGO_BIN_EXE_zfinder")])
            .args(arguments)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("there is bash")
    }

    #[test]
    fn pipes_of_every_kind_are_read_once() {
        let event = sample("zee7_mu2/event000000003-spacepoint.csv.gz");
        let expected = succeeded(find(&[&event])).replace("\n3,", "\n0,");
        let find = "\"$0\" find -q --engine reference --format csv";
        for script in [
            format!("{find} <(zcat \"$1\")"),
            format!("{find} <(cat \"$1\")"),
            format!("zcat \"$1\" | {find} /dev/stdin"),
            format!("cat \"$1\" | {find} -"),
            format!("{find} /dev/stdin < \"$1\""),
            format!("mkfifo \"$2\"; zcat \"$1\" > \"$2\" & {find} \"$2\""),
        ] {
            let dir = folder();
            let pipe = dir.path().join("pipe").display().to_string();
            assert_eq!(succeeded(bash(&script, &[&event, &pipe], None)), expected, "{script}");
        }
        // Tables of RoIs and truth may be pipes too. An error names the stream and its row.
        let script = "\"$0\" find -q --engine reference <(zcat \"$1\") --truth <(printf 'event_id,z\\n0,14.8\\n') \
                      --rois <(printf 'event_id,roi_id,phi_min,phi_max\\n0,4,-1,1\\n')";
        let table = succeeded(bash(script, &[&event], None));
        assert!(table.contains("1 RoI with truth"), "{table}");
        let output = bash("\"$0\" find -q <(printf 'x,y,z,layer\\n1,2,x,0\\n')", &[], None);
        failed(&output, 1, &["/dev/fd/", "row 2, column z: `x` is not a number"]);
        let output = bash("\"$0\" find -q <(printf PAR1) <(printf root)", &[], None);
        failed(&output, 1, &["Parquet files are read from their end, and this is a stream: save this in a file"]);
    }

    /// Limit of the address space of a run, far below the size of its input.
    const MOST_KIB: u64 = 700_000;

    #[test]
    fn endless_input_takes_little_memory() {
        let find = "\"$0\" find -q --engine reference";
        let dir = folder();
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![0; 1 << 20];
        bomb.write_all(b"x,y,z,layer\n").expect("in memory");
        (0..1000).for_each(|_| bomb.write_all(&zeros).expect("in memory"));
        let path = dir.path().join("bomb.csv.gz");
        fs::write(&path, bomb.finish().expect("in memory")).expect("written");
        let path = path.display().to_string();
        let good = sample("rois/spacepoints.csv");
        for (script, words) in [
            (format!("{find} /dev/zero"), "/dev/zero: the first line is no text"),
            (format!("{find} - < /dev/zero"), "standard input: the first line is no text"),
            (format!("{find} \"$1\" --config /dev/zero"), "/dev/zero: is longer than 64 MiB"),
            (format!("{find} \"$1\" --detector <(yes)"), "is longer than 64 MiB"),
            (
                format!("{find} \"$2\" --truth <(echo event,vz_mm,is_hard_scatter; yes 1,2,0)"),
                "row 4000002: there are more than 4000000 rows",
            ),
            (format!("{find} \"$1\" --rois /dev/zero"), "/dev/zero, row 1: the row is longer than 16 MiB"),
            (format!("{find} \"$1\""), "bomb.csv.gz, row 2: the row is longer than 16 MiB"),
            (
                format!("{find} <(printf 'event_id,x,y,z,layer\\n'; yes 1,30,40,5,0)"),
                "row 2000002: event 1 has more than 2000000 spacepoints",
            ),
            (
                format!("{find} --max-spacepoints 100 <(printf 'event_id,x,y,z,layer\\n'; yes 1,30,40,5,0)"),
                "row 102: event 1 has more than 100 spacepoints",
            ),
        ] {
            failed(&bash(&script, &[&path, &good], Some(MOST_KIB)), 1, &[words]);
        }
    }

    #[test]
    fn names_that_are_not_utf_8_and_other_files_are_listed() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let dir = folder();
        let row = format!("event_id,rho,phi,z,layer\n{}", tracks(2));
        fs::write(dir.path().join(OsStr::from_bytes(b"a\xff.csv")), &row).expect("written");
        fs::write(dir.path().join(OsStr::from_bytes(b"b\xff.csv")), "no,spacepoints\n1,2\n").expect("written");
        written(&dir, "notes.txt", "of the night");
        written(&dir, ".hidden", "");
        written(&dir, "truth_vertices.csv", "event,vz_mm,is_hard_scatter\n2,0,1\n");
        fs::create_dir(dir.path().join("more")).expect("made");
        let output = find(&[&dir.path().display().to_string()]);
        assert_eq!(statuses(&stdout(&output)), [(2, "ok".to_owned())]);
        failed(&output, 0, &["left out: ", "b\u{fffd}.csv", "notes.txt", "/more"]);
        assert!(!stderr(&output).contains("hidden") && !stderr(&output).contains("a\u{fffd}"), "{}", stderr(&output));
        assert!(Path::new(&sample("zee7_mu2")).is_dir());
    }
}
