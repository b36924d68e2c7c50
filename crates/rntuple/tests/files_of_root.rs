//! Files that ROOT and uproot wrote, against what uproot reads in them. They are not part of the
//! project: without them the tests say that they skip.

mod common;

use std::path::PathBuf;

use common::value;
use rntuple::RootFile;
use serde_json::{Value, json};

const FOLDER: &str = "../../../shared/data/rntuple";
/// Entries that `expected.json` has.
const FIRST: u64 = 5;

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: there is no folder {FOLDER}");
    None
}

#[test]
fn every_field_has_the_values_that_uproot_reads() {
    let Some(folder) = folder() else { return };
    let expected = std::fs::read_to_string(folder.join("expected.json")).expect("expected.json");
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    let mut compared = 0;
    for (name, ntuples) in expected.as_object().expect("files") {
        for (path, ntuple) in ntuples.as_object().expect("RNTuples") {
            let mut file = RootFile::open(folder.join(name)).expect("a file");
            let mut found = file.ntuple(path).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(json!(found.entries()), ntuple["entries"], "{name}");
            for (field, wanted) in ntuple["fields"].as_object().expect("fields") {
                let place = format!("{name}, {field}");
                let field = field.replace(".0", "._0").replace(".1", "._1");
                assert_eq!(json!(found.field(&field).expect("a field").type_name()), wanted["type"], "{place}");
                let selection = found.select(&field).unwrap_or_else(|error| panic!("{place}: {error}"));
                let count = found.entries().min(FIRST);
                let array = found.read(&selection, 0..count).unwrap_or_else(|error| panic!("{place}: {error}"));
                let values: Value = (0..count as usize).map(|at| value(&array, at)).collect();
                match &wanted["first_entries"] {
                    // The text of a long value is cut off. Its members are compared below their own
                    // names.
                    Value::String(cut_off) => assert!(cut_off.ends_with("..."), "{place}: {cut_off}"),
                    wanted => assert_eq!(&values, wanted, "{place}"),
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn entries_are_the_same_in_pieces_of_any_length() {
    let Some(folder) = folder() else { return };
    let mut random = fastrand::Rng::with_seed(68);
    for path in std::fs::read_dir(folder).expect("a folder") {
        let path = path.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "root") {
            continue;
        }
        let file = RootFile::open(&path).expect("a file");
        let name = file.objects().iter().find(|object| object.is_ntuple()).expect("an RNTuple").path().to_owned();
        let mut ntuple = file.into_ntuple(&name).expect("an RNTuple");
        let entries = ntuple.entries().min(3000);
        for field in ntuple.paths() {
            let selection = ntuple.select(&field).expect("a field that is read");
            let all = ntuple.read(&selection, 0..entries).expect("all entries");
            assert_eq!(all.len(), entries);
            let mut begin = 0;
            while begin < entries {
                let end = entries.min(begin + random.u64(1..=entries / 3 + 1));
                let part = ntuple.read(&selection, begin..end).expect("some entries");
                for at in begin..end {
                    assert_eq!(
                        value(&part, (at - begin) as usize),
                        value(&all, at as usize),
                        "{path:?}, {field}, {at}"
                    );
                }
                begin = end;
            }
        }
    }
}

#[test]
fn a_small_file_of_many_entries_takes_little_memory() {
    let Some(folder) = folder() else { return };
    let file = RootFile::open(folder.join("test_int_multicluster_rntuple_v1-0-0-0.root")).expect("a file");
    let mut ntuple = file.into_ntuple("ntuple").expect("an RNTuple");
    assert_eq!(ntuple.entries(), 100_000_000);
    let selection = ntuple.select("one_integers").expect("a field");
    let error = ntuple.read(&selection, 0..ntuple.entries()).expect_err("too many entries").to_string();
    assert!(error.contains("read fewer entries at once"), "{error}");
    for begin in (0..1_000_000).step_by(1000).chain([99_999_000]) {
        assert_eq!(ntuple.read(&selection, begin..begin + 1000).expect("entries").len(), 1000);
    }
    assert!(ntuple.read(&selection, 99_999_999..100_000_001).is_err());
}
