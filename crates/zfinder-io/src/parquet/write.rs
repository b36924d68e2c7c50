//! Spacepoints and vertices into Parquet files, row group by row group.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::SpacepointWriter;
use crate::error::{Error, Result};
use zfinder::RoiResult;
use zfinder::RoiView;

/// So many values of a column are handed to Parquet at a time, and so many make a row group.
const BATCH: usize = 1 << 16;
const ROW_GROUP: usize = 1 << 20;

/// The file below, batch by batch.
struct Batches<W: Write + Send> {
    path: PathBuf,
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    /// Values of a column that wait for a batch, and those of the row group.
    waiting: usize,
    in_group: usize,
}

impl<W: Write + Send> Batches<W> {
    /// `numbers` never come twice: a dictionary of them is of no use.
    fn new(out: W, path: &Path, fields: Vec<Field>, numbers: &[&[&str]]) -> Result<Self> {
        let schema = Arc::new(Schema::new(fields));
        let mut properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
        for parts in numbers {
            let parts = parts.iter().map(|&part| part.to_owned()).collect::<Vec<_>>();
            properties = properties.set_column_dictionary_enabled(ColumnPath::new(parts), false);
        }
        let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties.build()));
        let writer = writer.map_err(|error| failed(path, error))?;
        Ok(Self { path: path.to_owned(), writer, schema, waiting: 0, in_group: 0 })
    }

    /// Counts values; whether the batch is full.
    fn add(&mut self, values: usize) -> bool {
        self.waiting += values;
        self.waiting >= BATCH
    }

    fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let written = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(ParquetError::from)
            .and_then(|batch| self.writer.write(&batch));
        written.map_err(|error| failed(&self.path, error))?;
        self.in_group += std::mem::take(&mut self.waiting);
        if self.in_group >= ROW_GROUP {
            self.in_group = 0;
            self.writer.flush().map_err(|error| failed(&self.path, error))?;
        }
        Ok(())
    }

    /// What was written to, with everything in it.
    fn close(self) -> Result<W> {
        let ended = self.writer.into_inner().and_then(|mut out| {
            out.flush()?;
            Ok(out)
        });
        ended.map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    };
    Error::Io { path: path.to_owned(), source }
}

/// Writes spacepoints as Parquet: a row an RoI, the columns `event_id`, `roi_id`, and `rho`, `phi`, `z` (f64) and `layer`
/// (u32), each a list. So an RoI without spacepoints is a row as well. Compressed with zstd.
///
/// ```
/// use zfinder_io::{ParquetSpacepoints, SpacepointWriter};
/// use zfinder::{Roi, Spacepoint};
/// let roi = Roi { spacepoints: vec![Spacepoint::from_xyz(30.0, 40.0, 12.5, 0)], ..Roi::default() };
/// let mut file = Vec::new();
/// let mut writer = Box::new(ParquetSpacepoints::new(&mut file, "spacepoints.parquet".as_ref())?);
/// writer.write((&roi).into())?;
/// writer.finish()?;
/// assert!(file.starts_with(b"PAR1"));
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub struct ParquetSpacepoints<W: Write + Send> {
    batches: Batches<W>,
    event: UInt64Builder,
    roi: UInt64Builder,
    position: [ListBuilder<Float64Builder>; 3],
    layer: ListBuilder<UInt32Builder>,
}

impl<W: Write + Send> ParquetSpacepoints<W> {
    /// Begins a file; `path` is what errors name.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, path: &Path) -> Result<Self> {
        let item = |kind| Arc::new(Field::new("element", kind, false));
        let list = |name, kind| Field::new(name, DataType::List(item(kind)), false);
        let fields = vec![
            Field::new("event_id", DataType::UInt64, false),
            Field::new("roi_id", DataType::UInt64, false),
            list("rho", DataType::Float64),
            list("phi", DataType::Float64),
            list("z", DataType::Float64),
            list("layer", DataType::UInt32),
        ];
        let numbers = ["rho", "phi", "z"].map(|name| [name, "list", "element"]);
        let numbers: Vec<&[&str]> = numbers.iter().map(<[&str; 3]>::as_slice).collect();
        Ok(Self {
            batches: Batches::new(out, path, fields, &numbers)?,
            event: UInt64Builder::new(),
            roi: UInt64Builder::new(),
            position: std::array::from_fn(|_| {
                ListBuilder::new(Float64Builder::new()).with_field(item(DataType::Float64))
            }),
            layer: ListBuilder::new(UInt32Builder::new()).with_field(item(DataType::UInt32)),
        })
    }

    fn write_batch(&mut self) -> Result<()> {
        let [rho, phi, z] = &mut self.position;
        self.batches.write(vec![
            Arc::new(self.event.finish()),
            Arc::new(self.roi.finish()),
            Arc::new(rho.finish()),
            Arc::new(phi.finish()),
            Arc::new(z.finish()),
            Arc::new(self.layer.finish()),
        ])
    }
}

impl<W: Write + Send> SpacepointWriter for ParquetSpacepoints<W> {
    fn write(&mut self, roi: RoiView<'_>) -> Result<()> {
        let id = roi.descriptor.id;
        self.event.append_value(id.event_id);
        self.roi.append_value(id.roi_id);
        let [rho, phi, z] = &mut self.position;
        for point in roi.spacepoints() {
            rho.values().append_value(point.rho);
            phi.values().append_value(point.phi);
            z.values().append_value(point.z);
            self.layer.values().append_value(point.layer);
        }
        self.position.iter_mut().for_each(|list| list.append(true));
        self.layer.append(true);
        if self.batches.add(roi.len() + 1) {
            self.write_batch()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_batch()?;
        self.batches.close().map(|_| ())
    }
}

/// Writes vertices as Parquet: the columns and rows of [`CSV_HEADER`](super::super::CSV_HEADER), null where its fields are
/// empty.
///
/// ```
/// use zfinder_io::ParquetVertices;
/// use zfinder::RoiResult;
/// let mut file = Vec::new();
/// let mut writer = ParquetVertices::new(&mut file, "vertices.parquet".as_ref())?;
/// writer.write(&RoiResult::default())?;
/// writer.finish()?;
/// assert!(file.ends_with(b"PAR1"));
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub struct ParquetVertices<W: Write + Send> {
    batches: Batches<W>,
    event: UInt64Builder,
    roi: UInt64Builder,
    vertex: UInt32Builder,
    z: Float64Builder,
    weight: Float64Builder,
    status: StringBuilder,
    z_error: Float64Builder,
    significance: Float64Builder,
    background: Float64Builder,
}

impl<W: Write + Send> ParquetVertices<W> {
    /// Begins a file; `path` is what errors name.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, path: &Path) -> Result<Self> {
        let fields = vec![
            Field::new("event_id", DataType::UInt64, false),
            Field::new("roi_id", DataType::UInt64, false),
            Field::new("vertex", DataType::UInt32, true),
            Field::new("z_mm", DataType::Float64, true),
            Field::new("weight", DataType::Float64, true),
            Field::new("status", DataType::Utf8, false),
            Field::new("z_error_mm", DataType::Float64, true),
            Field::new("significance", DataType::Float64, true),
            Field::new("background", DataType::Float64, true),
        ];
        Ok(Self {
            batches: Batches::new(out, path, fields, &[&["z_mm"], &["z_error_mm"]])?,
            event: UInt64Builder::new(),
            roi: UInt64Builder::new(),
            vertex: UInt32Builder::new(),
            z: Float64Builder::new(),
            weight: Float64Builder::new(),
            status: StringBuilder::new(),
            z_error: Float64Builder::new(),
            significance: Float64Builder::new(),
            background: Float64Builder::new(),
        })
    }

    /// Appends a row for every vertex, or one without a vertex.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&mut self, result: &RoiResult) -> Result<()> {
        let found = result.vertices.iter().map(Some).chain(result.vertices.is_empty().then_some(None));
        for (number, vertex) in found.enumerate() {
            self.event.append_value(result.id.event_id);
            self.roi.append_value(result.id.roi_id);
            self.vertex.append_option(vertex.map(|_| number as u32));
            self.z.append_option(vertex.map(|vertex| vertex.z_mm));
            self.weight.append_option(vertex.map(|vertex| vertex.weight));
            self.status.append_value(result.status.as_str());
            self.z_error.append_option(vertex.map(|vertex| vertex.z_error_mm));
            self.significance.append_option(vertex.and_then(|vertex| vertex.significance));
            self.background.append_option(vertex.and_then(|vertex| vertex.background));
            if self.batches.add(1) {
                self.write_batch()?;
            }
        }
        Ok(())
    }

    /// Ends the file, which cannot be read before, and gives back what it was written to.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self) -> Result<W> {
        self.write_batch()?;
        self.batches.close()
    }

    fn write_batch(&mut self) -> Result<()> {
        self.batches.write(vec![
            Arc::new(self.event.finish()),
            Arc::new(self.roi.finish()),
            Arc::new(self.vertex.finish()),
            Arc::new(self.z.finish()),
            Arc::new(self.weight.finish()),
            Arc::new(self.status.finish()),
            Arc::new(self.z_error.finish()),
            Arc::new(self.significance.finish()),
            Arc::new(self.background.finish()),
        ])
    }
}
