//! Tests of files that this crate writes: their schema, and that they read back unchanged.

use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::printer::print_schema;
use zfinder::results::RoiSummary;
use zfinder::{Results, Roi, RoiId, Status, Vertex};
use zfinder_io::{ParquetSpacepoints, ParquetVertices, SpacepointWriter, VertexColumns};
use zfinder_testing::rois::rois;

use crate::{field, folder, read, records};

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

/// Lists have the standard form of three levels, which every reader of Parquet supports, and no
/// nulls.
#[test]
fn spacepoints_are_written_in_the_standard_schema() {
    let dir = folder();
    let path = dir.path().join("written.parquet");
    let file = File::create(&path).expect("a file");
    let mut writer = Box::new(ParquetSpacepoints::new(file, &path).expect("a writer"));
    writer.write((&Roi::default()).into()).expect("written");
    writer.finish().expect("written");
    let file = SerializedFileReader::new(File::open(&path).expect("a file")).expect("parquet");
    let mut schema = Vec::new();
    print_schema(&mut schema, file.metadata().file_metadata().schema());
    let list = |name: &str, item: &str| {
        format!("REQUIRED group {name} (LIST) {{ REPEATED group list {{ REQUIRED {item}; }} }}")
    };
    let wanted = [
        "message schema { REQUIRED INT64 event_id (INTEGER(64,false)); REQUIRED INT64 roi_id (INTEGER(64,false));"
            .into(),
        list("rho", "DOUBLE element"),
        list("phi", "DOUBLE element"),
        list("z", "DOUBLE element"),
        list("layer", "INT32 element (INTEGER(32,false))"),
        "}".into(),
    ];
    let schema = String::from_utf8(schema).expect("text");
    assert_eq!(schema.split_whitespace().collect::<Vec<_>>().join(" "), wanted.join(" "));
}

#[test]
fn vertices_are_written_as_in_csv() {
    let vertex = |z_mm, background| {
        let mut vertex = Vertex::at(z_mm);
        (vertex.z_error_mm, vertex.weight, vertex.pairs, vertex.rank) = (0.1, 30.0, 30, 31.0);
        (vertex.significance, vertex.background) = (background, background);
        vertex
    };
    let mut results = Results::new();
    results.push(
        RoiSummary::new(RoiId { event_id: 1, roi_id: 2 }, Status::Ok),
        [vertex(1.5, None), vertex(-2.5, Some(4.0))],
    );
    let mut without = RoiSummary::new(RoiId { event_id: 2, roi_id: 2 }, Status::NoPeak);
    without.is_fallback = true;
    results.push(without, []);
    let dir = folder();
    let path = dir.path().join("vertices.parquet");
    let columns = VertexColumns::default();
    let mut writer = ParquetVertices::new(File::create(&path).expect("a file"), &path, columns).expect("a writer");
    results.iter().for_each(|result| writer.write(result).expect("written"));
    writer.finish().expect("written");
    let rows = records(&path);
    let names: Vec<&str> = rows[0].get_column_iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.join(","), zfinder_io::CSV_HEADER);
    let column = |name: &str| rows.iter().map(|row| field(row, name).clone()).collect::<Vec<_>>();
    let null = || Field::Null;
    assert_eq!(column("z_mm"), [Field::Double(1.5), Field::Double(-2.5), null()]);
    assert_eq!(column("weight"), [Field::Double(30.0), Field::Double(30.0), null()]);
    assert_eq!(column("z_error_mm"), [Field::Double(0.1), Field::Double(0.1), null()]);
    assert_eq!(column("background"), [null(), Field::Double(4.0), null()]);
    assert_eq!(column("significance"), [null(), Field::Double(4.0), null()]);
    assert_eq!(column("rank"), [Field::Double(31.0), Field::Double(31.0), null()]);
    assert_eq!(column("fallback"), [false, false, true].map(Field::Bool));
    assert_eq!(column("event_id"), [1, 1, 2].map(Field::ULong));
    assert_eq!(column("vertex"), [Field::UInt(0), Field::UInt(1), null()]);
    assert_eq!(column("status"), ["ok", "ok", "no_peak"].map(|status| Field::Str(status.into())));
}
