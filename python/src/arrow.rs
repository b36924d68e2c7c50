//! The Arrow C data interface: columns in without a copy, and results out.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, ListArray, OffsetSizeTrait, RecordBatch,
    RecordBatchIterator, StringArray, StructArray, UInt32Array, UInt64Array, make_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PySlice};
use zfinder::{Results, Status, Tracklet};

use crate::columns::{borrowed, event_of};
use crate::error::input_error;
use crate::results::{Column, ROI_COLUMNS, ResultColumns, TypedColumn, VERTEX_COLUMNS};

/// Columns of a covariance.
const COVARIANCES: [&str; 6] = ["cov_xx_mm2", "cov_xy_mm2", "cov_xz_mm2", "cov_yy_mm2", "cov_yz_mm2", "cov_zz_mm2"];

const STREAM: &std::ffi::CStr = c"arrow_array_stream";
const SCHEMA: &std::ffi::CStr = c"arrow_schema";
const ARRAY: &std::ffi::CStr = c"arrow_array";

/// Keeps the memory of an Arrow array for a numpy array that borrows it.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
pub(crate) struct ArrowBuffer(ArrayRef);

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
            let is_wanted = |name: &str| wanted.iter().any(|wanted| wanted == name) || event == Some(name);
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                let name = field.name().as_str();
                if is_wanted(name) {
                    let key = if event == Some(name) { "event_id" } else { name };
                    columns.set_item(key, import_column(py, name, column)?)?;
                }
            }
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                import_records(py, field.name(), column, &wanted, &columns)?;
            }
            Ok(columns)
        })
        .collect()
}

/// Imports the wanted members of a struct, or of the structs of a list, that `columns` lack: `x` of
/// the column `hits`.
fn import_records(
    py: Python<'_>,
    name: &str,
    column: &ArrayRef,
    wanted: &[String],
    columns: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let structs: &ArrayRef = match column.data_type() {
        DataType::List(_) => column.as_list::<i32>().values(),
        DataType::LargeList(_) => column.as_list::<i64>().values(),
        DataType::Struct(_) => column,
        _ => return Ok(()),
    };
    let Some(structs) = structs.as_struct_opt() else { return Ok(()) };
    let members = structs.fields().iter().zip(structs.columns());
    let members: Vec<_> = members
        .filter(|(member, _)| wanted.iter().any(|wanted| wanted == member.name()))
        .filter(|(member, _)| !columns.contains(member.name()).unwrap_or(true))
        .collect();
    if members.is_empty() {
        return Ok(());
    }
    if column.null_count() + structs.null_count() > 0 {
        return Err(input_error(&format!("column {name} has nulls")));
    }
    for (member, values_of_member) in members {
        let path = format!("{name}.{}", member.name());
        let imported = match column.data_type() {
            DataType::Struct(_) => import_column(py, &path, values_of_member)?,
            _ => (values(py, &path, values_of_member)?, import_offsets(py, column)?),
        };
        columns.set_item(member.name(), imported)?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "capsules hold pointers")]
fn record_batches(object: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let invalid = |error: ArrowError| input_error(&format!("the Arrow object: {error}"));
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name points to a valid stream by the PyCapsule interface of
        // Arrow. `from_raw` moves the stream out and leaves a released one, which the destructor of
        // the capsule accepts.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        // A reader of record batches would drop the nulls of whole rows.
        let reader = ArrayStreamReader::try_new(stream).map_err(invalid)?;
        return reader.map(|array| record_batch_of(&array.map_err(invalid)?)).collect();
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
    Ok(vec![record_batch_of(&make_array(data))?])
}

/// Converts a struct array without nulls. The conversion of the library panics on nulls.
fn record_batch_of(array: &ArrayRef) -> PyResult<RecordBatch> {
    let Some(structs) = array.as_struct_opt() else {
        return Err(input_error("the Arrow array is not a struct array with a field for each column"));
    };
    if structs.null_count() > 0 {
        return Err(input_error(&format!("{} rows of the Arrow array are null", structs.null_count())));
    }
    Ok(structs.clone().into())
}

/// Values of a column, and the offsets of its lists.
type ImportedColumn<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

fn import_column<'py>(py: Python<'py>, name: &str, column: &ArrayRef) -> PyResult<ImportedColumn<'py>> {
    if column.null_count() > 0 {
        return Err(input_error(&format!("column {name} has {} nulls", column.null_count())));
    }
    let items = match column.data_type() {
        DataType::List(_) => column.as_list::<i32>().values(),
        DataType::LargeList(_) => column.as_list::<i64>().values(),
        DataType::FixedSizeList(..) => column.as_fixed_size_list().values(),
        _ => column,
    };
    Ok((values(py, name, items)?, import_offsets(py, column)?))
}

/// Returns the offsets of the lists of a column. None without lists.
fn import_offsets<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Option<Bound<'py, PyAny>>> {
    fn list<'py, O: OffsetSizeTrait + Element>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
        let owner = Bound::new(py, ArrowBuffer(Arc::clone(column)))?;
        borrowed(&owner, |owner| &owner.0.as_list::<O>().offsets()[..])
    }
    Ok(match column.data_type() {
        DataType::List(_) => Some(list::<i32>(py, column)?),
        DataType::LargeList(_) => Some(list::<i64>(py, column)?),
        DataType::FixedSizeList(_, size) => {
            let offsets = (0..=column.len() as i64).map(|list| list * i64::from(*size));
            Some(PyArray1::from_iter(py, offsets).into_any())
        }
        _ => None,
    })
}

fn values<'py>(py: Python<'py>, name: &str, column: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    fn primitive<'py, T: ArrowPrimitiveType>(owner: &Bound<'py, ArrowBuffer>) -> PyResult<Bound<'py, PyAny>>
    where
        T::Native: Element,
    {
        borrowed(owner, |owner| &owner.0.as_primitive::<T>().values()[..])
    }
    if column.null_count() > 0 {
        return Err(input_error(&format!("column {name} has {} nulls", column.null_count())));
    }
    let owner = Bound::new(py, ArrowBuffer(Arc::clone(column)))?;
    match column.data_type() {
        DataType::Float32 => primitive::<Float32Type>(&owner),
        DataType::Float64 => primitive::<Float64Type>(&owner),
        DataType::UInt8 => primitive::<UInt8Type>(&owner),
        DataType::UInt16 => primitive::<UInt16Type>(&owner),
        DataType::UInt32 => primitive::<UInt32Type>(&owner),
        DataType::UInt64 => primitive::<UInt64Type>(&owner),
        DataType::Int8 => primitive::<Int8Type>(&owner),
        DataType::Int16 => primitive::<Int16Type>(&owner),
        DataType::Int32 => primitive::<Int32Type>(&owner),
        DataType::Int64 => primitive::<Int64Type>(&owner),
        DataType::Boolean => {
            let flags = column.as_boolean().values().iter();
            Ok(PyArray1::from_iter(py, flags).into_any())
        }
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let values = values(py, name, dictionary.values())?;
            if column.is_empty() {
                return values.call_method1("__getitem__", (PySlice::new(py, 0, 0, 1),));
            }
            // numpy takes the values of the keys.
            values.call_method1("take", (PyArray1::from_vec(py, dictionary.normalized_keys()),))
        }
        other => Err(input_error(&format!(
            "column {name} is of Arrow type {other}: numbers or lists of numbers are expected"
        ))),
    }
}

/// Exports results as a stream of one record batch: a row an RoI with the list of its vertices.
#[pyfunction]
pub(crate) fn export_results<'py>(py: Python<'py>, columns: &ResultColumns) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = record_batch(columns).map_err(|error| input_error(&error.to_string()))?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, STREAM)
}

fn record_batch(columns: &ResultColumns) -> Result<RecordBatch, ArrowError> {
    let export = |(name, column): &(&'static str, TypedColumn), range: &Range<usize>| {
        let array = export_column(&columns.results, column, range);
        let is_nullable = matches!(column, TypedColumn::OptionalNumbers(_));
        let name = if let TypedColumn::Statuses(_) = column { "status" } else { *name };
        (Field::new(name, array.data_type().clone(), is_nullable), array)
    };
    let of_vertices = |column: &(&'static str, TypedColumn)| match column.1 {
        TypedColumn::Covariances(column) => covariances(&columns.results, column, &columns.vertices),
        _ => vec![export(column, &columns.vertices)],
    };
    let (fields, arrays): (Vec<_>, _) = VERTEX_COLUMNS.iter().flat_map(of_vertices).unzip();
    let vertices = StructArray::try_new(fields.into(), arrays, None)?;
    let lists = lists(Arc::new(vertices), columns.offsets().iter().copied())?;
    let (mut fields, mut arrays): (Vec<_>, Vec<_>) =
        ROI_COLUMNS.iter().map(|column| export(column, &columns.rois)).unzip();
    fields.push(Field::new("vertices", lists.data_type().clone(), false));
    arrays.push(Arc::new(lists) as ArrayRef);
    if !columns.tracklets.is_empty() {
        let lists = tracklets(columns)?;
        fields.push(Field::new("tracklets", lists.data_type().clone(), false));
        arrays.push(Arc::new(lists));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// Lists of these items, which begin and end at offsets.
fn lists(items: ArrayRef, offsets: impl Iterator<Item = i64>) -> Result<ListArray, ArrowError> {
    let offsets: Result<ScalarBuffer<i32>, _> = offsets.map(i32::try_from).collect();
    let offsets = offsets.map_err(|_| ArrowError::OffsetOverflowError(items.len()))?;
    let item = Arc::new(Field::new("item", items.data_type().clone(), false));
    ListArray::try_new(item, OffsetBuffer::new(offsets), items, None)
}

/// Copies the tracklets: a list for each RoI. `vertex` is null for a tracklet of no vertex.
fn tracklets(columns: &ResultColumns) -> Result<ListArray, ArrowError> {
    let all = &columns.results.tracklets()[columns.tracklets.clone()];
    let numbers = |of: fn(&Tracklet) -> f64| Arc::new(Float64Array::from_iter_values(all.iter().map(of))) as ArrayRef;
    fn fixed<const N: usize>(rows: impl Iterator<Item = [f64; N]>) -> Result<ArrayRef, ArrowError> {
        let values = Float64Array::from_iter_values(rows.flatten());
        let item = Arc::new(Field::new("item", DataType::Float64, false));
        Ok(Arc::new(FixedSizeListArray::try_new(item, N as i32, Arc::new(values), None)?))
    }
    let hits = UInt32Array::from_iter_values(all.iter().flat_map(|tracklet| tracklet.hits().iter().copied()));
    let ends = all.iter().scan(0, |end, tracklet| {
        *end += tracklet.hits().len() as i64;
        Some(*end)
    });
    let vertex = |tracklet: &Tracklet| tracklet.vertex().map(|vertex| vertex as u64);
    let fields: Vec<(&str, ArrayRef)> = vec![
        ("z0_mm", numbers(|tracklet| tracklet.z0_mm)),
        ("cot_theta", numbers(|tracklet| tracklet.cot_theta)),
        ("phi0", numbers(|tracklet| tracklet.phi0)),
        ("curvature", numbers(|tracklet| tracklet.curvature)),
        ("d0_mm", numbers(|tracklet| tracklet.d0_mm)),
        ("pt_gev", numbers(|tracklet| tracklet.pt_gev)),
        ("chi2", numbers(|tracklet| tracklet.chi2)),
        ("z_covariance", fixed(all.iter().map(|tracklet| tracklet.z_covariance))?),
        ("bend_covariance", fixed(all.iter().map(|tracklet| tracklet.bend_covariance))?),
        ("hits", Arc::new(lists(Arc::new(hits), std::iter::once(0).chain(ends))?)),
        ("vertex", Arc::new(UInt64Array::from_iter(all.iter().map(vertex)))),
    ];
    let field = |(name, array): (&str, ArrayRef)| {
        (Arc::new(Field::new(name, array.data_type().clone(), name == "vertex")), array)
    };
    let items = StructArray::from(fields.into_iter().map(field).collect::<Vec<_>>());
    lists(Arc::new(items), columns.tracklet_offsets().iter().copied())
}

/// Copies covariances to six columns with nulls.
fn covariances(results: &Results, column: Column<[f64; 6]>, range: &Range<usize>) -> Vec<(Field, ArrayRef)> {
    let copy = |(place, name): (usize, &str)| {
        let numbers = column(results)[range.clone()].iter().map(|of| Some(of[place]).filter(|number| !number.is_nan()));
        let array: Float64Array = numbers.collect();
        (Field::new(name, DataType::Float64, true), Arc::new(array) as ArrayRef)
    };
    COVARIANCES.into_iter().enumerate().map(copy).collect()
}

/// Exports a part of a column. Numbers are borrowed; flags, which are bits in Arrow, and words of
/// statuses are copied.
fn export_column(results: &Arc<Results>, column: &TypedColumn, range: &Range<usize>) -> ArrayRef {
    match column {
        TypedColumn::Statuses(_) => {
            let statuses = &results.statuses()[range.clone()];
            Arc::new(StringArray::from_iter_values(statuses.iter().map(|&status| Status::as_str(status))))
        }
        TypedColumn::Flags(column) => Arc::new(BooleanArray::from(column(results)[range.clone()].to_vec())),
        TypedColumn::Counts(column) => Arc::new(UInt64Array::new(export_buffer(results, *column, range), None)),
        TypedColumn::Numbers(column) => Arc::new(Float64Array::new(export_buffer(results, *column, range), None)),
        TypedColumn::OptionalNumbers(column) => {
            let values = export_buffer(results, *column, range);
            let nulls: NullBuffer = values.iter().map(|value| !value.is_nan()).collect();
            Arc::new(Float64Array::new(values, Some(nulls)))
        }
        TypedColumn::Covariances(column) => {
            Arc::new(Float64Array::from_iter_values(column(results)[range.clone()].as_flattened().iter().copied()))
        }
    }
}

#[expect(unsafe_code, reason = "Arrow borrows memory of results")]
fn export_buffer<T: ArrowNativeType>(
    results: &Arc<Results>,
    column: Column<T>,
    range: &Range<usize>,
) -> ScalarBuffer<T> {
    let values = &column(results)[range.clone()];
    let (start, bytes) = (NonNull::from(values).cast(), size_of_val(values));
    // SAFETY: `values` lies in memory of `results`, which the buffer keeps. Nobody changes or moves
    // it, because an `Arc` that is shared gives no mutable access.
    ScalarBuffer::from(unsafe { Buffer::from_custom_allocation(start, bytes, Arc::clone(results) as _) })
}
