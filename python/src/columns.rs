//! Columns of numpy as slices, and descriptors of RoIs.

use std::sync::{Mutex, PoisonError};

use column_names::{lookalike, refusal};
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::PyClass;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::PyDict;
use zfinder::{PhiWindow, RoiDescriptor, RoiId};
use zfinder_io::RoiSet;

use crate::error::{engine_error, input_error};

/// Returns the name of the event number.
///
/// # Errors
/// Names of which it is doubtful whether they are those of the event or of the RoI.
pub(crate) fn event_of<'a>(names: impl Iterator<Item = &'a str> + Clone) -> PyResult<Option<&'a str>> {
    if let Some(name) = lookalike(names.clone(), "roi_id") {
        return Err(input_error(&refusal(name, "roi_id")));
    }
    column_names::event_column(names).map_err(|reason| input_error(&reason))
}

/// Returns the name of the event number; `event_of` for Python.
#[pyfunction]
pub(crate) fn event_column(names: Vec<String>) -> PyResult<Option<String>> {
    Ok(event_of(names.iter().map(String::as_str))?.map(str::to_owned))
}

/// The RoIs of all batches of a stream.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
pub(crate) struct SeenRois(Mutex<RoiSet>);

#[pymethods]
impl SeenRois {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Adds RoIs. Returns the first one that was added before.
    #[pyo3(signature = (event_id, roi_id))]
    fn insert(
        &self,
        event_id: PyReadonlyArray1<'_, u64>,
        roi_id: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<Option<(u64, u64)>> {
        let (events, rois) = (slice(&event_id)?, roi_id.as_ref().map(slice).transpose()?);
        let roi_of = |index: usize| rois.and_then(|rois| rois.get(index)).copied().unwrap_or(0);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids = events.iter().enumerate().map(|(index, &event_id)| RoiId { event_id, roi_id: roi_of(index) });
        Ok(ids.find(|id| seen.insert(*id, 0).is_some()).map(|id| (id.event_id, id.roi_id)))
    }
}

/// Three columns of coordinates of the same number type, borrowed.
pub(crate) enum Coordinates<'py> {
    Single([PyReadonlyArray1<'py, f32>; 3]),
    Double([PyReadonlyArray1<'py, f64>; 3]),
}

impl<'py> FromPyObject<'_, 'py> for Coordinates<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(columns) = object.extract() {
            return Ok(Self::Double(columns));
        }
        object
            .extract()
            .map(Self::Single)
            .map_err(|_| PyTypeError::new_err("three columns of float32 or of float64 are expected"))
    }
}

/// A column of layers, borrowed if its type is `uint8`.
pub(crate) enum LayerColumn<'py> {
    Borrowed(PyReadonlyArray1<'py, u8>),
    Converted(Vec<u8>),
}

/// A layer that no detector has.
const NO_LAYER: u8 = u8::MAX;

/// Converts layers. Negative and large numbers become [`NO_LAYER`].
fn converted<T: Copy + TryInto<u8>>(layers: &[T]) -> Vec<u8> {
    layers.iter().map(|&layer| layer.try_into().unwrap_or(NO_LAYER)).collect()
}

impl<'py> FromPyObject<'_, 'py> for LayerColumn<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(layers) = object.extract() {
            return Ok(Self::Borrowed(layers));
        }
        macro_rules! try_each {
            ($($type:ty),*) => {$(
                if let Ok(layers) = object.extract::<PyReadonlyArray1<'_, $type>>() {
                    return Ok(Self::Converted(converted(slice(&layers)?)));
                }
            )*};
        }
        try_each!(i64, i32, u32, u16, i16, i8, u64);
        Err(PyTypeError::new_err("a column of integers is expected for the layers"))
    }
}

impl LayerColumn<'_> {
    pub(crate) fn as_slice(&self) -> PyResult<&[u8]> {
        match self {
            Self::Borrowed(layers) => slice(layers),
            Self::Converted(layers) => Ok(layers),
        }
    }
}

/// Returns the elements of a contiguous column.
pub(crate) fn slice<'a, T: Element>(column: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    column.as_slice().map_err(|_| PyTypeError::new_err("a contiguous column is expected"))
}

/// Returns the elements of three contiguous columns.
pub(crate) fn slices<'a, T: Element>(columns: &'a [PyReadonlyArray1<'_, T>; 3]) -> PyResult<[&'a [T]; 3]> {
    let [a, b, c] = columns;
    Ok([slice(a)?, slice(b)?, slice(c)?])
}

/// Makes a read-only numpy array that borrows a column of `owner` and keeps it.
#[expect(unsafe_code, reason = "numpy borrows memory of Rust")]
pub(crate) fn borrowed<'py, O: PyClass<Frozen = True> + Sync, T: Element>(
    owner: &Bound<'py, O>,
    column: impl for<'a> FnOnce(&'a O) -> &'a [T],
) -> PyResult<Bound<'py, PyAny>> {
    let values = ArrayView1::from(column(owner.get()));
    // SAFETY: the values live as long as `owner`, which is the base object of the array. They do
    // not move or change: the class of `owner` is frozen, and the array becomes read-only below.
    let array = unsafe { PyArray1::borrow_from_array(&values, owner.clone().into_any()) };
    array.try_readwrite().map_err(|error| engine_error(&error.to_string()))?.make_nonwriteable();
    Ok(array.into_any())
}

/// Reads the offsets of RoIs. The library checks that they ascend.
pub(crate) fn offsets(column: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let offset = |(index, &offset): (usize, &i64)| {
        usize::try_from(offset).map_err(|_| input_error(&format!("offset {index} is {offset}")))
    };
    slice(column)?.iter().enumerate().map(offset).collect()
}

/// Reads the descriptors of `count` RoIs from columns by name, all of them optional: `event_id`,
/// `roi_id`, `phi_min`, `phi_max`, `eta`, `z_min`, `z_max`. NaN in a window or a range stands for
/// none.
pub(crate) fn descriptors(columns: &Bound<'_, PyDict>, count: usize) -> PyResult<Vec<RoiDescriptor>> {
    fn column<'py, T: Element>(
        columns: &Bound<'py, PyDict>,
        name: &str,
        count: usize,
    ) -> PyResult<Option<PyReadonlyArray1<'py, T>>> {
        let Some(column) = columns.get_item(name)? else { return Ok(None) };
        let column: PyReadonlyArray1<'py, T> = column.extract()?;
        let length = slice(&column)?.len();
        if length != count {
            return Err(input_error(&format!("{name} has {length} elements for {count} RoIs")));
        }
        Ok(Some(column))
    }
    let ids = [column::<u64>(columns, "event_id", count)?, column(columns, "roi_id", count)?];
    let names = ["phi_min", "phi_max", "eta", "z_min", "z_max"];
    let mut numbers: [Option<PyReadonlyArray1<'_, f64>>; 5] = Default::default();
    for (number, name) in numbers.iter_mut().zip(names) {
        *number = column(columns, name, count)?;
    }
    let ids = ids.each_ref().map(|column| column.as_ref().map(slice));
    let [event_id, roi_id] = ids.map(Option::transpose);
    let (event_id, roi_id) = (event_id?, roi_id?);
    let [phi_min, phi_max, eta, z_min, z_max] = numbers.each_ref().map(|column| column.as_ref().map(slice).transpose());
    let (window, eta, z_range) = (pair(phi_min?, phi_max?), eta?, pair(z_min?, z_max?));
    (0..count)
        .map(|index| {
            let window = window.and_then(|window| range_at(window, index));
            let window = window.map(|(low, high)| PhiWindow::new(low, high)).transpose();
            Ok(RoiDescriptor {
                id: RoiId {
                    event_id: event_id.map_or(index as u64, |ids| ids[index]),
                    roi_id: roi_id.map_or(0, |ids| ids[index]),
                },
                window: window.map_err(|error| input_error(&format!("RoI {index}: {error}")))?,
                eta: eta.map_or(0.0, |eta| eta[index]),
                z_range: z_range.and_then(|range| range_at(range, index)),
            })
        })
        .collect()
}

/// Two columns that come together.
type ColumnPair<'a> = (&'a [f64], &'a [f64]);

fn pair<'a>(low: Option<&'a [f64]>, high: Option<&'a [f64]>) -> Option<ColumnPair<'a>> {
    low.zip(high)
}

fn range_at((low, high): ColumnPair<'_>, index: usize) -> Option<(f64, f64)> {
    let range = (low[index], high[index]);
    (!(range.0.is_nan() && range.1.is_nan())).then_some(range)
}

/// Returns advice about missing columns that are there under other names.
#[pyfunction]
pub(crate) fn column_advice(missing: Vec<String>, names: Vec<String>) -> String {
    column_names::advice(missing.iter().map(String::as_str), names.iter().map(String::as_str))
}
