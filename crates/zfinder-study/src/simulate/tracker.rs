//! Positions and resolutions of the layers of a detector.

use std::sync::LazyLock;

use super::Geometry;
use zfinder::Detector;
use zfinder::detector::{LayerKind, Sensor as SensorKind};

/// Resolution of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sensor {
    /// Resolution along r-phi \[mm\].
    pub(super) across: f64,
    /// Resolution along z in a barrel, along r in a disk \[mm\].
    pub(super) along: f64,
}

/// A cylinder around the beam.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrel {
    pub(super) layer: u32,
    pub(super) radius: f64,
    pub(super) half_length: f64,
    pub(super) sensor: Sensor,
}

/// A pair of rings around the beam, at +z and -z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk {
    pub(super) layer: u32,
    pub(super) z: f64,
    pub(super) r_min: f64,
    pub(super) r_max: f64,
    pub(super) sensor: Sensor,
}

/// All surfaces. Barrels and disks are sorted in the order in which a track from the beam meets
/// them.
#[derive(Clone, Debug)]
pub(super) struct Tracker {
    pub(super) barrels: Vec<Barrel>,
    pub(super) disks: Vec<Disk>,
    /// Largest distance of any surface from the beam \[mm\].
    pub(super) r_max: f64,
}

/// Facts about a layer that a detector's table lacks: half the length of a barrel, or the inner
/// radius of a disk \[mm\], and its sensor.
type Facts = fn(usize, LayerKind, Option<SensorKind>) -> (f64, Sensor);

static ATLAS2010: LazyLock<Tracker> = LazyLock::new(|| Tracker::new(&Detector::atlas2010(), atlas2010::facts));
static GENERIC: LazyLock<Tracker> = LazyLock::new(|| Tracker::new(&Detector::generic(), generic::facts));

impl Geometry {
    pub(super) fn tracker(self) -> &'static Tracker {
        match self {
            Geometry::Atlas2010 => &ATLAS2010,
            Geometry::Generic => &GENERIC,
        }
    }
}

impl Tracker {
    /// Makes the surfaces of a detector. Radii and disk positions are the detector's own, so that
    /// both describe the same layers.
    fn new(detector: &Detector, facts: Facts) -> Self {
        let mut tracker = Tracker { barrels: Vec::new(), disks: Vec::new(), r_max: 0.0 };
        for (index, description) in detector.layers().iter().enumerate() {
            let (size, sensor) = facts(index, description.kind, description.sensor);
            let layer = index as u32;
            let reach = match description.kind {
                LayerKind::Barrel { radius_mm: radius } => {
                    tracker.barrels.push(Barrel { layer, radius, half_length: size, sensor });
                    radius
                }
                LayerKind::Endcap { z_mm: z, r_max_mm: r_max } => {
                    tracker.disks.push(Disk { layer, z, r_min: size, r_max, sensor });
                    r_max
                }
            };
            tracker.r_max = tracker.r_max.max(reach);
        }
        tracker.barrels.sort_by(|a, b| a.radius.total_cmp(&b.radius));
        tracker.disks.sort_by(|a, b| a.z.total_cmp(&b.z));
        tracker
    }
}

/// The ATLAS inner detector of 2010, without its transition radiation tracker.
mod atlas2010 {
    use super::*;

    /// Half the length of the pixel barrel layers \[mm\].
    const PIXEL_HALF_LENGTH: f64 = 400.5;
    /// Half the length of the strip barrel layers \[mm\].
    const STRIP_HALF_LENGTH: f64 = 746.0;
    /// Inner radius of the pixel disks \[mm\].
    const PIXEL_DISK_INNER: f64 = 88.8;
    /// Inner radii of the nine strip disks \[mm\]. Rings that a track from the beam would miss are
    /// left out.
    const STRIP_DISK_INNER: [f64; 9] = [337.6, 275.0, 275.0, 275.0, 275.0, 275.0, 337.6, 402.8, 438.8];
    /// The layer of the first strip disk.
    const FIRST_STRIP_DISK: usize = 10;

    const PIXEL: Sensor = Sensor { across: 0.010, along: 0.115 };
    /// Two strip planes at a small stereo angle.
    const STRIP: Sensor = Sensor { across: 0.017, along: 0.580 };

    pub(super) fn facts(index: usize, kind: LayerKind, sensor: Option<SensorKind>) -> (f64, Sensor) {
        let pixel = sensor == Some(SensorKind::Pixel);
        match kind {
            LayerKind::Barrel { .. } if pixel => (PIXEL_HALF_LENGTH, PIXEL),
            LayerKind::Barrel { .. } => (STRIP_HALF_LENGTH, STRIP),
            LayerKind::Endcap { .. } if pixel => (PIXEL_DISK_INNER, PIXEL),
            LayerKind::Endcap { .. } => (STRIP_DISK_INNER[index - FIRST_STRIP_DISK], STRIP),
        }
    }
}

/// The ACTS generic detector.
///
/// Lengths and inner radii are the extremes of 1.5 million spacepoints that ACTS simulated (99
/// events: Z -> ee at pile-up 2 and 46, top pairs at 46 and 200). The largest |z| on each barrel
/// layer was 490.97 to 491.00 mm of pixels and 1083.7 to 1084.0 mm of strips. The smallest rho on
/// each disk was 30.0 mm of pixels, 240.0 mm of short and 750.1 mm of long strips. For pixels this
/// counts the four inner disks, because outer disks see no track so close to the beam. Modules in
/// ACTS are staggered by up to +-5 mm about the radius or z of their layer; here they are not.
///
/// A resolution is the pitch over the square root of 12. Along z and r it agrees with `var_z` and
/// `var_r` of these files: 2.083e-4, 0.12 and 9.72 mm^2 of pixels, short and long strips.
mod generic {
    use super::*;

    const PIXEL_HALF_LENGTH: f64 = 491.0;
    const STRIP_HALF_LENGTH: f64 = 1084.0;

    const fn pitch(across: f64, along: f64) -> Sensor {
        const SQRT_12: f64 = 3.464_101_615_137_754_5;
        Sensor { across: across / SQRT_12, along: along / SQRT_12 }
    }

    const PIXEL: Sensor = pitch(0.05, 0.05);
    const SHORT_STRIP: Sensor = pitch(0.08, 1.2);
    const LONG_STRIP: Sensor = pitch(0.12, 10.8);

    pub(super) fn facts(_: usize, kind: LayerKind, sensor: Option<SensorKind>) -> (f64, Sensor) {
        let (sensor, half_length, inner) = match sensor {
            Some(SensorKind::Pixel) => (PIXEL, PIXEL_HALF_LENGTH, 30.0),
            Some(SensorKind::ShortStrip) => (SHORT_STRIP, STRIP_HALF_LENGTH, 240.0),
            Some(SensorKind::LongStrip) | None => (LONG_STRIP, STRIP_HALF_LENGTH, 750.1),
        };
        match kind {
            LayerKind::Barrel { .. } => (half_length, sensor),
            LayerKind::Endcap { .. } => (inner, sensor),
        }
    }
}
