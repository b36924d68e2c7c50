//! Kinds of content that all formats have: each kind is tested in each of them.
#![cfg(all(feature = "parquet", feature = "root"))]

#[path = "parquet/columns.rs"]
mod columns;
mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use columns::Column;
use flate2::Compression;
use flate2::write::GzEncoder;
use oxyroot::{Marshaler, RootFile, WriterTree};
use parquet::file::properties::WriterProperties;
use rntuple::testing::{self, Cluster, Dataset, Options};
use tempfile::TempDir;
use zfinder::{Detector, Roi, RoiId};
use zfinder_io::{OnError, ReadOptions, Result, SpacepointReader, TruthTable, inputs};

/// A column of a table with a row for each spacepoint.
#[derive(Clone, Debug)]
enum Cells {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
    Booleans(Vec<bool>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Floats(cells) => cells.len(),
            Self::Integers(cells) => cells.len(),
            Self::Booleans(cells) => cells.len(),
        }
    }

    fn text(&self, row: usize) -> String {
        match self {
            // As pandas writes them.
            Self::Floats(cells) if cells[row].is_nan() => String::new(),
            Self::Floats(cells) => format!("{:?}", cells[row]),
            Self::Integers(cells) => cells[row].to_string(),
            Self::Booleans(cells) => if cells[row] { "True" } else { "False" }.to_owned(),
        }
    }

    fn floats(&self) -> Vec<f64> {
        match self {
            Self::Floats(cells) => cells.clone(),
            Self::Integers(cells) => cells.iter().map(|&cell| cell as f64).collect(),
            Self::Booleans(cells) => cells.iter().map(|&cell| f64::from(u8::from(cell))).collect(),
        }
    }

    /// Returns the same numbers in another type.
    fn converted(&self, kind: Kind) -> Self {
        let floats = self.floats();
        match kind {
            Kind::Floats => Self::Floats(floats),
            Kind::Integers => Self::Integers(floats.iter().map(|&cell| cell as i64).collect()),
            Kind::Booleans => Self::Booleans(floats.iter().map(|&cell| cell != 0.0).collect()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Floats,
    Integers,
    Booleans,
}

const KINDS: [Kind; 3] = [Kind::Floats, Kind::Integers, Kind::Booleans];

type Table = Vec<(&'static str, Cells)>;

/// Events 0 and 1 of three spacepoints each, whose numbers are whole.
fn table() -> Table {
    vec![
        ("event_id", Cells::Integers(vec![0, 0, 0, 1, 1, 1])),
        ("x", Cells::Floats(vec![32.0, 72.0, 33.0, 31.0, 71.0, 32.0])),
        ("y", Cells::Floats(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ("z", Cells::Floats(vec![10.0, 20.0, 30.0, 40.0, 50.0, 60.0])),
        ("layer", Cells::Integers(vec![0, 1, 0, 0, 1, 0])),
    ]
}

fn with(mut table: Table, name: &str, change: impl FnOnce(&Cells) -> Cells) -> Table {
    let (_, cells) = table.iter_mut().find(|(other, _)| *other == name).expect("a column");
    *cells = change(cells);
    table
}

/// Replaces a cell.
fn with_cell(table: Table, name: &str, row: usize, number: f64) -> Table {
    with(table, name, |cells| {
        let mut floats = cells.floats();
        floats[row] = number;
        Cells::Floats(floats)
    })
}

fn without(mut table: Table, name: &str) -> Table {
    table.retain(|(other, _)| *other != name);
    table
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Csv,
    Gzip,
    Zstd,
    Parquet,
    ParquetLists,
    ParquetRecords,
    Tree,
    TreeVectors,
    NTuple,
    NTupleLists,
    NTupleRecords,
}

const FORMATS: [Format; 11] = [
    Format::Csv,
    Format::Gzip,
    Format::Zstd,
    Format::Parquet,
    Format::ParquetLists,
    Format::ParquetRecords,
    Format::Tree,
    Format::TreeVectors,
    Format::NTuple,
    Format::NTupleLists,
    Format::NTupleRecords,
];

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Gzip => "csv.gz",
            Self::Zstd => "csv.zst",
            Self::Parquet | Self::ParquetLists | Self::ParquetRecords => "parquet",
            Self::Tree | Self::TreeVectors | Self::NTuple | Self::NTupleLists | Self::NTupleRecords => "root",
        }
    }

    fn has_lists(self) -> bool {
        use Format::{NTupleLists, NTupleRecords, ParquetLists, ParquetRecords, TreeVectors};
        matches!(self, ParquetLists | ParquetRecords | TreeVectors | NTupleLists | NTupleRecords)
    }

    /// Booleans of trees cannot be written here.
    fn has(self, kind: Kind) -> bool {
        kind != Kind::Booleans || !matches!(self, Self::Tree | Self::TreeVectors)
    }

    fn write(self, folder: &Path, stem: &str, table: &Table) -> PathBuf {
        fs::create_dir_all(folder).expect("a folder");
        let path = folder.join(format!("{stem}.{}", self.ending()));
        match self {
            Self::Csv => fs::write(&path, csv(table)).expect("written"),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(csv(table).as_bytes()).expect("packed");
                // Padding of zeros, as tapes leave it.
                let bytes = [encoder.finish().expect("packed"), vec![0; 512]].concat();
                fs::write(&path, bytes).expect("written");
            }
            Self::Zstd => {
                let bytes = ruzstd::encoding::compress_to_vec(
                    csv(table).as_bytes(),
                    ruzstd::encoding::CompressionLevel::Fastest,
                );
                fs::write(&path, bytes).expect("written");
            }
            Self::Parquet => {
                let columns: Vec<(&str, Column)> = table.iter().map(|(name, cells)| (*name, flat(cells))).collect();
                columns::write(&path, &columns, WriterProperties::default(), 1000);
            }
            Self::ParquetLists | Self::ParquetRecords => {
                let events = events(table);
                let members = table.iter().filter(|(name, _)| *name != "event_id");
                let members = members.map(|(name, cells)| (*name, lists(cells, &events))).collect();
                let members = match self {
                    Self::ParquetRecords => Column::records("hits", members),
                    _ => members,
                };
                let ids = column(table, "event_id").map(|ids| ("event_id", first_of(ids, &events)));
                let columns: Vec<(&str, Column)> = ids.into_iter().chain(members).collect();
                columns::write(&path, &columns, WriterProperties::default(), 1000);
            }
            Self::NTuple | Self::NTupleLists | Self::NTupleRecords => {
                let file = testing::write(&[self.ntuple(table)], &Options::default());
                fs::write(&path, file.bytes).expect("written");
            }
            Self::Tree | Self::TreeVectors => {
                let mut file = RootFile::create(&path).expect("a file");
                let mut tree = WriterTree::new("spacepoints");
                let events = events(table);
                for (name, cells) in table {
                    match cells {
                        _ if self == Self::TreeVectors && *name == "event_id" => {
                            let firsts = events.iter().map(|event| cells.floats()[event.start]).collect::<Vec<_>>();
                            match cells {
                                Cells::Floats(_) => branch(&mut tree, name, firsts),
                                _ => branch(&mut tree, name, firsts.iter().map(|&id| id as i64).collect()),
                            }
                        }
                        Cells::Floats(floats) if self == Self::TreeVectors => {
                            let lists: Vec<Vec<f64>> =
                                events.iter().map(|event| floats[event.clone()].to_vec()).collect();
                            branch(&mut tree, name, lists);
                        }
                        // oxyroot gives a vector of 64 bits a name that it does not read.
                        Cells::Integers(integers) if self == Self::TreeVectors => {
                            let lists = events.iter().map(|event| {
                                integers[event.clone()].iter().map(|&cell| cell as i32).collect::<Vec<i32>>()
                            });
                            branch(&mut tree, name, lists.collect());
                        }
                        Cells::Floats(floats) => branch(&mut tree, name, floats.clone()),
                        Cells::Integers(integers) => branch(&mut tree, name, integers.clone()),
                        Cells::Booleans(_) => unreachable!("not written"),
                    }
                }
                tree.write(&mut file).expect("written");
                file.close().expect("written");
            }
        }
        path
    }
}

impl Format {
    fn ntuple(self, table: &Table) -> Dataset {
        const VECTOR: (u16, u16) = (0x1b, 64);
        // In a folder, because RNTuples are read there.
        let mut dataset = Dataset::new("reco/spacepoints");
        let events = events(table);
        let ends: Vec<u128> = events.iter().map(|event| event.end as u128).collect();
        let mut columns: Vec<Vec<u128>> = Vec::new();
        let mut hits = None;
        for (name, cells) in table {
            let is_id = *name == "event_id";
            let (item, code, bits, elements): (_, _, _, Vec<u128>) = match cells {
                Cells::Floats(cells) => ("double", 0x19, 64, cells.iter().map(|cell| cell.to_bits().into()).collect()),
                Cells::Integers(cells) => {
                    let elements = cells.iter().map(|cell| cell.cast_unsigned().into());
                    ("std::int64_t", 0x15, 64, elements.collect())
                }
                Cells::Booleans(cells) => ("bool", 0x00, 1, cells.iter().map(|&cell| cell.into()).collect()),
            };
            match self {
                Self::NTuple => drop(dataset.leaf(None, name, item, code, bits)),
                _ if is_id => {
                    dataset.leaf(None, name, item, code, bits);
                    columns.push(events.iter().map(|event| elements[event.start]).collect());
                    continue;
                }
                Self::NTupleRecords => {
                    let record = *hits.get_or_insert_with(|| {
                        let hits = dataset.field(None, "hits", "std::vector<Hit>", testing::role::COLLECTION);
                        dataset.column(hits, VECTOR.0, VECTOR.1);
                        columns.push(ends.clone());
                        dataset.field(Some(hits), "_0", "Hit", testing::role::RECORD)
                    });
                    dataset.leaf(Some(record), name, item, code, bits);
                }
                _ => {
                    let vector = dataset.field(None, name, &format!("std::vector<{item}>"), testing::role::COLLECTION);
                    dataset.column(vector, VECTOR.0, VECTOR.1);
                    columns.push(ends.clone());
                    dataset.leaf(Some(vector), "_0", item, code, bits);
                }
            }
            columns.push(elements);
        }
        let entries = if self == Self::NTuple { table[0].1.len() } else { events.len() };
        let cluster = Cluster { entries: entries as u64, columns: columns.into_iter().map(Some).collect() };
        dataset.groups = vec![vec![cluster]];
        dataset
    }
}

fn branch<T: Marshaler + 'static>(tree: &mut WriterTree, name: &str, values: Vec<T>) {
    tree.new_branch(name, values.into_iter());
}

fn csv(table: &Table) -> String {
    let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    let rows = (0..table[0].1.len())
        .map(|row| table.iter().map(|(_, cells)| cells.text(row)).collect::<Vec<_>>().join(",") + "\n");
    // A comment above the header, as many programs write it.
    format!("# made by a test\n{}\n{}", names.join(","), rows.collect::<String>())
}

fn column<'a>(table: &'a Table, name: &str) -> Option<&'a Cells> {
    table.iter().find(|(other, _)| *other == name).map(|(_, cells)| cells)
}

/// The rows of each event: three, or all without ids.
fn events(table: &Table) -> Vec<std::ops::Range<usize>> {
    let rows = table[0].1.len();
    match column(table, "event_id") {
        Some(_) => (0..rows).step_by(3).map(|row| row..row + 3).collect(),
        None => std::iter::once(0..rows).collect(),
    }
}

fn flat(cells: &Cells) -> Column {
    match cells {
        Cells::Floats(cells) => Column::optional(cells.iter().map(|&cell| (!cell.is_nan()).then_some(cell))),
        Cells::Integers(cells) => Column::flat(cells),
        Cells::Booleans(cells) => Column::flat(cells),
    }
}

fn first_of(cells: &Cells, events: &[std::ops::Range<usize>]) -> Column {
    let starts = || events.iter().map(|event| event.start);
    match cells {
        Cells::Floats(cells) => Column::flat(&starts().map(|row| cells[row]).collect::<Vec<_>>()),
        Cells::Integers(cells) => Column::flat(&starts().map(|row| cells[row]).collect::<Vec<_>>()),
        Cells::Booleans(cells) => Column::flat(&starts().map(|row| cells[row]).collect::<Vec<_>>()),
    }
}

fn lists(cells: &Cells, events: &[std::ops::Range<usize>]) -> Column {
    fn of<T: columns::Value>(cells: &[T], events: &[std::ops::Range<usize>]) -> Column {
        Column::lists(&events.iter().map(|event| &cells[event.clone()]).collect::<Vec<_>>())
    }
    match cells {
        Cells::Floats(cells) => of(cells, events),
        Cells::Integers(cells) => of(cells, events),
        Cells::Booleans(cells) => of(cells, events),
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn read(path: &Path) -> Result<Vec<Roi>> {
    SpacepointReader::new(vec![path.to_owned()], Detector::generic(), None).collect()
}

/// Event, spacepoints and invalid spacepoints of each RoI, errors, and warnings.
type ReadAll = (Vec<(u64, usize, usize)>, Vec<String>, Vec<String>);

fn read_with(path: &Path, options: ReadOptions) -> ReadAll {
    let files = inputs(&[path.to_owned()]).expect("files").files;
    let mut reader = SpacepointReader::new(files, Detector::generic(), None).with_options(options);
    let (rois, errors) = common::read_all(&mut reader);
    (rois, errors, reader.warnings())
}

#[test]
fn whole_numbers_may_have_any_type() {
    let dir = folder();
    for format in FORMATS {
        let wanted = read(&format.write(dir.path(), "wanted", &table())).expect("the usual types");
        assert_eq!(wanted.len(), 2, "{format:?}");
        assert_eq!(wanted[1].spacepoints.len(), 3, "{format:?}");
        for kind in KINDS.into_iter().filter(|kind| format.has(*kind)) {
            for name in ["event_id", "layer", "x", "z"] {
                // Coordinates are numbers, not truth values.
                if kind == Kind::Booleans && (name == "x" || name == "z") {
                    continue;
                }
                let path = format.write(dir.path(), "other", &with(table(), name, |cells| cells.converted(kind)));
                let found = read(&path).unwrap_or_else(|error| panic!("{format:?}, {name} as {kind:?}: {error}"));
                assert!(found == wanted, "{format:?}, {name} as {kind:?}: {found:?}");
            }
        }
    }
}

#[test]
fn numbers_that_are_not_whole_are_refused_with_their_column() {
    let dir = folder();
    for format in FORMATS {
        for name in ["event_id", "layer"] {
            // Row 3 is the first of its event.
            let path = format.write(dir.path(), "half", &with_cell(table(), name, 3, 1.5));
            let error = read(&path).expect_err("refused").to_string();
            assert!(error.contains("1.5") && error.contains(name), "{format:?}: {error}");
            let options = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
            let (rois, errors, _) = read_with(&path, options);
            assert_eq!(errors.len(), 1, "{format:?}, {name}: {errors:?}");
            match name {
                "layer" => assert_eq!((rois[0], rois[1].2), ((0, 3, 0), 1), "{format:?}"),
                // A row without an event may belong to the events before and after it. An entry
                // with lists is a whole event.
                _ if format.has_lists() => assert_eq!(rois, [(0, 3, 0)], "{format:?}"),
                _ => assert!(rois.iter().all(|roi| roi.2 == 1), "{format:?}: {rois:?}"),
            }
        }
        let path = format.write(dir.path(), "large", &with_cell(table(), "event_id", 3, 1.5e16));
        let error = read(&path).expect_err("refused").to_string();
        assert!(error.contains("float") && error.contains("event_id"), "{format:?}: {error}");
    }
}

#[test]
fn hits_without_a_measurement_are_left_out_on_request() {
    let dir = folder();
    for format in FORMATS {
        for name in ["x", "z", "layer"] {
            let path = format.write(dir.path(), "unmatched", &with_cell(table(), name, 4, f64::NAN));
            let error = read(&path).expect_err("refused").to_string();
            let is_named = error.contains("drop_invalid") || name == "layer";
            assert!(is_named && error.contains(name), "{format:?}, {name}: {error}");
            let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
            let (rois, errors, _) = read_with(&path, skip);
            assert_eq!((rois[0], rois[1].2, errors.len()), ((0, 3, 0), 1, 1), "{format:?}, {name}: {rois:?}");
            let drop = ReadOptions { drop_invalid: true, ..ReadOptions::default() };
            let (rois, errors, warnings) = read_with(&path, drop);
            assert_eq!((rois, errors), (vec![(0, 3, 0), (1, 2, 0)], vec![]), "{format:?}, {name}");
            assert!(warnings[0].ends_with("left out (drop_invalid): 1"), "{format:?}: {warnings:?}");
        }
    }
}

#[test]
fn empty_parts_are_counted_and_an_empty_input_is_an_error() {
    let dir = folder();
    for format in FORMATS {
        let parts = dir.path().join(format!("{format:?}"));
        format.write(&parts, "part-0", &table());
        let none: Table = table().into_iter().map(|(name, cells)| (name, emptied(&cells))).collect();
        let empty = format.write(&parts, "part-1", &none);
        let (rois, errors, warnings) = read_with(&parts, ReadOptions::default());
        assert_eq!((rois, errors), (vec![(0, 3, 0), (1, 3, 0)], vec![]), "{format:?}");
        assert!(warnings[0].starts_with("1 of 2 files have no row"), "{format:?}: {warnings:?}");
        let error = read(&empty).expect_err("empty").to_string();
        assert!(error.contains("part-1") && error.contains("no "), "{format:?}: {error}");
    }
}

fn emptied(cells: &Cells) -> Cells {
    match cells {
        Cells::Floats(_) => Cells::Floats(Vec::new()),
        Cells::Integers(_) => Cells::Integers(Vec::new()),
        Cells::Booleans(_) => Cells::Booleans(Vec::new()),
    }
}

#[test]
fn folders_in_folders_are_searched_and_partitions_name_events() {
    let dir = folder();
    for format in FORMATS {
        let runs = dir.path().join(format!("{format:?}/runs"));
        for (run, first) in [("run1", 0), ("run2", 10)] {
            let ids = |cells: &Cells| Cells::Floats(cells.floats().iter().map(|id| id + f64::from(first)).collect());
            format.write(&runs.join(run), "events", &with(table(), "event_id", ids));
        }
        let (rois, errors, _) = read_with(&runs, ReadOptions::default());
        assert_eq!((rois.len(), rois[2].0, errors), (4, 10, vec![]), "{format:?}");
        // ROOT's lists want event numbers.
        if [Format::TreeVectors, Format::NTupleLists, Format::NTupleRecords].contains(&format) {
            continue;
        }
        let partitions = dir.path().join(format!("{format:?}/partitions"));
        for event in [7, 8] {
            format.write(&partitions.join(format!("event_id={event}")), "part-0", &without(table(), "event_id"));
        }
        let (rois, errors, _) = read_with(&partitions, ReadOptions::default());
        assert_eq!((rois, errors), (vec![(7, 6, 0), (8, 6, 0)], vec![]), "{format:?}");
    }
}

#[test]
fn layouts_of_one_table_give_the_same_events() {
    let dir = folder();
    let wanted = read(&Format::Csv.write(dir.path(), "wanted", &table())).expect("CSV");
    for format in FORMATS {
        let found = read(&format.write(dir.path(), "same", &table())).expect("the usual types");
        assert!(found == wanted, "{format:?}, lists: {}", format.has_lists());
    }
}

#[test]
fn columns_of_other_names_are_named_and_suggested() {
    let dir = folder();
    for format in FORMATS {
        let wanted = read(&format.write(dir.path(), "wanted", &table())).expect("the usual names");
        let mut other = table();
        for (name, _) in &mut other {
            *name = match *name {
                "x" => "X",
                "y" => "y_mm",
                "layer" => "lay",
                name => name,
            };
        }
        let path = format.write(dir.path(), "other", &other);
        let message = read(&path).expect_err("names that are not known").to_string();
        let record = if [Format::ParquetRecords, Format::NTupleRecords].contains(&format) { "hits." } else { "" };
        let advice = format!("`{record}X` looks like `x`, `{record}y_mm` like `y`, `{record}lay` like `layer`");
        assert!(message.contains(&advice), "{format:?}: {message}");
        let names = format!("x={record}X,y={record}y_mm,layer={record}lay");
        let read_with = |names: &str| -> Result<Vec<Roi>> {
            let options = ReadOptions { columns: names.parse().expect("names"), ..ReadOptions::default() };
            let reader = SpacepointReader::new(vec![path.clone()], Detector::generic(), None);
            reader.with_options(options).collect()
        };
        assert!(read_with(&names).expect("named columns") == wanted, "{format:?}");
        let message = read_with("x=U").expect_err("no such column").to_string();
        assert!(message.contains("there is no column `U`, which is to be `x`"), "{format:?}: {message}");
    }
}

#[test]
fn columns_of_truth_have_other_names_too() {
    let dir = folder();
    for (format, z) in [
        (Format::Csv, "z"),
        (Format::Gzip, "z"),
        (Format::Zstd, "z"),
        (Format::Parquet, "vz"),
        (Format::Tree, "truth_pv_z"),
        (Format::NTuple, "truth_pv_z"),
    ] {
        let table = vec![
            ("Run", Cells::Integers(vec![3, 5])),
            ("vertex_primary", Cells::Integers(vec![1, 1])),
            ("zv", Cells::Floats(vec![12.5, -3.0])),
        ];
        let path = format.write(dir.path(), "truth", &table);
        TruthTable::read(&path).expect_err("names that are not known");
        // Truth need not have the columns of spacepoints.
        let columns = format!("x=X,event_id=Run,{z}=zv").parse().expect("names");
        let options = ReadOptions { columns, ..ReadOptions::default() };
        let truth = TruthTable::read_with(&path, &options).expect("named columns");
        let z_of = |event_id| truth.hard_scatter_z(RoiId { event_id, roi_id: 0 });
        assert_eq!([3, 4, 5].map(z_of), [Some(12.5), None, Some(-3.0)], "{format:?}");
    }
}
