//! Answers as flat columns that numpy and Arrow borrow.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zfinder::results::RoiSummary;
use zfinder::{Results, RoiId, RoiResult, Status, Tracklet, Vertex};
use zfinder_io::{AnswerDigest, ParquetVertices, VertexColumns};

use crate::columns::{borrowed, slice};
use crate::error::{IntoException, file_error, input_error};

/// Reads a column of all RoIs or of all vertices.
pub(crate) type Column<T> = fn(&Results) -> &[T];

/// A column by the type of its elements.
pub(crate) enum TypedColumn {
    /// `Status::code`.
    Statuses(Column<u8>),
    Flags(Column<bool>),
    Counts(Column<u64>),
    Numbers(Column<f64>),
    /// Numbers, or NaN where unknown.
    OptionalNumbers(Column<f64>),
    /// Covariances: xx, xy, xz, yy, yz, zz, or NaN where unknown.
    Covariances(Column<[f64; 6]>),
}

use TypedColumn::{Counts, Covariances, Flags, Numbers, OptionalNumbers, Statuses};

/// The columns with an element for each RoI.
pub(crate) const ROI_COLUMNS: &[(&str, TypedColumn)] = &[
    ("event_id", Counts(Results::event_ids)),
    ("roi_id", Counts(Results::roi_ids)),
    ("status_code", Statuses(Results::status_codes)),
    ("spacepoints", Counts(Results::spacepoint_counts)),
    ("outside_window", Counts(Results::outside_window)),
    ("fallback", Flags(Results::is_fallback)),
];

/// The columns with an element for each vertex.
pub(crate) const VERTEX_COLUMNS: &[(&str, TypedColumn)] = &[
    ("z_mm", Numbers(|results| results.vertices().z_mm())),
    ("z_error_mm", Numbers(|results| results.vertices().z_error_mm())),
    ("weight", Numbers(|results| results.vertices().weight())),
    ("pairs", Counts(|results| results.vertices().pairs())),
    ("rank", Numbers(|results| results.vertices().rank())),
    ("significance", OptionalNumbers(|results| results.vertices().significance())),
    ("background", OptionalNumbers(|results| results.vertices().background())),
    ("x_mm", OptionalNumbers(|results| results.vertices().x_mm())),
    ("y_mm", OptionalNumbers(|results| results.vertices().y_mm())),
    ("covariance_mm2", Covariances(|results| results.vertices().covariance_mm2())),
    ("tracklet_count", Counts(|results| results.vertices().tracklet_count())),
    ("sum_pt2_gev2", Numbers(|results| results.vertices().sum_pt2_gev2())),
];

// `offsets` are i64 in Python, and of the same memory.
const _: () = assert!(size_of::<usize>() == size_of::<i64>(), "a platform of 64 bits");

/// Returns the words of statuses, by code.
#[pyfunction]
pub(crate) fn statuses() -> Vec<&'static str> {
    Status::ALL.iter().map(|status| status.as_str()).collect()
}

/// The answers to consecutive RoIs. Slices share one `Results`.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
pub(crate) struct ResultColumns {
    pub(crate) results: Arc<Results>,
    pub(crate) rois: Range<usize>,
    pub(crate) vertices: Range<usize>,
    /// The offsets of the RoIs' vertices, if the first vertex is not the first one of `results`.
    rebased_offsets: Option<Vec<usize>>,
    pub(crate) tracklets: Range<usize>,
    /// The same for tracklets.
    rebased_tracklet_offsets: Option<Vec<usize>>,
}

#[pymethods]
impl ResultColumns {
    /// Copies columns that `array` returned, perhaps in another process.
    #[new]
    fn new(columns: &Bound<'_, PyDict>) -> PyResult<Self> {
        fn column<T: Element + Clone>(columns: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<T>> {
            let column = columns.get_item(name)?.ok_or_else(|| input_error(&format!("results without {name}")))?;
            Ok(slice(&column.extract::<PyReadonlyArray1<'_, T>>()?)?.to_vec())
        }
        let counts = |name| column::<u64>(columns, name);
        let numbers = |name| column::<f64>(columns, name);
        let (event_id, roi_id, offsets) = (counts("event_id")?, counts("roi_id")?, column::<i64>(columns, "offsets")?);
        let (status, fallback) = (column::<u8>(columns, "status_code")?, column::<bool>(columns, "fallback")?);
        let (spacepoints, outside_window) = (counts("spacepoints")?, counts("outside_window")?);
        let (z_mm, z_error_mm, weight) = (numbers("z_mm")?, numbers("z_error_mm")?, numbers("weight")?);
        let (pairs, rank) = (counts("pairs")?, numbers("rank")?);
        let (significance, background) = (numbers("significance")?, numbers("background")?);
        let (x_mm, y_mm, sum_pt2) = (numbers("x_mm")?, numbers("y_mm")?, numbers("sum_pt2_gev2")?);
        let (covariances, tracklet_count) = (numbers("covariance_mm2")?, counts("tracklet_count")?);
        let (covariances, ragged) = covariances.as_chunks::<6>();
        let (bytes, tracklet_offsets) =
            (column::<u8>(columns, "tracklets")?, column::<i64>(columns, "tracklet_offsets")?);
        let tracklets: Vec<Tracklet> =
            bytes.chunks_exact(size_of::<Tracklet>()).map(bytemuck::pod_read_unaligned).collect();
        let rois = event_id.len();
        let ends = offsets.len().wrapping_sub(1);
        let tracklet_ends = tracklet_offsets.len().wrapping_sub(1);
        let of_rois = [roi_id.len(), spacepoints.len(), outside_window.len(), fallback.len(), status.len(), ends];
        let of_rois =
            [&of_rois[..], &[tracklet_ends, rois + ragged.len() + bytes.len() % size_of::<Tracklet>()]].concat();
        let of_vertices =
            [z_error_mm.len(), weight.len(), rank.len(), significance.len(), background.len(), pairs.len()];
        let of_vertices =
            [&of_vertices[..], &[x_mm.len(), y_mm.len(), sum_pt2.len(), covariances.len(), tracklet_count.len()]]
                .concat();
        if of_rois.iter().any(|&length| length != rois) || of_vertices.iter().any(|&length| length != z_mm.len()) {
            return Err(input_error("columns of results that differ in length"));
        }
        let known = |value: f64| Some(value).filter(|value| !value.is_nan());
        let vertex = |index: usize| {
            let mut vertex = Vertex::at(z_mm[index]);
            vertex.z_error_mm = z_error_mm[index];
            vertex.weight = weight[index];
            vertex.pairs = pairs[index];
            vertex.rank = rank[index];
            vertex.significance = known(significance[index]);
            vertex.background = known(background[index]);
            vertex.x_mm = known(x_mm[index]);
            vertex.y_mm = known(y_mm[index]);
            vertex.covariance_mm2 = Some(covariances[index]).filter(|of| !of[0].is_nan());
            vertex.tracklet_count = tracklet_count[index];
            vertex.sum_pt2_gev2 = sum_pt2[index];
            vertex
        };
        let wrong_offsets = || input_error("offsets of results that do not ascend from 0 to the number of elements");
        let next = |offset: i64, first: usize, count: usize| {
            usize::try_from(offset).ok().filter(|end| (first..=count).contains(end)).ok_or_else(wrong_offsets)
        };
        let (mut results, mut first, mut first_tracklet) = (Results::new(), 0, 0);
        for roi in 0..rois {
            let status = Status::ALL.get(usize::from(status[roi]));
            let status = status.ok_or_else(|| input_error("results with an unknown status"))?;
            let mut summary = RoiSummary::new(RoiId { event_id: event_id[roi], roi_id: roi_id[roi] }, *status);
            summary.spacepoints = spacepoints[roi];
            summary.outside_window = outside_window[roi];
            summary.is_fallback = fallback[roi];
            let end = next(offsets[roi + 1], first, z_mm.len())?;
            let tracklet_end = next(tracklet_offsets[roi + 1], first_tracklet, tracklets.len())?;
            results.push(summary, (first..end).map(vertex));
            results.push_tracklets(tracklets[first_tracklet..tracklet_end].iter().copied());
            (first, first_tracklet) = (end, tracklet_end);
        }
        let begins_at_0 = offsets[0] == 0 && tracklet_offsets[0] == 0;
        if !begins_at_0 || first != z_mm.len() || first_tracklet != tracklets.len() {
            return Err(wrong_offsets());
        }
        Ok(results.into())
    }

    /// Joins the answers of parts, in this order.
    #[staticmethod]
    fn concatenate(py: Python<'_>, parts: Vec<Py<Self>>) -> Self {
        let parts: Vec<&Self> = parts.iter().map(Py::get).collect();
        py.detach(|| {
            let mut results = Results::new();
            parts.iter().for_each(|part| results.append(&part.results, part.rois.clone()));
            results.into()
        })
    }

    fn __len__(&self) -> usize {
        self.rois.len()
    }

    /// Returns the answers to the RoIs from `first` up to `end`.
    fn slice(&self, first: usize, end: usize) -> Self {
        let end = end.min(self.rois.len());
        let start = self.rois.start;
        Self::of_rois(Arc::clone(&self.results), start + first.min(end)..start + end)
    }

    /// Returns a column by its name, if there is one: a read-only array that keeps these answers.
    ///
    /// Programs read few columns, and each takes time with the GIL held.
    fn array<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        fn array<'py, T: Element>(
            owner: &Bound<'py, ResultColumns>,
            range: &Range<usize>,
            column: Column<T>,
        ) -> PyResult<Bound<'py, PyAny>> {
            borrowed(owner, |columns| &column(&columns.results)[range.clone()])
        }
        match name {
            "offsets" => return borrowed(slf, Self::offsets).map(Some),
            "tracklets" => return borrowed(slf, Self::tracklet_bytes).map(Some),
            "tracklet_offsets" => return borrowed(slf, Self::tracklet_offsets).map(Some),
            _ => {}
        }
        let Some((_, column, range)) = slf.get().columns().find(|(known, ..)| *known == name) else { return Ok(None) };
        let array = match column {
            Statuses(column) => array(slf, range, *column),
            Flags(column) => array(slf, range, *column),
            Counts(column) => array(slf, range, *column),
            Numbers(column) | OptionalNumbers(column) => array(slf, range, *column),
            Covariances(column) => borrowed(slf, |columns| column(&columns.results)[range.clone()].as_flattened()),
        };
        array.map(Some)
    }

    /// Returns the address of the first element of each column, which tests compare with arrays.
    fn _addresses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fn address<T>(results: &Results, range: &Range<usize>, column: Column<T>) -> usize {
            column(results)[range.clone()].as_ptr().addr()
        }
        let addresses = PyDict::new(py);
        for (name, column, range) in self.columns() {
            let address = match column {
                Statuses(column) => address(&self.results, range, *column),
                Flags(column) => address(&self.results, range, *column),
                Counts(column) => address(&self.results, range, *column),
                Numbers(column) | OptionalNumbers(column) => address(&self.results, range, *column),
                Covariances(column) => address(&self.results, range, *column),
            };
            addresses.set_item(name, address)?;
        }
        addresses.set_item("offsets", self.offsets().as_ptr().addr())?;
        addresses.set_item("tracklets", self.tracklet_bytes().as_ptr().addr())?;
        addresses.set_item("tracklet_offsets", self.tracklet_offsets().as_ptr().addr())?;
        Ok(addresses)
    }

    /// Returns the digest of the answers that `zfinder find --digest` prints.
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let mut digest = AnswerDigest::default();
            digest.extend(self.iter());
            digest.to_string()
        })
    }

    /// Writes the answers as `zfinder find` does: a row a vertex, in Parquet.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let file = File::create(&path).map_err(|error| file_error(&format!("{}: {error}", path.display())))?;
            let columns = VertexColumns::of_results(&self.results);
            let mut writer = ParquetVertices::new(file, &path, columns).map_err(IntoException::into_exception)?;
            self.iter().try_for_each(|roi| writer.write(roi)).map_err(IntoException::into_exception)?;
            writer.finish().map_err(IntoException::into_exception)?;
            Ok(())
        })
    }
}

impl ResultColumns {
    fn of_rois(results: Arc<Results>, rois: Range<usize>) -> Self {
        let rebase = |offsets: &[usize]| {
            let elements = offsets[0]..offsets[rois.len()];
            let rebased = || offsets.iter().map(|offset| offset - elements.start).collect();
            let rebased = (elements.start > 0).then(rebased);
            (elements, rebased)
        };
        let (vertices, rebased_offsets) = rebase(&results.offsets()[rois.start..=rois.end]);
        let (tracklets, rebased_tracklet_offsets) = rebase(&results.tracklet_offsets()[rois.start..=rois.end]);
        Self { results, rois, vertices, rebased_offsets, tracklets, rebased_tracklet_offsets }
    }

    /// Returns the answers by RoI.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = RoiResult<'_>> {
        self.rois.clone().map(|roi| self.results.roi(roi))
    }

    /// Returns the offsets of the RoIs' vertices. The first is 0.
    pub(crate) fn offsets(&self) -> &[i64] {
        let own = || &self.results.offsets()[self.rois.start..=self.rois.end];
        bytemuck::cast_slice(self.rebased_offsets.as_deref().unwrap_or_else(own))
    }

    fn tracklet_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.results.tracklets()[self.tracklets.clone()])
    }

    /// Returns the offsets of the RoIs' tracklets. The first is 0.
    pub(crate) fn tracklet_offsets(&self) -> &[i64] {
        let own = || &self.results.tracklet_offsets()[self.rois.start..=self.rois.end];
        bytemuck::cast_slice(self.rebased_tracklet_offsets.as_deref().unwrap_or_else(own))
    }

    /// Returns the name of each column, the column, and which of its elements are of these RoIs.
    fn columns(&self) -> impl Iterator<Item = (&'static str, &'static TypedColumn, &Range<usize>)> {
        let of_rois = ROI_COLUMNS.iter().map(|(name, column)| (*name, column, &self.rois));
        let of_vertices = VERTEX_COLUMNS.iter().map(|(name, column)| (*name, column, &self.vertices));
        of_rois.chain(of_vertices)
    }
}

impl From<Results> for ResultColumns {
    fn from(results: Results) -> Self {
        let rois = 0..results.len();
        Self::of_rois(Arc::new(results), rois)
    }
}
