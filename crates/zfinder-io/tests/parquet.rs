//! Parquet files, read and written: the shared specimens, round trips, and everything that is refused.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, LargeListBuilder, ListBuilder, UInt16Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray,
    UInt8Array, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::{WriterProperties, WriterVersion};
use tempfile::TempDir;
use zfinder::{Detector, Roi, RoiDescriptor, RoiId, RoiResult, Spacepoint, Status, Vertex};
use zfinder_io::{ParquetSpacepoints, ParquetVertices, Result, SpacepointReader, SpacepointWriter, TruthTable, inputs};

use zfinder_testing::shared;

fn read(path: &Path) -> Result<Vec<Roi>> {
    SpacepointReader::new(vec![path.to_owned()], Detector::generic(), None).collect()
}

fn read_csv(folder: &Path) -> BTreeMap<u64, Vec<Spacepoint>> {
    let files = inputs(&[folder.to_owned()]).expect("files").files;
    let rois = SpacepointReader::new(files, Detector::generic(), None).map(|roi| roi.expect("a good file"));
    rois.map(|roi| (roi.descriptor.id.event_id, roi.spacepoints)).collect()
}

/// A file with these columns, in row groups of so many rows.
fn written(dir: &TempDir, columns: Vec<(&str, ArrayRef)>, rows: usize) -> PathBuf {
    written_so(dir, columns, WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build())
}

fn written_so(dir: &TempDir, columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) -> PathBuf {
    let path = dir.path().join("spacepoints.parquet");
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length");
    let mut writer =
        ArrowWriter::try_new(File::create(&path).expect("a file"), batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    path
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn f64s(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn lists(rows: &[&[f32]]) -> ArrayRef {
    let mut builder = ListBuilder::new(Float32Builder::new());
    for row in rows {
        builder.values().append_slice(row);
        builder.append(true);
    }
    Arc::new(builder.finish())
}

fn layer_lists(rows: &[&[u16]]) -> ArrayRef {
    let mut builder = LargeListBuilder::new(UInt16Builder::new());
    for row in rows {
        builder.values().append_slice(row);
        builder.append(true);
    }
    Arc::new(builder.finish())
}

fn ids(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

#[track_caller]
fn refused(columns: Vec<(&str, ArrayRef)>, words: &[&str]) {
    let dir = folder();
    let error = read(&written(&dir, columns, 1000)).expect_err("refused").to_string();
    for word in words.iter().chain(&["spacepoints.parquet"]) {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

#[test]
fn the_specimens_hold_the_events_of_the_csv_files() {
    for (name, events, csv) in [("zee7_mu2", 50, "zee7_mu2"), ("tt14_mu46", 5, "tt14_mu46")] {
        let Some(file) = shared(&format!("data/formats/colliderml/{name}_tracker_hits.parquet")) else { return };
        let Some(folder) = shared(&format!("data/acts/{csv}")) else { return };
        let wanted = read_csv(&folder);
        let found = read(&file).expect("a good file");
        assert_eq!(found.len(), events);
        for roi in &found {
            // Both are of single precision: the same bits.
            let event_id = roi.descriptor.id.event_id;
            assert_eq!(roi.spacepoints, wanted[&event_id], "event {event_id}");
        }
    }
}

#[test]
fn the_particles_say_where_the_vertices_are() {
    for name in ["zee7_mu2", "tt14_mu46"] {
        let Some(file) = shared(&format!("data/formats/colliderml/{name}_particles.parquet")) else { return };
        let Some(csv) = shared(&format!("data/acts/{name}/truth_vertices.csv")) else { return };
        let (found, wanted) = (TruthTable::read(&file).expect("truth"), TruthTable::read(&csv).expect("truth"));
        let mut events = 0;
        for event_id in 0..60 {
            let id = RoiId { event_id, roi_id: 0 };
            let of = |truth: &TruthTable| {
                let vertices = truth.vertices(id).iter().map(|vertex| (vertex.is_hard_scatter, vertex.z_mm));
                vertices.collect::<Vec<_>>()
            };
            let (found, wanted) = (of(&found), of(&wanted));
            if found.is_empty() {
                continue;
            }
            events += 1;
            assert_eq!(found.len(), wanted.len(), "event {event_id}");
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(found.0, wanted.0, "event {event_id}");
                assert!((found.1 - wanted.1).abs() <= 1e-5, "event {event_id}: {found:?}, {wanted:?}");
            }
        }
        assert!(events >= 5, "{events} events");
        assert!(found.has_pile_up());
    }
}

#[test]
fn a_vertex_is_where_most_of_its_particles_come_from() {
    let dir = folder();
    let columns = |numbers: &[i64], z: &[f64]| {
        vec![("event_id", ids(&[4, 4, 4, 4, 4, 4])), ("vertex_primary", ids(numbers)), ("vz", f64s(z))]
    };
    let path = written(&dir, columns(&[2, 1, 1, 1, 0, 3], &[7.0, 90.0, 5.5, 5.5, 1.0, -8.0]), 4);
    let truth = TruthTable::read(&path).expect("truth");
    let id = RoiId { event_id: 4, roi_id: 9 };
    assert_eq!(truth.hard_scatter_z(id), Some(5.5));
    assert_eq!(truth.vertices(id).iter().map(|vertex| vertex.z_mm).collect::<Vec<_>>(), [5.5, 7.0, -8.0]);

    let path = written(&dir, columns(&[2, 1, 1, 1, 0, 3], &[7.0, 90.0, f64::NAN, 5.5, 1.0, -8.0]), 100);
    let error = TruthTable::read(&path).expect_err("refused").to_string();
    assert!(error.contains("row 3") && error.contains("column vz") && error.contains("not finite"), "{error}");
    let path = written(&dir, vec![("event_id", ids(&[1])), ("vz", f64s(&[1.0]))], 100);
    let error = TruthTable::read(&path).expect_err("refused").to_string();
    assert!(error.contains("missing `vertex_primary`") && error.contains("`vz`"), "{error}");
}

fn rois() -> Vec<Roi> {
    let mut random = fastrand::Rng::with_seed(41);
    let layers = Detector::generic().layers().len() as u32;
    let mut rois = Vec::new();
    for event_id in [0, 7, u64::MAX, 3] {
        for roi_id in [5, 0, u64::MAX] {
            let size = [0, 1, 3, 40_000][random.usize(..4)];
            let mut point = || Spacepoint {
                rho: 10.0 + 900.0 * random.f64(),
                phi: 6.0 * (random.f64() - 0.5),
                z: 2000.0 * (random.f64() - 0.5),
                layer: random.u32(..layers),
            };
            let spacepoints = (0..size).map(|_| point()).collect();
            let descriptor = RoiDescriptor { id: RoiId { event_id, roi_id }, ..RoiDescriptor::default() };
            rois.push(Roi { descriptor, spacepoints });
        }
    }
    rois
}

#[test]
fn what_is_written_is_read_back_bit_by_bit() {
    let dir = folder();
    let path = dir.path().join("written.parquet");
    let wanted = rois();
    assert!(wanted.iter().any(|roi| roi.spacepoints.is_empty()));
    assert!(wanted.iter().map(|roi| roi.spacepoints.len()).sum::<usize>() > 1 << 16, "several batches");
    let file = File::create(&path).expect("a file");
    let mut writer: Box<dyn SpacepointWriter> = Box::new(ParquetSpacepoints::new(file, &path).expect("a writer"));
    wanted.iter().for_each(|roi| writer.write(roi.into()).expect("written"));
    writer.finish().expect("written");
    assert_eq!(read(&path).expect("read"), wanted);
}

/// A column has pages of its own length, and so do the batches that are read.
#[test]
fn lists_go_on_from_page_to_page() {
    let dir = folder();
    let path = dir.path().join("pages.parquet");
    let random = &mut fastrand::Rng::with_seed(43);
    // Numbers that f32 holds as well.
    let roi = |event_id, spacepoints: usize, random: &mut fastrand::Rng| {
        let mut number = |most: f32| f64::from(most * random.f32());
        let spacepoints = (0..spacepoints)
            .map(|_| Spacepoint { rho: number(900.0), phi: number(3.0), z: number(900.0), layer: 2 })
            .collect();
        let descriptor = RoiDescriptor { id: RoiId { event_id, roi_id: 0 }, ..RoiDescriptor::default() };
        Roi { descriptor, spacepoints }
    };
    // A page of the writer's own choice holds 131,072 numbers.
    for (rois, spacepoints) in [(40, 7_001), (2, 150_000), (3_000, 100)] {
        let wanted: Vec<Roi> = (0..rois).map(|event_id| roi(event_id, spacepoints, random)).collect();
        let file = File::create(&path).expect("a file");
        let mut writer = Box::new(ParquetSpacepoints::new(file, &path).expect("a writer"));
        wanted.iter().for_each(|roi| writer.write(roi.into()).expect("written"));
        writer.finish().expect("written");
        assert!(read(&path).expect("read") == wanted, "{rois} RoIs of {spacepoints} spacepoints");
    }

    // And short pages of another writer, as lists and as rows.
    let wanted: Vec<Roi> = (0..500).map(|event_id| roi(event_id, random.usize(1..80), random)).collect();
    let sizes = || wanted.iter().map(|roi| roi.spacepoints.len());
    let layers: Vec<Vec<u16>> = sizes().map(|size| vec![2; size]).collect();
    let layers: Vec<&[u16]> = layers.iter().map(Vec::as_slice).collect();
    let events = (0..).zip(sizes()).flat_map(|(event, size)| std::iter::repeat_n(event, size));
    let mut as_lists = vec![("event_id", ids(&Vec::from_iter(0..500))), ("layer", layer_lists(&layers))];
    let mut as_rows = vec![("event_id", ids(&Vec::from_iter(events))), ("layer", ids(&vec![2; sizes().sum()]))];
    for (i, name) in ["rho", "phi", "z"].into_iter().enumerate() {
        let of = |roi: &Roi| roi.spacepoints.iter().map(|s| [s.rho, s.phi, s.z][i] as f32).collect::<Vec<_>>();
        let rows: Vec<Vec<f32>> = wanted.iter().map(of).collect();
        as_lists.push((name, lists(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())));
        as_rows.push((name, Arc::new(Float32Array::from(rows.concat()))));
    }
    for columns in [as_lists, as_rows] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_writer_version(version);
            let properties = properties.set_data_page_row_count_limit(7).set_write_batch_size(7).build();
            let path = written_so(&dir, columns.clone(), properties);
            assert!(read(&path).expect("read") == wanted, "{:?}, {version:?}", columns[0].1.len());
        }
    }
}

#[test]
fn rows_and_lists_and_all_types_give_the_same_bits() {
    let (x, y, z) = ([30.5f32, -40.25, 0.0, 7.0], [1.0f32, 2.5, -33.0, 8.0], [-5.0f32, 1e-3, 900.5, 0.0]);
    let layers = [0u16, 3, 1, 2];
    let wide = |values: &[f32]| f64s(&values.iter().copied().map(f64::from).collect::<Vec<_>>());
    let single = |values: &[f32]| -> ArrayRef { Arc::new(Float32Array::from(values.to_vec())) };
    let point = |i: usize| Spacepoint::from_xyz(x[i].into(), y[i].into(), z[i].into(), layers[i].into());
    let roi = |event_id, points: &[usize]| Roi {
        descriptor: RoiDescriptor { id: RoiId { event_id, roi_id: 0 }, ..RoiDescriptor::default() },
        spacepoints: points.iter().map(|&i| point(i)).collect(),
    };
    let wanted = vec![roi(9, &[0, 1, 2]), roi(2, &[3])];
    let events = [9i64, 9, 9, 2];
    let kinds: [ArrayRef; 4] = [
        Arc::new(Int8Array::from(layers.map(|layer| layer as i8).to_vec())),
        Arc::new(Int32Array::from(layers.map(i32::from).to_vec())),
        Arc::new(UInt8Array::from(layers.map(|layer| layer as u8).to_vec())),
        Arc::new(UInt64Array::from(layers.map(u64::from).to_vec())),
    ];
    let dir = folder();
    for rows in [1, 3, 100] {
        for layer in &kinds {
            let columns = vec![
                ("z", single(&z)),
                ("layer", layer.clone()),
                ("x", wide(&x)),
                ("unknown", wide(&x)),
                ("y", single(&y)),
                ("event_id", ids(&events)),
            ];
            assert_eq!(read(&written(&dir, columns, rows)).expect("read"), wanted);
        }
        let columns = vec![
            ("event_id", ids(&[9, 2])),
            ("x", lists(&[&x[..3], &x[3..]])),
            ("y", lists(&[&y[..3], &y[3..]])),
            ("z", lists(&[&z[..3], &z[3..]])),
            ("layer", layer_lists(&[&layers[..3], &layers[3..]])),
        ];
        assert_eq!(read(&written(&dir, columns, rows)).expect("read"), wanted);
    }
    // The same points through CSV.
    let path = dir.path().join("same.csv");
    let rows = (0..4).map(|i| {
        let [x, y, z] = [x[i], y[i], z[i]].map(f64::from);
        format!("{},{x},{y},{z},{}\n", events[i], layers[i])
    });
    fs::write(&path, "event_id,x,y,z,layer\n".to_owned() + &rows.collect::<String>()).expect("written");
    assert_eq!(read(&path).expect("read"), wanted);
    // Rows of several RoIs may be mixed within their event; cylindrical coordinates are taken as they are.
    let columns = vec![
        ("event_id", ids(&[1, 1, 1, 1])),
        ("roi_id", ids(&[8, 2, 8, 2])),
        ("rho", f64s(&[1.0, 2.0, 3.0, 4.0])),
        ("phi", f64s(&[0.1, 0.2, 0.3, 0.4])),
        ("z", f64s(&[5.0, 6.0, 7.0, 8.0])),
        ("layer", ids(&[0, 1, 2, 3])),
    ];
    let mixed = read(&written(&dir, columns, 3)).expect("read");
    let seen: Vec<_> = mixed.iter().map(|roi| (roi.descriptor.id.roi_id, roi.spacepoints[1])).collect();
    assert_eq!(seen[0], (8, Spacepoint { rho: 3.0, phi: 0.3, z: 7.0, layer: 2 }));
    assert_eq!(seen[1], (2, Spacepoint { rho: 4.0, phi: 0.4, z: 8.0, layer: 3 }));
}

#[test]
fn geometry_ids_volumes_and_the_files_name_are_understood() {
    let Some(folder_of_csv) = shared("data/acts/zee7_mu2") else { return };
    let wanted = read_csv(&folder_of_csv);
    let Some(file) = shared("data/formats/colliderml/zee7_mu2_tracker_hits.parquet") else { return };
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(file).expect("a file")).expect("parquet");
    let batch = builder.build().expect("a reader").next().expect("a batch").expect("a batch");
    let column = |name: &str| batch.column_by_name(name).expect("a column").as_list::<i32>().value(0);
    let volume = column("volume_id");
    let layer = column("layer_id");
    let volumes = volume.as_primitive::<arrow_array::types::UInt8Type>().values();
    let layers = layer.as_primitive::<arrow_array::types::UInt16Type>().values();
    let id =
        volumes.iter().zip(layers.iter()).map(|(&volume, &layer)| u64::from(volume) << 56 | u64::from(layer) << 36);
    let columns = vec![
        ("x", column("x")),
        ("y", column("y")),
        ("z", column("z")),
        ("geometry_id", Arc::new(UInt64Array::from_iter_values(id)) as ArrayRef),
    ];
    let dir = folder();
    let named = dir.path().join("event000000012-hits.parquet");
    fs::rename(written(&dir, columns, 1000), &named).expect("renamed");
    let found = read(&named).expect("read");
    assert_eq!(found[0].descriptor.id, RoiId { event_id: 12, roi_id: 0 });
    let layers = |points: &[Spacepoint]| points.iter().map(|point| point.layer).collect::<Vec<_>>();
    assert_eq!(layers(&found[0].spacepoints), layers(&wanted[&0]));
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
    let with = |name: &'static str, column: ArrayRef| {
        let mut columns = good();
        columns.retain(|(other, _)| *other != name);
        columns.push((name, column));
        columns
    };
    let without = |name: &str| good().into_iter().filter(|(other, _)| *other != name).collect::<Vec<_>>();
    let null: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(3.0)]));
    refused(with("z", null), &["row 2", "column z", "null"]);
    refused(
        with("layer", Arc::new(Int64Array::from(vec![Some(1), Some(0), None]))),
        &["row 3", "column layer", "null"],
    );
    refused(
        with("event_id", Arc::new(Int64Array::from(vec![None, Some(0), Some(1)]))),
        &["row 1", "column event_id", "null"],
    );
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
    refused(with("layer", f64s(&[0.0, 1.0, 2.0])), &["column layer", "whole numbers"]);
    refused(with("event_id", f64s(&[0.0, 1.0, 2.0])), &["column event_id", "whole number"]);
    refused(with("x", Arc::new(StringArray::from(vec!["1", "2", "3"]))), &["column x", "Utf8", "numbers"]);
    refused(without("layer"), &["missing column `layer`", "`event_id`", "volume_id,layer_id"]);
    refused(without("y"), &["missing column `y`"]);
    refused(with("event_id", ids(&[1, 2, 1])), &["event 1", "comes again"]);
    refused(good().into_iter().map(|(name, column)| (name, column.slice(0, 0))).collect(), &["no row"]);
    let mut unknown = without("layer");
    unknown.extend([("volume_id", ids(&[99, 98, 99])), ("layer_id", ids(&[2, 4, 2]))]);
    refused(unknown, &["row 1", "3 spacepoints lie", "(98, 4): 1", "(99, 2): 2"]);

    let two: &[&[f32]] = &[&[1.0, 2.0], &[3.0]];
    let good = |event: &[i64]| {
        vec![("event_id", ids(event)), ("x", lists(two)), ("y", lists(two)), ("layer", layer_lists(&[&[0, 1], &[2]]))]
    };
    let with_z = |column: ArrayRef| good(&[1, 2]).into_iter().chain([("z", column)]).collect::<Vec<_>>();
    refused(with_z(lists(&[&[1.0, 2.0], &[3.0, 4.0]])), &["row 2", "column z", "2 values", "`x` has 1"]);
    refused(with_z(lists(&[&[1.0, f32::NAN], &[3.0]])), &["row 1", "column z", "item 2", "not finite"]);
    refused(with_z(f64s(&[1.0, 2.0])), &["column z", "alike"]);
    let mut nulls = ListBuilder::new(Float32Builder::new());
    nulls.append_value([Some(1.0), Some(2.0)]);
    nulls.append_value([None]);
    refused(with_z(Arc::new(nulls.finish())), &["row 2", "column z", "item 1", "null"]);
    let mut null = ListBuilder::new(Float32Builder::new());
    null.append_value([Some(1.0), Some(2.0)]);
    null.append_null();
    refused(with_z(Arc::new(null.finish())), &["row 2", "column z", "null"]);
    let twice = good(&[1, 1]).into_iter().chain([("z", lists(two))]).collect();
    refused(twice, &["row 2", "event 1", "earlier row"]);
    let anonymous = good(&[1, 2]).into_iter().skip(1).chain([("z", lists(two))]).collect();
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
    // A flipped byte may go unnoticed in a number, but nothing may panic.
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

/// A page that says that its values are in a dictionary, and none is there: of the fuzzers' corpus.
#[test]
fn where_the_crate_panics_there_is_an_error() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parquet/no-dictionary.parquet");
    let error = read(&path).expect_err("damaged").to_string();
    for word in ["no-dictionary.parquet", "cannot be read beyond row 0", "it is damaged (parquet:"] {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

#[test]
fn vertices_are_written_as_in_csv() {
    let vertex = |z_mm, background| Vertex {
        z_mm,
        z_error_mm: 0.1,
        weight: 30.0,
        pairs: 30,
        significance: background,
        background,
    };
    let result = |event_id, vertices: Vec<Vertex>, status| RoiResult {
        id: RoiId { event_id, roi_id: 2 },
        vertices,
        status,
        spacepoints: 5,
        outside_window: 0,
    };
    let results =
        [result(1, vec![vertex(1.5, None), vertex(-2.5, Some(4.0))], Status::Ok), result(2, vec![], Status::NoPeak)];
    let dir = folder();
    let path = dir.path().join("vertices.parquet");
    let mut writer = ParquetVertices::new(File::create(&path).expect("a file"), &path).expect("a writer");
    results.iter().for_each(|result| writer.write(result).expect("written"));
    writer.finish().expect("written");
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).expect("a file")).expect("parquet");
    let batch = builder.build().expect("a reader").next().expect("a batch").expect("a batch");
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names.join(","), zfinder_io::CSV_HEADER);
    let numbers = |name: &str| -> Vec<Option<f64>> {
        batch.column_by_name(name).expect("a column").as_primitive::<Float64Type>().iter().collect()
    };
    assert_eq!(numbers("z_mm"), [Some(1.5), Some(-2.5), None]);
    assert_eq!(numbers("weight"), [Some(30.0), Some(30.0), None]);
    assert_eq!(numbers("z_error_mm"), [Some(0.1), Some(0.1), None]);
    assert_eq!(numbers("background"), [None, Some(4.0), None]);
    assert_eq!(numbers("significance"), [None, Some(4.0), None]);
    assert_eq!(batch.column(0).as_primitive::<UInt64Type>().values(), &[1, 1, 2]);
    assert_eq!(batch.column(2).as_primitive::<UInt32Type>().iter().collect::<Vec<_>>(), [Some(0), Some(1), None]);
    assert_eq!(batch.column(5).as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["ok", "ok", "no_peak"]);
}
