//! Spacepoints and vertices into Parquet files, row group by row group.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::answer_columns::{COUNT, FITTED, HITS, TRACKLET_NUMBERS, TRUE_Z};
use crate::error::{Error, Result};
use crate::{Provenance, SpacepointWriter, VertexColumns};
use zfinder::RoiResult;
use zfinder::RoiView;
use zfinder::Status;
use zfinder::results::RoiSummary;

/// Approximate number of values of a column in a row group. They are kept in memory, because a row
/// group is written column by column.
const ROW_GROUP: usize = 1 << 20;
/// Texts in one batch, so that their `ByteArray`s take little memory.
const TEXTS: usize = 1 << 10;

const SPACEPOINTS: &str = "message schema {
    required int64 event_id (INTEGER(64, false));
    required int64 roi_id (INTEGER(64, false));
    required group rho (LIST) { repeated group list { required double element; } }
    required group phi (LIST) { repeated group list { required double element; } }
    required group z (LIST) { repeated group list { required double element; } }
    required group layer (LIST) { repeated group list { required int32 element (INTEGER(32, false)); } }
}";

const VERTICES: &str = "message schema {
    required int64 event_id (INTEGER(64, false));
    required int64 roi_id (INTEGER(64, false));
    optional int32 vertex (INTEGER(32, false));
    optional double z_mm;
    optional double weight;
    required binary status (STRING);
    optional double z_error_mm;
    optional double significance;
    optional double background;
    optional double rank;
    required boolean fallback;";

/// Returns the schema of vertices.
fn vertex_schema(columns: VertexColumns<'_>) -> String {
    let mut schema = VERTICES.to_owned();
    if columns.is_fitted {
        schema.push_str(&format!("optional int64 {COUNT} (INTEGER(64, false));"));
        FITTED.iter().for_each(|(name, _)| schema.push_str(&format!("optional double {name};")));
    }
    if columns.truth.is_some() {
        TRUE_Z.iter().for_each(|name| schema.push_str(&format!("optional double {name};")));
    }
    schema + "}"
}

/// Returns the schema of tracklets.
fn tracklet_schema() -> String {
    let mut schema = TRACKLETS.to_owned();
    HITS.iter().for_each(|name| schema.push_str(&format!("optional int32 {name} (INTEGER(32, false));")));
    TRACKLET_NUMBERS.iter().for_each(|name| schema.push_str(&format!("required double {name};")));
    schema + "}"
}

const TRACKLETS: &str = "message schema {
    required int64 event_id (INTEGER(64, false));
    required int64 roi_id (INTEGER(64, false));
    required int32 tracklet (INTEGER(32, false));
    optional int32 vertex (INTEGER(32, false));
    required int32 hits (INTEGER(32, false));";

/// Writes row groups to a file.
struct GroupWriter<W: Write + Send> {
    path: PathBuf,
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> GroupWriter<W> {
    /// Columns in `numbers` have no dictionary, because their values are almost all distinct.
    fn new(out: W, path: &Path, schema: &str, numbers: &[&str]) -> Result<Self> {
        // The crate compresses zstd with a C library, which a browser lacks.
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let compression = if cfg!(target_arch = "wasm32") { Compression::SNAPPY } else { zstd };
        let mut properties = WriterProperties::builder().set_compression(compression);
        for path in numbers {
            let parts = path.split('.').map(str::to_owned).collect::<Vec<_>>();
            properties = properties.set_column_dictionary_enabled(ColumnPath::new(parts), false);
        }
        let writer = parse_message_type(schema)
            .and_then(|schema| SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build())));
        Ok(Self { path: path.to_owned(), writer: writer.map_err(|error| failed(path, error))? })
    }

    /// Writes a row group of `rows` rows. Writes nothing for 0 rows.
    fn write(&mut self, rows: usize, columns: impl FnOnce(&mut Group<'_, W>) -> ParquetResult<()>) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let written = self.writer.next_row_group().and_then(|mut group| {
            columns(&mut group)?;
            group.close()
        });
        written.map(|_| ()).map_err(|error| failed(&self.path, error))
    }

    /// Ends the file, and returns the writer below it after a flush.
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

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

/// Definition and repetition levels of a column, if it has them.
type Levels<'a> = (Option<&'a [i16]>, Option<&'a [i16]>);
const REQUIRED: Levels<'static> = (None, None);

/// Writes the next column of a row group in one or several batches.
fn write_column<T: DataType, W: Write + Send>(
    group: &mut Group<'_, W>,
    batches: impl IntoIterator<Item = impl AsRef<[T::T]>>,
    (definition, repetition): Levels<'_>,
) -> ParquetResult<()> {
    let no_column = || ParquetError::General("the schema has fewer columns than the row group".into());
    let mut column = group.next_column()?.ok_or_else(no_column)?;
    for values in batches {
        column.typed::<T>().write_batch(values.as_ref(), definition, repetition)?;
    }
    column.close()
}

/// Writes spacepoints as Parquet: a row an RoI, the columns `event_id`, `roi_id`, and `rho`, `phi`,
/// `z` (f64) and `layer` (u32), each a list. So an RoI without spacepoints is a row as well.
/// Compressed with zstd.
///
/// ```
/// use zfinder_io::{ParquetSpacepoints, SpacepointWriter};
/// use zfinder::{Roi, Spacepoint};
/// let spacepoints = vec![Spacepoint::from_xyz(30.0, 40.0, 12.5, 0)];
/// let roi = Roi { spacepoints, ..Roi::default() };
/// let mut file = Vec::new();
/// let mut writer = Box::new(ParquetSpacepoints::new(&mut file, "spacepoints.parquet".as_ref())?);
/// writer.write((&roi).into())?;
/// writer.finish()?;
/// assert!(file.starts_with(b"PAR1"));
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub struct ParquetSpacepoints<W: Write + Send> {
    groups: GroupWriter<W>,
    rows: SpacepointRows,
}

/// Columns of a row group.
#[derive(Default)]
struct SpacepointRows {
    event: Vec<i64>,
    roi: Vec<i64>,
    position: [Vec<f64>; 3],
    layer: Vec<i32>,
    /// Levels of the four lists: a definition level of 0 is an empty list, a repetition level of 0
    /// is a list's first item.
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl<W: Write + Send> ParquetSpacepoints<W> {
    /// Begins a file; `path` is what errors name.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, path: &Path) -> Result<Self> {
        let numbers = ["rho.list.element", "phi.list.element", "z.list.element"];
        Ok(Self { groups: GroupWriter::new(out, path, SPACEPOINTS, &numbers)?, rows: SpacepointRows::default() })
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let levels = (Some(rows.definition.as_slice()), Some(rows.repetition.as_slice()));
        self.groups.write(rows.event.len(), |group| {
            write_column::<Int64Type, W>(group, [&rows.event], REQUIRED)?;
            write_column::<Int64Type, W>(group, [&rows.roi], REQUIRED)?;
            for values in &rows.position {
                write_column::<DoubleType, W>(group, [values], levels)?;
            }
            write_column::<Int32Type, W>(group, [&rows.layer], levels)
        })
    }
}

impl<W: Write + Send> SpacepointWriter for ParquetSpacepoints<W> {
    fn write(&mut self, roi: RoiView<'_>) -> Result<()> {
        let id = roi.descriptor.id;
        let rows = &mut self.rows;
        rows.event.push(id.event_id.cast_signed());
        rows.roi.push(id.roi_id.cast_signed());
        let [rho, phi, z] = &mut rows.position;
        for point in roi.spacepoints() {
            rho.push(point.rho);
            phi.push(point.phi);
            z.push(point.z);
            rows.layer.push(point.layer.cast_signed());
        }
        rows.definition.push(i16::from(!roi.is_empty()));
        rows.repetition.push(0);
        let levels = rows.definition.len() + roi.len().saturating_sub(1);
        rows.definition.resize(levels, 1);
        rows.repetition.resize(levels, 1);
        if levels >= ROW_GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_group()?;
        self.groups.close().map(|_| ())
    }
}

/// A column with nulls.
#[derive(Default)]
struct Optional<T> {
    values: Vec<T>,
    definition: Vec<i16>,
}

impl<T> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.definition.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn write<P: DataType<T = T>, W: Write + Send>(&self, group: &mut Group<'_, W>) -> ParquetResult<()> {
        write_column::<P, W>(group, [&self.values], (Some(&self.definition), None))
    }
}

/// Writes vertices as Parquet: the columns and rows of [`VertexColumns::csv_header`], null where
/// its fields are empty.
///
/// ```
/// use zfinder_io::{ParquetVertices, VertexColumns};
/// use zfinder::results::RoiSummary;
/// let mut results = zfinder::Results::new();
/// results.push(RoiSummary::default(), []);
/// let mut file = Vec::new();
/// let columns = VertexColumns::default();
/// let mut writer = ParquetVertices::new(&mut file, "vertices.parquet".as_ref(), columns)?;
/// writer.write(results.roi(0))?;
/// writer.finish()?;
/// assert!(file.ends_with(b"PAR1"));
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub struct ParquetVertices<'a, W: Write + Send> {
    groups: GroupWriter<W>,
    columns: VertexColumns<'a>,
    rows: VertexRows,
}

/// Columns of a row group.
#[derive(Default)]
struct VertexRows {
    event: Vec<i64>,
    roi: Vec<i64>,
    vertex: Optional<i32>,
    z: Optional<f64>,
    weight: Optional<f64>,
    status: Vec<Status>,
    z_error: Optional<f64>,
    significance: Optional<f64>,
    background: Optional<f64>,
    rank: Optional<f64>,
    fallback: Vec<bool>,
    /// Of vertices that tracklets were fitted to.
    tracklet_count: Optional<i64>,
    fitted: [Optional<f64>; FITTED.len()],
    true_z: [Optional<f64>; TRUE_Z.len()],
}

impl<'a, W: Write + Send> ParquetVertices<'a, W> {
    /// Begins a file; `path` is what errors name.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, path: &Path, columns: VertexColumns<'a>) -> Result<Self> {
        let groups = GroupWriter::new(out, path, &vertex_schema(columns), &["z_mm", "z_error_mm"])?;
        Ok(Self { groups, columns, rows: VertexRows::default() })
    }

    /// Adds how the answers came about to the file's metadata, as `zfinder.version` and so on.
    pub fn add_provenance(&mut self, provenance: &Provenance) {
        for (name, value) in provenance.fields() {
            let entry = KeyValue::new(format!("zfinder.{name}"), value);
            self.groups.writer.append_key_value_metadata(entry);
        }
    }

    /// Appends a row for every vertex, or one without a vertex.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&mut self, result: RoiResult<'_>) -> Result<()> {
        let RoiSummary { id, status, is_fallback, .. } = result.summary();
        let vertices = result.vertices();
        let true_z_mm = self.columns.true_z_mm(id);
        let found = vertices.iter().map(Some).chain(vertices.is_empty().then_some(None));
        for (number, vertex) in found.enumerate() {
            let rows = &mut self.rows;
            rows.event.push(id.event_id.cast_signed());
            rows.roi.push(id.roi_id.cast_signed());
            rows.vertex.push(vertex.map(|_| number as i32));
            rows.z.push(vertex.map(|vertex| vertex.z_mm));
            rows.weight.push(vertex.map(|vertex| vertex.weight));
            rows.status.push(status);
            rows.z_error.push(vertex.map(|vertex| vertex.z_error_mm));
            rows.significance.push(vertex.and_then(|vertex| vertex.significance));
            rows.background.push(vertex.and_then(|vertex| vertex.background));
            rows.rank.push(vertex.map(|vertex| vertex.rank));
            rows.fallback.push(is_fallback);
            rows.tracklet_count.push(vertex.map(|vertex| vertex.tracklet_count.cast_signed()));
            for (column, (_, number)) in rows.fitted.iter_mut().zip(FITTED) {
                column.push(vertex.and_then(|vertex| number(&vertex)));
            }
            rows.true_z[0].push(true_z_mm);
            rows.true_z[1].push(vertex.zip(true_z_mm).map(|(vertex, true_z_mm)| vertex.z_mm - true_z_mm));
            if rows.event.len() >= ROW_GROUP {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Ends the file, which cannot be read before, and gives back what it was written to.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(mut self) -> Result<W> {
        self.write_group()?;
        self.groups.close()
    }

    fn write_group(&mut self) -> Result<()> {
        let (rows, columns) = (std::mem::take(&mut self.rows), self.columns);
        let text = |status: &Status| ByteArray::from(Bytes::from_static(status.as_str().as_bytes()));
        self.groups.write(rows.event.len(), |group| {
            write_column::<Int64Type, W>(group, [&rows.event], REQUIRED)?;
            write_column::<Int64Type, W>(group, [&rows.roi], REQUIRED)?;
            rows.vertex.write::<Int32Type, W>(group)?;
            rows.z.write::<DoubleType, W>(group)?;
            rows.weight.write::<DoubleType, W>(group)?;
            let texts = rows.status.chunks(TEXTS).map(|status| status.iter().map(text).collect::<Vec<_>>());
            write_column::<ByteArrayType, W>(group, texts, REQUIRED)?;
            rows.z_error.write::<DoubleType, W>(group)?;
            rows.significance.write::<DoubleType, W>(group)?;
            rows.background.write::<DoubleType, W>(group)?;
            rows.rank.write::<DoubleType, W>(group)?;
            write_column::<BoolType, W>(group, [&rows.fallback], REQUIRED)?;
            if columns.is_fitted {
                rows.tracklet_count.write::<Int64Type, W>(group)?;
                rows.fitted.iter().try_for_each(|column| column.write::<DoubleType, W>(group))?;
            }
            let mut true_z = rows.true_z.iter().filter(|_| columns.truth.is_some());
            true_z.try_for_each(|column| column.write::<DoubleType, W>(group))
        })
    }
}

/// Writes tracklets as Parquet: the columns and rows of
/// [`tracklet_csv_header`](crate::tracklet_csv_header), null where its fields are empty.
///
/// ```
/// use zfinder_io::ParquetTracklets;
/// use zfinder::results::RoiSummary;
/// let mut results = zfinder::Results::new();
/// results.push(RoiSummary::default(), []);
/// let mut file = Vec::new();
/// let mut writer = ParquetTracklets::new(&mut file, "tracklets.parquet".as_ref())?;
/// writer.write(results.roi(0))?;
/// writer.finish()?;
/// assert!(file.ends_with(b"PAR1"));
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub struct ParquetTracklets<W: Write + Send> {
    groups: GroupWriter<W>,
    rows: TrackletRows,
}

/// Columns of a row group.
#[derive(Default)]
struct TrackletRows {
    event: Vec<i64>,
    roi: Vec<i64>,
    tracklet: Vec<i32>,
    vertex: Optional<i32>,
    count: Vec<i32>,
    hits: [Optional<i32>; HITS.len()],
    numbers: [Vec<f64>; TRACKLET_NUMBERS.len()],
}

impl<W: Write + Send> ParquetTracklets<W> {
    /// Begins a file; `path` is what errors name.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, path: &Path) -> Result<Self> {
        let groups = GroupWriter::new(out, path, &tracklet_schema(), &TRACKLET_NUMBERS)?;
        Ok(Self { groups, rows: TrackletRows::default() })
    }

    /// Appends a row for every tracklet.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&mut self, result: RoiResult<'_>) -> Result<()> {
        let id = result.id();
        for (number, tracklet) in result.tracklets().iter().enumerate() {
            let rows = &mut self.rows;
            rows.event.push(id.event_id.cast_signed());
            rows.roi.push(id.roi_id.cast_signed());
            rows.tracklet.push(number as i32);
            rows.vertex.push(tracklet.vertex().map(|vertex| vertex as i32));
            rows.count.push(tracklet.hits().len() as i32);
            for (place, column) in rows.hits.iter_mut().enumerate() {
                column.push(tracklet.hits().get(place).map(|hit| hit.cast_signed()));
            }
            for (column, number) in rows.numbers.iter_mut().zip(tracklet.numbers()) {
                column.push(number);
            }
            if rows.event.len() >= ROW_GROUP {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Ends the file, which cannot be read before, and gives back what it was written to.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(mut self) -> Result<W> {
        self.write_group()?;
        self.groups.close()
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        self.groups.write(rows.event.len(), |group| {
            write_column::<Int64Type, W>(group, [&rows.event], REQUIRED)?;
            write_column::<Int64Type, W>(group, [&rows.roi], REQUIRED)?;
            write_column::<Int32Type, W>(group, [&rows.tracklet], REQUIRED)?;
            rows.vertex.write::<Int32Type, W>(group)?;
            write_column::<Int32Type, W>(group, [&rows.count], REQUIRED)?;
            rows.hits.iter().try_for_each(|column| column.write::<Int32Type, W>(group))?;
            rows.numbers.iter().try_for_each(|column| write_column::<DoubleType, W>(group, [column], REQUIRED))
        })
    }
}
