//! Columns of results, which C reads in place.

use zfinder::{Config, Results};

use crate::failure::{Failure, Outcome};
use crate::types::{zf_columns, zf_position};

/// Returns pointers to the columns. They are valid until the results change.
pub(crate) fn borrow(results: &Results) -> zf_columns {
    let vertices = results.vertices();
    zf_columns {
        size: size_of::<zf_columns>(),
        rois: results.len(),
        vertices: vertices.len(),
        event_id: results.event_ids().as_ptr(),
        roi_id: results.roi_ids().as_ptr(),
        status: results.status_codes().as_ptr(),
        spacepoints: results.spacepoint_counts().as_ptr(),
        outside_window: results.outside_window().as_ptr(),
        // A bool is one byte, 0 or 1.
        fallback: results.is_fallback().as_ptr().cast(),
        offsets: results.offsets().as_ptr(),
        z_mm: vertices.z_mm().as_ptr(),
        z_error_mm: vertices.z_error_mm().as_ptr(),
        weight: vertices.weight().as_ptr(),
        rank: vertices.rank().as_ptr(),
        significance: vertices.significance().as_ptr(),
        background: vertices.background().as_ptr(),
        pairs: vertices.pairs().as_ptr(),
        x_mm: vertices.x_mm().as_ptr(),
        y_mm: vertices.y_mm().as_ptr(),
        covariance_mm2: vertices.covariance_mm2().as_flattened().as_ptr(),
        tracklet_count: vertices.tracklet_count().as_ptr(),
        sum_pt2_gev2: vertices.sum_pt2_gev2().as_ptr(),
        tracklets: results.tracklets().len(),
        tracklet_offsets: results.tracklet_offsets().as_ptr(),
        // The same memory layout.
        tracklet: results.tracklets().as_ptr().cast(),
    }
}

/// Returns the position of a vertex. Without tracklets, x and y are those of the beam.
pub(crate) fn position(results: &Results, vertex: usize, config: &Config) -> Outcome<zf_position> {
    let vertices = results.vertices();
    let Some(&z) = vertices.z_mm().get(vertex) else {
        return Err(Failure::argument(format!("there is no vertex {vertex}: there are {}", vertices.len())));
    };
    let (x, y) = (vertices.x_mm()[vertex], vertices.y_mm()[vertex]);
    if x.is_finite() && y.is_finite() {
        return Ok(zf_position { xyz_mm: [x, y, z], covariance_mm2: vertices.covariance_mm2()[vertex] });
    }
    let (spot, tilt, width) = (config.beam_spot_mm, config.beam_spot_tilt, config.beam_width_mm);
    let (zz, ww) = (vertices.z_error_mm()[vertex].powi(2), width * width);
    let [tx, ty] = tilt;
    Ok(zf_position {
        xyz_mm: [spot[0] + tx * z, spot[1] + ty * z, z],
        covariance_mm2: [ww + tx * tx * zz, tx * ty * zz, tx * zz, ww + ty * ty * zz, ty * zz, zz],
    })
}
