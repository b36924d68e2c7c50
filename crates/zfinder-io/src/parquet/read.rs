//! Spacepoints out of a Parquet file, in one of two layouts, which its schema tells apart: a row a spacepoint, or a row
//! an event or RoI, with lists.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::arrays::{self, Refused};
use super::headers::Parquet;
use crate::columns::{Chunk, Chunks, ColumnReader, Run, Schema, missing};
use crate::error::{Error, Result};
use crate::event::Addressing;
use crate::guard::quietly;
use crate::source::{event_of_name, failed};
use zfinder::Detector;

/// About so many spacepoints at a time: their columns fit into a core's second-level cache or little more.
const CHUNK: usize = 1 << 14;

/// Opens a file of spacepoints. Of the file, a page of each column that is needed is in memory at a time.
///
/// # Errors
/// What is no Parquet file, and columns that are missing or of other types.
pub(crate) fn open(path: &Path, detector: &Detector) -> Result<ColumnReader<ParquetFile>> {
    Ok(ColumnReader::new(ParquetFile::open(path)?, detector))
}

/// How a file says on which layer a spacepoint lies.
///
/// # Errors
/// Those of [`open`].
pub(crate) fn addressing(path: &Path) -> Result<Addressing> {
    Ok(ParquetFile::open(path)?.schema.addressing())
}

pub(crate) struct ParquetFile {
    path: PathBuf,
    schema: Schema,
    /// Whether spacepoints lie in lists.
    lists: bool,
    event_of_file: u64,
    batches: ParquetRecordBatchReader,
    /// Rows read; the first row is 1.
    rows: u64,
    events: Vec<u64>,
    rois: Vec<u64>,
}

/// Builds a reader, or says why there is none.
pub(super) fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<Parquet>> {
    let file = File::open(path).map_err(|source| failed(path, source))?;
    // The schema as Parquet has it: an Arrow schema beside it (large lists, dictionaries) tells of memory, not of data.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let open = || ParquetRecordBatchReaderBuilder::try_new_with_options(Parquet::new(file)?, options);
    carefully(open).map_err(|error| Error::Input {
        path: path.to_owned(),
        row: 0,
        column: None,
        message: format!("this is no Parquet file, or a damaged one: {error}"),
    })
}

/// Why not, in words: of some damage the crate does not tell, it panics.
pub(super) fn carefully<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    quietly(work).map_err(|panic| format!("it is damaged (parquet: {panic})"))?.map_err(|error| error.to_string())
}

/// Whether all of these columns are lists, or none is.
pub(super) fn all_lists<'a>(
    path: &Path,
    schema: &SchemaRef,
    columns: impl Iterator<Item = (&'a str, fn(&DataType) -> bool, &'static str)>,
) -> Result<bool> {
    let mut first: Option<(&str, bool)> = None;
    for (name, right, wanted) in columns {
        let refuse = |message: String| {
            let column = Some(name.to_owned());
            Err(Error::Input { path: path.to_owned(), row: 0, column, message })
        };
        let Ok(field) = schema.field_with_name(name) else { continue };
        let (kind, list) = arrays::item(field.data_type());
        if !right(kind) {
            return refuse(format!("is {}; {wanted} are wanted", field.data_type()));
        }
        match first {
            Some((other, lists)) if lists != list => {
                let (these, those) = if list { ("lists", "is not") } else { ("no lists", "is") };
                return refuse(format!(
                    "holds {these}, but `{other}` {those}; all columns of spacepoints must be alike"
                ));
            }
            _ => first = Some((name, list)),
        }
    }
    Ok(first.is_some_and(|(_, list)| list))
}

impl ParquetFile {
    fn open(path: &Path) -> Result<Self> {
        let builder = builder(path)?;
        let whole = |column: Option<&str>, message: String| Error::Input {
            path: path.to_owned(),
            row: 0,
            column: column.map(str::to_owned),
            message,
        };
        let names: Vec<&str> = builder.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let schema = Schema::of(names.iter().copied())
            .map_err(|columns| whole(None, missing(&columns, names.iter().copied())))?;
        let numbers = schema
            .position
            .into_iter()
            .map(|name| (name, arrays::is_number as fn(&DataType) -> bool, "numbers (float or double)"));
        let layers = schema
            .layer_columns()
            .iter()
            .map(|&name| (name, arrays::is_whole_number as fn(&DataType) -> bool, "whole numbers"));
        let lists = all_lists(path, builder.schema(), numbers.chain(layers))?;
        for name in [schema.event, schema.roi].into_iter().flatten() {
            let kind = builder.schema().field_with_name(name).map(|field| field.data_type());
            if !kind.is_ok_and(arrays::is_whole_number) {
                return Err(whole(Some(name), "must hold a whole number a row".into()));
            }
        }
        if lists && schema.event.is_none() {
            let message = "missing column `event_id`: rows with lists of spacepoints are events or RoIs, and want it";
            return Err(whole(None, message.into()));
        }
        let needed = schema.position.iter().chain(schema.layer_columns()).chain(&schema.event).chain(&schema.roi);
        let mask = ProjectionMask::columns(builder.parquet_schema(), needed.copied());
        let rows = if lists { rows_a_chunk(&builder, schema.position[0]) } else { CHUNK };
        let builder = builder.with_projection(mask).with_batch_size(rows);
        let batches = carefully(|| builder.build()).map_err(|message| whole(None, message))?;
        Ok(Self {
            path: path.to_owned(),
            schema,
            lists,
            event_of_file: event_of_name(path),
            batches,
            rows: 0,
            events: Vec::new(),
            rois: Vec::new(),
        })
    }

    /// An error in a row of the current batch.
    fn refuse(&self, row: usize, column: &str, message: String) -> Error {
        let (row, column) = (self.rows + row as u64 + 1, Some(column.to_owned()));
        Error::Input { path: self.path.clone(), row, column, message }
    }

    /// A column of whole numbers a row, into `to`; `otherwise` where there is none.
    fn ids(&self, batch: &RecordBatch, name: Option<&str>, otherwise: u64, to: &mut Vec<u64>) -> Result<()> {
        to.clear();
        let Some(name) = name else {
            to.resize(batch.num_rows(), otherwise);
            return Ok(());
        };
        let array = self.column(batch, name)?;
        arrays::append_whole_numbers(array, 0, array.len(), to).map_err(|(at, message)| self.refuse(at, name, message))
    }

    fn column<'a>(&self, batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
        batch.column_by_name(name).ok_or_else(|| self.refuse(0, name, "is missing from here on".into()))
    }

    /// Fills the columns of spacepoints, a row each.
    fn take_rows(&self, batch: &RecordBatch, chunk: &mut Chunk) -> Result<()> {
        for (name, to) in self.schema.position.iter().zip(&mut chunk.position) {
            let array = self.column(batch, name)?;
            arrays::append_numbers(array, 0, array.len(), to)
                .map_err(|(at, message)| self.refuse(at, name, message))?;
        }
        for (name, to) in self.schema.layer_columns().iter().zip(&mut chunk.layers) {
            let array = self.column(batch, name)?;
            arrays::append_whole_numbers(array, 0, array.len(), to)
                .map_err(|(at, message)| self.refuse(at, name, message))?;
        }
        for (row, (&event_id, &roi_id)) in self.events.iter().zip(&self.rois).enumerate() {
            match chunk.runs.last_mut() {
                Some(run) if (run.event_id, run.roi_id) == (event_id, roi_id) => run.spacepoints += 1,
                _ => chunk.runs.push(Run { event_id, roi_id, spacepoints: 1, row: self.rows + row as u64 + 1 }),
            }
        }
        Ok(())
    }

    /// Fills the columns of spacepoints, a list each.
    fn take_lists(&self, batch: &RecordBatch, chunk: &mut Chunk) -> Result<()> {
        let model = self.column(batch, self.schema.position[0])?.as_list::<i32>().clone();
        for (name, to) in self.schema.position.iter().zip(&mut chunk.position) {
            self.take_list(batch, name, model.value_offsets(), |items, from, end| {
                arrays::append_numbers(items, from, end, to)
            })?;
        }
        for (name, to) in self.schema.layer_columns().iter().zip(&mut chunk.layers) {
            self.take_list(batch, name, model.value_offsets(), |items, from, end| {
                arrays::append_whole_numbers(items, from, end, to)
            })?;
        }
        let lengths = model.value_offsets().windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        for (row, ((&event_id, &roi_id), spacepoints)) in self.events.iter().zip(&self.rois).zip(lengths).enumerate() {
            chunk.runs.push(Run { event_id, roi_id, spacepoints, row: self.rows + row as u64 + 1 });
        }
        Ok(())
    }

    /// The items of a column of lists, if these are as long as those of the first.
    fn take_list(
        &self,
        batch: &RecordBatch,
        name: &str,
        model: &[i32],
        take: impl FnOnce(&ArrayRef, usize, usize) -> Result<(), Refused>,
    ) -> Result<()> {
        let list = self.column(batch, name)?.as_list::<i32>();
        arrays::no_null(list).map_err(|(row, message)| self.refuse(row, name, message))?;
        let offsets = list.value_offsets();
        let lengths = offsets.windows(2).zip(model.windows(2)).enumerate();
        for (row, (own, first)) in lengths {
            let (own, first) = (own[1] - own[0], first[1] - first[0]);
            if own != first {
                let other = self.schema.position[0];
                let message = format!("the list has {own} values, that of `{other}` has {first}");
                return Err(self.refuse(row, name, message));
            }
        }
        let (from, end) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        take(list.values(), from, end).map_err(|(at, message)| {
            let row = offsets.partition_point(|&offset| offset as usize <= from + at).saturating_sub(1);
            let item = from + at - offsets[row] as usize + 1;
            self.refuse(row, name, format!("item {item} of the list {message}"))
        })
    }
}

/// So many rows of lists that they hold about [`CHUNK`] spacepoints.
fn rows_a_chunk(builder: &ParquetRecordBatchReaderBuilder<Parquet>, column: &str) -> usize {
    let mut spacepoints = 0;
    for group in builder.metadata().row_groups() {
        let chunk =
            group.columns().iter().find(|chunk| chunk.column_path().parts().first().is_some_and(|part| part == column));
        spacepoints += chunk.map_or(0, |chunk| chunk.num_values().max(0));
    }
    let rows = builder.metadata().file_metadata().num_rows().max(1);
    let a_row = usize::try_from(spacepoints / rows).unwrap_or(1).max(1);
    (CHUNK / a_row).clamp(1, CHUNK)
}

impl Chunks for ParquetFile {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn whole_rois(&self) -> bool {
        self.lists
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let batch = carefully(|| self.batches.next().transpose()).map_err(|error| Error::Input {
            path: self.path.clone(),
            row: 0,
            column: None,
            message: format!("cannot be read beyond row {}: {error}", self.rows),
        })?;
        let Some(batch) = batch else { return Ok(false) };
        let (mut events, mut rois) = (std::mem::take(&mut self.events), std::mem::take(&mut self.rois));
        self.ids(&batch, self.schema.event, self.event_of_file, &mut events)?;
        self.ids(&batch, self.schema.roi, 0, &mut rois)?;
        (self.events, self.rois) = (events, rois);
        if self.lists {
            self.take_lists(&batch, chunk)?;
        } else {
            self.take_rows(&batch, chunk)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(true)
    }

    fn error(&self, at: Option<(&Run, Option<usize>)>, column: Option<&str>, mut message: String) -> Error {
        let row = match at {
            None => 0,
            Some((run, None)) => run.row,
            Some((run, Some(index))) if self.lists => {
                message = format!("item {} of the list: {message}", index + 1);
                run.row
            }
            Some((run, Some(index))) => run.row + index as u64,
        };
        Error::Input { path: self.path.clone(), row, column: column.map(str::to_owned), message }
    }
}
