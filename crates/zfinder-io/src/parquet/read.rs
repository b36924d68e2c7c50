//! Reads spacepoints from a Parquet file. Its schema tells two layouts apart: a row for each
//! spacepoint, or a row with lists for each event or RoI.

use std::path::Path;

use super::column::{Column, NULL};
use super::field::Wanted;
use super::table::Table;
use crate::column_map::ColumnMap;
use crate::columns::{BadRow, Chunk, Chunks, ColumnReader, RoiRun};
use crate::error::{Error, Result};
use crate::event::{Addressing, DROP_ADVICE, ReadOptions};
use crate::schema::Schema;
use crate::source::{event_in_name, event_of_name};
use zfinder::{Detector, RoiId};

/// Opens a file of spacepoints.
///
/// # Errors
/// A file that is not Parquet, and columns that are missing or of other types.
pub(crate) fn open(path: &Path, detector: &Detector, options: &ReadOptions) -> Result<ColumnReader<ParquetFile>> {
    let mut file = ParquetFile::open(path, &options.columns)?;
    file.drop_invalid = options.drop_invalid;
    file.table.limit_rows(options.max_spacepoints);
    Ok(ColumnReader::new(file, detector, options))
}

/// Returns how a file gives the layer of a spacepoint.
///
/// # Errors
/// As [`open`].
pub(crate) fn addressing(path: &Path, columns: &ColumnMap) -> Result<Addressing> {
    Ok(ParquetFile::open(path, columns)?.schema.addressing())
}

/// Calls `visit` with event and RoI of each row, and with whether the row is a whole RoI.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn visit_ids(path: &Path, columns: &ColumnMap, visit: &mut dyn FnMut(RoiId, bool)) -> Result<()> {
    let mut file = ParquetFile::open(path, columns)?;
    if file.schema.ids().next().is_none() {
        visit(RoiId { event_id: file.event_of_file, roi_id: 0 }, file.lists);
        return Ok(());
    }
    file.table.select(file.schema.ids());
    loop {
        let rows = file.table.next_batch()?;
        if rows == 0 {
            return Ok(());
        }
        let whole = |name| file.table.column(name).checked_whole_numbers();
        let [events, rois] = [file.schema.event.as_deref(), file.schema.roi].map(|name| name.map(whole));
        for row in 0..rows {
            let event_id = events.as_ref().map_or(Some(file.event_of_file), |ids| ids[row].as_ref().ok().copied());
            let roi_id = rois.as_ref().map_or(Some(0), |ids| ids[row].as_ref().ok().copied());
            if let (Some(event_id), Some(roi_id)) = (event_id, roi_id) {
                visit(RoiId { event_id, roi_id }, file.lists);
            }
        }
    }
}

pub(crate) struct ParquetFile {
    table: Table,
    schema: Schema,
    /// Whether spacepoints are in lists.
    lists: bool,
    /// As [`ReadOptions::drop_invalid`].
    drop_invalid: bool,
    event_of_file: u64,
    /// Ids of the batch's rows.
    events: Vec<u64>,
    rois: Vec<u64>,
}

impl ParquetFile {
    fn open(path: &Path, columns: &ColumnMap) -> Result<Self> {
        let mut table = Table::open(path)?;
        table.rename_columns(columns)?;
        let names: Vec<String> = table.names().map(str::to_owned).collect();
        let schema = Schema::with_records(&names);
        let (schema, paths) = schema.map_err(|fault| table.error(0, None, fault.message(table.names())))?;
        table.rename(&paths);
        let numbers = schema.position.into_iter().map(|name| (name, Wanted::Numbers));
        let layers = schema.layer_columns().iter().map(|&name| (name, Wanted::WholeNumbers));
        let lists = table.all_lists(numbers.chain(layers))?;
        table.check_ids(schema.ids())?;
        if lists && schema.event.is_none() && event_in_name(path).is_none() {
            let message = "missing column `event_id`: rows with lists of spacepoints are events or RoIs, and want it";
            return Err(table.error(0, None, message.into()));
        }
        table.select(schema.position.into_iter().chain(schema.layer_columns().iter().copied()).chain(schema.ids()));
        let event_of_file = event_of_name(path);
        Ok(Self { table, schema, lists, drop_invalid: false, event_of_file, events: Vec::new(), rois: Vec::new() })
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
            let numbers = if self.drop_invalid { Column::numbers_or_nan } else { Column::numbers };
            let taken = column.check_lengths(model).and_then(|()| numbers(column, to));
            taken.map_err(|refused| table.refuse(name, refused))?;
        }
        for (name, to) in self.schema.layer_columns().iter().zip(&mut chunk.layers) {
            let column = table.column(name);
            let numbers = if self.drop_invalid { Column::whole_numbers_or_missing } else { Column::whole_numbers };
            let taken = column.check_lengths(model).and_then(|()| numbers(column, to));
            taken.map_err(|refused| table.refuse(name, refused))?;
        }
        Ok(())
    }

    fn take_runs(&self, runs: &mut Vec<RoiRun>) {
        let model = self.table.column(self.schema.position[0]);
        for (row, (&event_id, &roi_id)) in self.events.iter().zip(&self.rois).enumerate() {
            self.add_run(runs, RoiId { event_id, roi_id }, model.values(row).len(), row);
        }
    }

    /// Adds spacepoints of a row to the last run, or as a run of their own.
    fn add_run(&self, runs: &mut Vec<RoiRun>, RoiId { event_id, roi_id }: RoiId, spacepoints: usize, row: usize) {
        match runs.last_mut() {
            Some(run) if !self.lists && (run.event_id, run.roi_id) == (event_id, roi_id) => run.spacepoints += 1,
            _ => runs.push(self.run(RoiId { event_id, roi_id }, spacepoints, row)),
        }
    }

    fn run(&self, RoiId { event_id, roi_id }: RoiId, spacepoints: usize, row: usize) -> RoiRun {
        RoiRun { event_id, roi_id, spacepoints, row: self.table.row(row), follows_lost_row: false }
    }

    /// Fills the chunk row by row with a batch in which rows are refused: they become bad rows.
    fn take_rows(&self, rows: usize, chunk: &mut Chunk) {
        let table = &self.table;
        let whole = |name| CheckedColumn::new(table, name, Column::checked_whole_numbers);
        let [event, roi] = [self.schema.event.as_deref(), self.schema.roi].map(|name| name.map(whole));
        let numbers = if self.drop_invalid { Column::checked_numbers_or_nan } else { Column::checked_numbers };
        let position = self.schema.position.map(|name| CheckedColumn::new(table, name, numbers));
        let layers =
            if self.drop_invalid { Column::checked_whole_numbers_or_missing } else { Column::checked_whole_numbers };
        let layers = |name: &&str| CheckedColumn::new(table, name, layers);
        let layers: Vec<CheckedColumn<'_, u64>> = self.schema.layer_columns().iter().map(layers).collect();
        let model = table.column(self.schema.position[0]);
        for row in 0..rows {
            let id = |column: &Option<CheckedColumn<'_, u64>>, otherwise| match column {
                Some(column) => column.id(row),
                None => Ok(otherwise),
            };
            let ids = id(&event, self.event_of_file).and_then(|event_id| Ok(RoiId { event_id, roi_id: id(&roi, 0)? }));
            let error = |(name, reason): Refusal| table.error(table.row(row), Some(&name), reason);
            let roi_id = match ids {
                Ok(ids) => ids,
                Err(refusal) => {
                    chunk.bad_rows.push(BadRow { run: chunk.runs.len(), at: None, error: error(refusal) });
                    continue;
                }
            };
            let at = chunk.position[0].len();
            let taken = position
                .iter()
                .zip(&mut chunk.position)
                .try_for_each(|(column, to)| column.append(row, model, to))
                .and_then(|()| {
                    layers.iter().zip(&mut chunk.layers).try_for_each(|(column, to)| column.append(row, model, to))
                });
            let spacepoints = if taken.is_ok() { model.values(row).len() } else { 1 };
            let after_lost = chunk.bad_rows.last().is_some_and(|bad| bad.run == chunk.runs.len());
            chunk.add_run(self.run(roi_id, spacepoints, row), self.lists, after_lost);
            if let Err(refusal) = taken {
                chunk.put_placeholder(at, layers.len());
                chunk.bad_rows.push(BadRow { run: chunk.runs.len() - 1, at: Some(at), error: error(refusal) });
            }
        }
    }
}

/// A column, and the reason for refusing a value.
type Refusal = (String, String);

/// The values of a column in a batch in which rows are refused.
struct CheckedColumn<'a, T> {
    column: &'a Column,
    values: Vec<Result<T, String>>,
}

impl<'a, T: Copy> CheckedColumn<'a, T> {
    fn new(table: &'a Table, name: &str, values: fn(&Column) -> Vec<Result<T, String>>) -> Self {
        let column = table.column(name);
        Self { column, values: values(column) }
    }

    /// Returns the value of a row of a flat column.
    fn id(&self, row: usize) -> Result<T, Refusal> {
        self.values[row].clone().map_err(|reason| self.refuse(reason))
    }

    /// Appends the values of a row. After an error, `to` may hold a part of them.
    fn append(&self, row: usize, model: &Column, to: &mut Vec<T>) -> Result<(), Refusal> {
        self.column.check_row(row, model).map_err(|reason| self.refuse(reason))?;
        for (item, value) in self.values[self.column.values(row)].iter().enumerate() {
            match value {
                Ok(value) => to.push(*value),
                Err(reason) => {
                    let advice = if reason == NULL || reason.starts_with("NaN") { DROP_ADVICE } else { "" };
                    let item = if self.column.field.is_list() {
                        format!("item {} of the list ", item + 1)
                    } else {
                        String::new()
                    };
                    return Err(self.refuse(format!("{item}{reason}{advice}")));
                }
            }
        }
        Ok(())
    }

    fn refuse(&self, reason: String) -> Refusal {
        (self.column.field.name.clone(), reason)
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
        let ids = self.ids(self.schema.event.as_deref(), self.event_of_file, rows, &mut events);
        let ids = ids.and_then(|()| self.ids(self.schema.roi, 0, rows, &mut rois));
        (self.events, self.rois) = (events, rois);
        match ids.and_then(|()| self.take_spacepoints(chunk)) {
            Ok(()) => self.take_runs(&mut chunk.runs),
            Err(_) => {
                chunk.clear();
                self.take_rows(rows, chunk);
            }
        }
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
