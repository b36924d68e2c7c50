//! Errors that are skipped, and rows above the limit.

use parquet::file::properties::WriterProperties;
use zfinder::{Detector, Roi};
use zfinder_io::{OnError, ReadOptions, SpacepointReader};

use super::columns::Column;
use super::{f64s, folder, ids, written, written_so};

/// RoIs as (event, spacepoints, invalid spacepoints), and errors.
type Read = (Vec<(u64, usize, usize)>, Vec<String>);

fn read(path: &std::path::Path, on_error: OnError, max_spacepoints: usize) -> Read {
    let options = ReadOptions { on_error, max_spacepoints };
    let reader = SpacepointReader::new(vec![path.to_owned()], Detector::generic(), None).with_options(options);
    let (mut rois, mut errors) = (Vec::new(), Vec::new());
    for roi in reader {
        match roi {
            Ok(Roi { descriptor, spacepoints }) => {
                let invalid = spacepoints.iter().filter(|point| !point.rho.is_finite() || point.rho <= 0.0).count();
                rois.push((descriptor.id.event_id, spacepoints.len(), invalid));
            }
            Err(error) => errors.push(error.to_string()),
        }
    }
    (rois, errors)
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

#[test]
fn the_rest_of_a_file_is_left_out_after_a_null() {
    let dir = folder();
    let columns = vec![
        ("event_id", ids(&[1, 2])),
        ("x", Column::lists(&[&[30.0, 70.0], &[30.0]])),
        ("y", Column::lists(&[&[1.0, 1.0], &[1.0]])),
        ("z", Column::nullable_lists(&super::columns::LIST, &[Some(vec![Some(1.0), Some(2.0)]), Some(vec![None])])),
        ("layer", Column::lists(&[&[0, 1], &[0]])),
    ];
    let path = written(&dir, columns, 1);
    let (rois, errors) = read(&path, OnError::Skip, 100);
    assert_eq!(rois, [(1, 2, 0)]);
    assert_told(&errors, &["row 2, column z: item 1 of the list is null"]);
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
