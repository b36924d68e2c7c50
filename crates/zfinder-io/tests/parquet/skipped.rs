//! Errors that are skipped, and rows above the limit.

use parquet::file::properties::WriterProperties;
use zfinder::Detector;
use zfinder_io::{OnError, ReadOptions, SpacepointReader};

use super::columns::Column;
use super::common::read_all;
use super::{f64s, folder, ids, written, written_so};

/// RoIs as (event, spacepoints, invalid spacepoints), and errors.
type Read = (Vec<(u64, usize, usize)>, Vec<String>);

fn read(path: &std::path::Path, on_error: OnError, max_spacepoints: usize) -> Read {
    let options = ReadOptions { on_error, max_spacepoints, ..ReadOptions::default() };
    let reader = SpacepointReader::new(vec![path.to_owned()], Detector::generic(), None).with_options(options);
    read_all(reader)
}

fn assert_told(errors: &[String], words: &[&str]) {
    assert_eq!(errors.len(), words.len(), "{errors:#?}");
    for (error, word) in errors.iter().zip(words) {
        assert!(error.contains(word), "no `{word}` in {error}");
    }
}

#[test]
fn bad_rows_make_invalid_spacepoints_and_the_events_before_them_are_read() {
    let dir = folder();
    let nan = f64::NAN;
    let columns = vec![
        ("event_id", ids(&[1, 1, 2, 3, 3, 4, 5])),
        ("x", f64s(&[30.0, 70.0, 30.0, nan, 70.0, 0.0, 30.0])),
        ("y", f64s(&[1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0])),
        ("z", f64s(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])),
        ("layer", ids(&[0, 1, 0, 0, 1, 0, 77])),
    ];
    let path = written(&dir, columns, 100);
    let (rois, errors) = read(&path, OnError::Skip, 100);
    assert_eq!(rois, [(1, 2, 0), (2, 1, 0), (3, 2, 1), (4, 1, 1), (5, 1, 1)]);
    assert_told(
        &errors,
        &["row 4, column x: NaN is not finite", "row 6, column x: rho", "row 7, column layer: layer 77"],
    );
    let (rois, errors) = read(&path, OnError::Stop, 100);
    assert_eq!(rois, [(1, 2, 0), (2, 1, 0)]);
    assert_told(&errors, &["row 4, column x: NaN is not finite"]);
}

/// Bad rows of lists, in row groups of their own or all in one.
#[test]
fn a_null_or_an_unequal_list_costs_its_row_alone() {
    let dir = folder();
    for group_rows in [1, 100] {
        let two = |first: f64| Some(vec![Some(first), Some(2.0)]);
        let z = [two(1.0), Some(vec![None, Some(2.0)]), two(3.0), None, two(5.0), two(6.0), Some(vec![Some(7.0)])];
        let layers: [&[i32]; 7] = [&[0, 1], &[0, 1], &[0, 1], &[0, 1], &[0, -1], &[0, 1], &[0, 1]];
        let x: [&[f64]; 7] = [&[30.0, 70.0]; 7];
        let columns = vec![
            ("event_id", ids(&[1, 2, 3, 4, 5, 6, 7])),
            ("x", Column::lists(&x)),
            ("y", Column::lists(&x)),
            ("z", Column::nullable_lists(&super::columns::LIST, &z)),
            ("layer", Column::lists(&layers)),
        ];
        let path = written(&dir, columns, group_rows);
        let (rois, errors) = read(&path, OnError::Skip, 100);
        assert_eq!(rois, [(1, 2, 0), (2, 1, 1), (3, 2, 0), (4, 1, 1), (5, 1, 1), (6, 2, 0), (7, 1, 1)]);
        let expected = [
            "row 2, column z: item 1 of the list is null",
            "row 4, column z: is null",
            "row 5, column layer: item 2 of the list -1 is not a whole number",
            "row 7, column z: the list has 1 values, that of `x` has 2",
        ];
        assert_told(&errors, &expected);
        let (rois, errors) = read(&path, OnError::Stop, 100);
        assert_eq!(rois, [(1, 2, 0)], "the event before the error is whole");
        assert_told(&errors, &expected[..1]);
    }
}

/// A row without its event may belong to the event before it or after it.
#[test]
fn a_null_in_a_flat_table_costs_its_event_and_a_lost_event_number_costs_both_beside_it() {
    let dir = folder();
    for group_rows in [1, 2, 100] {
        let events = [Some(1i64), Some(1), Some(2), Some(2), Some(3), None, Some(4), Some(5), Some(6), None];
        let x = [30.0, 70.0, 30.0, 70.0, 30.0, 70.0, 30.0, 30.0, 30.0, 30.0];
        let z =
            [Some(1.0), Some(1.0), None, Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0)];
        let columns = vec![
            ("event_id", Column::optional(events)),
            ("x", f64s(&x)),
            ("y", f64s(&x)),
            ("z", Column::optional(z)),
            ("layer", ids(&[0, 1, 0, 1, 0, 1, 0, 0, 0, 0])),
        ];
        let path = written(&dir, columns, group_rows);
        let (rois, errors) = read(&path, OnError::Skip, 100);
        assert_eq!(rois, [(1, 2, 0), (2, 2, 1), (3, 2, 1), (4, 2, 1), (5, 1, 0), (6, 2, 1)], "{group_rows}");
        let expected =
            ["row 3, column z: is null", "row 6, column event_id: is null", "row 10, column event_id: is null"];
        assert_told(&errors, &expected);
        let (rois, errors) = read(&path, OnError::Stop, 100);
        assert_eq!(rois, [(1, 2, 0)]);
        assert_told(&errors, &expected[..1]);
    }
}

#[test]
fn an_event_that_comes_back_is_invalid_where_it_comes_first() {
    let dir = folder();
    for group_rows in [1, 3, 100] {
        let x = [30.0, 70.0, 30.0, 70.0, 30.0];
        let columns = vec![
            ("event_id", ids(&[1, 1, 2, 3, 1])),
            ("x", f64s(&x)),
            ("y", f64s(&x)),
            ("z", f64s(&x)),
            ("layer", ids(&[0; 5])),
        ];
        let path = written(&dir, columns, group_rows);
        let (rois, errors) = read(&path, OnError::Skip, 100);
        assert_eq!(rois, [(1, 3, 1), (2, 1, 0), (3, 1, 0)]);
        assert_told(&errors, &["event 1, RoI 0 comes again"]);
        let lists: [&[f64]; 3] = [&[30.0, 70.0], &[30.0], &[70.0]];
        let layers: [&[i32]; 3] = [&[0, 1], &[0], &[1]];
        for (events, expected) in [([1, 2, 1], vec![(1, 3, 1), (2, 1, 0)]), ([1, 1, 2], vec![(1, 3, 1), (2, 1, 0)])] {
            let columns = vec![
                ("event_id", ids(&events)),
                ("x", Column::lists(&lists)),
                ("y", Column::lists(&lists)),
                ("z", Column::lists(&lists)),
                ("layer", Column::lists(&layers)),
            ];
            let path = written(&dir, columns, group_rows);
            let (rois, errors) = read(&path, OnError::Skip, 100);
            assert_eq!(rois, expected, "{events:?}");
            assert_eq!(errors.len(), 1, "{errors:?}");
        }
    }
}

#[test]
fn event_numbers_have_the_names_of_csv_files() {
    let dir = folder();
    let columns = |name: &'static str| {
        vec![
            (name, ids(&[1, 2])),
            ("x", f64s(&[30.0; 2])),
            ("y", f64s(&[30.0; 2])),
            ("z", f64s(&[30.0; 2])),
            ("layer", ids(&[0; 2])),
        ]
    };
    for name in ["event_id", "event", "Event_ID", "eventNumber", "event_number", "ievent", "event_index", "entry"] {
        let (rois, errors) = read(&written(&dir, columns(name), 100), OnError::Stop, 100);
        assert_eq!((rois, errors), (vec![(1, 1, 0), (2, 1, 0)], vec![]), "{name}");
    }
    let (rois, errors) = read(&written(&dir, columns("mc_event_number"), 100), OnError::Stop, 100);
    assert!(rois.is_empty());
    assert_told(&errors, &["`mc_event_number` looks like `event_id`"]);
}

#[test]
fn azimuths_in_degrees_are_questioned() {
    let dir = folder();
    let columns = vec![
        ("event_id", ids(&[1, 2])),
        ("rho", f64s(&[30.0, 70.0])),
        ("phi", f64s(&[1.0, 228.0])),
        ("z", f64s(&[1.0; 2])),
        ("layer", ids(&[0, 1])),
    ];
    let path = written(&dir, columns, 100);
    let (rois, errors) = read(&path, OnError::Stop, 100);
    assert_eq!(rois, [(1, 1, 0)]);
    assert_told(&errors, &["row 2, column phi: phi is 228 and must lie in [-2 pi, 2 pi]"]);
    assert_eq!(read(&path, OnError::Skip, 100).0, [(1, 1, 0), (2, 1, 1)]);
}

/// A row of a million spacepoints takes few bytes. It is refused before its values are in memory.
#[test]
fn rows_above_the_limit_are_refused() {
    let dir = folder();
    const MANY: usize = 1_000_000;
    let (numbers, layers) = (vec![30.0; MANY], vec![0i32; MANY]);
    let of = |long: bool| if long { &numbers[..] } else { &numbers[..3] };
    let rows = [false, true, false];
    let lists = rows.map(of);
    let layers = rows.map(|long| &layers[..of(long).len()]);
    let columns = [
        ("event_id", ids(&[1, 2, 3])),
        ("x", Column::lists(&lists)),
        ("y", Column::lists(&lists)),
        ("z", Column::lists(&lists)),
        ("layer", Column::lists(&layers)),
    ];
    let path = written_so(&dir, &columns, WriterProperties::default(), 100);
    for on_error in [OnError::Stop, OnError::Skip] {
        // Each page holds fewer values than the limit, or one page holds more.
        for most in [600_000, 200_000, 10, 3] {
            let (rois, errors) = read(&path, on_error, most);
            assert_eq!(rois[0], (1, 3, 0), "{most}");
            assert_eq!(errors.len(), 1, "{errors:?}");
            let told = format!("more than {most} spacepoints; if that is right, raise max_spacepoints");
            assert!(errors[0].contains(&told), "{errors:?}");
        }
        let (rois, errors) = read(&path, on_error, MANY);
        assert_eq!((rois, errors), (vec![(1, 3, 0), (2, MANY, 0), (3, 3, 0)], vec![]));
    }
}
