//! Writes answers as CSV and as JSON lines, and RoIs as CSV.

use std::io::{self, Write};

use serde::Serialize;

use zfinder::{PhiWindow, RoiDescriptor};
use zfinder::{RoiResult, Vertex};

/// The header of the rows of [`write_csv`]. New columns will be added at the end.
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
/// use zfinder::{RoiId, RoiResult, Status};
/// use zfinder_io::write_csv;
/// let id = RoiId { event_id: 7, roi_id: 1 };
/// let none = RoiResult {
///     id,
///     vertices: vec![],
///     status: Status::NoPeak,
///     spacepoints: 12,
///     outside_window: 0,
///     fallback: false,
/// };
/// let mut out = Vec::new();
/// write_csv(&mut out, &none)?;
/// assert_eq!(out, b"7,1,,,,no_peak,,,,,false\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_csv(out: &mut impl Write, result: &RoiResult) -> io::Result<()> {
    let (id, status) = (result.id, result.status);
    if result.vertices.is_empty() {
        return writeln!(out, "{},{},,,,{status},,,,,{}", id.event_id, id.roi_id, result.fallback);
    }
    for (number, vertex) in result.vertices.iter().enumerate() {
        let Vertex { z_mm, z_error_mm, weight, significance, background, rank, .. } = vertex;
        let or_empty = |number: &Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        let (significance, background) = (or_empty(significance), or_empty(background));
        let place = format_args!("{},{},{number}", id.event_id, id.roi_id);
        let fallback = result.fallback;
        writeln!(out, "{place},{z_mm},{weight},{status},{z_error_mm},{significance},{background},{rank},{fallback}")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct JsonRoi {
    event_id: u64,
    roi_id: u64,
    status: &'static str,
    spacepoints: usize,
    outside_window: usize,
    fallback: bool,
    vertices: Vec<JsonVertex>,
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
}

impl From<&Vertex> for JsonVertex {
    fn from(&Vertex { z_mm, z_error_mm, weight, pairs, rank, significance, background }: &Vertex) -> Self {
        Self { z_mm, weight, pairs, z_error_mm, rank, significance, background }
    }
}

/// Writes one line: a JSON object with `event_id`, `roi_id`, `status`, `spacepoints` (those that
/// took part), `outside_window`, `fallback` and `vertices`. Each vertex has `z_mm`, `weight`,
/// `pairs`, `z_error_mm`, `rank`, `significance` and `background`; the last two are null if no
/// background was computed.
///
/// # Errors
/// Errors of `out`.
pub fn write_json_line(out: &mut impl Write, result: &RoiResult) -> io::Result<()> {
    let roi = JsonRoi {
        event_id: result.id.event_id,
        roi_id: result.id.roi_id,
        status: result.status.as_str(),
        spacepoints: result.spacepoints,
        outside_window: result.outside_window,
        fallback: result.fallback,
        vertices: result.vertices.iter().map(JsonVertex::from).collect(),
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
