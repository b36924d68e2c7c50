//! Objects of the hard scatter.

use super::*;
use zfinder::region::{ObjectKind, SeedObject};
use zfinder_io::ObjectTable;

fn object(eta: f64, phi: f64, et: f64, kind: ObjectKind) -> SeedObject {
    SeedObject::new(eta, phi, et, kind).expect("valid")
}

#[test]
fn objects_in_rows_and_in_lists_are_the_same() {
    let dir = folder();
    let rows = vec![
        ("event_id", Column::flat(&[3u64, 3, 8])),
        ("eta", f64s(&[0.5, -1.25, 2.0])),
        ("phi", f64s(&[0.1, -3.0, 1.0])),
        ("et", f64s(&[30.0, 12.0, 9.0])),
        ("kind", Column::flat(&["muon", "", "jet"])),
    ];
    let lists = vec![
        ("event_id", Column::flat(&[3u64, 5, 8])),
        ("kind", Column::lists(&[&["muon", "electron"][..], &[], &["jet"]])),
        ("eta", Column::lists(&[&[0.5f32, -1.25][..], &[], &[2.0]])),
        ("phi", Column::lists(&[&[0.1f64, -3.0][..], &[], &[1.0]])),
        ("et", Column::lists(&[&[30.0f32, 12.0][..], &[], &[9.0]])),
    ];
    for columns in [rows, lists] {
        let table = ObjectTable::read(&written(&dir, columns, 2)).expect("good");
        let first = [object(0.5, 0.1, 30.0, ObjectKind::Muon), object(-1.25, -3.0, 12.0, ObjectKind::Electron)];
        assert_eq!(table.of_event(3), first);
        assert_eq!(table.of_event(8), [object(2.0, 1.0, 9.0, ObjectKind::Jet)]);
        assert!(table.of_event(5).is_empty());
    }
}

#[test]
fn bad_objects_say_where_and_what() {
    let dir = folder();
    let columns = |et: &[f64], kinds: &[&'static str]| {
        let same = vec![0.5; et.len()];
        let events = vec![1u64; et.len()];
        vec![
            ("event_id", Column::flat(&events)),
            ("eta", f64s(&same)),
            ("phi", f64s(&same)),
            ("et", f64s(et)),
            ("kind", Column::flat(kinds)),
        ]
    };
    let without = |name: &str| {
        let mut all = columns(&[9.0], &["jet"]);
        all.retain(|(other, _)| *other != name);
        all
    };
    let lists = |et: Column| {
        let mut all = without("et");
        all.push(("et", et));
        all
    };
    for (columns, words) in [
        (columns(&[9.0, 0.0], &["", ""]), &["row 2", "`et` of an object: 0 must be"][..]),
        (columns(&[9.0, 9.0], &["", "tau"]), &["row 2", "column kind", "tau is not one of electron"]),
        (columns(&[], &[]), &["no object"]),
        (without("et"), &["missing `et`", "`event_id,eta,phi,et`"]),
        (lists(Column::lists(&[&[9.0][..]])), &["column et", "lists"]),
        (lists(Column::flat(&["9"])), &["column et", "numbers"]),
        (lists(Column::optional([None::<f64>])), &["row 1", "column et", "null"]),
    ] {
        let error = ObjectTable::read(&written(&dir, columns, 10)).expect_err("refused").to_string();
        for word in words {
            assert!(error.contains(word), "no `{word}` in: {error}");
        }
    }
    assert!(ObjectTable::read(&written(&dir, without("kind"), 10)).is_ok());
}
