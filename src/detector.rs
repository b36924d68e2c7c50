//! The detector's layers, how far tracks bend between them, and the neighbour slices that follow.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::config::{Config, MaxLayer, Neighbours, PtWeight, Triplets, Weighting};
use crate::error::{Error, Result};

/// Where a layer's spacepoints lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayerKind {
    /// A cylinder about the beam.
    Barrel {
        /// Its radius \[mm\].
        radius_mm: f64,
    },
    /// A disk across the beam; the disks at +z and -z share a layer.
    Endcap {
        /// Its |z| \[mm\].
        z_mm: f64,
        /// Its outer radius \[mm\].
        r_max_mm: f64,
    },
}

/// What a layer measures with, from the best in z to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sensor {
    /// Pixels.
    Pixel,
    /// Strips whose z is known to about a millimetre: short ones, or pairs at an angle.
    ShortStrip,
    /// Strips whose z is known to some millimetres or worse.
    LongStrip,
}

/// One layer of a detector.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Barrel or end-cap, with its place.
    pub kind: LayerKind,
    /// What it measures with, where that is known.
    pub sensor: Option<Sensor>,
    /// The (volume, layer) numbers by which geometry-aware files call it.
    pub ids: Vec<(u32, u32)>,
}

impl Layer {
    /// Whether it is a disk.
    pub fn is_endcap(&self) -> bool {
        matches!(self.kind, LayerKind::Endcap { .. })
    }
}

/// Bending between pairs of layers, tabulated at one momentum and field.
#[derive(Clone, Debug, PartialEq)]
struct BendingTable {
    pt_gev: f64,
    field_t: f64,
    /// (inner, outer) -> dphi \[rad\] and, with a disk, the eta at which it was taken.
    dphi: HashMap<(u32, u32), (f64, Option<f64>)>,
}

/// A tracker: its layers from 0, and what it knows of bending.
///
/// ```
/// use zfinder::Detector;
/// let detector = Detector::atlas2010();
/// assert_eq!(detector.layers().len(), 19);
/// assert!(detector.layers()[7].is_endcap());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Detector {
    name: String,
    layers: Vec<Layer>,
    by_id: HashMap<(u32, u32), u32>,
    bending: Option<BendingTable>,
}

/// Most layers a detector may have: engines keep a layer in a byte and sets of layers in two words.
pub const MAX_LAYERS: usize = 64;

/// Azimuthal spread of a spacepoint \[rad\] that the reference program adds to the bending, twice in quadrature.
const SIGMA_PHI: f64 = 0.0003;
/// The eta at which the end-caps' bending is taken before it is moved to the RoI's.
const ETA_REFERENCE: f64 = 0.9;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectorToml {
    name: String,
    layer: Vec<LayerToml>,
    bending: Option<BendingToml>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum LayerToml {
    Barrel {
        radius_mm: f64,
        sensor: Option<Sensor>,
        #[serde(default)]
        ids: Vec<(u32, u32)>,
    },
    Endcap {
        z_mm: f64,
        r_max_mm: f64,
        sensor: Option<Sensor>,
        #[serde(default)]
        ids: Vec<(u32, u32)>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BendingToml {
    pt_gev: f64,
    field_t: f64,
    #[serde(default)]
    barrel: Vec<(u32, u32, f64)>,
    #[serde(default)]
    endcap: Vec<(u32, u32, f64, f64)>,
}

impl Detector {
    /// The names of the built-in detectors.
    pub const BUILT_IN: [&str; 3] = ["atlas2010", "generic", "odd"];

    /// The 19 layers of the 2010 ATLAS inner detector, with the experiment's bending table.
    pub fn atlas2010() -> Self {
        Self::from_toml("atlas2010", include_str!("../data/detectors/atlas2010.toml")).expect("built in and tested")
    }

    /// The 29 layers of the ACTS generic detector, which is TrackML's.
    pub fn generic() -> Self {
        Self::from_toml("generic", include_str!("../data/detectors/generic.toml")).expect("built in and tested")
    }

    /// The 29 layers of the Open Data Detector's tracker, which is ColliderML's.
    pub fn odd() -> Self {
        Self::from_toml("odd", include_str!("../data/detectors/odd.toml")).expect("built in and tested")
    }

    /// A built-in detector by name.
    pub fn built_in(name: &str) -> Option<Self> {
        match name {
            "atlas2010" => Some(Self::atlas2010()),
            "generic" => Some(Self::generic()),
            "odd" => Some(Self::odd()),
            _ => None,
        }
    }

    /// From TOML as in `data/detectors`; `what` names the text in errors.
    ///
    /// # Errors
    /// What the parser finds, and tables that contradict themselves.
    pub fn from_toml(what: &str, text: &str) -> Result<Self> {
        let toml: DetectorToml =
            toml::from_str(text).map_err(|error| Error::Toml { what: what.into(), message: error.to_string() })?;
        let refuse = |reason: String| Err(Error::Detector { detector: toml.name.clone(), reason });
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if toml.layer.len() < 2 || toml.layer.len() > MAX_LAYERS {
            return refuse(format!("has {} layers; 2 to {MAX_LAYERS} are possible", toml.layer.len()));
        }
        let mut layers = Vec::new();
        let mut by_id = HashMap::new();
        for (index, layer) in toml.layer.into_iter().enumerate() {
            let (kind, sensor, ids) = match layer {
                LayerToml::Barrel { radius_mm, sensor, ids } => (LayerKind::Barrel { radius_mm }, sensor, ids),
                LayerToml::Endcap { z_mm, r_max_mm, sensor, ids } => {
                    (LayerKind::Endcap { z_mm, r_max_mm }, sensor, ids)
                }
            };
            let good = match kind {
                LayerKind::Barrel { radius_mm } => positive(radius_mm),
                LayerKind::Endcap { z_mm, r_max_mm } => positive(z_mm) && positive(r_max_mm),
            };
            if !good {
                return Err(Error::Detector {
                    detector: toml.name,
                    reason: format!("layer {index}: sizes must be finite and positive (z_mm is |z|)"),
                });
            }
            for &id in &ids {
                if let Some(other) = by_id.insert(id, index as u32) {
                    let reason = format!("(volume, layer) {id:?} belongs to layer {other} and to layer {index}");
                    return Err(Error::Detector { detector: toml.name, reason });
                }
            }
            layers.push(Layer { kind, sensor, ids });
        }
        let bending = match toml.bending {
            None => None,
            Some(table) => {
                if !positive(table.pt_gev) || !positive(table.field_t) {
                    return Err(Error::Detector {
                        detector: toml.name,
                        reason: "bending: pt_gev and field_t must be finite and positive".into(),
                    });
                }
                let barrel = table.barrel.into_iter().map(|(a, b, dphi)| (a, b, dphi, None));
                let endcap = table.endcap.into_iter().map(|(a, b, dphi, eta)| (a, b, dphi, Some(eta)));
                let mut dphi = HashMap::new();
                for (a, b, bend, eta) in barrel.chain(endcap) {
                    let known = (a as usize) < layers.len() && (b as usize) < layers.len() && a < b;
                    if !known || !bend.is_finite() || eta.is_some_and(|eta| !eta.is_finite()) {
                        return Err(Error::Detector {
                            detector: toml.name,
                            reason: format!(
                                "bending: [{a}, {b}, {bend}, ..] needs inner < outer < {} and finite numbers",
                                layers.len()
                            ),
                        });
                    }
                    dphi.insert((a, b), (bend, eta));
                }
                Some(BendingTable { pt_gev: table.pt_gev, field_t: table.field_t, dphi })
            }
        };
        Ok(Self { name: toml.name, layers, by_id, bending })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its layers; a spacepoint's `layer` is an index into them.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The layer that a file calls (volume, layer).
    pub fn layer_by_id(&self, volume: u32, layer: u32) -> Option<u32> {
        self.by_id.get(&(volume, layer)).copied()
    }

    /// The layer on which a point lies, for files that do not say: the barrel at its `rho`, or the disk at its |z|,
    /// within `tolerance_mm`. Barrels are taken to end where the first disk that reaches as far out begins; of disks at
    /// one |z|, the smallest that reaches `rho` is meant.
    ///
    /// ```
    /// use zfinder::Detector;
    /// let detector = Detector::generic();
    /// assert_eq!(detector.layer_at(33.4, -120.0, 10.0), Some(0));
    /// assert_eq!(detector.layer_at(172.0, 1498.0, 10.0), Some(16)); // a disk, though at a barrel's radius
    /// assert_eq!(detector.layer_at(50.0, 0.0, 10.0), None);
    /// ```
    pub fn layer_at(&self, rho: f64, z: f64, tolerance_mm: f64) -> Option<u32> {
        let z = z.abs();
        let mut best: Option<(f64, f64, u32)> = None;
        for (index, layer) in self.layers.iter().enumerate() {
            // A barrel goes before any disk; then the smaller disk; then the nearer one.
            let (size, distance) = match layer.kind {
                LayerKind::Barrel { radius_mm } if z < self.barrel_end(radius_mm) - tolerance_mm => {
                    (0.0, (rho - radius_mm).abs())
                }
                LayerKind::Endcap { z_mm, r_max_mm } if rho <= r_max_mm + tolerance_mm => (r_max_mm, (z - z_mm).abs()),
                _ => continue,
            };
            let nearer = best.is_none_or(|(s, d, _)| (size, distance) < (s, d));
            if distance <= tolerance_mm && nearer {
                best = Some((size, distance, index as u32));
            }
        }
        best.map(|(_, _, index)| index)
    }

    /// |z| of the first disk whose edge is at least as far out as a barrel of this radius.
    pub(crate) fn barrel_end(&self, radius: f64) -> f64 {
        let disks = self.layers.iter().filter_map(|layer| match layer.kind {
            LayerKind::Endcap { z_mm, r_max_mm } if r_max_mm >= radius => Some(z_mm),
            _ => None,
        });
        disks.fold(f64::INFINITY, f64::min)
    }

    /// Layers that take part ([`Config::max_layer`]), a bit each.
    ///
    /// # Errors
    /// [`Error::Config`] if sensors are asked for that the detector does not tell, or if fewer than two layers are left.
    pub(crate) fn layers_taking_part(&self, config: &Config) -> Result<u64> {
        let refuse = |reason: String| {
            let value = config.max_layer.map_or_else(String::new, |layer| layer.to_string());
            Err(Error::Config { key: "max_layer", value, reason })
        };
        let mut mask = 0u64;
        for (index, layer) in self.layers.iter().enumerate() {
            let takes_part = match (config.max_layer, layer.sensor) {
                (None, _) => true,
                (Some(MaxLayer::Number(last)), _) => index as u64 <= u64::from(last),
                (Some(MaxLayer::Sensor(last)), Some(sensor)) => sensor <= last,
                (Some(MaxLayer::Sensor(_)), None) => {
                    return refuse(format!("detector {} does not say what layer {index}'s sensor is", self.name));
                }
            };
            mask |= u64::from(takes_part) << index;
        }
        if mask.count_ones() < 2 {
            return refuse(format!(
                "leaves {} of detector {}'s layers; a pair needs two",
                mask.count_ones(),
                self.name
            ));
        }
        Ok(mask)
    }

    /// The volumes that its (volume, layer) numbers name, for error messages.
    pub fn volumes(&self) -> BTreeSet<u32> {
        self.by_id.keys().map(|&(volume, _)| volume).collect()
    }

    /// How far a track of `bending_pt_gev` in `field_t` bends between two layers \[rad\]; in a tabulated pair with a
    /// disk also the eta at which that holds. None: a pair absent from the table.
    fn dphi(&self, config: &Config, inner: usize, outer: usize) -> Option<(f64, Option<f64>)> {
        if let Some(table) = &self.bending {
            // Bending is proportional to field over momentum as far as the table is good.
            let scale = (config.field_t / table.field_t) * (table.pt_gev / config.bending_pt_gev);
            return table.dphi.get(&(inner as u32, outer as u32)).map(|&(dphi, eta)| (scale * dphi, eta));
        }
        let curvature = 0.0003 * config.field_t / config.bending_pt_gev; // 1 / R [1/mm], R = pT / (0.3 B)
        let turned = |radius: f64| (0.5 * curvature * radius).min(1.0).asin();
        let (from, to) = match (self.layers[inner].kind, self.layers[outer].kind) {
            (LayerKind::Barrel { radius_mm: from }, LayerKind::Barrel { radius_mm: to }) => (from, to),
            // A disk's outer radius bounds the bending from above.
            (LayerKind::Barrel { radius_mm }, LayerKind::Endcap { r_max_mm, .. })
            | (LayerKind::Endcap { r_max_mm, .. }, LayerKind::Barrel { radius_mm }) => (radius_mm, r_max_mm),
            // From the beam line straight to the outer disk's edge: where the track crossed the other.
            (LayerKind::Endcap { z_mm: z1, r_max_mm: r1 }, LayerKind::Endcap { z_mm: z2, r_max_mm: r2 }) => {
                let (z_near, z_far, r_far) = if z1 < z2 { (z1, z2, r2) } else { (z2, z1, r1) };
                (r_far * z_near / z_far, r_far)
            }
        };
        Some(((turned(to) - turned(from)).abs(), None))
    }

    /// Neighbour slices n(A, B) for every inner layer A (row) and outer layer B (column), 0 where B <= A, before an
    /// RoI's eta moves the end-caps' (specification, section 2).
    ///
    /// ```
    /// use zfinder::{Config, Detector};
    /// let n = Detector::atlas2010().neighbours(&Config::default());
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
        (0..self.layers.len()).map(|inner| (0..self.layers.len()).map(|outer| count(inner, outer)).collect()).collect()
    }

    /// Entries that a track makes (pairs, or triplets, by the configuration): of one through all barrel layers, a share.
    pub(crate) fn track_entries(&self, config: &Config) -> f64 {
        // Pixels alone make fewer entries, which are as much worse in z: all layers count (docs/physics.md).
        let taking_part = match config.weighting {
            Weighting::Count => u64::MAX,
            Weighting::Pt => self.layers_taking_part(config).unwrap_or(u64::MAX),
        };
        let layers = self.layers().iter().enumerate();
        let barrel = layers.filter(|(i, layer)| !layer.is_endcap() && taking_part >> i & 1 != 0).count();
        let inner = (config.first_layers as usize).min(barrel.saturating_sub(1));
        let outer = |a: usize| a + 1..barrel;
        let entries: usize = match config.triplets {
            // What weighs takes several layers.
            _ if config.weighting == Weighting::Pt => {
                let weighs = |&b: &usize| outer(b).count() >= PtWeight::LAYERS[0][1] as usize;
                (0..inner).flat_map(outer).filter(weighs).count()
            }
            Triplets::Off => (0..inner).map(|a| outer(a).count()).sum(),
            Triplets::Any => (0..inner).flat_map(outer).filter(|&b| outer(b).count() > 0).count(),
            Triplets::Count => (0..inner).flat_map(outer).map(|b| outer(b).count()).sum(),
        };
        (TRACK_SHARE * entries as f64).max(1.0)
    }

    /// How many slices fewer a pair with a disk reaches in an RoI at `eta`: negative for more. The bending was taken
    /// at one eta; where the detector has no such table, its upper bound holds at every eta and nothing is moved.
    pub(crate) fn endcap_shift(&self, config: &Config, eta: f64) -> i32 {
        if self.bending.is_none() || config.neighbours == Neighbours::Single {
            return 0;
        }
        let shift =
            (ETA_REFERENCE - eta.abs()) * config.dphi_deta * config.slices_per_rad() * config.neighbour_multiplier;
        shift.floor().clamp(-f64::from(MAX_NEIGHBOURS), f64::from(MAX_NEIGHBOURS)) as i32
    }
}

/// What tracks make of the entries of one that has a spacepoint on every barrel layer, on average: with it the z error
/// describes the residuals of simulated events (docs/physics.md).
const TRACK_SHARE: f64 = 2.0 / 3.0;

/// More neighbours than any window has slices mean the whole window.
const MAX_NEIGHBOURS: u32 = 1 << 20;

#[cfg(test)]
#[path = "detector_tests.rs"]
mod tests;
