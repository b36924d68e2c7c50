//! Reads spacepoints from a Parquet file. Its schema tells two layouts apart: a row for each
//! spacepoint, or a row with lists for each event or RoI.

use std::path::Path;

use super::field::Wanted;
use super::table::Table;
use crate::columns::{Chunk, Chunks, ColumnReader, RoiRun, Schema, missing};
use crate::error::{Error, Result};
use crate::event::{Addressing, ReadOptions};
use column_names::{lookalike, refusal};
use crate::source::event_of_name;
use zfinder::Detector;

/// Opens a file of spacepoints.
///
/// # Errors
/// A file that is not Parquet, and columns that are missing or of other types.
pub(crate) fn open(path: &Path, detector: &Detector, options: ReadOptions) -> Result<ColumnReader<ParquetFile>> {
    let mut file = ParquetFile::open(path)?;
    file.table.limit_rows(options.max_spacepoints);
    Ok(ColumnReader::new(file, detector, options))
}

/// Returns how a file gives the layer of a spacepoint.
///
/// # Errors
/// As [`open`].
pub(crate) fn addressing(path: &Path) -> Result<Addressing> {
    Ok(ParquetFile::open(path)?.schema.addressing())
}

pub(crate) struct ParquetFile {
    table: Table,
    schema: Schema,
    /// Whether spacepoints are in lists.
    lists: bool,
    event_of_file: u64,
    /// Ids of the batch's rows.
    events: Vec<u64>,
    rois: Vec<u64>,
}

impl ParquetFile {
    fn open(path: &Path) -> Result<Self> {
        let mut table = Table::open(path)?;
        let schema =
            Schema::of(table.names()).map_err(|columns| table.error(0, None, missing(&columns, table.names())))?;
        let keys: &[&str] = if schema.event.is_some() { &["roi_id"] } else { &["event_id", "roi_id"] };
        for key in keys {
            if let Some(name) = lookalike(table.names(), key) {
                return Err(table.error(0, None, refusal(name, key)));
            }
        }
        let numbers = schema.position.into_iter().map(|name| (name, Wanted::Numbers));
        let layers = schema.layer_columns().iter().map(|&name| (name, Wanted::WholeNumbers));
        let lists = table.all_lists(numbers.chain(layers))?;
        let ids = [schema.event, schema.roi].into_iter().flatten();
        table.check_ids(ids.clone())?;
        if lists && schema.event.is_none() {
            let message = "missing column `event_id`: rows with lists of spacepoints are events or RoIs, and want it";
            return Err(table.error(0, None, message.into()));
        }
        table.select(schema.position.into_iter().chain(schema.layer_columns().iter().copied()).chain(ids));
        let event_of_file = event_of_name(path);
        Ok(Self { table, schema, lists, event_of_file, events: Vec::new(), rois: Vec::new() })
    }

    /// Reads a column of ids, one for each row. Without that column, all ids are `otherwise`.
    fn ids(&self, name: Option<&str>, otherwise: u64, rows: usize, to: &mut Vec<u64>) -> Result<()> {
        to.clear();
        match name {
            Some(name) => self.table.column(name).whole_numbers(to).map_err(|refused| self.table.refuse(name, refused)),
            None => {
                to.resize(rows, otherwise);
                Ok(())
            }
        }
    }

    /// Fills the columns of spacepoints.
    fn take_spacepoints(&self, chunk: &mut Chunk) -> Result<()> {
        let table = &self.table;
        let model = table.column(self.schema.position[0]);
        for (name, to) in self.schema.position.iter().zip(&mut chunk.position) {
            let column = table.column(name);
            let taken = column.check_lengths(model).and_then(|()| column.numbers(to));
            taken.map_err(|refused| table.refuse(name, refused))?;
        }
        for (name, to) in self.schema.layer_columns().iter().zip(&mut chunk.layers) {
            let column = table.column(name);
            let taken = column.check_lengths(model).and_then(|()| column.whole_numbers(to));
            taken.map_err(|refused| table.refuse(name, refused))?;
        }
        Ok(())
    }

    fn take_runs(&self, runs: &mut Vec<RoiRun>) {
        let model = self.table.column(self.schema.position[0]);
        for (row, (&event_id, &roi_id)) in self.events.iter().zip(&self.rois).enumerate() {
            match runs.last_mut() {
                Some(run) if !self.lists && (run.event_id, run.roi_id) == (event_id, roi_id) => run.spacepoints += 1,
                _ => {
                    let spacepoints = model.values(row).len();
                    runs.push(RoiRun { event_id, roi_id, spacepoints, row: self.table.row(row) });
                }
            }
        }
    }
}

impl Chunks for ParquetFile {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn whole_rois(&self) -> bool {
        self.lists
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let rows = self.table.next_batch()?;
        if rows == 0 {
            return Ok(false);
        }
        let (mut events, mut rois) = (std::mem::take(&mut self.events), std::mem::take(&mut self.rois));
        self.ids(self.schema.event, self.event_of_file, rows, &mut events)?;
        self.ids(self.schema.roi, 0, rows, &mut rois)?;
        (self.events, self.rois) = (events, rois);
        self.take_spacepoints(chunk)?;
        self.take_runs(&mut chunk.runs);
        Ok(true)
    }

    fn error(&self, at: Option<(&RoiRun, Option<usize>)>, column: Option<&str>, mut message: String) -> Error {
        let row = match at {
            None => 0,
            Some((run, None)) => run.row,
            Some((run, Some(index))) if self.lists => {
                message = format!("item {} of the list: {message}", index + 1);
                run.row
            }
            Some((run, Some(index))) => run.row + index as u64,
        };
        self.table.error(row, column, message)
    }
}
