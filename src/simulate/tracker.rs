//! Where the 19 layers of `atlas2010` measure, how well, and how much material they are.

use std::sync::LazyLock;

use crate::detector::{Detector, LayerKind};

/// Half the length of the pixel barrel layers \[mm\].
const PIXEL_HALF_LENGTH: f64 = 400.5;
/// Half the length of the strip barrel layers \[mm\].
const STRIP_HALF_LENGTH: f64 = 746.0;
/// Inner radius of the pixel disks \[mm\].
const PIXEL_DISK_INNER: f64 = 88.8;
/// Inner radii of the nine strip disks \[mm\]: rings are left out where a track from the beam would miss them.
const STRIP_DISK_INNER: [f64; 9] = [337.6, 275.0, 275.0, 275.0, 275.0, 275.0, 337.6, 402.8, 438.8];
/// Outer radius up to which a layer is made of pixels \[mm\].
const PIXELS_REACH: f64 = 200.0;

/// How a layer measures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sensor {
    /// Resolution along r-phi \[mm\].
    pub(super) across: f64,
    /// Resolution along z in a barrel, along r in a disk \[mm\].
    pub(super) along: f64,
}

const PIXEL: Sensor = Sensor { across: 0.010, along: 0.115 };
/// Two strip planes at a small stereo angle.
const STRIP: Sensor = Sensor { across: 0.017, along: 0.580 };

/// A cylinder about the beam.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrel {
    pub(super) layer: u32,
    pub(super) radius: f64,
    pub(super) half_length: f64,
    pub(super) sensor: Sensor,
}

/// A pair of rings across the beam, at +z and -z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk {
    pub(super) layer: u32,
    pub(super) z: f64,
    pub(super) r_min: f64,
    pub(super) r_max: f64,
    pub(super) sensor: Sensor,
}

/// All surfaces, each kind in the order in which a track from the beam meets them.
#[derive(Clone, Debug)]
pub(super) struct Tracker {
    pub(super) barrels: Vec<Barrel>,
    pub(super) disks: Vec<Disk>,
    /// No surface reaches farther from the beam \[mm\].
    pub(super) r_max: f64,
}

/// Radii and disk positions are the detector's own, so that both speak of the same layers.
pub(super) static TRACKER: LazyLock<Tracker> = LazyLock::new(|| {
    let detector = Detector::atlas2010();
    let mut tracker = Tracker { barrels: Vec::new(), disks: Vec::new(), r_max: 0.0 };
    let mut strip_disks = STRIP_DISK_INNER.into_iter();
    for (layer, description) in (0..).zip(detector.layers()) {
        let reach = match description.kind {
            LayerKind::Barrel { radius_mm: radius } => {
                let (half_length, sensor) =
                    if radius < PIXELS_REACH { (PIXEL_HALF_LENGTH, PIXEL) } else { (STRIP_HALF_LENGTH, STRIP) };
                tracker.barrels.push(Barrel { layer, radius, half_length, sensor });
                radius
            }
            LayerKind::Endcap { z_mm: z, r_max_mm: r_max } => {
                let (r_min, sensor) = if r_max < PIXELS_REACH {
                    (PIXEL_DISK_INNER, PIXEL)
                } else {
                    (strip_disks.next().expect("nine strip disks"), STRIP)
                };
                tracker.disks.push(Disk { layer, z, r_min, r_max, sensor });
                r_max
            }
        };
        tracker.r_max = tracker.r_max.max(reach);
    }
    tracker
});
