//! Spacepoints of pixel layers, about the beam.

use std::f64::consts::{PI, TAU};

use crate::config::Config;
use crate::detector::{Detector, Layer, Sensor};
use crate::spacepoint::{RoiView, Spacepoint, normalised, usable};

/// A spacepoint of a pixel layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PixelHit {
    pub(super) rho: f64,
    pub(super) phi: f64,
    pub(super) z: f64,
    pub(super) is_disk: bool,
    /// Standard deviation across the track's bend, and along z or, on a disk, along rho \[mm\].
    pub(super) resolution: f64,
    /// Of its layer, in radiation lengths.
    pub(super) radiation_lengths: f64,
    /// Its number in the event.
    pub(super) index: usize,
}

impl PixelHit {
    /// The standard deviation of z at a given rho, on a track of this slope \[mm\].
    pub(super) fn z_error(&self, cot: f64) -> f64 {
        if self.is_disk { self.resolution * cot_on_disk(cot) } else { self.resolution }
    }
}

/// Where a layer does not say: that of pixels of 50 um \[mm\].
const RESOLUTION_MM: f64 = 0.0144;

/// The spacepoints of pixel layers, in the order of the event and layer by layer in phi.
pub(super) struct PixelHits {
    /// By number in the event.
    by_index: Vec<Option<PixelHit>>,
    by_layer: Vec<Vec<PixelHit>>,
    /// The least and the largest rho of each layer's hits.
    rho_ranges: Vec<[f64; 2]>,
}

impl PixelHits {
    /// Takes those of the valid spacepoints that `takes` chooses.
    pub(super) fn new(detector: &Detector, config: &Config, roi: RoiView<'_>, takes: impl Fn(usize) -> bool) -> Self {
        let layers = detector.layers();
        let mut by_layer = vec![Vec::new(); layers.len()];
        let by_index = roi.spacepoints().enumerate().map(|(index, s)| {
            let is_pixel = |layer: &&Layer| layer.sensor == Some(Sensor::Pixel);
            let layer = layers.get(s.layer as usize).filter(is_pixel).filter(|_| takes(index))?;
            let (rho, phi) = about_beam(config, s)?;
            let resolution = layer.z_resolution_mm.unwrap_or(RESOLUTION_MM);
            let radiation_lengths = layer.radiation_lengths.unwrap_or(Layer::RADIATION_LENGTHS);
            let hit = PixelHit { rho, phi, z: s.z, is_disk: layer.is_endcap(), resolution, radiation_lengths, index };
            by_layer[s.layer as usize].push(hit);
            Some(hit)
        });
        let by_index = by_index.collect();
        for hits in &mut by_layer {
            hits.sort_by(|a: &PixelHit, b: &PixelHit| a.phi.total_cmp(&b.phi));
        }
        let wider = |[low, high]: [f64; 2], hit: &PixelHit| [low.min(hit.rho), high.max(hit.rho)];
        let range = |hits: &Vec<PixelHit>| hits.iter().fold([f64::INFINITY, 0.0], wider);
        let rho_ranges = by_layer.iter().map(range).collect();
        Self { by_index, by_layer, rho_ranges }
    }

    pub(super) fn count(&self) -> usize {
        self.by_layer.iter().map(Vec::len).sum()
    }

    pub(super) fn layers(&self) -> usize {
        self.by_layer.len()
    }

    pub(super) fn of_layer(&self, layer: u32) -> &[PixelHit] {
        &self.by_layer[layer as usize]
    }

    /// The least and the largest rho of a layer's hits \[mm\].
    pub(super) fn rho_range(&self, layer: u32) -> [f64; 2] {
        self.rho_ranges[layer as usize]
    }

    /// A spacepoint of a triplet.
    pub(super) fn hit(&self, index: usize) -> PixelHit {
        self.by_index[index].expect("triplets have pixel hits only")
    }

    /// The hits of a layer whose azimuth is at most so far from `phi`, the shorter way round.
    pub(super) fn around(&self, layer: u32, phi: f64, most: f64) -> impl Iterator<Item = &PixelHit> {
        let hits = self.of_layer(layer);
        let range = |low: f64, high: f64| {
            hits.partition_point(|hit| hit.phi < low)..hits.partition_point(|hit| hit.phi <= high)
        };
        let ranges = match most < PI {
            true => [-TAU, 0.0, TAU].map(|turn| range(phi + turn - most, phi + turn + most)),
            false => [0..hits.len(), 0..0, 0..0],
        };
        ranges.into_iter().flat_map(move |range| &hits[range])
    }
}

/// The azimuth from one hit to another, the shorter way round \[rad\].
pub(super) fn turn(from: f64, to: f64) -> f64 {
    normalised(to - from)
}

/// rho and phi about the beam; None for an invalid spacepoint.
fn about_beam(config: &Config, s: Spacepoint) -> Option<(f64, f64)> {
    if !usable(s.rho, s.phi, s.z) {
        return None;
    }
    if config.is_beam_at_origin() {
        return Some((s.rho, normalised(s.phi)));
    }
    let [x0, y0] = config.beam_at(s.z);
    let (x, y) = (s.rho * s.phi.cos() - x0, s.rho * s.phi.sin() - y0);
    let rho = x.hypot(y);
    usable(rho, s.phi, s.z).then(|| (rho, y.atan2(x)))
}

/// |cot| of a track that passes a disk; no track from the beam has less.
pub(super) fn cot_on_disk(cot: f64) -> f64 {
    cot.abs().max(0.01)
}
