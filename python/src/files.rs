//! Files of spacepoints, RoIs and truth.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zfinder::{PhiWindow, Roi, RoiDescriptor, RoiId};
use zfinder_io::{ColumnMap, OnError, ReadOptions, RoiTable, Shard, SpacepointReader, TruthTable, TruthVertex};

use crate::columns::slice;
use crate::error::{IntoException, config_error, input_error};
use crate::options::parse_detector;
use crate::pool::detached;

/// Spacepoints of many RoIs in columns.
#[derive(Default)]
pub(crate) struct SpacepointColumns {
    rho: Vec<f64>,
    phi: Vec<f64>,
    z: Vec<f64>,
    layer: Vec<u8>,
    offsets: Vec<i64>,
    descriptors: Vec<RoiDescriptor>,
}

impl SpacepointColumns {
    pub(crate) fn push(&mut self, roi: &Roi) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        let spacepoints = &roi.spacepoints;
        self.rho.extend(spacepoints.iter().map(|spacepoint| spacepoint.rho));
        self.phi.extend(spacepoints.iter().map(|spacepoint| spacepoint.phi));
        self.z.extend(spacepoints.iter().map(|spacepoint| spacepoint.z));
        self.layer.extend(spacepoints.iter().map(|spacepoint| u8::try_from(spacepoint.layer).unwrap_or(u8::MAX)));
        self.offsets.push(self.layer.len() as i64);
        self.descriptors.push(roi.descriptor);
    }

    pub(crate) fn into_columns(mut self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        let columns = PyDict::new(py);
        columns.set_item("rho", self.rho.into_pyarray(py))?;
        columns.set_item("phi", self.phi.into_pyarray(py))?;
        columns.set_item("z", self.z.into_pyarray(py))?;
        columns.set_item("layer", self.layer.into_pyarray(py))?;
        columns.set_item("offsets", self.offsets.into_pyarray(py))?;
        let (rois, descriptors) = (PyDict::new(py), &self.descriptors);
        let ids = |id: fn(&RoiDescriptor) -> u64| descriptors.iter().map(id).collect::<Vec<_>>().into_pyarray(py);
        rois.set_item("event_id", ids(|descriptor| descriptor.id.event_id))?;
        rois.set_item("roi_id", ids(|descriptor| descriptor.id.roi_id))?;
        let numbers =
            |number: fn(&RoiDescriptor) -> f64| descriptors.iter().map(number).collect::<Vec<_>>().into_pyarray(py);
        rois.set_item("phi_min", numbers(|descriptor| edges(descriptor).0))?;
        rois.set_item("phi_max", numbers(|descriptor| edges(descriptor).1))?;
        rois.set_item("eta", numbers(|descriptor| descriptor.eta))?;
        rois.set_item("z_min", numbers(|descriptor| descriptor.z_range.map_or(f64::NAN, |range| range.0)))?;
        rois.set_item("z_max", numbers(|descriptor| descriptor.z_range.map_or(f64::NAN, |range| range.1)))?;
        columns.set_item("rois", rois)?;
        Ok(columns)
    }
}

/// Returns the edges of a window, or NaN without a window.
fn edges(descriptor: &RoiDescriptor) -> (f64, f64) {
    match descriptor.window {
        Some(PhiWindow::Range { phi_min, phi_max }) => (phi_min, phi_max),
        _ => (f64::NAN, f64::NAN),
    }
}

/// Reads files of spacepoints, some RoIs at a time.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
pub(crate) struct Reader(Mutex<State>);

struct State {
    reader: SpacepointReader,
    /// Warnings that were not yet taken.
    warnings: Vec<String>,
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (paths, detector, rois, on_error, max_spacepoints, shard, tree, drop_invalid, columns))]
    #[allow(clippy::too_many_arguments, reason = "called from Python")]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        detector: &str,
        rois: Option<PathBuf>,
        on_error: &str,
        max_spacepoints: Option<usize>,
        shard: (u64, u64),
        tree: Option<String>,
        drop_invalid: bool,
        columns: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let detector = parse_detector("detector", detector)?;
        let on_error = match on_error {
            "stop" => OnError::Stop,
            "skip" => OnError::Skip,
            other => return Err(config_error(&format!("option `on_error`: {other} is not stop or skip"))),
        };
        let (index, count) = shard;
        let wrong = || config_error(&format!("option `shard`: there is no shard {index} of {count}"));
        let shard = Shard::new(index, count).ok_or_else(wrong)?;
        let max_spacepoints = max_spacepoints.unwrap_or(ReadOptions::MAX_SPACEPOINTS);
        let columns = column_map(columns)?;
        let opened = detached(py, || {
            let inputs = zfinder_io::inputs(&paths)?;
            let rois = rois.as_deref().map(RoiTable::read).transpose()?;
            let warnings = inputs.skipped.iter().map(|path| format!("not a file of spacepoints: {}", path.display()));
            let warnings = warnings.collect();
            let options = ReadOptions { on_error, max_spacepoints, tree, drop_invalid, columns };
            let reader = SpacepointReader::new(inputs.files, detector, rois).with_options(options).with_shard(shard);
            Ok::<_, zfinder_io::Error>(State { reader, warnings })
        })?;
        Ok(Self(Mutex::new(opened.map_err(IntoException::into_exception)?)))
    }

    /// Returns at most this many of the next RoIs, in columns. None at the end.
    fn next<'py>(&self, py: Python<'py>, max_rois: usize) -> PyResult<Option<Bound<'py, PyDict>>> {
        /// RoIs between two checks for signals.
        const AT_A_TIME: usize = 256;
        let mut columns = SpacepointColumns::default();
        let mut is_end = false;
        while !is_end && columns.descriptors.len() < max_rois {
            let most = (columns.descriptors.len() + AT_A_TIME).min(max_rois);
            let read = detached(py, || {
                let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                while columns.descriptors.len() < most {
                    match state.reader.next() {
                        None => {
                            is_end = true;
                            let warnings = state.reader.warnings();
                            state.warnings.extend(warnings);
                            break;
                        }
                        Some(Ok(roi)) => columns.push(&roi),
                        Some(Err(error))
                            if state.reader.options().on_error == OnError::Skip && !error.ends_reading() =>
                        {
                            state.warnings.push(format!("skipped: {error}"));
                        }
                        Some(Err(error)) => return Err(error),
                    }
                }
                Ok(())
            })?;
            read.map_err(IntoException::into_exception)?;
            py.check_signals()?;
        }
        let is_any = !columns.descriptors.is_empty();
        is_any.then(|| columns.into_columns(py)).transpose()
    }

    /// Takes the warnings that were not taken yet.
    fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).warnings)
    }
}

/// Returns the names of columns that files have.
fn column_map(pairs: Vec<(String, String)>) -> PyResult<ColumnMap> {
    ColumnMap::try_from(pairs).map_err(|reason| config_error(&format!("option `columns`: {reason}")))
}

/// True vertices of RoIs in columns: the offsets of the RoIs, z, and whether a vertex is the hard
/// scatter.
pub(crate) fn truth_columns<'a>(
    py: Python<'_>,
    of_rois: impl Iterator<Item = &'a [TruthVertex]>,
) -> PyResult<Bound<'_, PyDict>> {
    let (mut offsets, mut z, mut hard, mut tracks) = (vec![0i64], Vec::new(), Vec::new(), Vec::new());
    for vertices in of_rois {
        z.extend(vertices.iter().map(|vertex| vertex.z_mm));
        hard.extend(vertices.iter().map(|vertex| vertex.is_hard_scatter));
        tracks.extend(vertices.iter().map(|vertex| vertex.tracks.map_or(-1, |tracks| tracks as i64)));
        offsets.push(z.len() as i64);
    }
    let columns = PyDict::new(py);
    columns.set_item("offsets", offsets.into_pyarray(py))?;
    columns.set_item("z_mm", z.into_pyarray(py))?;
    columns.set_item("is_hard_scatter", hard.into_pyarray(py))?;
    columns.set_item("tracks", tracks.into_pyarray(py))?;
    Ok(columns)
}

/// Reads the true vertices of these RoIs from a file.
#[pyfunction]
#[pyo3(signature = (path, event_id, roi_id, tree, columns))]
pub(crate) fn read_truth<'py>(
    py: Python<'py>,
    path: PathBuf,
    event_id: PyReadonlyArray1<'py, u64>,
    roi_id: PyReadonlyArray1<'py, u64>,
    tree: Option<String>,
    columns: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = ReadOptions { tree, columns: column_map(columns)?, ..ReadOptions::default() };
    let table = detached(py, || TruthTable::read_with(&path, &options))?.map_err(IntoException::into_exception)?;
    let (event_id, roi_id) = (slice(&event_id)?, slice(&roi_id)?);
    if event_id.len() != roi_id.len() {
        return Err(input_error("event_id and roi_id differ in length"));
    }
    let ids = event_id.iter().zip(roi_id).map(|(&event_id, &roi_id)| RoiId { event_id, roi_id });
    truth_columns(py, ids.map(|id| table.vertices(id)))
}
