//! Presents a Parquet file as a table: its fields, and batches of rows of selected columns.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use column_names::{event_column, quoted};
use parquet::basic::Compression;
use parquet::column::page::PageReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::statistics::Statistics;

use super::column::{Column, Refused};
use super::field::{Field, Kind, Wanted};
use super::headers::Parquet;
use crate::column_map::ColumnMap;
use crate::error::{Error, Result};
use crate::guard::quietly;
use crate::source::failed;

/// Approximate number of values of a column in a batch. All columns together about fill the
/// second-level cache of a core.
const BATCH: usize = 1 << 14;

/// Approximate number of values of a column in a batch where rows are limited.
const LIMITED_VALUES: usize = 1 << 6;

/// An open file. Call [`Table::select`] before the first [`Table::next_batch`]. The table holds one
/// page and one batch of each selected column in memory.
pub(super) struct Table {
    path: PathBuf,
    file: Arc<Parquet>,
    metadata: ParquetMetaData,
    fields: Vec<Field>,
    columns: Vec<Column>,
    next_group: usize,
    batch_rows: usize,
    /// Most values of a row.
    most_values: usize,
    /// Rows of a batch of the row group.
    group_rows: usize,
    /// Rows of earlier batches, and of this batch.
    earlier: u64,
    rows: usize,
}

impl Table {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that cannot be opened, and a file that is not Parquet or is damaged.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = Parquet::open(path).map_err(|source| failed(path, source))?;
        let open = || {
            file.check_footer()?;
            let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
            let fields = Field::all(metadata.file_metadata().schema_descr());
            Ok::<_, ParquetError>((metadata, fields))
        };
        let (metadata, fields) = carefully(open).map_err(|error| Error::Input {
            path: path.to_owned(),
            row: 0,
            column: None,
            message: format!("this is no Parquet file, or a damaged one: {error}"),
        })?;
        let mut there = HashSet::new();
        if let Some(twice) = fields.iter().find(|field| !there.insert(field.name.as_str())) {
            let message = format!("the file has two columns `{}`", twice.name);
            return Err(Error::Input { path: path.to_owned(), row: 0, column: None, message });
        }
        let path = path.to_owned();
        Ok(Self {
            path,
            file: Arc::new(file),
            metadata,
            fields,
            columns: Vec::new(),
            next_group: 0,
            batch_rows: BATCH,
            most_values: usize::MAX,
            group_rows: BATCH,
            earlier: 0,
            rows: 0,
        })
    }

    /// Makes rows with longer lists an error, before all of their values are in memory.
    pub(super) fn limit_rows(&mut self, most_values: usize) {
        self.most_values = most_values;
    }

    /// Returns the names of all fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// Gives columns the names that readers know.
    pub(super) fn rename_columns(&mut self, columns: &ColumnMap) -> Result<()> {
        let renamed = columns.rename(self.fields.iter_mut().map(|field| &mut field.name));
        renamed.map_err(|message| self.error(0, None, message))
    }

    /// Gives columns other names: see
    /// [`Schema::with_records`](crate::schema::Schema::with_records). A column that loses its name
    /// to another one has none.
    pub(super) fn rename(&mut self, paths: &HashMap<String, String>) {
        for field in &mut self.fields {
            let name = paths.iter().find(|(_, path)| **path == field.name).map(|(name, _)| name.clone());
            field.name = name.unwrap_or_default();
        }
    }

    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the minimum and the maximum of a column of whole numbers, if all row groups have
    /// statistics.
    pub(super) fn range(&self, name: &str) -> Option<[u64; 2]> {
        let Kind::WholeNumber { signed, .. } = self.field(name)?.kind else { return None };
        let leaf = self.field(name)?.leaf;
        let whole = |value: i64| u64::try_from(value).ok();
        let of_group = |group: &RowGroupMetaData| match group.column(leaf).statistics()? {
            Statistics::Int32(values) => {
                let number = |value: i32| if signed { whole(value.into()) } else { Some(value.cast_unsigned().into()) };
                Some([number(*values.min_opt()?)?, number(*values.max_opt()?)?])
            }
            Statistics::Int64(values) => {
                let number = |value: i64| if signed { whole(value) } else { Some(value.cast_unsigned()) };
                Some([number(*values.min_opt()?)?, number(*values.max_opt()?)?])
            }
            _ => None,
        };
        let ranges: Option<Vec<[u64; 2]>> = self.metadata.row_groups().iter().map(of_group).collect();
        ranges?.into_iter().reduce(|[low, high], [min, max]| [low.min(min), high.max(max)])
    }

    /// Returns the name of the column of the event number. Refuses a file that lacks it or one of
    /// `names`; `wanted` says what is expected.
    pub(super) fn event_with<const N: usize>(&self, names: [&str; N], wanted: &str) -> Result<String> {
        let event = event_column(self.names()).map_err(|reason| self.error(0, None, reason))?;
        let lacks = |name: &&str| !self.names().any(|there| there == *name);
        let missing: Vec<&str> =
            event.is_none().then_some("event_id").into_iter().chain(names.into_iter().filter(lacks)).collect();
        event.filter(|_| missing.is_empty()).map(str::to_owned).ok_or_else(|| {
            let (missing, there) = (quoted(missing.into_iter()), quoted(self.names()));
            self.error(0, None, format!("missing {missing}; the file has {there}; expected: {wanted}"))
        })
    }

    /// Refuses columns that do not hold one whole number per row.
    pub(super) fn check_ids<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Result<()> {
        let is_id = |field: &Field| field.holds(Wanted::WholeNumbers) && !field.is_list();
        match names.find(|name| !self.field(name).is_some_and(is_id)) {
            Some(name) => {
                let found = self.field(name).map_or("missing", |field| field.type_name.as_str());
                Err(self.error(0, Some(name), format!("is {found}; a whole number a row is expected")))
            }
            None => Ok(()),
        }
    }

    /// Returns whether all of these columns are lists. Refuses other types, and lists beside flat
    /// columns.
    pub(super) fn all_lists<'a>(&self, columns: impl Iterator<Item = (&'a str, Wanted)>) -> Result<bool> {
        let mut last: Option<&Field> = None;
        for (name, wanted) in columns {
            let Some(field) = self.field(name) else { continue };
            if !field.holds(wanted) {
                let message = format!("is {}; {} are expected", field.type_name, wanted.words());
                return Err(self.error(0, Some(name), message));
            }
            if let Some(other) = last.replace(field).filter(|other| other.is_list() != field.is_list()) {
                let (these, those) = if field.is_list() { ("lists", "is not") } else { ("no lists", "is") };
                let other = &other.name;
                let message = format!("holds {these}, but `{other}` {those}; all columns of spacepoints must be alike");
                return Err(self.error(0, Some(name), message));
            }
        }
        Ok(last.is_some_and(Field::is_list))
    }

    /// Selects the columns to read, and sizes batches by the first of them.
    pub(super) fn select<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let fields = names.filter_map(|name| self.field(name).cloned());
        self.columns = fields.map(Column::new).collect();
        let Some(model) = self.columns.first().filter(|column| column.field.is_list()) else { return };
        let groups = self.metadata.row_groups().iter();
        let values: i64 = groups.map(|group| group.column(model.field.leaf).num_values().max(0)).sum();
        let rows = self.metadata.file_metadata().num_rows().max(1);
        let row_values = usize::try_from(values / rows).unwrap_or(1).max(1);
        self.batch_rows = (BATCH / row_values).clamp(1, BATCH);
    }

    /// Goes on to the next batch, and returns its number of rows: 0 at the end of the file.
    ///
    /// # Errors
    /// A damaged file.
    pub(super) fn next_batch(&mut self) -> Result<usize> {
        self.earlier += self.rows as u64;
        self.rows = 0;
        self.rows = carefully(|| self.fill()).map_err(|error| {
            let message = format!("cannot be read beyond row {}: {error}", self.earlier);
            self.error(0, None, message)
        })?;
        Ok(self.rows)
    }

    fn fill(&mut self) -> ParquetResult<usize> {
        loop {
            let mut rows = None;
            for column in &mut self.columns {
                let own = column.read(self.group_rows)?;
                let rows = *rows.get_or_insert(own);
                if own != rows {
                    let name = &column.field.name;
                    let message =
                        format!("column `{name}` ends at another row of its row group than the other columns");
                    return Err(ParquetError::General(message));
                }
            }
            if let Some(rows @ 1..) = rows {
                return Ok(rows);
            }
            let Some(group) = self.metadata.row_groups().get(self.next_group) else { return Ok(0) };
            let schema = self.metadata.file_metadata().schema_descr();
            self.group_rows = self.batch_rows;
            for column in &mut self.columns {
                let leaf = column.field.leaf;
                let values = usize::try_from(group.column(leaf).num_values()).unwrap_or(usize::MAX);
                // A row cannot have more values than its row group.
                let most_values = (column.field.is_list() && values > self.most_values).then_some(self.most_values);
                if most_values.is_some() {
                    // So few rows exceed the limit only if one of them is near it.
                    let rows = usize::try_from(group.num_rows()).unwrap_or(1).max(1);
                    self.group_rows = self.group_rows.min((LIMITED_VALUES * rows / values.max(1)).max(1));
                }
                column.open(schema.column(leaf), pages(&self.file, group, leaf)?, most_values);
            }
            self.next_group += 1;
        }
    }

    /// Returns a selected column.
    ///
    /// # Panics
    /// If the column was not selected.
    pub(super) fn column(&self, name: &str) -> &Column {
        self.columns.iter().find(|column| column.field.name == name).expect("a column that was selected")
    }

    /// Returns the number of a row of the batch in the file, from 1.
    pub(super) fn row(&self, row: usize) -> u64 {
        self.earlier + row as u64 + 1
    }

    /// Returns an error in a value of the batch.
    pub(super) fn refuse(&self, name: &str, (row, message): Refused) -> Error {
        self.error(self.row(row), Some(name), message)
    }

    /// Returns an error in a row of the file, or in the whole file: row 0.
    pub(super) fn error(&self, row: u64, column: Option<&str>, message: String) -> Error {
        Error::Input { path: self.path.clone(), row, column: column.map(str::to_owned), message }
    }
}

/// Returns the pages of a column in a row group.
fn pages(file: &Arc<Parquet>, group: &RowGroupMetaData, leaf: usize) -> ParquetResult<Box<dyn PageReader>> {
    let (file, column, rows) = (Arc::clone(file), group.column(leaf), usize::try_from(group.num_rows())?);
    if let codec @ (Compression::BROTLI(_) | Compression::LZO) = column.compression() {
        let (column, codec) = (column.column_path().string(), codec.to_string());
        let codec = codec.split('(').next().unwrap_or_default();
        return Err(ParquetError::General(format!(
            "column `{column}` is compressed with {codec}, which is not read: write the file with zstd, Snappy, gzip or LZ4"
        )));
    }
    #[cfg(target_arch = "wasm32")]
    if let Compression::ZSTD(_) = column.compression() {
        return super::zstd::pages(file, column, rows);
    }
    Ok(Box::new(SerializedPageReader::new(file, column, rows, None)?))
}

/// Runs `work` and returns its error in words. The crate panics on some damaged files; a panic
/// becomes an error.
fn carefully<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    quietly(work).map_err(|panic| format!("it is damaged (parquet: {panic})"))?.map_err(|error| error.to_string())
}
