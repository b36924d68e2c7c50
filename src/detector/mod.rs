//! A tracker: its layers, and how far tracks bend between them.

mod built_in;
mod graph;
pub(crate) mod layers;

use std::collections::{BTreeSet, HashMap};

use self::built_in::Table;
use crate::error::{Error, Result};

pub use self::graph::LayerGraph;
pub use self::layers::{BendingPair, BendingTable, Layer, LayerKind, Sensor};

/// [`BendingTable`] by pair of layers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BendingIndex {
    pub(crate) pt_gev: f64,
    pub(crate) field_t: f64,
    /// (inner, outer) -> dphi \[rad\] and, with a disk, the eta at which it was taken.
    pub(crate) dphi: HashMap<(u32, u32), (f64, Option<f64>)>,
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
    /// |z| where each barrel ends \[mm\] ([`Detector::barrel_end`]); 0 for a disk.
    barrel_ends: Vec<f64>,
    by_id: HashMap<(u32, u32), u32>,
    pub(crate) bending: Option<BendingIndex>,
}

/// Most layers a detector may have: engines keep a layer in a byte and sets of layers in two words.
pub const MAX_LAYERS: usize = 64;

impl Detector {
    /// The names of the built-in detectors.
    pub const BUILT_IN: [&str; 3] = ["atlas2010", "generic", "odd"];

    /// Returns the 19 layers of the 2010 ATLAS inner detector, with the experiment's bending table.
    pub fn atlas2010() -> Self {
        Self::from_table(&built_in::ATLAS2010)
    }

    /// Returns the 29 layers of the ACTS generic detector, which is TrackML's.
    pub fn generic() -> Self {
        Self::from_table(&built_in::GENERIC)
    }

    /// Returns the 29 layers of the Open Data Detector's tracker, which is ColliderML's.
    pub fn odd() -> Self {
        Self::from_table(&built_in::ODD)
    }

    fn from_table(table: &Table) -> Self {
        Self::new(table.name, table.layers(), table.bending()).expect("built-in tables are valid")
    }

    /// Returns a built-in detector by name.
    ///
    /// # Errors
    /// [`Error::Config`] with the names of all built-in detectors.
    pub fn built_in(name: &str) -> Result<Self> {
        let tables = [&built_in::ATLAS2010, &built_in::GENERIC, &built_in::ODD];
        let known = tables.into_iter().find(|table| table.name == name);
        known.map(Self::from_table).ok_or_else(|| Error::Config {
            key: "detector",
            value: name.to_owned(),
            reason: format!("is not a built-in detector: {}", Self::BUILT_IN.join(", ")),
        })
    }

    /// Makes a detector of its layers, numbered from 0 in this order, and of its bending, where
    /// that is tabulated. (`zfinder-io` reads detectors from TOML.)
    ///
    /// # Errors
    /// [`Error::Detector`]: fewer than 2 or more than [`MAX_LAYERS`] layers, sizes that are not
    /// finite and positive, two layers with the same (volume, layer) number, a table of bending
    /// that names unknown layers. Also a thickness outside 10^-6 to one radiation
    /// length, and [`Layer::next`] with other layers than pixels.
    ///
    /// ```
    /// use zfinder::detector::{Layer, LayerKind, Sensor};
    /// use zfinder::Detector;
    /// let barrel = |radius_mm| Layer {
    ///     kind: LayerKind::Barrel { radius_mm },
    ///     sensor: Some(Sensor::Pixel),
    ///     z_resolution_mm: Some(0.0144),
    ///     radiation_lengths: Some(0.02),
    ///     next: None,
    ///     ids: vec![],
    /// };
    /// let layers = [30.0, 60.0, 90.0].map(barrel).to_vec();
    /// let detector = Detector::new("telescope", layers, None)?;
    /// assert_eq!(detector.layer_at(60.4, 10.0, 1.0), Some(1));
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn new(name: &str, layers: Vec<Layer>, bending: Option<BendingTable>) -> Result<Self> {
        let error = |layer, reason| Error::Detector { detector: name.to_owned(), layer, reason };
        let refuse = |reason: String| Err(error(None, reason));
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if layers.len() < 2 || layers.len() > MAX_LAYERS {
            let advice = joinable_disks(&layers);
            return refuse(format!("has {} layers; 2 to {MAX_LAYERS} are possible{advice}", layers.len()));
        }
        let mut by_id = HashMap::new();
        for (number, layer) in (0..).zip(&layers) {
            let refuse = |reason: String| Err(error(Some(number), reason));
            let sizes = match layer.kind {
                LayerKind::Barrel { radius_mm } => vec![("radius_mm", radius_mm)],
                LayerKind::Endcap { z_mm, r_max_mm } => vec![("z_mm", z_mm), ("r_max_mm", r_max_mm)],
            };
            let resolution = layer.z_resolution_mm.map(|error| ("z_resolution_mm", error));
            if let Some((key, value)) = sizes.into_iter().chain(resolution).find(|&(_, value)| !positive(value)) {
                return refuse(format!("{key} = {value} must be finite and positive"));
            }
            if let Some(lengths) = layer.radiation_lengths.filter(|lengths| !(1e-6..=1.0).contains(lengths)) {
                return refuse(format!("radiation_lengths = {lengths} must be from 0.000001 to 1"));
            }
            let is_pixel =
                |number: u32| layers.get(number as usize).is_some_and(|layer| layer.sensor == Some(Sensor::Pixel));
            for &next in layer.next.iter().flatten() {
                if next == number || !is_pixel(next) || !is_pixel(number) {
                    return refuse(format!(
                        "next = [.. {next} ..] needs the numbers of two layers with sensor = \"pixel\""
                    ));
                }
            }
            for &id in &layer.ids {
                if let Some(other) = by_id.insert(id, number) {
                    return refuse(format!("(volume, layer) {id:?} of ids belongs to layer {other} too"));
                }
            }
        }
        let barrel_ends = layers.iter().map(|layer| match layer.kind {
            LayerKind::Barrel { radius_mm } => layers::barrel_end(&layers, radius_mm),
            LayerKind::Endcap { .. } => 0.0,
        });
        let barrel_ends = barrel_ends.collect();
        let Some(table) = bending else {
            return Ok(Self { name: name.to_owned(), layers, barrel_ends, by_id, bending: None });
        };
        if !positive(table.pt_gev) || !positive(table.field_t) {
            return refuse("bending: pt_gev and field_t must be finite and positive".into());
        }
        let mut dphi = HashMap::new();
        for BendingPair { inner, outer, dphi_rad, eta } in table.pairs {
            let known = (inner as usize) < layers.len() && (outer as usize) < layers.len() && inner < outer;
            if !known || !dphi_rad.is_finite() || eta.is_some_and(|eta| !eta.is_finite()) {
                return refuse(format!(
                    "bending: [{inner}, {outer}, {dphi_rad}, ..] needs inner < outer < {} and finite numbers",
                    layers.len()
                ));
            }
            dphi.insert((inner, outer), (dphi_rad, eta));
        }
        let bending = Some(BendingIndex { pt_gev: table.pt_gev, field_t: table.field_t, dphi });
        Ok(Self { name: name.to_owned(), layers, barrel_ends, by_id, bending })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its layers; a spacepoint's `layer` is an index into them.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Its table of bending, sorted by pair of layers; None where bending follows from the radii.
    pub fn bending(&self) -> Option<BendingTable> {
        let BendingIndex { pt_gev, field_t, dphi } = self.bending.as_ref()?;
        let pair = |(&(inner, outer), &(dphi_rad, eta))| BendingPair { inner, outer, dphi_rad, eta };
        let mut pairs: Vec<BendingPair> = dphi.iter().map(pair).collect();
        pairs.sort_by_key(|pair| (pair.inner, pair.outer));
        Some(BendingTable { pt_gev: *pt_gev, field_t: *field_t, pairs })
    }

    /// The layer that a file calls (volume, layer).
    pub fn layer_by_id(&self, volume: u32, layer: u32) -> Option<u32> {
        self.by_id.get(&(volume, layer)).copied()
    }

    /// The layer that contains a geometry identifier of ACTS.
    ///
    /// ```
    /// use zfinder::Detector;
    /// let generic = Detector::generic();
    /// assert_eq!(generic.layer_by_geometry_id(8 << 56 | 4 << 36 | 17 << 8), Some(1));
    /// ```
    pub fn layer_by_geometry_id(&self, geometry_id: u64) -> Option<u32> {
        let (volume, layer) = volume_and_layer(geometry_id);
        self.layer_by_id(volume, layer)
    }

    /// The layer on which a point lies, for files that do not say: the barrel at its `rho`, or the
    /// disk at its |z|, within `tolerance_mm`. Barrels are taken to end where the first disk that
    /// reaches as far out begins; of disks at one |z|, the smallest that reaches `rho` is meant.
    ///
    /// ```
    /// use zfinder::Detector;
    /// let detector = Detector::generic();
    /// assert_eq!(detector.layer_at(33.4, -120.0, 10.0), Some(0));
    /// // A disk, although the radius is a barrel's.
    /// assert_eq!(detector.layer_at(172.0, 1498.0, 10.0), Some(16));
    /// assert_eq!(detector.layer_at(50.0, 0.0, 10.0), None);
    /// ```
    pub fn layer_at(&self, rho: f64, z: f64, tolerance_mm: f64) -> Option<u32> {
        let z = z.abs();
        let mut best: Option<(f64, f64, u32)> = None;
        for (index, layer) in self.layers.iter().enumerate() {
            // A barrel goes before any disk; then the smaller disk; then the nearer one.
            let (size, distance) = match layer.kind {
                LayerKind::Barrel { radius_mm } if z < self.barrel_ends[index] - tolerance_mm => {
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

    /// Returns |z| of the first disk whose edge is at least as far out as a barrel of this radius
    /// \[mm\]; infinity without such a disk.
    pub fn barrel_end(&self, radius: f64) -> f64 {
        layers::barrel_end(&self.layers, radius)
    }

    /// Returns which pixel layer may follow which one on a track from this z range of the beam
    /// \[mm\]. The graph is empty for a detector without pixel layers.
    pub fn layer_graph(&self, z_range: [f64; 2]) -> LayerGraph {
        LayerGraph::of(&self.layers, z_range)
    }

    /// The volumes that its (volume, layer) numbers name, for error messages.
    pub fn volumes(&self) -> BTreeSet<u32> {
        self.by_id.keys().map(|&(volume, _)| volume).collect()
    }
}

/// Volume and layer of a geometry identifier of ACTS: its bits 56 to 63, and 36 to 47.
pub const fn volume_and_layer(geometry_id: u64) -> (u32, u32) {
    ((geometry_id >> 56) as u32, (geometry_id >> 36 & 0xfff) as u32)
}

/// Returns advice for a detector with too many layers: which disks are closest together, so that
/// one layer may stand for both.
fn joinable_disks(layers: &[Layer]) -> String {
    const NAMED: usize = 3;
    if layers.len() <= MAX_LAYERS {
        return String::new();
    }
    let mut disks: Vec<(f64, usize)> = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        if let LayerKind::Endcap { z_mm, .. } = layer.kind {
            disks.push((z_mm, index));
        }
    }
    disks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut pairs: Vec<[(f64, usize); 2]> = disks.array_windows().copied().collect();
    pairs.sort_by(|[a, b], [c, d]| (b.0 - a.0).total_cmp(&(d.0 - c.0)));
    let named = pairs.iter().take(NAMED);
    let named: Vec<String> = named.map(|[a, b]| format!("{} and {} (|z| {} and {} mm)", a.1, b.1, a.0, b.0)).collect();
    if named.is_empty() {
        return String::new();
    }
    format!(
        ": join disks, also those at +z and -z, into one layer each, with the ids of both; the closest are layers {}",
        named.join(", ")
    )
}

#[cfg(test)]
mod tests;
