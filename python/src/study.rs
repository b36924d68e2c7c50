//! Simulated samples, and results compared with truth.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zfinder_io::TruthVertex;
use zfinder_study::evaluate::{By, Evaluation, Figures, Options};
use zfinder_study::simulate::{Geometry, Simulation};

use crate::columns::slice;
use crate::error::{IntoException, config_error, input_error};
use crate::files::{SpacepointColumns, truth_columns};
use crate::pool::detached;
use crate::results::ResultColumns;

/// Sets a knob of a simulation. Returns whether there is such a knob.
fn set(simulation: &mut Simulation, knob: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let place = match knob {
        "beam_spot_mm" => {
            simulation.beam_spot_mm = value.extract()?;
            return Ok(true);
        }
        "beam_spot_tilt" => {
            simulation.beam_spot_tilt = value.extract()?;
            return Ok(true);
        }
        "window_deg" => &mut simulation.window_deg,
        "window_spread_deg" => &mut simulation.window_spread_deg,
        "eta_half_width" => &mut simulation.eta_half_width,
        "eta_centre_max" => &mut simulation.eta_centre_max,
        "beam_z_mm" => &mut simulation.beam_z_mm,
        "beam_sigma_x_mm" => &mut simulation.beam_sigma_x_mm,
        "beam_sigma_y_mm" => &mut simulation.beam_sigma_y_mm,
        "beam_sigma_z_mm" => &mut simulation.beam_sigma_z_mm,
        "pile_up" => &mut simulation.pile_up,
        "pile_up_spread" => &mut simulation.pile_up_spread,
        "tracks_per_eta" => &mut simulation.tracks_per_eta,
        "pt_scale_gev" => &mut simulation.pt.scale_gev,
        "pt_power" => &mut simulation.pt.power,
        "hard_tracks_per_eta" => &mut simulation.hard_tracks_per_eta,
        "hard_pt_scale_gev" => &mut simulation.hard_pt.scale_gev,
        "hard_pt_power" => &mut simulation.hard_pt.power,
        "noise" => &mut simulation.noise,
        "efficiency" => &mut simulation.efficiency,
        "resolution" => &mut simulation.resolution,
        "radiation_lengths" => &mut simulation.radiation_lengths,
        "field_t" => &mut simulation.field_t,
        _ => return Ok(false),
    };
    *place = value.extract()?;
    Ok(true)
}

/// Simulates a sample and returns its spacepoints and its true vertices in columns.
#[pyfunction]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    sample: &str,
    rois: Option<usize>,
    seed: u64,
    detector: &str,
    full_scan: bool,
    knobs: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let mut simulation = match sample {
        "lowlum" => Simulation::lowlum(),
        "highlum" => Simulation::highlum(),
        other => return Err(config_error(&format!("option `sample`: {other} is not lowlum or highlum"))),
    };
    if full_scan {
        simulation = simulation.whole_events();
    }
    simulation.seed = seed;
    simulation.rois = rois.unwrap_or(simulation.rois);
    simulation.geometry = match detector {
        "atlas2010" => Geometry::Atlas2010,
        "generic" => Geometry::Generic,
        other => return Err(config_error(&format!("option `detector`: {other} is not atlas2010 or generic"))),
    };
    for (knob, value) in knobs {
        let knob: String = knob.extract()?;
        if !set(&mut simulation, &knob, &value)? {
            return Err(config_error(&format!("option `{knob}`: the simulation has no such option")));
        }
    }
    simulation.validate().map_err(IntoException::into_exception)?;
    let (mut columns, mut truth) = (SpacepointColumns::default(), Vec::new());
    let mut chunks = simulation.chunks();
    while let Some(chunk) = detached(py, || chunks.next())? {
        for simulated in chunk {
            columns.push(&simulated.roi);
            let vertices = simulated.truth.iter().enumerate();
            let vertex = |(index, vertex): (usize, &zfinder_study::simulate::SimulatedVertex)| TruthVertex {
                z_mm: vertex.z_mm,
                is_hard_scatter: index == 0,
                ..TruthVertex::default()
            };
            truth.push(vertices.map(vertex).collect::<Vec<_>>());
        }
        py.check_signals()?;
    }
    Ok((columns.into_columns(py)?, truth_columns(py, truth.iter().map(Vec::as_slice))?))
}

/// Turns figures into a dictionary: each figure by name, a fraction also with the ends of its
/// interval.
fn figures_to_dict<'py>(py: Python<'py>, figures: &Figures) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("rois", figures.rois)?;
    row.set_item("vertices", figures.vertices)?;
    for figure in figures.named() {
        row.set_item(figure.name, figure.value.unwrap_or(f64::NAN))?;
        if figure.is_fraction {
            let (low, high) = figure.interval.unwrap_or((f64::NAN, f64::NAN));
            row.set_item(format!("{}_low", figure.name), low)?;
            row.set_item(format!("{}_high", figure.name), high)?;
        }
    }
    Ok(row)
}

/// Compares results with the true vertices of the same RoIs. Returns a row for all RoIs, then a row
/// for each bin.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    results: &ResultColumns,
    offsets: PyReadonlyArray1<'py, i64>,
    z_mm: PyReadonlyArray1<'py, f64>,
    is_hard_scatter: PyReadonlyArray1<'py, bool>,
    tracks: PyReadonlyArray1<'py, i64>,
    within_mm: f64,
    isolation_mm: f64,
    by: Option<&str>,
    bins: Option<usize>,
) -> PyResult<(Vec<Bound<'py, PyDict>>, u64)> {
    let by = match by {
        None => None,
        Some("pile-up") => Some(By::PileUp),
        Some("spacepoints") => Some(By::Spacepoints),
        Some(other) => return Err(config_error(&format!("option `by`: {other} is not pile-up or spacepoints"))),
    };
    let (offsets, z_mm, hard) = (slice(&offsets)?, slice(&z_mm)?, slice(&is_hard_scatter)?);
    let tracks = slice(&tracks)?;
    if offsets.len() != results.rois.len() + 1 || [hard.len(), tracks.len()].iter().any(|&len| len != z_mm.len()) {
        return Err(input_error("true vertices of other RoIs than the results"));
    }
    let mut evaluation = Evaluation::new(Options { within_mm, isolation_mm, ..Options::default() });
    for (result, ends) in results.iter().zip(offsets.windows(2)) {
        let range = usize::try_from(ends[0]).ok().zip(usize::try_from(ends[1]).ok());
        let range = range.filter(|(first, end)| first <= end && *end <= z_mm.len());
        let (first, end) = range.ok_or_else(|| input_error("offsets of true vertices that do not ascend"))?;
        let vertex = |i: usize| TruthVertex {
            z_mm: z_mm[i],
            is_hard_scatter: hard[i],
            tracks: u64::try_from(tracks[i]).ok(),
            ..TruthVertex::default()
        };
        let truth: Vec<TruthVertex> = (first..end).map(vertex).collect();
        evaluation.add(result, &truth);
    }
    let binning = by.map(|by| evaluation.binning(by, bins));
    let summary = evaluation.summary(binning.as_ref());
    let mut rows = vec![figures_to_dict(py, &summary.figures)?];
    for in_bin in &summary.bins {
        let row = figures_to_dict(py, &in_bin.figures)?;
        row.set_item("low", in_bin.bin.low)?;
        row.set_item("high", in_bin.bin.high)?;
        rows.push(row);
    }
    Ok((rows, summary.without_truth))
}
