//! Writes answers as CSV and as JSON lines, and RoIs as CSV.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use zfinder::results::RoiSummary;
use zfinder::{PhiWindow, RoiDescriptor, RoiId, RoiResult, Tracklet, Vertex};

use crate::answer_columns::{FITTED, TRACKLET_NUMBERS, VertexColumns};

/// The header of the rows of [`write_csv`] with [`VertexColumns::Histogram`]. New columns will be
/// added at the end.
pub const CSV_HEADER: &str =
    "event_id,roi_id,vertex,z_mm,weight,status,z_error_mm,significance,background,rank,fallback";

/// Writes a row for each vertex, numbered from 0 in the order of the answer. An RoI without
/// vertices gets a row with ids and `status`, in which all other columns are empty. Numbers have
/// the shortest form that reads back to the same bits.
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
/// write_csv(&mut out, results.roi(0), VertexColumns::Histogram)?;
/// assert_eq!(out, b"7,1,,,,no_peak,,,,,false\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_csv(out: &mut impl Write, result: RoiResult<'_>, columns: VertexColumns) -> io::Result<()> {
    let RoiSummary { id: RoiId { event_id, roi_id }, status, is_fallback, .. } = result.summary();
    let is_fitted = columns == VertexColumns::Fitted;
    if result.vertices().is_empty() {
        let empty = ",".repeat(if is_fitted { 1 + FITTED.len() } else { 0 });
        return writeln!(out, "{event_id},{roi_id},,,,{status},,,,,{is_fallback}{empty}");
    }
    for (number, vertex) in result.vertices().iter().enumerate() {
        let Vertex { z_mm, z_error_mm, weight, significance, background, rank, .. } = vertex;
        let or_empty = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        let (significance, background) = (or_empty(significance), or_empty(background));
        let place = format_args!("{event_id},{roi_id},{number}");
        write!(out, "{place},{z_mm},{weight},{status},{z_error_mm},{significance},{background},{rank},{is_fallback}")?;
        if is_fitted {
            write!(out, ",{}", vertex.tracklet_count)?;
            for (_, number) in FITTED {
                write!(out, ",{}", or_empty(number(&vertex)))?;
            }
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

impl From<Vertex> for JsonVertex {
    fn from(vertex: Vertex) -> Self {
        let Vertex { z_mm, weight, pairs, z_error_mm, rank, significance, background, .. } = vertex;
        let number = |(name, number): (&'static str, fn(&Vertex) -> Option<f64>)| Some((name, number(&vertex)?));
        let fitted = vertex.x_mm.map(|_| JsonFitted {
            tracklet_count: vertex.tracklet_count,
            numbers: FITTED.into_iter().filter_map(number).collect(),
        });
        Self { z_mm, weight, pairs, z_error_mm, rank, significance, background, fitted }
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

/// Writes one line: a JSON object with `event_id`, `roi_id`, `status`, `spacepoints` (those that
/// took part), `outside_window`, `fallback` and `vertices`. Each vertex has `z_mm`, `weight`,
/// `pairs`, `z_error_mm`, `rank`, `significance` and `background`; the last two are null if no
/// background was computed. Vertices that tracklets were fitted to have the columns of
/// [`VertexColumns::Fitted`], too. Tracklets follow as the list `tracklets`, each with `vertex`
/// (null without one), `hits` and the numbers of
/// [`tracklet_csv_header`](crate::tracklet_csv_header).
///
/// # Errors
/// Errors of `out`.
pub fn write_json_line(out: &mut impl Write, result: RoiResult<'_>) -> io::Result<()> {
    let RoiSummary { id, status, spacepoints, outside_window, is_fallback, .. } = result.summary();
    let roi = JsonRoi {
        event_id: id.event_id,
        roi_id: id.roi_id,
        status: status.as_str(),
        spacepoints,
        outside_window,
        fallback: is_fallback,
        vertices: result.vertices().iter().map(JsonVertex::from).collect(),
        tracklets: result.tracklets().iter().map(JsonTracklet::from).collect(),
    };
    serde_json::to_writer(&mut *out, &roi)?;
    out.write_all(b"\n")
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
