//! Counters as arrays and as Parquet.

use std::io::{self, Seek, Write};
use std::sync::Arc;

use array_file::ArrayWriter;
use parquet::data_type::{DataType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::sums::{Sums, Values};

/// Writes counters as an `.npz` file: an array for each column.
///
/// # Errors
/// Any error of `out`.
pub fn write_sums(out: impl Write + Seek, sums: &Sums) -> io::Result<()> {
    let mut file = ArrayWriter::new(out);
    for column in &sums.columns {
        match &column.values {
            Values::Integers(values) => file.column(&column.name, values.iter().copied())?,
            Values::Numbers(values) => file.column(&column.name, values.iter().copied())?,
        }
    }
    file.finish()
}

/// Writes counters as a Parquet file, uncompressed, in one row group.
///
/// # Errors
/// Any error of `out`.
pub fn write_parquet(out: impl Write + Send, sums: &Sums) -> io::Result<()> {
    write(out, sums).map_err(io::Error::other)
}

fn write(out: impl Write + Send, sums: &Sums) -> ParquetResult<()> {
    let column = |column: &crate::sums::Column| match column.values {
        Values::Integers(_) => format!("required int64 {} (integer(64,false));\n", column.name),
        Values::Numbers(_) => format!("required double {};\n", column.name),
    };
    let schema = format!("message counters {{ {} }}", sums.columns.iter().map(column).collect::<String>());
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(WriterProperties::builder().build()))?;
    let mut group = file.next_row_group()?;
    for column in &sums.columns {
        match &column.values {
            Values::Integers(values) => {
                let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
                write_column::<Int64Type>(&mut group, &values)?;
            }
            Values::Numbers(values) => write_column::<DoubleType>(&mut group, values)?,
        }
    }
    group.close()?;
    file.close().map(drop)
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
) -> ParquetResult<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}
