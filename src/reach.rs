//! How a configuration applies to a detector: which layers take part, how many slices a pair of
//! layers reaches, how many entries a track makes.

use crate::config::{Config, Key, MaxLayer, Neighbours, PairWeight};
use crate::detector::{Detector, Layer, LayerKind, Sensor};
use crate::error::{Error, Result};
use crate::pt_weight::PtWeight;

/// Azimuthal spread of a spacepoint \[rad\] that the reference program adds to the bending, twice
/// in quadrature.
const SIGMA_PHI: f64 = 0.0003;
/// The eta at which the end-caps' bending is taken before it is moved to the RoI's.
const ETA_REFERENCE: f64 = 0.9;

impl Detector {
    /// Checks that tracklets can be found in this detector, if the configuration asks for them.
    ///
    /// # Errors
    /// [`Error::Config`]: no track from the beam passes three pixel layers, or there is no field.
    pub(crate) fn check_tracklets(&self, config: &Config) -> Result<()> {
        if !config.takes_tracklets() {
            return Ok(());
        }
        let name = if config.all_vertices { "all_vertices" } else { "tracklets" };
        let key = Key::find(name)?;
        let refuse = |reason: String| Err(Error::Config { key: key.name, value: key.get(config).to_string(), reason });
        if config.field_t == 0.0 {
            return refuse("needs a field, because tracklets are told apart by their curvature: set field_t".into());
        }
        let graph = self.layer_graph([config.z_min_mm, config.z_max_mm]);
        if !graph.edges().any(|(_, outer)| !graph.outer(outer).is_empty()) {
            let pixels = self.layers().iter().filter(|layer| layer.sensor == Some(Sensor::Pixel)).count();
            return refuse(format!(
                "needs tracks that pass three pixel layers, and detector {} has {pixels}: add `sensor = \"pixel\"` to \
                 its layers of pixels",
                self.name()
            ));
        }
        Ok(())
    }

    /// Returns the layers that take part ([`Config::max_layer`]), a bit each.
    ///
    /// # Errors
    /// [`Error::Config`] if the configuration selects by sensor and the detector
    /// does not name its sensors, or if
    /// fewer than two layers remain; or if there can be no tracklets.
    pub(crate) fn layers_taking_part(&self, config: &Config) -> Result<u64> {
        let refuse =
            |reason: String| Err(Error::Config { key: "max_layer", value: config.max_layer.to_string(), reason });
        self.check_tracklets(config)?;
        let mut mask = 0u64;
        for (index, layer) in self.layers().iter().enumerate() {
            let takes_part = match (config.max_layer, layer.sensor) {
                (MaxLayer::All, _) => true,
                (MaxLayer::Number(last), _) => index as u64 <= u64::from(last),
                (MaxLayer::Sensor(last), Some(sensor)) => sensor <= last,
                (MaxLayer::Sensor(_), None) => {
                    return refuse(format!(
                        "needs the sensor of each layer, and layer {index} of detector {} has none: add `sensor = \
                         \"pixel\"`, \"short-strip\" or \"long-strip\" to its layers, set max_layer to \"all\", or take the \
                         preset full-scan",
                        self.name()
                    ));
                }
            };
            mask |= u64::from(takes_part) << index;
        }
        if mask.count_ones() < 2 {
            return refuse(format!(
                "leaves {} of detector {}'s layers; a pair needs two",
                mask.count_ones(),
                self.name()
            ));
        }
        Ok(mask)
    }

    /// How far a track of `bending_pt_gev` in `field_t` bends between two layers \[rad\]; in a
    /// tabulated pair with a disk also the eta at which that holds. None: a pair absent from the
    /// table.
    fn dphi(&self, config: &Config, inner: usize, outer: usize) -> Option<(f64, Option<f64>)> {
        if let Some(table) = &self.bending {
            // Bending is proportional to field over momentum as far as the table is good.
            let scale = (config.field_t / table.field_t) * (table.pt_gev / config.bending_pt_gev);
            return table.dphi.get(&(inner as u32, outer as u32)).map(|&(dphi, eta)| (scale * dphi, eta));
        }
        // 1 / R [1/mm], R = pT / (0.3 B)
        let curvature = 0.0003 * config.field_t / config.bending_pt_gev;
        let turned = |radius: f64| (0.5 * curvature * radius).min(1.0).asin();
        let (from, to) = match (self.layers()[inner].kind, self.layers()[outer].kind) {
            (LayerKind::Barrel { radius_mm: from }, LayerKind::Barrel { radius_mm: to }) => (from, to),
            // A disk's outer radius bounds the bending from above.
            (LayerKind::Barrel { radius_mm }, LayerKind::Endcap { r_max_mm, .. })
            | (LayerKind::Endcap { r_max_mm, .. }, LayerKind::Barrel { radius_mm }) => (radius_mm, r_max_mm),
            // From the beam line straight to the outer disk's edge: where the track crossed the
            // other.
            (LayerKind::Endcap { z_mm: z1, r_max_mm: r1 }, LayerKind::Endcap { z_mm: z2, r_max_mm: r2 }) => {
                let (z_near, z_far, r_far) = if z1 < z2 { (z1, z2, r2) } else { (z2, z1, r1) };
                (r_far * z_near / z_far, r_far)
            }
        };
        Some(((turned(to) - turned(from)).abs(), None))
    }

    /// Neighbour slices n(A, B) for every inner layer A (row) and outer layer B (column), 0 where B
    /// <= A, before an RoI's eta moves the end-caps' (specification, section 2).
    ///
    /// ```
    /// use zfinder::{Config, Detector};
    /// let n = Detector::atlas2010().neighbours(&Config::preset(zfinder::Preset::Default));
    /// assert_eq!(n[0][..4], [0, 1, 2, 4]);
    /// ```
    pub fn neighbours(&self, config: &Config) -> Vec<Vec<u32>> {
        let m = config.neighbour_multiplier;
        let count = |inner: usize, outer: usize| {
            if outer <= inner {
                return 0;
            }
            let Some((dphi, eta)) = self.dphi(config, inner, outer) else { return 1 };
            if config.neighbours == Neighbours::Single {
                return 1;
            }
            let dphi = dphi + eta.map_or(0.0, |eta| config.dphi_deta * (ETA_REFERENCE - eta));
            let slices = ((m * dphi).powi(2) + 2.0 * SIGMA_PHI * SIGMA_PHI).sqrt() * config.slices_per_rad();
            (slices.ceil() as u32).clamp(1, config.neighbour_max.unwrap_or(u32::MAX).min(MAX_NEIGHBOURS))
        };
        (0..self.layers().len())
            .map(|inner| (0..self.layers().len()).map(|outer| count(inner, outer)).collect())
            .collect()
    }

    /// Returns the weights of pairs of layers A (row) and B (column) in the mean z of a peak, for
    /// weights by pT. A weight is 16 s_best^2 / s^2, rounded, at least 1. s is the error of z12
    /// from the layers' resolutions, and s_best is the error of the best pair. The weight is 1 if a
    /// layer is a disk or has no resolution.
    pub(crate) fn pair_precisions(&self) -> Vec<Vec<u32>> {
        let barrel = |layer: usize| match self.layers()[layer] {
            Layer { kind: LayerKind::Barrel { radius_mm }, z_resolution_mm: Some(of_z), .. } => Some((radius_mm, of_z)),
            _ => None,
        };
        let square = |a: usize, b: usize| {
            let (inner, outer) = barrel(a).zip(barrel(b)).filter(|(inner, outer)| inner.0 != outer.0)?;
            Some(squared_error_mm2(inner, outer))
        };
        let layers = 0..self.layers().len();
        let pairs = layers.clone().flat_map(|a| layers.clone().map(move |b| (a, b)));
        let best = pairs.filter_map(|(a, b)| square(a, b)).fold(f64::INFINITY, f64::min);
        let precision = |a, b| square(a, b).map_or(1, |error| ((MOST_PRECISION * best / error + 0.5) as u32).max(1));
        layers.clone().map(|a| layers.clone().map(|b| precision(a, b)).collect()).collect()
    }

    /// Returns the entries of a track through all barrel layers (pairs, or triplets, by the
    /// configuration), and their precision.
    pub(crate) fn track_model(&self, config: &Config) -> TrackModel {
        // Pixels alone make fewer entries, which are as much worse in z: all layers count
        // (docs/physics.md).
        let taking_part = match config.pair_weight {
            PairWeight::Pt => self.layers_taking_part(config).unwrap_or(u64::MAX),
            PairWeight::One | PairWeight::Any | PairWeight::Count => u64::MAX,
        };
        let layers = self.layers().iter().enumerate().filter(|(i, _)| taking_part >> i & 1 != 0);
        let (numbers, barrels): (Vec<usize>, Vec<(f64, Option<f64>)>) = layers
            .filter_map(|(number, layer)| match layer.kind {
                LayerKind::Barrel { radius_mm } => Some((number, (radius_mm, layer.z_resolution_mm))),
                LayerKind::Endcap { .. } => None,
            })
            .unzip();
        let barrel = barrels.len();
        let inner = (config.first_layers as usize).min(barrel.saturating_sub(1));
        let outer = |a: usize| a + 1..barrel;
        // Weights by pT need several layers.
        let layers_beyond = |least: u32| move |b: &usize| barrel - 1 - b >= least as usize;
        let entries: usize = match config.pair_weight {
            PairWeight::One => (0..inner).map(|a| outer(a).count()).sum(),
            PairWeight::Any => (0..inner).flat_map(outer).filter(|&b| outer(b).count() > 0).count(),
            PairWeight::Count => (0..inner).flat_map(outer).map(|b| outer(b).count()).sum(),
            PairWeight::Pt => (0..inner).flat_map(outer).filter(layers_beyond(PtWeight::LAYERS[0][1])).count(),
        };
        let precisions = self.pair_precisions();
        let pairs_of_track = |a: usize| outer(a).filter(layers_beyond(PtWeight::LAYERS[0][0])).map(move |b| (a, b));
        let pairs = (0..inner).flat_map(pairs_of_track);
        let precision: u32 = pairs.map(|(a, b)| precisions[numbers[a]][numbers[b]]).sum();
        TrackModel {
            entries: (TRACK_SHARE * entries as f64).max(1.0),
            z_resolution_mm: best_z_resolution_mm(&barrels),
            precision: f64::from(precision.max(1)),
        }
    }

    /// How many slices fewer a pair with a disk reaches in an RoI at `eta`: negative for more. The
    /// bending was taken at one eta; where the detector has no such table, its upper bound holds at
    /// every eta and nothing is moved.
    pub(crate) fn endcap_shift(&self, config: &Config, eta: f64) -> i32 {
        if self.bending.is_none() || config.neighbours == Neighbours::Single {
            return 0;
        }
        let shift =
            (ETA_REFERENCE - eta.abs()) * config.dphi_deta * config.slices_per_rad() * config.neighbour_multiplier;
        shift.floor().clamp(-f64::from(MAX_NEIGHBOURS), f64::from(MAX_NEIGHBOURS)) as i32
    }
}

/// Entries of a track in the histograms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackModel {
    /// Entries, on average.
    pub(crate) entries: f64,
    /// Error of z at the beam of its best pair of spacepoints \[mm\]; none where the detector does
    /// not tell.
    pub(crate) z_resolution_mm: Option<f64>,
    /// Where weights go by pT: sum of the precisions of its pairs, at least 1
    /// ([`Detector::pair_precisions`]).
    pub(crate) precision: f64,
}

/// The square of the error of z12 = (z2 r1 - z1 r2) / (r1 - r2) of two barrels, of radius and
/// resolution.
fn squared_error_mm2((inner, of_inner): (f64, f64), (outer, of_outer): (f64, f64)) -> f64 {
    let (a, b) = (of_inner * outer, of_outer * inner);
    (a * a + b * b) / ((outer - inner) * (outer - inner))
}

/// Of the best pair of layers. Fewer steps make a worse mean, more a mean of few pairs
/// (lab/records/2026-11-27-precision-of-pairs.md).
const MOST_PRECISION: f64 = 16.0;

/// The smallest error of z12 = (z2 r1 - z1 r2) / (r1 - r2) of any two barrels, of radius and
/// resolution, where both resolutions are known.
fn best_z_resolution_mm(barrels: &[(f64, Option<f64>)]) -> Option<f64> {
    let mut best: Option<f64> = None;
    for (i, &(inner, of_inner)) in barrels.iter().enumerate() {
        for &(outer, of_outer) in &barrels[i + 1..] {
            let Some((of_inner, of_outer)) = of_inner.zip(of_outer).filter(|_| inner != outer) else { continue };
            let error = squared_error_mm2((inner, of_inner), (outer, of_outer)).sqrt();
            best = Some(best.map_or(error, |best| best.min(error)));
        }
    }
    best
}

/// Mean entries of a track, relative to a track with a spacepoint on every barrel layer. With this
/// share, the z error describes the residuals of simulated events.
const TRACK_SHARE: f64 = 2.0 / 3.0;

/// More neighbours than any window has slices mean the whole window.
const MAX_NEIGHBOURS: u32 = 1 << 20;

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
