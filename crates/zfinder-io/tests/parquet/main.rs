//! Tests of Parquet files, read and written: the shared specimens, round trips, and refused files.

mod checksum;
mod colliderml;
mod columns;
#[path = "../common/mod.rs"]
mod common;
mod objects;
mod refused;
mod skipped;
mod written;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use columns::{Column, Form};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use tempfile::TempDir;
use zfinder::{Detector, Roi, RoiDescriptor, RoiId, Spacepoint};
use zfinder_io::{MemoryFile, ParquetSpacepoints, Result, SpacepointReader, SpacepointWriter, TruthTable, inputs};

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
fn written(dir: &TempDir, columns: Vec<(&str, Column)>, rows: usize) -> PathBuf {
    written_so(dir, &columns, WriterProperties::default(), rows)
}

fn written_so(dir: &TempDir, columns: &[(&str, Column)], properties: WriterProperties, rows: usize) -> PathBuf {
    let path = dir.path().join("spacepoints.parquet");
    columns::write(&path, columns, properties, rows);
    path
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn f64s(values: &[f64]) -> Column {
    Column::flat(values)
}

fn ids(values: &[i64]) -> Column {
    Column::flat(values)
}

/// Returns the rows of a file as the crate's own record reader decodes them.
fn records(path: &Path) -> Vec<Row> {
    let file = SerializedFileReader::new(File::open(path).expect("a file")).expect("parquet");
    file.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(other, _)| *other == name).expect("a column").1
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
            // Both have single precision, so the bits are the same.
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

/// Pages of a column have their own lengths, which differ from those of batches.
#[test]
fn lists_go_on_from_page_to_page() {
    let dir = folder();
    let path = dir.path().join("pages.parquet");
    let random = &mut fastrand::Rng::with_seed(43);
    // Numbers that f32 represents exactly.
    let roi = |event_id, spacepoints: usize, random: &mut fastrand::Rng| {
        let mut number = |most: f32| f64::from(most * random.f32());
        let spacepoints = (0..spacepoints)
            .map(|_| Spacepoint { rho: number(900.0), phi: number(3.0), z: number(900.0), layer: 2 })
            .collect();
        let descriptor = RoiDescriptor { id: RoiId { event_id, roi_id: 0 }, ..RoiDescriptor::default() };
        Roi { descriptor, spacepoints }
    };
    // By default, a page of the writer holds 131,072 numbers.
    for (rois, spacepoints) in [(40, 7_001), (2, 150_000), (3_000, 100)] {
        let wanted: Vec<Roi> = (0..rois).map(|event_id| roi(event_id, spacepoints, random)).collect();
        let file = File::create(&path).expect("a file");
        let mut writer = Box::new(ParquetSpacepoints::new(file, &path).expect("a writer"));
        wanted.iter().for_each(|roi| writer.write(roi.into()).expect("written"));
        writer.finish().expect("written");
        assert!(read(&path).expect("read") == wanted, "{rois} RoIs of {spacepoints} spacepoints");
    }

    // Short pages of another writer, as lists and as rows.
    let wanted: Vec<Roi> = (0..500).map(|event_id| roi(event_id, random.usize(1..80), random)).collect();
    let sizes = || wanted.iter().map(|roi| roi.spacepoints.len());
    let layers: Vec<Vec<u16>> = sizes().map(|size| vec![2; size]).collect();
    let layers: Vec<&[u16]> = layers.iter().map(Vec::as_slice).collect();
    let events = (0..).zip(sizes()).flat_map(|(event, size)| std::iter::repeat_n(event, size));
    let mut as_lists = vec![("event_id", ids(&Vec::from_iter(0..500))), ("layer", Column::lists(&layers))];
    let mut as_rows = vec![("event_id", ids(&Vec::from_iter(events))), ("layer", ids(&vec![2; sizes().sum()]))];
    for (i, name) in ["rho", "phi", "z"].into_iter().enumerate() {
        let of = |roi: &Roi| roi.spacepoints.iter().map(|s| [s.rho, s.phi, s.z][i] as f32).collect::<Vec<_>>();
        let rows: Vec<Vec<f32>> = wanted.iter().map(of).collect();
        as_lists.push((name, Column::lists(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())));
        as_rows.push((name, Column::flat(&rows.concat())));
    }
    for (columns, layout) in [(as_lists, "lists"), (as_rows, "rows")] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_writer_version(version);
            let properties = properties.set_data_page_row_count_limit(7).set_write_batch_size(7).build();
            for group_rows in [usize::MAX, 123] {
                let path = written_so(&dir, &columns, properties.clone(), group_rows);
                assert!(read(&path).expect("read") == wanted, "{layout}, {version:?}");
            }
        }
    }
}

#[test]
fn rows_and_lists_and_all_types_give_the_same_bits() {
    let (x, y, z) = ([30.5f32, -40.25, 0.0, 7.0], [1.0f32, 2.5, -33.0, 8.0], [-5.0f32, 1e-3, 900.5, 0.0]);
    let layers = [0u16, 3, 1, 2];
    let wide = |values: &[f32]| f64s(&values.iter().copied().map(f64::from).collect::<Vec<_>>());
    let point = |i: usize| Spacepoint::from_xyz(x[i].into(), y[i].into(), z[i].into(), layers[i].into());
    let roi = |event_id, points: &[usize]| Roi {
        descriptor: RoiDescriptor { id: RoiId { event_id, roi_id: 0 }, ..RoiDescriptor::default() },
        spacepoints: points.iter().map(|&i| point(i)).collect(),
    };
    let wanted = vec![roi(9, &[0, 1, 2]), roi(2, &[3])];
    let events = [9i64, 9, 9, 2];
    let kinds = [
        Column::flat(&layers.map(|layer| layer as i8)),
        Column::required(&layers.map(|layer| layer as i16)),
        Column::flat(&layers.map(i32::from)),
        Column::flat(&layers.map(i64::from)),
        Column::flat(&layers.map(|layer| layer as u8)),
        Column::required(&layers),
        Column::flat(&layers.map(u32::from)),
        Column::flat(&layers.map(u64::from)),
    ];
    let dir = folder();
    for rows in [1, 3, 100] {
        for layer in &kinds {
            let columns = vec![
                ("z", Column::required(&z)),
                ("layer", layer.clone()),
                ("x", wide(&x)),
                ("unknown", wide(&x)),
                ("y", Column::flat(&y)),
                ("event_id", ids(&events)),
            ];
            assert_eq!(read(&written(&dir, columns, rows)).expect("read"), wanted);
        }
        let columns = vec![
            ("event_id", ids(&[9, 2])),
            ("x", Column::lists(&[&x[..3], &x[3..]])),
            ("y", Column::lists(&[&y[..3], &y[3..]])),
            ("z", Column::lists(&[&z[..3], &z[3..]])),
            ("layer", Column::lists(&[&layers[..3], &layers[3..]])),
        ];
        assert_eq!(read(&written(&dir, columns, rows)).expect("read"), wanted);
    }
    // The same spacepoints through CSV.
    let path = dir.path().join("same.csv");
    let rows = (0..4).map(|i| {
        let [x, y, z] = [x[i], y[i], z[i]].map(f64::from);
        format!("{},{x},{y},{z},{}\n", events[i], layers[i])
    });
    fs::write(&path, "event_id,x,y,z,layer\n".to_owned() + &rows.collect::<String>()).expect("written");
    assert_eq!(read(&path).expect("read"), wanted);
    // Rows of several RoIs may be mixed within their event; cylindrical coordinates are not
    // converted.
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

/// All forms of lists in the format's page on logical types, with the names of several writers.
#[test]
fn lists_of_every_form_give_the_same_bits() {
    let forms = [
        columns::LIST,
        form("required group NAME (LIST) { repeated group list { required TYPE element NOTE; } }", false, false),
        form("optional group NAME (LIST) { repeated group list { required TYPE item NOTE; } }", true, false),
        form("required group NAME (LIST) { repeated group bag { optional TYPE array_element NOTE; } }", false, true),
        form("optional group NAME (LIST) { repeated TYPE array NOTE; }", true, false),
        form("required group NAME (LIST) { repeated TYPE element NOTE; }", false, false),
        form("repeated TYPE NAME NOTE;", false, false),
    ];
    let numbers: [&[f64]; 4] = [&[1.5, 2.5, 3.5], &[], &[4.5], &[]];
    let layers: [&[u32]; 4] = [&[0, 1, 2], &[], &[3], &[]];
    let dir = folder();
    for form in &forms {
        for group_rows in [1, 3, 9] {
            let columns = vec![
                ("rho", Column::lists_as(form, &numbers)),
                ("phi", Column::lists_as(form, &numbers)),
                ("z", Column::lists_as(form, &numbers)),
                ("layer", Column::lists_as(form, &layers)),
                ("event_id", Column::required(&[4u64, 3, 2, 1])),
            ];
            let found = read(&written(&dir, columns, group_rows)).expect("read");
            let points = |at: usize| {
                let point = |(&value, &layer)| Spacepoint { rho: value, phi: value, z: value, layer };
                numbers[at].iter().zip(layers[at]).map(point).collect::<Vec<_>>()
            };
            assert_eq!(found.iter().map(|roi| roi.descriptor.id.event_id).collect::<Vec<_>>(), [4, 3, 2, 1]);
            for (at, roi) in found.iter().enumerate() {
                assert_eq!(roi.spacepoints, points(at), "{}", form.schema);
            }
        }
    }
}

fn form(schema: &'static str, optional_list: bool, optional_item: bool) -> Form {
    Form { schema, optional_list, optional_item }
}

#[test]
fn every_codec_and_encoding_gives_the_same_bits() {
    let dir = folder();
    let x: Vec<f64> = (0..5000).map(|i| f64::from(i % 700) + 0.25).collect();
    let layers: Vec<u16> = (0..5000).map(|i| i % 4).collect();
    let columns = vec![
        ("x", Column::flat(&x)),
        ("y", Column::required(&x.iter().map(|&x| x as f32).collect::<Vec<_>>())),
        ("z", Column::required(&x)),
        ("layer", Column::flat(&layers)),
    ];
    let wanted = read(&written(&dir, columns.clone(), 5000)).expect("read");
    let same = |properties: WriterProperties| {
        let path = written_so(&dir, &columns, properties, 2000);
        assert!(read(&path).expect("read") == wanted);
        // A browser reads files from memory.
        let memory = MemoryFile::new("memory/spacepoints.parquet", fs::read(&path).expect("the file"));
        assert!(read(memory.path()).expect("read") == wanted);
    };
    let (gzip, zstd) = (Compression::GZIP(Default::default()), Compression::ZSTD(Default::default()));
    for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY, gzip, zstd, Compression::LZ4_RAW, Compression::LZ4] {
        same(WriterProperties::builder().set_compression(codec).build());
    }
    for encoding in [Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding);
            let layer = "layer".into();
            let properties = properties.set_column_encoding(layer, Encoding::DELTA_BINARY_PACKED);
            same(properties.set_writer_version(version).build());
        }
    }
}

#[test]
fn geometry_ids_volumes_and_the_files_name_are_understood() {
    let Some(folder_of_csv) = shared("data/acts/zee7_mu2") else { return };
    let wanted = read_csv(&folder_of_csv);
    let Some(file) = shared("data/formats/colliderml/zee7_mu2_tracker_hits.parquet") else { return };
    let event = records(&file).swap_remove(0);
    let items = |name: &str| match field(&event, name) {
        Field::ListInternal(list) => list.elements().to_vec(),
        other => panic!("{other:?}"),
    };
    let numbers = |name: &str| {
        let number = |item: Field| match item {
            Field::Float(value) => value,
            other => panic!("{other:?}"),
        };
        Column::flat(&items(name).into_iter().map(number).collect::<Vec<f32>>())
    };
    let id = |(volume, layer): (Field, Field)| match (volume, layer) {
        (Field::UByte(volume), Field::UShort(layer)) => u64::from(volume) << 56 | u64::from(layer) << 36,
        others => panic!("{others:?}"),
    };
    let geometry: Vec<u64> = items("volume_id").into_iter().zip(items("layer_id")).map(id).collect();
    let columns =
        vec![("x", numbers("x")), ("y", numbers("y")), ("z", numbers("z")), ("geometry_id", Column::flat(&geometry))];
    let dir = folder();
    let named = dir.path().join("event000000012-hits.parquet");
    fs::rename(written(&dir, columns, 1000), &named).expect("renamed");
    let found = read(&named).expect("read");
    assert_eq!(found[0].descriptor.id, RoiId { event_id: 12, roi_id: 0 });
    let layers = |points: &[Spacepoint]| points.iter().map(|point| point.layer).collect::<Vec<_>>();
    assert_eq!(layers(&found[0].spacepoints), layers(&wanted[&0]));
}
