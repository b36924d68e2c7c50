//! Shared by the tests of readers.

use zfinder::Roi;
use zfinder_io::Result;

/// Reads to the end. Returns event, spacepoints and invalid spacepoints of each RoI, and errors.
pub(crate) fn read_all(reader: impl IntoIterator<Item = Result<Roi>>) -> (Vec<(u64, usize, usize)>, Vec<String>) {
    let (mut rois, mut errors) = (Vec::new(), Vec::new());
    for roi in reader {
        match roi {
            Ok(roi) => {
                let is_invalid = |rho: f64| !rho.is_finite() || rho <= 0.0;
                let invalid = roi.spacepoints.iter().filter(|point| is_invalid(point.rho)).count();
                rois.push((roi.descriptor.id.event_id, roi.spacepoints.len(), invalid));
            }
            Err(error) => errors.push(error.to_string()),
        }
    }
    (rois, errors)
}
