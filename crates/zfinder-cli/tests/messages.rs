//! Messages of failures: their first word, and what a terminal must not obey.

mod common;

use common::{failed, folder, stderr, written, zfinder};

#[test]
fn every_failure_begins_with_error() {
    let dir = folder();
    let bad = written(&dir, "bad.csv", "x,y,z,layer\n1,2,\u{1b}[2J,0\n");
    let find = ["find", "-q", "--engine", "reference"];
    for (arguments, code) in
        [(&[&bad[..]][..], 1), (&["no/such/file"], 1), (&[&bad, "--peaks", "0"], 2), (&["--no"], 2)]
    {
        let output = zfinder(&[&find, arguments].concat());
        failed(&output, code, &[]);
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
    failed(&zfinder(&[&find[..], &[&bad, "-o", "out.foo"]].concat()), 2, &[".csv, .json, .jsonl, .txt", ".parquet"]);
    let output = zfinder(&[&find[..], &[&bad]].concat());
    failed(&output, 1, &["row 2, column z", "\\u{1b}[2J"]);
    assert!(!stderr(&output).contains('\u{1b}'), "{:?}", stderr(&output));
}

#[test]
fn more_threads_than_a_system_has_are_refused() {
    for command in [&["find", "--engine", "cpu", "x.csv"][..], &["simulate"], &["bench", "--engine", "cpu"]] {
        failed(&zfinder(&[command, &["--threads", "100000"]].concat()), 2, &["is the most: 8 for each core"]);
    }
}
