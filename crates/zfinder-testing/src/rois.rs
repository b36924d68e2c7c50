//! RoIs for tests of files: with no, one, few and many spacepoints, and ids up to the largest.

use zfinder::{Detector, Roi, RoiDescriptor, RoiId, Spacepoint};

/// Returns 16 RoIs with 80,016 spacepoints on the layers of the generic detector, always the same.
pub fn rois() -> Vec<Roi> {
    let mut random = fastrand::Rng::with_seed(42);
    let layers = Detector::generic().layers().len() as u32;
    let mut rois = Vec::new();
    for event_id in [0, 7, u64::MAX, 3] {
        for (roi_id, size) in [(5, 0), (0, 1), (u64::MAX, 20_000), (2, 3)] {
            let mut point = || Spacepoint {
                rho: 10.0 + 900.0 * random.f64(),
                phi: 6.0 * (random.f64() - 0.5),
                z: 2000.0 * (random.f64() - 0.5),
                layer: random.u32(..layers),
            };
            let spacepoints = (0..size).map(|_| point()).collect();
            let descriptor = RoiDescriptor { id: RoiId { event_id, roi_id }, ..RoiDescriptor::default() };
            rois.push(Roi { descriptor, spacepoints });
        }
    }
    rois
}
