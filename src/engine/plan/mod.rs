//! The plan of an RoI, made once on the host in f64 for the CPU and the GPU engine: beam spot, phi
//! window, the slice of each spacepoint, z bins. Slices are therefore the same on every adapter,
//! however it rounds.

pub(crate) mod block;
mod pack;
mod roi;
#[cfg(test)]
mod tests;
mod window;

use std::f64::consts::{PI, TAU};

use self::block::{BLOCK, block_of};
pub(crate) use self::roi::{PackSummary, RoiPlan};
use self::window::PhiExtremes;
use crate::config::{Config, DefaultWindow, Neighbours};
use crate::detector::{Detector, Sensor};
use crate::engine::real::Real;
use crate::engine::records::TripletCuts;
use crate::error::Result;
use crate::pt_weight::PtWeight;
use crate::reach::TrackModel;
use crate::spacepoint::{PhiWindow, RoiView, normalised, usable};

/// The configuration and the detector, in the form that the stages use.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) config: Config,
    pub(crate) detector: Detector,
    /// n(A, B), row A, column B; with [`ENDCAP_PAIR`] where it depends on the RoI's eta.
    pub(crate) neighbours: Vec<u32>,
    pub(crate) tracks: TrackModel,
    /// Layers that take part, a bit each.
    taking_part: u64,
}

/// Set in a neighbour count of a pair with a disk.
pub(crate) const ENDCAP_PAIR: u32 = 1 << 31;
/// Set where the outer layer is a strip layer.
pub(crate) const STRIP_PAIR: u32 = 1 << 30;
/// The bits of the precision of a pair, which is its weight in the mean z where weights go by pT.
pub(crate) const PRECISION: u32 = STRIP_PAIR - (1 << PRECISION_SHIFT);
pub(crate) const PRECISION_SHIFT: u32 = 25;
/// The bits of the count.
pub(crate) const NEIGHBOURS: u32 = (1 << PRECISION_SHIFT) - 1;

/// The numbers that place a spacepoint in an RoI's window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlicePlacement {
    /// Lower edge and width of the window \[rad\].
    pub(crate) phi_min: f64,
    pub(crate) width: f64,
    pub(crate) slices_per_rad: f64,
    pub(crate) slices: u32,
    pub(crate) layers: u32,
}

impl SlicePlacement {
    /// phi, which is in [-pi, pi], from the lower edge of the window on \[rad\].
    #[inline(always)]
    pub(crate) fn beyond_edge(&self, phi: f64) -> f64 {
        let mut from_edge = phi - self.phi_min;
        from_edge += if from_edge < 0.0 { TAU } else { 0.0 };
        from_edge -= if from_edge >= TAU { TAU } else { 0.0 };
        from_edge
    }
}

impl Search {
    /// # Errors
    /// A configuration that this detector cannot have.
    pub(crate) fn new(config: &Config, detector: &Detector) -> Result<Self> {
        let layers = detector.layers();
        let counts = detector.neighbours(config);
        let precisions = detector.pair_precisions();
        let neighbours = (0..layers.len() * layers.len())
            .map(|i| {
                let (a, b) = (i / layers.len(), i % layers.len());
                let endcap = layers[a].is_endcap() || layers[b].is_endcap();
                let strips = layers[b].sensor.is_some_and(|sensor| sensor > Sensor::Pixel);
                let precision = precisions[a][b] << PRECISION_SHIFT;
                counts[a][b] | precision | if endcap { ENDCAP_PAIR } else { 0 } | if strips { STRIP_PAIR } else { 0 }
            })
            .collect();
        let taking_part = detector.layers_taking_part(config)?;
        let tracks = detector.track_model(config);
        Ok(Self { config: config.clone(), detector: detector.clone(), neighbours, tracks, taking_part })
    }

    /// The search of RoIs without a peak; none if they are not searched again.
    ///
    /// # Errors
    /// As [`Search::new`].
    pub(crate) fn fallback(&self) -> Result<Option<Self>> {
        self.config.fallback_config().map(|config| Self::new(&config, &self.detector)).transpose()
    }

    /// Whether spacepoints of a layer take part.
    fn takes_part(&self, layer: u32) -> bool {
        self.taking_part >> layer & 1 != 0
    }

    /// Whether the beam is at the origin and every layer takes part, so that blocks can be taken as
    /// they are.
    fn is_plain(&self) -> bool {
        self.config.is_beam_at_origin() && self.taking_part.count_ones() as usize == self.layers()
    }

    /// Whether every two spacepoints of different layers in the same or in neighbouring slices are
    /// a pair: the thesis's choice.
    pub(crate) fn is_single(&self) -> bool {
        let layers = self.layers();
        let single = |a: usize| (a + 1..layers).all(|b| self.neighbours[a * layers + b] & NEIGHBOURS == 1);
        self.config.first_layers as usize + 1 >= layers
            && (0..layers).all(single)
            && self.config.neighbours == Neighbours::Single
    }

    pub(crate) fn layers(&self) -> usize {
        self.detector.layers().len()
    }

    /// n(A, B) in an RoI. `reach` in `shaders/find_z.wgsl`.
    pub(crate) fn reach(&self, inner: usize, outer: usize, endcap_shift: i32) -> u32 {
        let n = self.neighbours[inner * self.layers() + outer];
        let count = n & NEIGHBOURS;
        if n & ENDCAP_PAIR == 0 { count } else { (count as i32 - endcap_shift).max(1) as u32 }
    }

    /// The precision of a pair of layers: [`Detector::pair_precisions`].
    pub(crate) fn precision(&self, inner: usize, outer: usize) -> u32 {
        (self.neighbours[inner * self.layers() + outer] & PRECISION) >> PRECISION_SHIFT
    }

    /// Whether a layer is a disk.
    pub(crate) fn is_disk(&self, layer: usize) -> bool {
        self.detector.layers()[layer].is_endcap()
    }

    /// Whether a layer is a strip layer.
    pub(crate) fn is_strips(&self, layer: usize) -> bool {
        self.detector.layers()[layer].sensor.is_some_and(|sensor| sensor > Sensor::Pixel)
    }

    pub(crate) fn triplet_cuts<R: Real>(&self) -> TripletCuts<R> {
        TripletCuts {
            dz: R::from_f64(self.config.triplet_dz_mm),
            dk: R::from_f64(self.config.triplet_dk),
            dp: R::from_f64(self.config.triplet_dp),
            gev_mm: R::from_f64(0.0003 * self.config.field_t),
            strip_dz: R::from_f64(self.config.triplet_dz_mm) * R::from_f64(PtWeight::STRIP_DZ),
            resolution_mm: R::from_f64(PtWeight::RESOLUTION_MM),
            per_gev2: R::from_f64(PtWeight::PER_GEV2),
        }
    }

    /// Returns rho and phi about the beam spot; None for an invalid spacepoint.
    fn about_beam(&self, rho: f64, phi: f64, z: f64, layer: u32) -> Option<(f64, f64)> {
        if !usable(rho, phi, z) || layer as usize >= self.layers() {
            return None;
        }
        if self.config.is_beam_at_origin() {
            return Some((rho, normalised(phi)));
        }
        let [x0, y0] = self.config.beam_at(z);
        let (x, y) = (rho * phi.cos() - x0, rho * phi.sin() - y0);
        let rho = (x * x + y * y).sqrt();
        usable(rho, phi, z).then(|| (rho, y.atan2(x)))
    }

    /// Plans an RoI.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    pub(crate) fn plan(&self, roi: RoiView<'_>) -> Result<RoiPlan> {
        let bins = self.config.z_bins(roi.descriptor.eta, roi.descriptor.z_range)?;
        let window = roi.descriptor.window.unwrap_or(match self.config.phi_window {
            DefaultWindow::FullScan => PhiWindow::FullScan,
            DefaultWindow::Spacepoints => PhiWindow::FromSpacepoints,
        });
        let mut bad = false;
        let (phi_min, width) = match window {
            PhiWindow::FullScan => (-PI, TAU),
            PhiWindow::Range { phi_min, phi_max } => PhiWindow::edges(phi_min, phi_max),
            PhiWindow::FromSpacepoints => {
                let mut extremes = PhiExtremes::default();
                let plain = self.is_plain();
                for first in (0..roi.len()).step_by(BLOCK) {
                    // The last block overlaps the one before it, so that it is whole.
                    let begin = first.min(roi.len().saturating_sub(BLOCK));
                    if plain && block_of(roi, begin).is_some_and(|block| extremes.add_block(block)) {
                        continue;
                    }
                    for s in (first..roi.len().min(first + BLOCK)).map(|i| roi.spacepoint(i)) {
                        match self.about_beam(s.rho, s.phi, s.z, s.layer) {
                            Some((_, phi)) if self.takes_part(s.layer) => extremes.add(0, phi),
                            Some(_) => {}
                            None => bad = true,
                        }
                    }
                }
                extremes.window()
            }
        };
        // The circle over a slice that divides it must not round up to one slice more.
        let slices = (width * self.config.slices_per_rad() - 1e-9).ceil().max(1.0) as u32;
        let histograms = self.config.histograms(slices);
        Ok(RoiPlan {
            descriptor: *roi.descriptor,
            bins,
            slices,
            histograms,
            ring: window == PhiWindow::FullScan && self.config.wrap_full_scan,
            endcap_shift: self.detector.endcap_shift(&self.config, roi.descriptor.eta),
            background_windows: self.config.background_windows(&bins, histograms),
            phi_min,
            width,
            spacepoints: roi.len(),
            bad,
        })
    }
}
