//! Columns of results, which C reads in place.

use zfinder::Results;

use crate::types::zf_columns;

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
