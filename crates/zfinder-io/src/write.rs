//! Writes answers as CSV and as JSON lines, and RoIs as CSV.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use zfinder::results::RoiSummary;
use zfinder::{PhiWindow, RoiDescriptor, RoiId, RoiResult, Tracklet, Vertex};

use crate::answer_columns::{FITTED, TRACKLET_NUMBERS, VertexColumns};
use crate::truth::TruthTable;

/// The header of the rows of [`write_csv`] with the default [`VertexColumns`]. New columns will be
/// added at the end.
pub const CSV_HEADER: &str =
    "event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background,rank,fallback";

/// Writes a row for each vertex, numbered from 0 in the order of the answer. An RoI without
/// vertices gets a row with ids and `status`, in which all other columns but `true_z_mm` are empty.
/// Numbers have the shortest form that reads back to the same bits.
///
/// # Errors
/// Errors of `out`.
///
/// ```
/// use zfinder::results::RoiSummary;
/// use zfinder::{Results, RoiId, Status};
/// use zfinder_io::{VertexColumns, write_csv};
/// let mut results = Results::new();
/// results.push(RoiSummary::new(RoiId { event_id: 7, roi_id: 1 }, Status::NoPeak), []);
/// let mut out = Vec::new();
/// write_csv(&mut out, results.roi(0), VertexColumns::default())?;
/// assert_eq!(out, b"7,1,,,,no_peak,,,,,false\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_csv(out: &mut impl Write, result: RoiResult<'_>, columns: VertexColumns<'_>) -> io::Result<()> {
    let RoiSummary { id: RoiId { event_id, roi_id }, status, is_fallback, .. } = result.summary();
    let or_empty = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    let true_z_mm = columns.true_z_mm(result.id());
    if result.vertices().is_empty() {
        let empty = ",".repeat(if columns.is_fitted { 1 + FITTED.len() } else { 0 });
        write!(out, "{event_id},{roi_id},,,,{status},,,,,{is_fallback}{empty}")?;
        if columns.truth.is_some() {
            write!(out, ",{},", or_empty(true_z_mm))?;
        }
        return writeln!(out);
    }
    for (number, vertex) in result.vertices().iter().enumerate() {
        let Vertex { z_mm, z_error_mm, weight, significance, background, rank, .. } = vertex;
        let (significance, background) = (or_empty(significance), or_empty(background));
        let place = format_args!("{event_id},{roi_id},{number}");
        write!(out, "{place},{z_mm},{weight},{status},{z_error_mm},{significance},{background},{rank},{is_fallback}")?;
        if columns.is_fitted {
            write!(out, ",{}", vertex.tracklet_count)?;
            for (_, number) in FITTED {
                write!(out, ",{}", or_empty(number(&vertex)))?;
            }
        }
        if columns.truth.is_some() {
            let delta_mm = true_z_mm.map(|true_z_mm| z_mm - true_z_mm);
            write!(out, ",{},{}", or_empty(true_z_mm), or_empty(delta_mm))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct JsonRoi {
    event_id: u64,
    roi_id: u64,
    status: &'static str,
    spacepoints: u64,
    outside_window: u64,
    fallback: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    true_z_mm: Option<f64>,
    vertices: Vec<JsonVertex>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tracklets: Vec<JsonTracklet>,
}

#[derive(Serialize)]
struct JsonVertex {
    z_mm: f64,
    weight: f64,
    pairs: u64,
    z_error_mm: f64,
    rank: f64,
    significance: Option<f64>,
    background: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta_mm: Option<f64>,
    #[serde(flatten)]
    fitted: Option<JsonFitted>,
}

/// Numbers of a vertex that tracklets were fitted to.
#[derive(Serialize)]
struct JsonFitted {
    tracklet_count: u64,
    #[serde(flatten)]
    numbers: BTreeMap<&'static str, f64>,
}

impl JsonVertex {
    fn new(vertex: Vertex, true_z_mm: Option<f64>) -> Self {
        let Vertex { z_mm, weight, pairs, z_error_mm, rank, significance, background, .. } = vertex;
        let number = |(name, number): (&'static str, fn(&Vertex) -> Option<f64>)| Some((name, number(&vertex)?));
        let fitted = vertex.x_mm.map(|_| JsonFitted {
            tracklet_count: vertex.tracklet_count,
            numbers: FITTED.into_iter().filter_map(number).collect(),
        });
        let delta_mm = true_z_mm.map(|true_z_mm| z_mm - true_z_mm);
        Self { z_mm, weight, pairs, z_error_mm, rank, significance, background, delta_mm, fitted }
    }
}

#[derive(Serialize)]
struct JsonTracklet {
    vertex: Option<usize>,
    hits: Vec<u32>,
    #[serde(flatten)]
    numbers: BTreeMap<&'static str, f64>,
}

impl From<&Tracklet> for JsonTracklet {
    fn from(tracklet: &Tracklet) -> Self {
        let numbers = TRACKLET_NUMBERS.into_iter().zip(tracklet.numbers()).collect();
        Self { vertex: tracklet.vertex(), hits: tracklet.hits().to_vec(), numbers }
    }
}

/// Writes the line of [`write_json`] and a line end.
///
/// # Errors
/// Errors of `out`.
pub fn write_json_line(out: &mut impl Write, result: RoiResult<'_>, truth: Option<&TruthTable>) -> io::Result<()> {
    write_json(out, result, truth)?;
    out.write_all(b"\n")
}

/// Writes a JSON object without a line end: `event_id`, `roi_id`, `status`, `spacepoints` (those
/// that took part), `outside_window`, `fallback` and `vertices`. Each vertex has `z_mm`, `weight`,
/// `pairs`, `z_error_mm`, `rank`, `significance` and `background`; the last two are null if no
/// background was computed. Vertices that tracklets were fitted to have the further columns of
/// [`VertexColumns`], too. Tracklets follow as the list `tracklets`, each with `vertex` (null
/// without one), `hits` and the numbers of
/// [`tracklet_csv_header`](crate::tracklet_csv_header). If `truth` has the RoI's hard scatter, the
/// object has its `true_z_mm`, and each vertex its distance `delta_mm`.
///
/// # Errors
/// Errors of `out`.
pub fn write_json(out: &mut impl Write, result: RoiResult<'_>, truth: Option<&TruthTable>) -> io::Result<()> {
    let RoiSummary { id, status, spacepoints, outside_window, is_fallback, .. } = result.summary();
    let true_z_mm = truth.and_then(|truth| truth.hard_scatter_z(id));
    let roi = JsonRoi {
        event_id: id.event_id,
        roi_id: id.roi_id,
        status: status.as_str(),
        spacepoints,
        outside_window,
        fallback: is_fallback,
        true_z_mm,
        vertices: result.vertices().iter().map(|vertex| JsonVertex::new(vertex, true_z_mm)).collect(),
        tracklets: result.tracklets().iter().map(JsonTracklet::from).collect(),
    };
    serde_json::to_writer(out, &roi).map_err(io::Error::from)
}

/// The header of the rows of [`write_roi`].
pub const ROI_HEADER: &str = "event_id,roi_id,phi_min,phi_max";

/// Writes the row of an RoI with a window, in the format that [`RoiTable`](crate::RoiTable) reads.
/// Writes nothing for an RoI without a window or with the full circle. Numbers have the shortest
/// form that reads back to the same bits.
///
/// # Errors
/// Errors of `out`.
///
/// ```
/// use zfinder::{PhiWindow, RoiDescriptor};
/// use zfinder_io::write_roi;
/// let window = Some(PhiWindow::new(3.0, -3.0)?);
/// let roi = RoiDescriptor { window, ..RoiDescriptor::default() };
/// let mut out = Vec::new();
/// write_roi(&mut out, &roi).expect("a vector takes all");
/// assert_eq!(out, b"0,0,3,-3\n");
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub fn write_roi(out: &mut impl Write, roi: &RoiDescriptor) -> io::Result<()> {
    match roi.window {
        Some(PhiWindow::Range { phi_min, phi_max }) => {
            writeln!(out, "{},{},{phi_min},{phi_max}", roi.id.event_id, roi.id.roi_id)
        }
        _ => Ok(()),
    }
}
