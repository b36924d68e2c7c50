//! Everything that is refused: types and values with their place, and damaged files.

use std::fs;
use std::path::Path;

use zfinder_io::{ParquetSpacepoints, SpacepointWriter};

use crate::columns::{self, Column};
use crate::{f64s, folder, ids, read, written};
use zfinder_testing::rois::rois;

#[track_caller]
fn refused(columns: Vec<(&str, Column)>, words: &[&str]) {
    let dir = folder();
    let error = read(&written(&dir, columns, 1000)).expect_err("refused").to_string();
    for word in words.iter().chain(&["spacepoints.parquet"]) {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let good = || {
        vec![
            ("event_id", ids(&[1, 1, 2])),
            ("x", f64s(&[1.0, 2.0, 3.0])),
            ("y", f64s(&[1.0, 2.0, 3.0])),
            ("z", f64s(&[1.0, 2.0, 3.0])),
            ("layer", ids(&[0, 1, 2])),
        ]
    };
    let with = |name: &'static str, column: Column| {
        let mut columns = good();
        columns.retain(|(other, _)| *other != name);
        columns.push((name, column));
        columns
    };
    let without = |name: &str| good().into_iter().filter(|(other, _)| *other != name).collect::<Vec<_>>();
    let null = Column::optional([Some(1.0), None, Some(3.0)]);
    refused(with("z", null), &["row 2", "column z", "null"]);
    refused(with("layer", Column::optional([Some(1i64), Some(0), None])), &["row 3", "column layer", "null"]);
    refused(with("event_id", Column::optional([None, Some(0i64), Some(1)])), &["row 1", "column event_id", "null"]);
    refused(with("z", f64s(&[1.0, 2.0, f64::NAN])), &["row 3", "column z", "NaN is not finite"]);
    refused(with("y", f64s(&[1.0, f64::INFINITY, 2.0])), &["row 2", "column y", "inf is not finite"]);
    refused(with("x", f64s(&[1e200, 1.0, 2.0])), &["row 1", "column x", "inf mm"]);
    let mut on_axis = with("x", f64s(&[1.0, 2.0, 0.0]));
    on_axis.retain(|(name, _)| *name != "y");
    on_axis.push(("y", f64s(&[1.0, 2.0, 0.0])));
    refused(on_axis, &["row 3", "column x", "0 mm", "above 0"]);
    refused(with("layer", ids(&[0, 99, 1])), &["row 2", "column layer", "layer 99", "generic"]);
    refused(with("layer", ids(&[0, -1, 1])), &["row 2", "column layer", "-1 is not a whole number"]);
    refused(with("event_id", ids(&[1, 1, -2])), &["row 3", "column event_id", "-2"]);
    refused(with("layer", f64s(&[0.0, 1.5, 2.0])), &["row 2", "column layer", "1.5 is not a whole number"]);
    refused(with("event_id", f64s(&[0.0, 1.0, f64::NAN])), &["row 3", "column event_id", "NaN is not a whole number"]);
    refused(with("x", Column::flat(&["1", "2", "3"])), &["column x", "Utf8", "numbers"]);
    refused(without("layer"), &["missing column `layer`", "`event_id`", "volume_id,layer_id"]);
    refused(without("y"), &["missing column `y`"]);
    refused(with("event_id", ids(&[1, 2, 1])), &["event 1", "comes again"]);
    let twice = good().into_iter().chain([("x", f64s(&[7.0, 7.0, 7.0]))]).collect();
    refused(twice, &["two columns `x`"]);
    for (name, key) in [("evnt_id", "event_id"), ("RoI_id", "roi_id")] {
        let mut alike = if key == "event_id" { without(key) } else { good() };
        alike.push((name, ids(&[1, 1, 2])));
        refused(alike, &[&format!("column `{name}` looks like `{key}`")]);
    }
    refused(good().into_iter().map(|(name, column)| (name, column.emptied())).collect(), &["no row"]);
    let mut unknown = without("layer");
    unknown.extend([("volume_id", ids(&[99, 98, 99])), ("layer_id", ids(&[2, 4, 2]))]);
    refused(unknown, &["row 1", "3 spacepoints lie", "(98, 4): 1", "(99, 2): 2"]);

    let two: &[&[f32]] = &[&[1.0, 2.0], &[3.0]];
    let good = |event: &[i64]| {
        vec![
            ("event_id", ids(event)),
            ("x", Column::lists(two)),
            ("y", Column::lists(two)),
            ("layer", Column::lists::<u16>(&[&[0, 1], &[2]])),
        ]
    };
    let with_z = |column: Column| good(&[1, 2]).into_iter().chain([("z", column)]).collect::<Vec<_>>();
    refused(with_z(Column::lists::<f32>(&[&[1.0, 2.0], &[3.0, 4.0]])), &["row 2", "column z", "2 values", "`x` has 1"]);
    refused(with_z(Column::lists::<f32>(&[&[1.0, f32::NAN], &[3.0]])), &["row 1", "column z", "item 2", "not finite"]);
    refused(with_z(f64s(&[1.0, 2.0])), &["column z", "alike"]);
    let two_rows = |second| [Some(vec![Some(1.0f32), Some(2.0)]), second];
    let lists = |second| Column::nullable_lists(&columns::LIST, &two_rows(second));
    refused(with_z(lists(Some(vec![None]))), &["row 2", "column z", "item 1", "null"]);
    refused(with_z(lists(None)), &["row 2", "column z", "null"]);
    let twice = good(&[1, 1]).into_iter().chain([("z", Column::lists(two))]).collect();
    refused(twice, &["row 2", "event 1", "earlier row"]);
    let anonymous = good(&[1, 2]).into_iter().skip(1).chain([("z", Column::lists(two))]).collect();
    refused(anonymous, &["missing column `event_id`"]);
}

#[test]
fn damaged_files_are_errors() {
    let dir = folder();
    let path = dir.path().join("damaged.parquet");
    let mut bytes = Vec::new();
    let mut writer = Box::new(ParquetSpacepoints::new(&mut bytes, &path).expect("a writer"));
    rois().iter().take(4).for_each(|roi| writer.write(roi.into()).expect("written"));
    writer.finish().expect("written");
    for part in 0..40 {
        fs::write(&path, &bytes[..4 + (bytes.len() - 5) * part / 40]).expect("written");
        let error = read(&path).expect_err("cut off").to_string();
        assert!(error.contains("no Parquet file, or a damaged one"), "{error}");
    }
    // A flipped byte may stay undetected in a number, but nothing may panic.
    let mut random = fastrand::Rng::with_seed(8);
    for _ in 0..300 {
        let tail = random.bool();
        let at =
            if tail { bytes.len() - 1 - random.usize(..1200.min(bytes.len())) } else { random.usize(..bytes.len()) };
        let before = bytes[at];
        bytes[at] ^= 1 << random.u8(..8);
        fs::write(&path, &bytes).expect("written");
        let _either = read(&path);
        bytes[at] = before;
    }
}

/// A page claims values in a dictionary that does not exist. From the corpus of the fuzzers.
#[test]
fn where_the_crate_panics_there_is_an_error() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parquet/no-dictionary.parquet");
    let error = read(&path).expect_err("damaged").to_string();
    for word in ["no-dictionary.parquet", "cannot be read beyond row 0", "it is damaged (parquet:"] {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}
