//! Tells from hits which volumes of a detector have disks.

use std::collections::{BTreeMap, HashMap, HashSet};

/// A volume of a detector; None where the file names none.
pub(super) type Volume = Option<u64>;
/// A volume, and a layer of it.
pub(super) type Layer = (u64, u64);

/// The range of z and of the radius of the hits of each layer \[mm\].
#[derive(Default)]
pub(super) struct Surfaces(BTreeMap<Layer, [[f64; 2]; 2]>);

impl Surfaces {
    /// Adds a hit and returns its volume.
    pub(super) fn add(&mut self, layer: Option<Layer>, [x, y, z]: [f64; 3]) -> Volume {
        let ranges = self.0.entry(layer?).or_insert([[f64::INFINITY, f64::NEG_INFINITY]; 2]);
        for ([low, high], value) in ranges.iter_mut().zip([z, x.hypot(y)]) {
            (*low, *high) = (low.min(value), high.max(value));
        }
        layer.map(|(volume, _)| volume)
    }

    /// Returns the volumes whose layers are longer in radius than in z, all layers together. A
    /// volume has layers of one kind, and a layer alone may have too few hits.
    pub(super) fn volumes_of_disks(&self) -> HashSet<Volume> {
        let mut lengths: HashMap<u64, [f64; 2]> = HashMap::new();
        for (&(volume, _), ranges) in &self.0 {
            for (length, [low, high]) in lengths.entry(volume).or_default().iter_mut().zip(ranges) {
                *length += high - low;
            }
        }
        lengths.into_iter().filter(|(_, [z, radius])| z < radius).map(|(volume, _)| Some(volume)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_longer_in_radius() {
        let mut surfaces = Surfaces::default();
        for step in 0..10 {
            let t = f64::from(step);
            surfaces.add(Some((8, 2)), [30.0, t / 10.0, 50.0 * t]);
            surfaces.add(Some((9, 2)), [30.0 + 10.0 * t, 0.0, 600.0 + t]);
            surfaces.add(Some((9, 4)), [0.0, 30.0 + 10.0 * t, 900.0 + t]);
            assert_eq!(surfaces.add(None, [t, t, t]), None);
        }
        // A layer of a hit alone is of its volume's kind.
        assert_eq!(surfaces.add(Some((9, 6)), [50.0, 0.0, 1200.0]), Some(9));
        assert_eq!(surfaces.volumes_of_disks(), HashSet::from([Some(9)]));
    }
}
