//! A column of a Parquet file, read batch by batch through definition and repetition levels.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;

use super::field::{Field, Kind};
use crate::event::MISSING;
use crate::whole::{whole_of_float, whole_of_integer};

/// The row of a refused value, from 0 in its batch, and the reason.
pub(super) type Refused = (usize, String);

/// One batch of a column.
pub(super) struct Column {
    pub(super) field: Field,
    /// Reads the column's chunk of the current row group.
    reader: Option<ColumnReader>,
    /// Most values of a batch, and the number of values in the pages read for it, if the row group
    /// needs a limit.
    limit: Option<(usize, Arc<AtomicUsize>)>,
    values: Values,
    levels: Levels,
    /// Number of items before each row, and of all rows. Empty if the column is flat.
    offsets: Vec<usize>,
    null_lists: Vec<usize>,
}

/// Values of a batch without its nulls.
enum Values {
    None,
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Boolean(Vec<bool>),
    Text(Vec<ByteArray>),
}

#[derive(Default)]
struct Levels {
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// Number of values that are not null.
    values: usize,
}

impl Levels {
    /// Replaces the batch by up to `rows` whole rows, and returns their number.
    fn read<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        values: &mut Vec<T::T>,
        rows: usize,
    ) -> Result<usize> {
        self.definition.clear();
        self.repetition.clear();
        values.clear();
        let mut read = 0;
        while read < rows {
            let (definition, repetition) = (&mut self.definition, &mut self.repetition);
            let (more, _, _) = reader.read_records(rows - read, Some(definition), Some(repetition), values)?;
            if more == 0 {
                break;
            }
            read += more;
        }
        self.values = values.len();
        Ok(read)
    }
}

impl Column {
    pub(super) fn new(field: Field) -> Self {
        Self {
            field,
            reader: None,
            limit: None,
            values: Values::None,
            levels: Levels::default(),
            offsets: Vec::new(),
            null_lists: Vec::new(),
        }
    }

    /// Continues with the pages of a row group. A batch with more values than `most_values` is an
    /// error.
    pub(super) fn open(
        &mut self,
        descriptor: ColumnDescPtr,
        mut pages: Box<dyn PageReader>,
        most_values: Option<usize>,
    ) {
        self.limit = most_values.map(|most| (most, Arc::default()));
        if let Some((most, used)) = &self.limit {
            pages = Box::new(LimitedPages { pages, most: *most, used: Arc::clone(used) });
        }
        let reader = get_column_reader(descriptor, pages);
        if matches!(self.values, Values::None) {
            self.values = match reader {
                ColumnReader::Int32ColumnReader(_) => Values::Int32(Vec::new()),
                ColumnReader::Int64ColumnReader(_) => Values::Int64(Vec::new()),
                ColumnReader::FloatColumnReader(_) => Values::Float(Vec::new()),
                ColumnReader::DoubleColumnReader(_) => Values::Double(Vec::new()),
                ColumnReader::BoolColumnReader(_) => Values::Boolean(Vec::new()),
                ColumnReader::ByteArrayColumnReader(_) => Values::Text(Vec::new()),
                _ => Values::None,
            };
        }
        self.reader = Some(reader);
    }

    /// Replaces the batch by up to `rows` rows of the row group, and returns their number: 0 at its
    /// end.
    pub(super) fn read(&mut self, rows: usize) -> Result<usize> {
        let levels = &mut self.levels;
        let Some(reader) = &mut self.reader else { return Ok(0) };
        if let Some((_, used)) = &self.limit {
            used.store(0, Ordering::Relaxed);
        }
        let rows = match (reader, &mut self.values) {
            (ColumnReader::Int32ColumnReader(reader), Values::Int32(values)) => levels.read(reader, values, rows),
            (ColumnReader::Int64ColumnReader(reader), Values::Int64(values)) => levels.read(reader, values, rows),
            (ColumnReader::FloatColumnReader(reader), Values::Float(values)) => levels.read(reader, values, rows),
            (ColumnReader::DoubleColumnReader(reader), Values::Double(values)) => levels.read(reader, values, rows),
            (ColumnReader::BoolColumnReader(reader), Values::Boolean(values)) => levels.read(reader, values, rows),
            (ColumnReader::ByteArrayColumnReader(reader), Values::Text(values)) => levels.read(reader, values, rows),
            _ => Err(ParquetError::General(format!("column `{}` holds no numbers", self.field.name))),
        }?;
        if let Some((most, _)) = self.limit
            && rows == 1
            && self.levels.definition.len() > FAR_ABOVE * most
        {
            // The check comes before the other columns allocate as much memory.
            return Err(too_long(most));
        }
        if self.field.is_list() {
            self.delimit(rows)?;
        }
        Ok(rows)
    }

    /// Finds the rows' lists among the items.
    fn delimit(&mut self, rows: usize) -> Result<()> {
        let item_level = self.field.item_level;
        self.offsets.clear();
        self.null_lists.clear();
        let mut items = 0;
        for (&definition, &repetition) in self.levels.definition.iter().zip(&self.levels.repetition) {
            if repetition == 0 {
                // One level below an item the list is empty, and further below it is null.
                if definition + 1 < item_level {
                    self.null_lists.push(self.offsets.len());
                }
                self.offsets.push(items);
            }
            items += usize::from(definition >= item_level);
        }
        if self.offsets.len() != rows {
            let message = format!("column `{}` begins within a list", self.field.name);
            return Err(ParquetError::General(message));
        }
        self.offsets.push(items);
        Ok(())
    }

    /// Returns the values of a row.
    pub(super) fn values(&self, row: usize) -> Range<usize> {
        if self.field.is_list() { self.offsets[row]..self.offsets[row + 1] } else { row..row + 1 }
    }

    /// Returns the row of a value.
    pub(super) fn row(&self, value: usize) -> usize {
        if self.field.is_list() { self.offsets.partition_point(|&offset| offset <= value) - 1 } else { value }
    }

    /// Refuses null lists, and lists whose length differs from the model's. Accepts a flat column.
    pub(super) fn check_lengths(&self, model: &Self) -> Result<(), Refused> {
        if let Some(&row) = self.null_lists.first().filter(|_| self.field.is_list()) {
            return Err((row, NULL.into()));
        }
        if self.offsets == model.offsets {
            return Ok(());
        }
        let mut rows = 0..self.offsets.len().saturating_sub(1);
        let lengths = |row| [self.values(row).len(), model.values(row).len()];
        match rows.find_map(|row| Some((row, lengths(row))).filter(|(_, [own, other])| own != other)) {
            Some((row, [own, other])) => Err((row, self.unequal(own, other, model))),
            None => Ok(()),
        }
    }

    /// Appends the batch's numbers.
    pub(super) fn numbers(&self, to: &mut Vec<f64>) -> Result<(), Refused> {
        self.check_nulls()?;
        self.append_numbers(to);
        Ok(())
    }

    /// Appends the values that are not null.
    fn append_numbers(&self, to: &mut Vec<f64>) {
        match &self.values {
            Values::Float(values) => to.extend(values.iter().map(|&value| f64::from(value))),
            Values::Double(values) => to.extend_from_slice(values),
            _ if self.is_signed() => {
                to.extend(self.integers().into_iter().map(|value| value.cast_signed() as f64));
            }
            _ => to.extend(self.integers().into_iter().map(|value| value as f64)),
        }
    }

    fn is_signed(&self) -> bool {
        matches!(self.field.kind, Kind::WholeNumber { signed: true, .. })
    }

    fn integers(&self) -> Vec<u64> {
        let mut integers = Vec::new();
        self.append_integers(&mut integers);
        integers
    }

    /// Appends the batch's numbers, None for a null.
    pub(super) fn optional_numbers(&self, to: &mut Vec<Option<f64>>) {
        to.extend(self.checked_numbers().into_iter().map(Result::ok));
    }

    /// Returns the batch's whole numbers, and for each null and each other number the reason for
    /// refusing it.
    pub(super) fn checked_whole_numbers(&self) -> Vec<Result<u64, String>> {
        match &self.values {
            Values::Float(values) => self.with_nulls(values.iter().map(|&value| whole_of_float(value.into()))),
            Values::Double(values) => self.with_nulls(values.iter().map(|&value| whole_of_float(value))),
            _ if self.is_signed() => {
                self.with_nulls(self.integers().into_iter().map(|value| whole_of_integer(value.cast_signed())))
            }
            _ => self.with_nulls(self.integers().into_iter().map(Ok)),
        }
    }

    /// Returns the batch's numbers, and for each null the reason for refusing it.
    pub(super) fn checked_numbers(&self) -> Vec<Result<f64, String>> {
        let mut values = Vec::new();
        self.append_numbers(&mut values);
        self.with_nulls(values.into_iter().map(Ok))
    }

    /// Returns the batch's numbers, NaN for a null.
    pub(super) fn checked_numbers_or_nan(&self) -> Vec<Result<f64, String>> {
        self.checked_numbers().into_iter().map(|number| Ok(number.unwrap_or(f64::NAN))).collect()
    }

    /// Returns the batch's whole numbers as [`Self::checked_whole_numbers`], [`MISSING`] for a null
    /// or NaN.
    pub(super) fn checked_whole_numbers_or_missing(&self) -> Vec<Result<u64, String>> {
        let is_missing: Vec<bool> = match &self.values {
            Values::Float(_) | Values::Double(_) => self
                .checked_numbers()
                .iter()
                .map(|number| number.as_ref().map_or(true, |number| number.is_nan()))
                .collect(),
            _ => self.checked_whole_numbers().iter().map(|number| number.as_ref().is_err_and(|e| e == NULL)).collect(),
        };
        let numbers = self.checked_whole_numbers().into_iter().zip(is_missing);
        numbers.map(|(number, is_missing)| if is_missing { Ok(MISSING) } else { number }).collect()
    }

    /// Appends the batch's numbers, NaN for a null.
    pub(super) fn numbers_or_nan(&self, to: &mut Vec<f64>) -> Result<(), Refused> {
        to.extend(self.checked_numbers().into_iter().map(|number| number.unwrap_or(f64::NAN)));
        Ok(())
    }

    /// Appends the batch's whole numbers, [`MISSING`] for a null or NaN.
    pub(super) fn whole_numbers_or_missing(&self, to: &mut Vec<u64>) -> Result<(), Refused> {
        for (at, number) in self.checked_whole_numbers_or_missing().into_iter().enumerate() {
            to.push(number.map_err(|reason| self.refuse(at, reason))?);
        }
        Ok(())
    }

    /// Puts the batch's nulls among its values.
    fn with_nulls<T>(&self, mut values: impl Iterator<Item = Result<T, String>>) -> Vec<Result<T, String>> {
        let items = self.levels.definition.iter().filter(|&&level| level >= self.field.item_level);
        let is_null = |level: i16| level < self.field.value_level;
        let null = || Err(NULL.to_owned());
        if self.levels.definition.is_empty() {
            return values.collect();
        }
        items.map(|&level| if is_null(level) { null() } else { values.next().unwrap_or_else(null) }).collect()
    }

    /// Returns the reason for refusing the list of a row: a null, or a length that differs from the
    /// model's.
    pub(super) fn check_row(&self, row: usize, model: &Self) -> Result<(), String> {
        if self.field.is_list() && self.null_lists.binary_search(&row).is_ok() {
            return Err(NULL.into());
        }
        let [own, other] = [self, model].map(|column| column.values(row).len());
        if own == other { Ok(()) } else { Err(self.unequal(own, other, model)) }
    }

    fn unequal(&self, own: usize, other: usize, model: &Self) -> String {
        format!("the list has {own} values, that of `{}` has {other}", model.field.name)
    }

    /// Returns the batch's texts.
    pub(super) fn texts(&self) -> Result<Vec<&str>, Refused> {
        self.check_nulls()?;
        let Values::Text(values) = &self.values else { return Ok(Vec::new()) };
        let text = |(at, value)| {
            let bytes: &ByteArray = value;
            str::from_utf8(bytes.data()).map_err(|_| self.refuse(at, "is not text in UTF-8".into()))
        };
        values.iter().enumerate().map(text).collect()
    }

    /// Appends the batch's whole numbers.
    pub(super) fn whole_numbers(&self, to: &mut Vec<u64>) -> Result<(), Refused> {
        self.check_nulls()?;
        if let Values::Float(_) | Values::Double(_) = self.values {
            for (at, value) in self.checked_whole_numbers().into_iter().enumerate() {
                to.push(value.map_err(|reason| self.refuse(at, reason))?);
            }
            return Ok(());
        }
        let before = to.len();
        self.append_integers(to);
        let is_signed = self.is_signed();
        match to[before..].iter().position(|value| is_signed && value.cast_signed() < 0) {
            Some(at) => {
                let refused = whole_of_integer(to[before + at].cast_signed());
                Err(self.refuse(at, refused.err().unwrap_or_default()))
            }
            None => Ok(()),
        }
    }

    /// Appends the integers that are not null. The bits of negative numbers are kept.
    fn append_integers(&self, to: &mut Vec<u64>) {
        if let Values::Boolean(values) = &self.values {
            to.extend(values.iter().map(|&value| u64::from(value)));
        }
        let Kind::WholeNumber { bits, signed } = self.field.kind else { return };
        // Bits beyond the annotated width carry no value.
        let unused = 64 - bits;
        let narrow = |value: i64| match signed {
            true => (value << unused >> unused).cast_unsigned(),
            false => value.cast_unsigned() << unused >> unused,
        };
        match &self.values {
            Values::Int32(values) => to.extend(values.iter().map(|&value| narrow(value.into()))),
            Values::Int64(values) => to.extend(values.iter().map(|&value| narrow(value))),
            _ => {}
        }
    }

    fn check_nulls(&self) -> Result<(), Refused> {
        // A required column has no definition levels.
        let items = if self.field.is_list() { self.offsets.last() } else { Some(&self.levels.definition.len()) };
        if items.is_none_or(|&items| items <= self.levels.values) {
            return Ok(());
        }
        let mut items = self.levels.definition.iter().filter(|&&level| level >= self.field.item_level);
        let at = items.position(|&level| level < self.field.value_level).unwrap_or(0);
        Err(self.refuse(at, NULL.into()))
    }

    /// Returns the row and, for a list, the item of a refused value.
    fn refuse(&self, value: usize, message: String) -> Refused {
        let row = self.row(value);
        match self.field.is_list() {
            true => (row, format!("item {} of the list {message}", value - self.offsets[row] + 1)),
            false => (row, message),
        }
    }
}

/// A row above the limit is left out alone. A row this many times above the limit ends the file.
const FAR_ABOVE: usize = 2;
/// Number of values of a page that are decoded to find out to which rows they belong.
const MOST_PAGE_VALUES: usize = 1 << 24;

fn too_long(most: usize) -> ParquetError {
    ParquetError::General(format!("a row has more than {most} spacepoints; if that is right, raise max_spacepoints"))
}

/// Reads the pages of a column, but no more than one batch may need.
struct LimitedPages {
    pages: Box<dyn PageReader>,
    most: usize,
    used: Arc<AtomicUsize>,
}

impl PageReader for LimitedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        // If one more page is needed, all pages since the batch began belong to the batch.
        let used = self.used.load(Ordering::Relaxed);
        if used > self.most {
            return Err(too_long(self.most));
        }
        let page = self.pages.get_next_page()?;
        if let Some(page) = page.as_ref().filter(|page| !matches!(page, Page::DictionaryPage { .. })) {
            // All values may belong to one row.
            let most = MOST_PAGE_VALUES.max(FAR_ABOVE * self.most);
            if page.num_values() as usize > most {
                let message = format!("a page of {} values; at most {most} are read of lists", page.num_values());
                return Err(ParquetError::General(message));
            }
            self.used.store(used.saturating_add(page.num_values() as usize), Ordering::Relaxed);
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for LimitedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// The reason for refusing a null.
pub(super) const NULL: &str = "is null; a value is expected";
