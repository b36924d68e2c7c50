//! Answers as flat columns.

use std::fs::File;
use std::path::PathBuf;

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zfinder::{RoiId, RoiResult, Status, Vertex};
use zfinder_io::{AnswerDigest, ParquetVertices};

use crate::columns::slice;
use crate::error::{IntoException, file_error, input_error};

/// Turns answers into a dictionary of columns: one element an RoI (`event_id`, `roi_id`, `status`,
/// `spacepoints`, `outside_window`, `fallback`), the `offsets` of the RoIs' vertices, and one
/// element a vertex.
pub(crate) fn to_columns<'py>(py: Python<'py>, results: &[RoiResult]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let of_rois = |value: fn(&RoiResult) -> u64| results.iter().map(value).collect::<Vec<u64>>().into_pyarray(py);
    columns.set_item("event_id", of_rois(|result| result.id.event_id))?;
    columns.set_item("roi_id", of_rois(|result| result.id.roi_id))?;
    let code = |result: &RoiResult| {
        let code = Status::ALL.iter().position(|&status| status == result.status);
        code.map(|code| code as u8).ok_or_else(|| input_error("a status that this version of pyzfinder does not know"))
    };
    columns.set_item("status_code", results.iter().map(code).collect::<PyResult<Vec<u8>>>()?.into_pyarray(py))?;
    columns.set_item("spacepoints", of_rois(|result| result.spacepoints as u64))?;
    columns.set_item("outside_window", of_rois(|result| result.outside_window as u64))?;
    columns.set_item("fallback", results.iter().map(|result| result.fallback).collect::<Vec<_>>().into_pyarray(py))?;
    let mut offsets = Vec::with_capacity(results.len() + 1);
    offsets.push(0i64);
    let mut end = 0;
    for result in results {
        end += result.vertices.len();
        offsets.push(end as i64);
    }
    columns.set_item("offsets", offsets.into_pyarray(py))?;
    let of_vertices = |value: fn(&Vertex) -> f64| {
        let mut column = Vec::with_capacity(end);
        column.extend(results.iter().flat_map(|result| &result.vertices).map(value));
        column.into_pyarray(py)
    };
    columns.set_item("z_mm", of_vertices(|vertex| vertex.z_mm))?;
    columns.set_item("z_error_mm", of_vertices(|vertex| vertex.z_error_mm))?;
    columns.set_item("weight", of_vertices(|vertex| vertex.weight))?;
    let pairs: Vec<u64> = results.iter().flat_map(|result| &result.vertices).map(|vertex| vertex.pairs).collect();
    columns.set_item("pairs", pairs.into_pyarray(py))?;
    columns.set_item("rank", of_vertices(|vertex| vertex.rank))?;
    columns.set_item("significance", of_vertices(|vertex| vertex.significance.unwrap_or(f64::NAN)))?;
    columns.set_item("background", of_vertices(|vertex| vertex.background.unwrap_or(f64::NAN)))?;
    Ok(columns)
}

/// Turns columns back into answers.
pub(crate) fn from_columns(columns: &Bound<'_, PyDict>) -> PyResult<Vec<RoiResult>> {
    fn column<T: numpy::Element + Clone>(columns: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<T>> {
        let column: PyReadonlyArray1<'_, T> =
            columns.get_item(name)?.ok_or_else(|| input_error(&format!("results without {name}")))?.extract()?;
        Ok(slice(&column)?.to_vec())
    }
    let [event_id, roi_id, spacepoints, outside_window] =
        ["event_id", "roi_id", "spacepoints", "outside_window"].map(|name| column::<u64>(columns, name));
    let (event_id, roi_id, spacepoints, outside_window) = (event_id?, roi_id?, spacepoints?, outside_window?);
    let (status, offsets) = (column::<u8>(columns, "status_code")?, column::<i64>(columns, "offsets")?);
    let fallback = column::<bool>(columns, "fallback")?;
    let [z_mm, z_error_mm, weight, rank, significance, background] =
        ["z_mm", "z_error_mm", "weight", "rank", "significance", "background"].map(|name| column::<f64>(columns, name));
    let (z_mm, z_error_mm, weight, rank) = (z_mm?, z_error_mm?, weight?, rank?);
    let (significance, background, pairs) = (significance?, background?, column::<u64>(columns, "pairs")?);
    let rois = event_id.len();
    let broken = || input_error("columns of results that differ in length");
    let ends = offsets.len().wrapping_sub(1);
    let of_rois = [roi_id.len(), spacepoints.len(), outside_window.len(), fallback.len(), status.len(), ends];
    let of_vertices = [z_error_mm.len(), weight.len(), rank.len(), significance.len(), background.len(), pairs.len()];
    if of_rois.iter().any(|&length| length != rois) || of_vertices.iter().any(|&length| length != z_mm.len()) {
        return Err(broken());
    }
    let known = |value: f64| Some(value).filter(|value| !value.is_nan());
    let vertex = |index: usize| Vertex {
        z_mm: z_mm[index],
        z_error_mm: z_error_mm[index],
        weight: weight[index],
        pairs: pairs[index],
        rank: rank[index],
        significance: known(significance[index]),
        background: known(background[index]),
    };
    (0..rois)
        .map(|roi| {
            let ends = [offsets[roi], offsets[roi + 1]].map(|offset| usize::try_from(offset).ok());
            let (Some(first), Some(end)) = ends.into() else { return Err(broken()) };
            if first > end || end > z_mm.len() {
                return Err(broken());
            }
            Ok(RoiResult {
                id: RoiId { event_id: event_id[roi], roi_id: roi_id[roi] },
                vertices: (first..end).map(vertex).collect(),
                status: *Status::ALL.get(usize::from(status[roi])).ok_or_else(broken)?,
                spacepoints: spacepoints[roi] as usize,
                outside_window: outside_window[roi] as usize,
                fallback: fallback[roi],
            })
        })
        .collect()
}

/// Writes results as `zfinder find` does: a row a vertex, in Parquet.
#[pyfunction]
pub(crate) fn write_parquet(py: Python<'_>, columns: &Bound<'_, PyDict>, path: PathBuf) -> PyResult<()> {
    let results = from_columns(columns)?;
    py.detach(|| {
        let file = File::create(&path).map_err(|error| file_error(&format!("{}: {error}", path.display())))?;
        let mut writer = ParquetVertices::new(file, &path).map_err(IntoException::into_exception)?;
        results.iter().try_for_each(|result| writer.write(result)).map_err(IntoException::into_exception)?;
        writer.finish().map_err(IntoException::into_exception)?;
        Ok(())
    })
}

/// Returns the columns of no RoI.
#[pyfunction]
pub(crate) fn empty_results(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    to_columns(py, &[])
}

/// Returns the digest of answers that `zfinder find --digest` prints.
#[pyfunction]
pub(crate) fn digest(columns: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut digest = AnswerDigest::default();
    from_columns(columns)?.iter().for_each(|result| digest.add(result));
    Ok(digest.to_string())
}
