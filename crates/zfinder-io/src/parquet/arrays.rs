//! Arrow arrays into plain columns, the type looked at once an array.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Which value cannot be, and why.
pub(super) type Refused = (usize, String);

pub(super) fn is_number(kind: &DataType) -> bool {
    matches!(kind, DataType::Float32 | DataType::Float64)
}

pub(super) fn is_whole_number(kind: &DataType) -> bool {
    kind.is_integer()
}

/// The values of a list's items, and the kind of a plain column itself.
pub(super) fn item(kind: &DataType) -> (&DataType, bool) {
    match kind {
        DataType::List(item) => (item.data_type(), true),
        plain => (plain, false),
    }
}

/// Appends `f32` and `f64`, the range given of them.
pub(super) fn append_numbers(array: &ArrayRef, from: usize, end: usize, to: &mut Vec<f64>) -> Result<(), Refused> {
    let array = array.slice(from, end - from);
    no_null(&array)?;
    match array.data_type() {
        DataType::Float32 => to.extend(array.as_primitive::<Float32Type>().values().iter().map(|&v| f64::from(v))),
        DataType::Float64 => to.extend_from_slice(array.as_primitive::<Float64Type>().values()),
        other => return Err((0, format!("is {other}; numbers (float or double) are wanted"))),
    }
    Ok(())
}

/// Appends whole numbers of any type, the range given of them.
pub(super) fn append_whole_numbers(
    array: &ArrayRef,
    from: usize,
    end: usize,
    to: &mut Vec<u64>,
) -> Result<(), Refused> {
    let array = array.slice(from, end - from);
    no_null(&array)?;
    match array.data_type() {
        DataType::Int8 => signed::<Int8Type>(&array, to),
        DataType::Int16 => signed::<Int16Type>(&array, to),
        DataType::Int32 => signed::<Int32Type>(&array, to),
        DataType::Int64 => signed::<Int64Type>(&array, to),
        DataType::UInt8 => unsigned::<UInt8Type>(&array, to),
        DataType::UInt16 => unsigned::<UInt16Type>(&array, to),
        DataType::UInt32 => unsigned::<UInt32Type>(&array, to),
        DataType::UInt64 => unsigned::<UInt64Type>(&array, to),
        other => Err((0, format!("is {other}; whole numbers are wanted"))),
    }
}

fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, to: &mut Vec<u64>) -> Result<(), Refused> {
    let values = array.as_primitive::<T>().values();
    to.extend(values.iter().map(|&value| value.into().cast_unsigned()));
    match values.iter().position(|&value| value.into() < 0) {
        Some(at) => Err((at, format!("{:?} is not a whole number from 0", values[at]))),
        None => Ok(()),
    }
}

fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(array: &ArrayRef, to: &mut Vec<u64>) -> Result<(), Refused> {
    to.extend(array.as_primitive::<T>().values().iter().map(|&value| value.into()));
    Ok(())
}

/// Parquet's null, which pandas and pyarrow write for what is missing.
pub(super) fn no_null(array: &dyn Array) -> Result<(), Refused> {
    if array.null_count() == 0 {
        return Ok(());
    }
    let at = (0..array.len()).find(|&at| array.is_null(at)).unwrap_or(0);
    Err((at, "is null; a value is wanted".into()))
}
