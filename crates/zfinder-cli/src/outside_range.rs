//! Looks for peaks outside the range of z, in RoIs without a peak.

use zfinder::{Engine, Results, Roi, RoiBatch, Status, ZFinder};

use super::search::counted;
use command_host::Failure;

/// RoIs without a peak that are searched again.
const MOST: usize = 20;
/// The searched range reaches this many times as far from z = 0.
const FACTOR: f64 = 10.0;
/// Least pairs of a peak that is named. Within the range of z, no two pairs met.
const LEAST_PAIRS: u64 = 5;

/// The first RoIs without a peak.
#[derive(Default)]
pub(super) struct RoisWithoutPeak(Vec<Roi>);

impl RoisWithoutPeak {
    /// Keeps the RoIs without a peak of a batch. An RoI with a range of its own is left out.
    pub(super) fn add(&mut self, batch: &RoiBatch, results: &Results) {
        let without = results.iter().enumerate().filter(|(_, result)| result.status() == Status::NoPeak);
        let views = without.map(|(number, _)| batch.roi(number)).filter(|roi| roi.descriptor.z_range.is_none());
        let rois = views.map(|roi| Roi { descriptor: *roi.descriptor, spacepoints: roi.spacepoints().collect() });
        self.0.extend(rois.take(MOST - self.0.len().min(MOST)));
    }

    /// Returns a warning if any of these RoIs has a peak outside the range of z.
    pub(super) fn warning(&self, finder: &ZFinder) -> Result<Option<String>, Failure> {
        let config = finder.config();
        let reach = FACTOR * config.z_min_mm.abs().max(config.z_max_mm.abs());
        let wide = config.clone().with(|c| {
            c.z_min_mm = -reach;
            c.z_max_mm = reach;
        });
        if self.0.is_empty() || wide.validate().is_err() {
            return Ok(None);
        }
        let engine = Engine::Cpu;
        let wide = ZFinder::builder(finder.detector().clone()).config(wide).engine(engine).build()?;
        let mut batch = RoiBatch::new();
        self.0.iter().for_each(|roi| batch.push(roi.descriptor, roi.spacepoints.iter().copied()));
        let results = wide.find_batch(&batch)?;
        let is_far = |z: f64| z < config.z_min_mm || z > config.z_max_mm;
        let far = results.iter().filter_map(|result| {
            let vertex = result.vertices().first()?;
            let is_peak = vertex.pairs >= LEAST_PAIRS && is_far(vertex.z_mm);
            is_peak.then_some((result.id().event_id, vertex.z_mm))
        });
        let far: Vec<(u64, f64)> = far.collect();
        let Some((event, z)) = far.first() else { return Ok(None) };
        Ok(Some(format!(
            "{} without a peak {} one outside the range of z from {} to {} mm, event {event} at {z:.1} mm: widen the range \
             with --z-min and --z-max",
            counted(far.len(), "RoI"),
            if far.len() == 1 { "has" } else { "have" },
            config.z_min_mm,
            config.z_max_mm
        )))
    }
}
