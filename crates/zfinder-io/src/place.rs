//! Finds the layer of a spacepoint from the address in its file.

use std::collections::BTreeMap;

use zfinder::Detector;
use zfinder::Spacepoint;
use zfinder::detector::volume_and_layer;

/// Largest distance \[mm\] between a spacepoint without an address and the layer that it gets.
const LAYER_TOLERANCE_MM: f64 = 10.0;

/// Number of (volume, layer) pairs that an error names.
const NAMED: usize = 10;

/// The address of a spacepoint's layer in a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Address {
    /// The index of the detector's layer.
    Index(u64),
    /// Volume and layer.
    Id(u32, u32),
    /// The position alone: the nearest layer.
    Position,
}

impl Address {
    /// Reads volume and layer from a geometry identifier of ACTS.
    pub(super) fn of_geometry_id(id: u64) -> Self {
        let (volume, layer) = volume_and_layer(id);
        Self::Id(volume, layer)
    }
}

/// Assigns the spacepoints of one file to the layers of a detector. Spacepoints without a layer are
/// counted, and reported together.
pub(super) struct LayerLookup {
    detector: Detector,
    /// The last address and its layer, because spacepoints are usually sorted by layer.
    last: Option<((u32, u32), u32)>,
    unplaced: BTreeMap<(u32, u32), u64>,
    spacepoints: u64,
    /// Position of the first spacepoint without a (volume, layer).
    first_at: Option<(f64, f64)>,
}

impl LayerLookup {
    pub(super) fn new(detector: &Detector) -> Self {
        let detector = detector.clone();
        Self { detector, last: None, unplaced: BTreeMap::new(), spacepoints: 0, first_at: None }
    }

    /// Returns the index of the layer. None if the detector has no such layer;
    /// [`LayerLookup::error`] reports it.
    ///
    /// # Errors
    /// The text of the error of an index that is not a layer of the detector.
    pub(super) fn layer(&mut self, point: &Spacepoint, address: Address) -> Result<Option<u32>, String> {
        let found = match address {
            Address::Index(layer) => {
                let layers = self.detector.layers().len();
                if layer >= layers as u64 {
                    let name = self.detector.name();
                    return Err(format!(
                        "layer {layer} is not one of detector `{name}`, which has layers 0 to {}",
                        layers - 1
                    ));
                }
                return Ok(Some(layer as u32));
            }
            Address::Id(volume, layer) => {
                let id = (volume, layer);
                if let Some((_, layer)) = self.last.filter(|(last, _)| *last == id) {
                    return Ok(Some(layer));
                }
                let found = self.detector.layer_by_id(volume, layer);
                match found {
                    Some(layer) => self.last = Some((id, layer)),
                    None => *self.unplaced.entry(id).or_default() += 1,
                }
                found
            }
            Address::Position => {
                let found = self.detector.layer_at(point.rho, point.z, LAYER_TOLERANCE_MM);
                if found.is_none() {
                    self.first_at.get_or_insert((point.rho, point.z));
                }
                found
            }
        };
        self.spacepoints += u64::from(found.is_none());
        Ok(found)
    }

    /// Returns the message about spacepoints without a layer, for the end of the file. The error
    /// points at the first.
    pub(super) fn error(&self) -> String {
        let spacepoints = match self.spacepoints {
            1 => "1 spacepoint lies".into(),
            n => format!("{n} spacepoints lie"),
        };
        let name = self.detector.name();
        if let Some((rho, z)) = self.first_at {
            return format!(
                "{spacepoints} further than {LAYER_TOLERANCE_MM} mm from every layer of detector `{name}`, this one \
                 the first, at rho = {rho:.1} mm, z = {z:.1} mm"
            );
        }
        let counts = self.unplaced.iter().take(NAMED);
        let mut named: Vec<String> = counts.map(|((volume, layer), n)| format!("({volume}, {layer}): {n}")).collect();
        if self.unplaced.len() > NAMED {
            named.push(format!("and {} more", self.unplaced.len() - NAMED));
        }
        let volumes: Vec<String> = self.detector.volumes().iter().map(u32::to_string).collect();
        let volumes = if volumes.is_empty() {
            "it knows no volumes".into()
        } else {
            format!("its volumes are {}", volumes.join(", "))
        };
        format!(
            "{spacepoints} on {} (volume, layer) that detector `{name}` does not have, this one the first ({volumes}); \
             (volume, layer) and spacepoints: {}",
            self.unplaced.len(),
            named.join(", ")
        )
    }
}
