//! Checksums of pages.

use std::fs;

use flate2::Crc;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;

use crate::{f64s, folder, ids, read, written_so};

/// The end of a variable-length number that begins at `at`.
fn after_number(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().position(|byte| byte & 0x80 == 0).expect("an end") + 1
}

/// Puts the checksum of the only page of the last column into its header, as pyarrow's
/// `write_page_checksum` does; the crate cannot write one. Returns the file and where the page's
/// data are.
fn with_checksum(file: &[u8]) -> (Vec<u8>, std::ops::Range<usize>) {
    let mut reader = ParquetMetaDataReader::new();
    reader.try_parse(&bytes::Bytes::copy_from_slice(file)).expect("a good file");
    let metadata = reader.finish().expect("a good file");
    let group = metadata.row_group(0).clone();
    let column = group.column(group.num_columns() - 1);
    let (start, length) = (column.data_page_offset() as usize, column.compressed_size() as usize);
    let end = start + length;
    // Field 1, the type; 2 and 3, sizes; each a byte and a number. Then comes field 5.
    let at = (0..3).fold(start, |at, _| after_number(file, at + 1));
    assert_eq!((file[start], file[at]), (0x15, 0x2c), "the layout of a page header");
    let compressed = {
        let number = &file[after_number(file, after_number(file, start + 1) + 1) + 1..at];
        let zigzag = number.iter().rev().fold(0usize, |number, byte| number << 7 | usize::from(byte & 0x7f));
        zigzag / 2
    };
    let mut crc = Crc::new();
    crc.update(&file[end - compressed..end]);
    let sum = crc.sum() as i32;
    let mut zigzag = ((sum << 1) ^ (sum >> 31)) as u32;
    let mut field = vec![0x15];
    while zigzag >= 0x80 {
        field.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    // Field 5 is now the next after field 4.
    field.extend([zigzag as u8, 0x1c]);
    let mut whole = [&file[..at], &field, &file[at + 1..end]].concat();
    let longer = (field.len() - 1) as i64;
    let columns = group.columns().iter().enumerate().map(|(number, column)| {
        let more = if number + 1 == group.num_columns() { longer } else { 0 };
        let column = column.clone().into_builder().set_column_index_offset(None).set_offset_index_offset(None);
        let size = group.column(number).compressed_size() + more;
        column.set_column_index_length(None).set_offset_index_length(None).set_total_compressed_size(size).build()
    });
    let columns = columns.collect::<Result<Vec<_>, _>>().expect("columns");
    let group = group.into_builder().set_column_metadata(columns).build().expect("a row group");
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let data = whole.len() - compressed..whole.len();
    ParquetMetaDataWriter::new(&mut whole, &metadata).finish().expect("written");
    (whole, data)
}

#[test]
fn a_flipped_bit_of_a_page_is_an_error() {
    let dir = folder();
    let columns = [
        ("event_id", ids(&[1, 1, 2])),
        ("x", f64s(&[1.0, 2.0, 3.0])),
        ("y", f64s(&[1.0, 2.0, 3.0])),
        ("layer", ids(&[0, 1, 2])),
        ("z", f64s(&[1.0, 2.0, 3.0])),
    ];
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let path = written_so(&dir, &columns, properties, 1000);
    let good = read(&path).expect("a good file");
    let (bytes, data) = with_checksum(&fs::read(&path).expect("a file"));
    fs::write(&path, &bytes).expect("written");
    assert_eq!(read(&path).expect("a good file"), good);
    for bit in 8 * data.start..8 * data.end {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &damaged).expect("written");
        let error = read(&path).expect_err("damaged").to_string();
        assert!(error.contains("CRC"), "{error}");
    }
}
