//! The search: its detector and its cuts, and the physics that all steps share.

use super::hits::{PixelHit, cot_on_disk};
use crate::config::Config;
use crate::detector::{Detector, LayerGraph};

/// The search for tracklets and vertices, serial and in f64.
#[derive(Clone)]
pub struct ReferenceTracklets {
    pub(super) detector: Detector,
    pub(super) graph: LayerGraph,
    pub(super) config: Config,
    /// Tracklets point into one of them.
    pub(super) z_ranges: Vec<[f64; 2]>,
}

impl ReferenceTracklets {
    /// Makes the search. The configuration says where the beam is, how wide, and the field.
    pub fn new(config: &Config, detector: &Detector) -> Self {
        let z_range = [config.z_min_mm, config.z_max_mm];
        let graph = detector.layer_graph(z_range);
        Self { detector: detector.clone(), graph, config: config.clone(), z_ranges: vec![z_range] }
    }

    /// Returns the search for tracklets that point into one of these ranges of z \[mm\], which
    /// ascend.
    #[must_use]
    pub fn with_z_ranges(&self, z_ranges: &[[f64; 2]]) -> Self {
        Self { z_ranges: z_ranges.to_vec(), ..self.clone() }
    }

    /// 0.0003 B \[GeV/mm\]: pT times |kappa|.
    pub(super) fn gev_mm(&self) -> f64 {
        0.0003 * self.config.field_t
    }

    /// The curvature of the softest track \[1/mm\].
    pub(super) fn max_kappa(&self) -> f64 {
        self.gev_mm() / self.config.tracklet_pt_gev
    }

    /// pT of a curvature \[GeV\].
    pub(super) fn pt(&self, kappa: f64) -> f64 {
        self.gev_mm() / kappa.abs().max(1e-6)
    }

    /// The standard deviation of the scattering angle in a plane, in the layer of a hit \[rad\]:
    /// 1.5 MeV / p, times the root of the length of the way through the layer in units of 1 % of a
    /// radiation length. Of Highland's formula, it has the constant that fits simulated events, and
    /// no logarithm.
    pub(super) fn scattering(&self, kappa: f64, cot: f64, hit: &PixelHit) -> f64 {
        let p = self.pt(kappa).min(MAX_PT_GEV) * (1.0 + cot * cot).sqrt();
        // 1 / sin theta on a barrel, 1 / cos theta on a disk.
        let across = (1.0 + cot * cot).sqrt();
        let way = if hit.is_disk { across / cot_on_disk(cot) } else { across };
        SCATTERING_GEV * (way * hit.radiation_lengths / 0.01).sqrt() / p
    }
}

/// Momentum times scattering angle, in a layer of 1 % of a radiation length that a track crosses
/// straight on \[GeV\].
const SCATTERING_GEV: f64 = 1.5e-3;
/// A short tracklet cannot tell higher momenta from each other \[GeV\].
const MAX_PT_GEV: f64 = 30.0;
