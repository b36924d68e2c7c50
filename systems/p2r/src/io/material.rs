//! The material of a detector's layers.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::batch::{Batch, Hit, Number, Track};
use crate::engine::reference::CURVATURE;
use crate::error::{Error, Result};

/// The thickness of a layer without `radiation_lengths`, as in zfinder's detectors.
const RADIATION_LENGTHS: f64 = 0.01;
/// The bytes of a detector that are read.
const MOST_BYTES: u64 = 1 << 20;
/// The largest distance of a hit from its layer \[cm\].
const TOLERANCE: f64 = 3.0;
/// The smallest cosine of the angle between a track and the normal of a layer.
const LEAST_COSINE: f64 = 0.1;

/// A layer of a detector's TOML, without the keys that are not needed here.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum LayerForm {
    Barrel { radius_mm: f64, radiation_lengths: Option<f64> },
    Endcap { z_mm: f64, radiation_lengths: Option<f64> },
}

#[derive(Deserialize)]
struct DetectorForm {
    layer: Vec<LayerForm>,
}

/// A layer: its radius or |z| \[cm\], and its thickness in radiation lengths.
#[derive(Clone, Copy, Debug)]
struct Layer {
    is_disk: bool,
    place: f64,
    thickness: f64,
}

/// The layers of a detector, in which tracks scatter.
#[derive(Clone, Debug)]
pub struct Material(Vec<Layer>);

impl Material {
    /// Reads a detector in the TOML of zfinder: `kind`, `radius_mm` or `z_mm`, and
    /// `radiation_lengths` of each `[[layer]]`, for a track that crosses it straight on (0.01
    /// without this key). Other keys are ignored.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read or is no such TOML, or if a number is out of
    /// range.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |what: String| Error::File { path: path.display().to_string(), row: None, what };
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
        read.map_err(|error| failed(error.to_string()))?;
        let form: DetectorForm = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let layers = form.layer.into_iter().enumerate().map(|(number, layer)| {
            let (is_disk, place, thickness) = match layer {
                LayerForm::Barrel { radius_mm, radiation_lengths } => (false, radius_mm, radiation_lengths),
                LayerForm::Endcap { z_mm, radiation_lengths } => (true, z_mm.abs(), radiation_lengths),
            };
            let thickness = thickness.unwrap_or(RADIATION_LENGTHS);
            if !(place > 0.0 && place < 1e6 && (1e-6..=1.0).contains(&thickness)) {
                let what = "its place is above 0 and below 1e6 mm, and radiation_lengths is 1e-6 to 1";
                return Err(failed(format!("layer {number}: {what}")));
            }
            Ok(Layer { is_disk, place: place / 10.0, thickness })
        });
        layers.collect::<Result<_>>().map(Self)
    }

    /// Sets the scattering of all hits of a batch, by Highland's formula, in the layer that is
    /// nearest to the hit. The direction is that of the start. Returns the number of hits that lie
    /// within 3 cm of no layer, where tracks do not scatter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn set<T: Number>(&self, batch: &mut Batch<T>) -> Result<u64> {
        let layout = batch.layout();
        let mut outside = 0;
        for (event, i) in (0..layout.events).flat_map(|event| (0..layout.tracks).map(move |i| (event, i))) {
            let track = batch.track(event, i);
            // An unused slot.
            if track.charge == 0.0 {
                continue;
            }
            for layer in 0..layout.layers {
                let hit = batch.hit(event, i, layer);
                if hit.is_missing() {
                    continue;
                }
                let thickness = self.thickness(&hit);
                outside += u64::from(thickness.is_none());
                let crossed = thickness.unwrap_or(0.0) / cosine(&track, &hit);
                batch.set_scattering(event, i, layer, highland(crossed))?;
            }
        }
        Ok(outside)
    }

    fn thickness(&self, hit: &Hit) -> Option<f64> {
        let [x, y, z] = hit.pos;
        let is_disk = hit.is_on_disk();
        let place = if is_disk { z.abs() } else { x.hypot(y) };
        let distance = |layer: &&Layer| (layer.place - place).abs();
        let layers = self.0.iter().filter(|layer| layer.is_disk == is_disk);
        let nearest = layers.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        (distance(&nearest) <= TOLERANCE).then_some(nearest.thickness)
    }
}

/// Returns the variance of the projected angle times (beta p)^2 \[rad^2 GeV^2\], of a unit charge
/// after so many radiation lengths.
fn highland(lengths: f64) -> f64 {
    if lengths > 0.0 { lengths * (0.0136 * (1.0 + 0.038 * lengths.ln())).powi(2) } else { 0.0 }
}

/// Returns the cosine of the angle between a track and the normal of its layer, at a hit.
fn cosine(track: &Track, hit: &Hit) -> f64 {
    let [x, y, _, ipt, phi, theta] = track.par;
    let cosine = match hit.is_on_disk() {
        true => theta.cos(),
        false => {
            let bend = ipt / (track.charge * CURVATURE);
            let radius = hit.pos[0].hypot(hit.pos[1]);
            let across = x * phi.sin() - y * phi.cos() + bend * (radius * radius - x * x - y * y) / 2.0;
            theta.sin() * (1.0 - (across / radius).powi(2)).max(0.0).sqrt()
        }
    };
    // NaN also becomes the limit.
    cosine.abs().max(LEAST_COSINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pion of 1 GeV that crosses 1 % of a radiation length: 0.0136 * 0.1 * 0.825 = 1.12 mrad.
    #[test]
    fn the_angle_is_highlands() {
        assert!((highland(0.01).sqrt() - 1.122e-3).abs() < 1e-6);
        assert_eq!(highland(0.0), 0.0);
    }

    /// Of a track from the beam line at 30 degrees to it, which turns by 60 degrees until 10 cm:
    /// there it crosses a cylinder at 30 degrees to the radius.
    #[test]
    fn a_layer_is_thicker_at_an_angle() {
        let theta = std::f64::consts::FRAC_PI_6;
        let track = Track { par: [0.0, 0.0, 0.0, CURVATURE / -10.0, 0.3, theta], cov: [0.0; 21], charge: -1.0 };
        let hit = |variance: f64| Hit { pos: [6.0, 8.0, 20.0], cov: [1e-4, 0.0, 1e-4, 0.0, 0.0, variance] };
        assert!((cosine(&track, &hit(1e-4)) - 0.5 * theta.cos()).abs() < 1e-12);
        assert!((cosine(&track, &hit(0.0)) - theta.cos()).abs() < 1e-12);
        let flat = Track { par: [0.0, 0.0, 0.0, 1.0, 0.3, f64::NAN], ..track };
        assert_eq!(cosine(&flat, &hit(0.0)), LEAST_COSINE);
    }
}
