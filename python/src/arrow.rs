//! The Arrow C data interface: columns in without a copy, and results out.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, ListArray, OffsetSizeTrait, RecordBatch, RecordBatchIterator,
    StringArray, StructArray, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use zfinder::{RoiResult, Vertex};

use crate::columns::event_of;
use crate::error::{engine_error, input_error};
use crate::results::from_columns;

const STREAM: &std::ffi::CStr = c"arrow_array_stream";
const SCHEMA: &std::ffi::CStr = c"arrow_schema";
const ARRAY: &std::ffi::CStr = c"arrow_array";

/// Keeps the memory of an Arrow array for a numpy array that borrows it.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
pub(crate) struct ArrowBuffer(#[allow(dead_code, reason = "held for its memory")] ArrayRef);

/// Imports the wanted columns of an object with `__arrow_c_stream__` or `__arrow_c_array__`, and
/// its event number as `event_id`. Returns a dictionary for each record batch: a name, and the
/// values with the offsets of the lists, or None where the column has no lists.
#[pyfunction]
pub(crate) fn import_arrow<'py>(
    py: Python<'py>,
    object: &Bound<'py, PyAny>,
    wanted: Vec<String>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    record_batches(object)?
        .iter()
        .map(|batch| {
            let columns = PyDict::new(py);
            let schema = batch.schema();
            let event = event_of(schema.fields().iter().map(|field| field.name().as_str()))?;
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                let name = field.name().as_str();
                if wanted.iter().any(|wanted| wanted == name) || event == Some(name) {
                    let key = if event == Some(name) { "event_id" } else { name };
                    columns.set_item(key, import_column(py, name, column)?)?;
                }
            }
            Ok(columns)
        })
        .collect()
}

#[expect(unsafe_code, reason = "capsules hold pointers")]
fn record_batches(object: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let invalid = |error: arrow_schema::ArrowError| input_error(&format!("the Arrow object: {error}"));
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name points to a valid stream by the PyCapsule interface of
        // Arrow. `from_raw` moves the stream out and leaves a released one, which the destructor of
        // the capsule accepts.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        let reader = RecordBatchStreamReader::try_new(stream).map_err(invalid)?;
        return reader.collect::<Result<_, _>>().map_err(invalid);
    }
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = object.call_method0("__arrow_c_array__")?.extract()?;
    let (schema, array) = (schema.cast_into::<PyCapsule>()?, array.cast_into::<PyCapsule>()?);
    let schema_pointer = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array_pointer = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name points to a valid array by the same interface, and `from_raw`
    // moves the array out.
    let ffi_array = unsafe { FFI_ArrowArray::from_raw(array_pointer.as_ptr()) };
    if ffi_array.is_released() {
        return Err(input_error("the Arrow array was imported before"));
    }
    // SAFETY: a capsule of this name points to a valid schema, which lives as long as `schema`.
    let ffi_schema = unsafe { schema_pointer.as_ref() };
    // SAFETY: the producer promises that the array is of this schema.
    let data = unsafe { from_ffi(ffi_array, ffi_schema) }.map_err(invalid)?;
    if !matches!(data.data_type(), DataType::Struct(_)) {
        return Err(input_error("the Arrow array is not a struct array with a field for each column"));
    }
    Ok(vec![StructArray::from(data).into()])
}

/// Values of a column, and the offsets of its lists.
type ImportedColumn<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

fn import_column<'py>(py: Python<'py>, name: &str, column: &ArrayRef) -> PyResult<ImportedColumn<'py>> {
    fn list<'py, O: OffsetSizeTrait + Element>(
        py: Python<'py>,
        name: &str,
        column: &ArrayRef,
    ) -> PyResult<ImportedColumn<'py>> {
        let list = column.as_list::<O>();
        let offsets = borrowed(py, list.offsets(), column)?;
        Ok((values(py, name, list.values())?, Some(offsets)))
    }
    if column.null_count() > 0 {
        return Err(input_error(&format!("column {name} has {} nulls", column.null_count())));
    }
    match column.data_type() {
        DataType::List(_) => list::<i32>(py, name, column),
        DataType::LargeList(_) => list::<i64>(py, name, column),
        _ => Ok((values(py, name, column)?, None)),
    }
}

fn values<'py>(py: Python<'py>, name: &str, column: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    fn primitive<'py, T: ArrowPrimitiveType>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyAny>>
    where
        T::Native: Element,
    {
        borrowed(py, column.as_primitive::<T>().values(), column)
    }
    if column.null_count() > 0 {
        return Err(input_error(&format!("column {name} has {} nulls", column.null_count())));
    }
    match column.data_type() {
        DataType::Float32 => primitive::<Float32Type>(py, column),
        DataType::Float64 => primitive::<Float64Type>(py, column),
        DataType::UInt8 => primitive::<UInt8Type>(py, column),
        DataType::UInt16 => primitive::<UInt16Type>(py, column),
        DataType::UInt32 => primitive::<UInt32Type>(py, column),
        DataType::UInt64 => primitive::<UInt64Type>(py, column),
        DataType::Int8 => primitive::<Int8Type>(py, column),
        DataType::Int16 => primitive::<Int16Type>(py, column),
        DataType::Int32 => primitive::<Int32Type>(py, column),
        DataType::Int64 => primitive::<Int64Type>(py, column),
        other => Err(input_error(&format!(
            "column {name} is of Arrow type {other}: numbers or lists of numbers are expected"
        ))),
    }
}

/// Makes a read-only numpy array that borrows a buffer of an Arrow array.
#[expect(unsafe_code, reason = "numpy borrows memory of Arrow")]
fn borrowed<'py, T: Element>(py: Python<'py>, values: &[T], owner: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let owner = Bound::new(py, ArrowBuffer(Arc::clone(owner)))?.into_any();
    // SAFETY: `values` lies in memory that `owner` keeps, does not move, and lives as long as the
    // numpy array, whose base object is `owner`. Nothing writes to it: Arrow's memory is immutable,
    // and the array is made read-only below.
    let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(values), owner) };
    array.try_readwrite().map_err(|error| engine_error(&error.to_string()))?.make_nonwriteable();
    Ok(array.into_any())
}

/// Exports results as a stream of one record batch: a row an RoI with the list of its vertices.
#[pyfunction]
pub(crate) fn export_results<'py>(py: Python<'py>, columns: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = record_batch(&from_columns(columns)?).map_err(|error| engine_error(&error.to_string()))?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, STREAM)
}

fn record_batch(results: &[RoiResult]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let vertices: Vec<&Vertex> = results.iter().flat_map(|result| &result.vertices).collect();
    let number = |value: fn(&Vertex) -> f64| {
        Arc::new(Float64Array::from_iter_values(vertices.iter().map(|&vertex| value(vertex)))) as ArrayRef
    };
    let optional = |value: fn(&Vertex) -> Option<f64>| {
        Arc::new(Float64Array::from_iter(vertices.iter().map(|&vertex| value(vertex)))) as ArrayRef
    };
    let of_vertices: [(&str, bool, ArrayRef); 7] = [
        ("z_mm", false, number(|vertex| vertex.z_mm)),
        ("z_error_mm", false, number(|vertex| vertex.z_error_mm)),
        ("weight", false, number(|vertex| vertex.weight)),
        ("pairs", false, Arc::new(UInt64Array::from_iter_values(vertices.iter().map(|vertex| vertex.pairs)))),
        ("rank", false, number(|vertex| vertex.rank)),
        ("significance", true, optional(|vertex| vertex.significance)),
        ("background", true, optional(|vertex| vertex.background)),
    ];
    let field =
        |(name, nullable, array): &(&str, bool, ArrayRef)| Field::new(*name, array.data_type().clone(), *nullable);
    let fields: Fields = of_vertices.iter().map(field).collect();
    let items = StructArray::try_new_with_length(
        fields.clone(),
        of_vertices.into_iter().map(|(.., array)| array).collect(),
        None::<NullBuffer>,
        vertices.len(),
    )?;
    let offsets = OffsetBuffer::<i32>::from_lengths(results.iter().map(|result| result.vertices.len()));
    let item = Arc::new(Field::new("item", DataType::Struct(fields), false));
    let lists = ListArray::try_new(item, offsets, Arc::new(items), None)?;
    let ids = |value: fn(&RoiResult) -> u64| {
        Arc::new(UInt64Array::new(ScalarBuffer::from_iter(results.iter().map(value)), None)) as ArrayRef
    };
    let status = StringArray::from_iter_values(results.iter().map(|result| result.status.as_str()));
    let of_rois: [(&str, ArrayRef); 7] = [
        ("event_id", ids(|result| result.id.event_id)),
        ("roi_id", ids(|result| result.id.roi_id)),
        ("status", Arc::new(status)),
        ("spacepoints", ids(|result| result.spacepoints as u64)),
        ("outside_window", ids(|result| result.outside_window as u64)),
        ("fallback", Arc::new(BooleanArray::from_iter(results.iter().map(|result| Some(result.fallback))))),
        ("vertices", Arc::new(lists)),
    ];
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), false);
    let schema = Schema::new(of_rois.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), of_rois.into_iter().map(|(_, array)| array).collect())
}
