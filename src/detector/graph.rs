//! Which pixel layer may follow which one on a track from the beam.

use std::collections::BTreeSet;
use std::fmt;

use super::layers::{Layer, LayerKind, Sensor, barrel_end};

/// The pixel layers of a detector, and the pairs of them that a track may pass one after the other.
/// One pixel layer between the two may be missed. [`Layer::next`] replaces what the places of the
/// layers tell.
///
/// ```
/// use zfinder::Detector;
/// let graph = Detector::generic().layer_graph([-200.0, 200.0]);
/// assert!(graph.outer(0).contains(&1) && graph.outer(0).contains(&2));
/// assert!(!graph.outer(0).contains(&3));
/// println!("{graph}");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LayerGraph {
    /// (inner, outer), ascending.
    edges: BTreeSet<(u32, u32)>,
}

/// Largest |eta| of the lines that the graph is derived from. Few tracks beyond it leave three hits
/// in any tracker.
const MAX_ETA: f64 = 5.0;
/// Lines from each place on the beam, and places on the beam.
const LINES: u32 = 1000;
const PLACES: u32 = 10;
/// Layers that a track may pass without a hit between two hits.
const MAX_MISSED: usize = 1;

impl LayerGraph {
    /// Derives the graph: two layers are connected if a straight line from the z range passes the
    /// outer one after the inner one, with at most one pixel layer between them.
    pub(super) fn of(layers: &[Layer], [z_min, z_max]: [f64; 2]) -> Self {
        let mut edges = BTreeSet::new();
        for place in 0..=PLACES {
            let z0 = z_min + (z_max - z_min) * f64::from(place) / f64::from(PLACES);
            for line in 0..=LINES {
                let cot = (MAX_ETA * (2.0 * f64::from(line) / f64::from(LINES) - 1.0)).sinh();
                let passed = layers_on_line(layers, z0, cot);
                for (i, &inner) in passed.iter().enumerate() {
                    edges.extend(passed[i + 1..].iter().take(1 + MAX_MISSED).map(|&outer| (inner, outer)));
                }
            }
        }
        for (inner, next) in (0..).zip(layers).filter_map(|(inner, layer)| Some((inner, layer.next.as_ref()?))) {
            edges.retain(|&(other, _)| other != inner);
            edges.extend(next.iter().map(|&outer| (inner, outer)));
        }
        Self { edges }
    }

    /// Returns the pairs of layers, inner one first, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.edges.iter().copied()
    }

    /// Returns the layers that may follow a layer, in ascending order.
    pub fn outer(&self, inner: u32) -> Vec<u32> {
        self.edges.range((inner, 0)..=(inner, u32::MAX)).map(|&(_, outer)| outer).collect()
    }

    /// Returns the layers that a layer may follow, in ascending order.
    pub fn inner(&self, outer: u32) -> Vec<u32> {
        self.edges().filter(|&(_, other)| other == outer).map(|(inner, _)| inner).collect()
    }

    /// Returns whether a track from the beam may pass the two layers one after the other.
    pub fn has(&self, inner: u32, outer: u32) -> bool {
        self.edges.contains(&(inner, outer))
    }
}

/// One line a layer: `0 -> 1, 2, 10`.
impl fmt::Display for LayerGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner: BTreeSet<u32> = self.edges().map(|(inner, _)| inner).collect();
        for layer in inner {
            let outer: Vec<String> = self.outer(layer).iter().map(u32::to_string).collect();
            writeln!(f, "{layer} -> {}", outer.join(", "))?;
        }
        Ok(())
    }
}

/// The pixel layers that a line from the beam passes, from the beam outwards.
fn layers_on_line(layers: &[Layer], z0: f64, cot: f64) -> Vec<u32> {
    let mut passed = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        if layer.sensor != Some(Sensor::Pixel) {
            continue;
        }
        match layer.kind {
            LayerKind::Barrel { radius_mm } => {
                if (z0 + cot * radius_mm).abs() < barrel_end(layers, radius_mm) {
                    passed.push((radius_mm, index as u32));
                }
            }
            LayerKind::Endcap { z_mm, r_max_mm } => {
                let rho = (z_mm.copysign(cot) - z0) / cot;
                if rho > 0.0 && rho < r_max_mm {
                    passed.push((rho, index as u32));
                }
            }
        }
    }
    passed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    passed.into_iter().map(|(_, layer)| layer).collect()
}
