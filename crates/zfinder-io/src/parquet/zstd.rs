//! Reads pages that are compressed with zstd in a browser.
//!
//! The crate `parquet` decompresses zstd with a C library, which Rust's compiler cannot build for
//! WebAssembly. Here the crate reads the pages as if they were uncompressed, and `ruzstd`
//! decompresses them. Native builds compile this module for its test only.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use ruzstd::decoding::StreamingDecoder;

/// Most bytes of a decompressed page: a browser gives WebAssembly 4 GB of memory.
const MOST_BYTES: u64 = 1 << 30;

/// Returns the pages of a column chunk that is compressed with zstd.
///
/// # Errors
/// Invalid metadata of the column chunk.
pub(super) fn pages<R: ChunkReader + 'static>(
    file: Arc<R>,
    column: &ColumnChunkMetaData,
    rows: usize,
) -> Result<Box<dyn PageReader>> {
    let uncompressed = column.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    Ok(Box::new(Pages(SerializedPageReader::new(file, &uncompressed, rows, None)?)))
}

struct Pages<R: ChunkReader>(SerializedPageReader<R>);

impl<R: ChunkReader + 'static> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.0.get_next_page()?.map(decompressed).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.0.at_record_boundary()
    }
}

impl<R: ChunkReader + 'static> Iterator for Pages<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn decompressed(mut page: Page) -> Result<Page> {
    // Version 2 of data pages does not compress the levels, which come first.
    let (buf, levels) = match &mut page {
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
        Page::DataPageV2 { is_compressed: false, .. } => return Ok(page),
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            (buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)
        }
    };
    let (levels, values) = buf.split_at_checked(levels).ok_or_else(|| damaged("its levels exceed the page"))?;
    let mut bytes = levels.to_vec();
    // A page of nulls has no values.
    if !values.is_empty() {
        let decoder = StreamingDecoder::new(values).map_err(damaged)?;
        let read = decoder.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(damaged)?;
        if read as u64 > MOST_BYTES {
            return Err(damaged(format!("it has more than {MOST_BYTES} bytes")));
        }
    }
    *buf = Bytes::from(bytes);
    Ok(page)
}

fn damaged(reason: impl std::fmt::Display) -> ParquetError {
    ParquetError::General(format!("a page compressed with zstd is damaged: {reason}"))
}

#[cfg(test)]
mod tests {
    use parquet::data_type::{DoubleType, Int32Type};
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// A file with a dictionary, several pages and nulls.
    fn file(version: WriterVersion) -> Bytes {
        let schema = "message schema { optional double z; required int32 layer; optional double none; }";
        let schema = Arc::new(parse_message_type(schema).expect("a schema"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_data_page_row_count_limit(300)
            .set_write_batch_size(100)
            .set_column_dictionary_enabled("z".into(), false)
            .set_writer_version(version);
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).expect("a file");
        let mut group = writer.next_row_group().expect("a row group");
        let z: Vec<f64> = (0..1000).filter(|row| row % 5 != 0).map(|row| f64::from(row) * 0.37 - 100.0).collect();
        let is_there: Vec<i16> = (0..1000).map(|row| i16::from(row % 5 != 0)).collect();
        let layers: Vec<i32> = (0..1000).map(|row| row % 12).collect();
        let mut column = group.next_column().expect("z").expect("z");
        column.typed::<DoubleType>().write_batch(&z, Some(&is_there), None).expect("written");
        column.close().expect("closed");
        let mut column = group.next_column().expect("layer").expect("layer");
        column.typed::<Int32Type>().write_batch(&layers, None, None).expect("written");
        column.close().expect("closed");
        let mut column = group.next_column().expect("none").expect("none");
        column.typed::<DoubleType>().write_batch(&[], Some(&[0; 1000]), None).expect("written");
        column.close().expect("closed");
        group.close().expect("closed");
        writer.close().expect("closed");
        bytes.into()
    }

    #[test]
    fn pages_equal_those_of_the_c_library() {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let bytes = file(version);
            let reader = SerializedFileReader::new(bytes.clone()).expect("a file");
            let group = reader.get_row_group(0).expect("a row group");
            for leaf in 0..3 {
                let wanted: Vec<Page> =
                    group.get_column_page_reader(leaf).expect("pages").map(|page| page.expect("a page")).collect();
                let column = group.metadata().column(leaf);
                assert!(matches!(column.compression(), Compression::ZSTD(_)));
                let found = pages(Arc::new(bytes.clone()), column, 1000).expect("pages");
                let found: Vec<Page> = found.map(|page| page.expect("a page")).collect();
                assert!(wanted.len() >= 4, "{} pages", wanted.len());
                assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "column {leaf}, {version:?}");
            }
        }
    }

    #[test]
    fn damaged_pages_are_refused() {
        let levels = |length| Page::DataPageV2 {
            buf: Bytes::from_static(b"no frame of zstd"),
            num_values: 1,
            encoding: parquet::basic::Encoding::PLAIN,
            num_nulls: 0,
            num_rows: 1,
            def_levels_byte_len: length,
            rep_levels_byte_len: 0,
            is_compressed: true,
            statistics: None,
        };
        for length in [0, 3, 17, u32::MAX] {
            let error = decompressed(levels(length)).expect_err("damaged").to_string();
            assert!(error.contains("compressed with zstd is damaged"), "{error}");
        }
    }
}
