//! Writes Parquet files from slices of values, for tests and benchmarks: flat columns, and lists in
//! the forms of common writers.

#![allow(dead_code, reason = "tests and benchmarks use different parts")]
#![expect(unreachable_pub, reason = "a module of test programs")]

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// A type of values, and how Parquet stores it.
pub trait Value: Copy + 'static {
    type Stored: DataType;
    const TYPE: &'static str;
    const ANNOTATION: &'static str;
    fn stored(self) -> <Self::Stored as DataType>::T;
}

macro_rules! values {
    ($($own:ty: $stored:ty, $type:literal, $annotation:literal, $convert:expr;)*) => {$(
        impl Value for $own {
            type Stored = $stored;
            const TYPE: &'static str = $type;
            const ANNOTATION: &'static str = $annotation;
            fn stored(self) -> <$stored as DataType>::T {
                $convert(self)
            }
        }
    )*};
}

values! {
    bool: BoolType, "boolean", "", std::convert::identity;
    f32: FloatType, "float", "", std::convert::identity;
    f64: DoubleType, "double", "", std::convert::identity;
    i8: Int32Type, "int32", "(INTEGER(8, true))", i32::from;
    i16: Int32Type, "int32", "(INT_16)", i32::from;
    i32: Int32Type, "int32", "", std::convert::identity;
    i64: Int64Type, "int64", "", std::convert::identity;
    u8: Int32Type, "int32", "(UINT_8)", i32::from;
    u16: Int32Type, "int32", "(INTEGER(16, false))", i32::from;
    u32: Int32Type, "int32", "(INTEGER(32, false))", u32::cast_signed;
    u64: Int64Type, "int64", "(INTEGER(64, false))", u64::cast_signed;
    &'static str: ByteArrayType, "binary", "(STRING)", ByteArray::from;
}

/// A form of lists: its schema, in which NAME, TYPE and NOTE are placeholders, and its optional
/// nodes.
pub struct Form {
    pub schema: &'static str,
    pub optional_list: bool,
    pub optional_item: bool,
}

/// Of pyarrow, awkward and the standard.
pub const LIST: Form = Form {
    schema: "optional group NAME (LIST) { repeated group list { optional TYPE element NOTE; } }",
    optional_list: true,
    optional_item: true,
};

type Group<'a> = SerializedRowGroupWriter<'a, File>;
/// Writes a range of rows.
type WriteRows = dyn Fn(&mut Group<'_>, Range<usize>);

/// A column that is to be written.
#[derive(Clone)]
pub struct Column {
    schema: String,
    rows: usize,
    write: Rc<WriteRows>,
}

/// Definition level, repetition level, and the value unless it is missing.
type Level<T> = (i16, i16, Option<T>);

impl Column {
    fn new<T: Value>(schema: &str, rows: Vec<Vec<Level<T>>>) -> Self {
        let schema = schema.replace("TYPE", T::TYPE).replace("NOTE", T::ANNOTATION);
        let count = rows.len();
        let write = move |group: &mut Group<'_>, range: Range<usize>| {
            let levels = || rows[range.clone()].iter().flatten();
            let values: Vec<_> = levels().filter_map(|level| level.2.map(Value::stored)).collect();
            let definition: Vec<i16> = levels().map(|level| level.0).collect();
            let repetition: Vec<i16> = levels().map(|level| level.1).collect();
            let mut column = group.next_column().expect("a writer").expect("a column");
            let writer = column.typed::<T::Stored>();
            writer.write_batch(&values, Some(&definition), Some(&repetition)).expect("written");
            column.close().expect("written");
        };
        Self { schema, rows: count, write: Rc::new(write) }
    }

    /// Makes a column in which all values may be null, as pandas and polars write.
    pub fn optional<T: Value>(values: impl IntoIterator<Item = Option<T>>) -> Self {
        let rows = values.into_iter().map(|value| vec![(i16::from(value.is_some()), 0, value)]).collect();
        Self::new("optional TYPE NAME NOTE;", rows)
    }

    pub fn flat<T: Value>(values: &[T]) -> Self {
        Self::optional(values.iter().copied().map(Some))
    }

    pub fn required<T: Value>(values: &[T]) -> Self {
        Self::new("required TYPE NAME NOTE;", values.iter().map(|&value| vec![(0, 0, Some(value))]).collect())
    }

    /// Makes a column of lists. Lists and their values may be null.
    pub fn nullable_lists<T: Value>(form: &Form, rows: &[Option<Vec<Option<T>>>]) -> Self {
        let empty = i16::from(form.optional_list);
        let null = empty + 1;
        let value_level = null + i16::from(form.optional_item);
        let levels = |row: &Option<Vec<Option<T>>>| -> Vec<Level<T>> {
            let Some(items) = row else { return vec![(0, 0, None)] };
            let item = |(at, item): (usize, &Option<T>)| {
                (if item.is_some() { value_level } else { null }, i16::from(at > 0), *item)
            };
            if items.is_empty() { vec![(empty, 0, None)] } else { items.iter().enumerate().map(item).collect() }
        };
        Self::new(form.schema, rows.iter().map(levels).collect())
    }

    pub fn lists<T: Value>(rows: &[&[T]]) -> Self {
        Self::lists_as(&LIST, rows)
    }

    pub fn lists_as<T: Value>(form: &Form, rows: &[&[T]]) -> Self {
        let rows: Vec<_> = rows.iter().map(|row| Some(row.iter().copied().map(Some).collect())).collect();
        Self::nullable_lists(form, &rows)
    }

    /// Makes one column of lists of structs, whose members are columns of [`Column::lists`].
    pub fn records(name: &'static str, members: Vec<(&'static str, Self)>) -> Vec<(&'static str, Self)> {
        let inner = |(member, column): &(&str, Self)| {
            let item = column.schema.split_once("list { ").and_then(|(_, rest)| rest.split_once(" } }"));
            item.expect("a list").0.replace("element", member)
        };
        let items: String = members.iter().map(inner).collect();
        let mut schema = format!(
            "optional group {name} (LIST) {{ repeated group list {{ required group element {{ {items} }} }} }}"
        );
        let columns = members
            .into_iter()
            .map(|(member, column)| (member, Self { schema: std::mem::take(&mut schema), ..column }));
        columns.collect()
    }

    /// Returns the column without its rows.
    pub fn emptied(self) -> Self {
        Self { rows: 0, ..self }
    }
}

/// Writes columns in row groups of so many rows.
pub fn write(path: &Path, columns: &[(&str, Column)], properties: WriterProperties, group_rows: usize) {
    let fields = columns.iter().map(|(name, column)| column.schema.replace("NAME", name));
    let schema = format!("message schema {{ {} }}", fields.collect::<String>());
    let schema = Arc::new(parse_message_type(&schema).unwrap_or_else(|error| panic!("{schema}: {error}")));
    let file = File::create(path).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    let rows = columns.first().expect("a column").1.rows;
    assert!(columns.iter().all(|(_, column)| column.rows == rows), "columns of one length");
    for start in (0..rows).step_by(group_rows) {
        let mut group = writer.next_row_group().expect("a writer");
        columns.iter().for_each(|(_, column)| (column.write)(&mut group, start..rows.min(start + group_rows)));
        group.close().expect("written");
    }
    writer.close().expect("written");
}
