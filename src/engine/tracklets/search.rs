//! The search: constants of a detector and a configuration.

use crate::config::Config;
use crate::detector::{Detector, Sensor};

/// Constants of a pixel layer.
#[derive(Clone, Debug)]
pub(crate) struct PixelLayer {
    /// Its thickness in layers of 1 % of a radiation length; of a disk, with a negative sign.
    pub(crate) thickness: f64,
    /// Standard deviation across the track's bend, and along z or, on a disk, along rho \[mm\].
    pub(crate) resolution: f64,
    /// Layers from which a tracklet may come, and to which it may go on.
    pub(crate) inner: Vec<u32>,
    pub(crate) outer: Vec<u32>,
}

/// The search for tracklets in a detector.
#[derive(Clone, Debug)]
pub(crate) struct TrackletSearch {
    pub(crate) config: Config,
    /// By layer; none for layers without pixels.
    pub(crate) layers: Vec<Option<PixelLayer>>,
}

/// A hit on a pixel layer, about the beam.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FitHit {
    pub(crate) rho: f64,
    pub(crate) phi: f64,
    pub(crate) z: f64,
    /// As in [`PixelLayer`].
    pub(crate) thickness: f64,
    pub(crate) resolution: f64,
}

/// Where a layer does not say: that of pixels of 50 um \[mm\].
const RESOLUTION_MM: f64 = 0.0144;
/// The least |cot| of a track that passes a disk: no track from the beam has less.
pub(crate) const MIN_COT_ON_DISK: f64 = 0.01;
/// Momentum times scattering angle, in a layer of 1 % of a radiation length that a track crosses
/// straight on \[GeV\].
pub(crate) const SCATTERING_GEV: f64 = 1.5e-3;
/// The largest chi2 of a triplet, of two degrees of freedom.
pub(crate) const MAX_TRIPLET_CHI2: f64 = 9.0;
/// The largest cost of adding a hit to a chain: the chi2 of its triplet and of its curvature.
pub(crate) const MAX_STEP_COST: f64 = 20.0;
/// A short tracklet cannot tell higher momenta from each other \[GeV\].
pub(crate) const MAX_PT_GEV: f64 = 30.0;
/// More triplets, tests for pairs and triplets, tests of triplets that may follow triplets, or
/// tracklets are too many. An event with 200 collisions has a tenth of them at most.
pub(crate) const MOST_TRIPLETS: usize = 1 << 23;
pub(crate) const MOST_TESTS: u64 = 1 << 34;
pub(crate) const MOST_CHAIN_TESTS: u64 = 1 << 32;
pub(crate) const MOST_TRACKLETS: usize = 1 << 15;

impl TrackletSearch {
    pub(crate) fn new(config: &Config, detector: &Detector) -> Self {
        let graph = detector.layer_graph([config.z_min_mm, config.z_max_mm]);
        let layer = |(number, layer): (usize, &crate::detector::Layer)| {
            (layer.sensor == Some(Sensor::Pixel)).then(|| PixelLayer {
                thickness: if layer.is_endcap() { -layer.thickness() } else { layer.thickness() },
                resolution: layer.z_resolution_mm.unwrap_or(RESOLUTION_MM),
                inner: graph.inner(number as u32),
                outer: graph.outer(number as u32),
            })
        };
        let layers = detector.layers().iter().enumerate().map(layer).collect();
        Self { config: config.clone(), layers }
    }

    /// 0.0003 B \[GeV/mm\]: pT times |kappa|.
    pub(crate) fn gev_mm(&self) -> f64 {
        0.0003 * self.config.field_t
    }

    /// The curvature of the softest track \[1/mm\].
    pub(crate) fn max_kappa(&self) -> f64 {
        self.gev_mm() / self.config.tracklet_pt_gev
    }
}
