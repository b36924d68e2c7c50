//! Checks units and layers of the first spacepoints that a finder searches.

use std::sync::OnceLock;

use crate::batch_view::BatchView;
use crate::detector::{Detector, LayerKind};
use crate::error::{Error, Result};
use crate::spacepoint::Spacepoint;

/// Number of spacepoints of the first batch that are checked.
pub(crate) const CHECKED: usize = 10_000;
/// Distance from its layer \[mm\] beyond which a spacepoint is far. Modules of a layer lie up to 20
/// mm apart.
const FAR_MM: f64 = 25.0;
/// Largest fraction of far spacepoints, or of angles beyond 2 pi, for a matching input.
const MOST_WRONG: f64 = 0.1;
/// Distance from any layer \[mm\] within which a spacepoint is near, and the fraction of near
/// spacepoints of a likely detector.
const NEAR_MM: f64 = 10.0;
const LEAST_NEAR: f64 = 0.95;
/// Mean distance \[mm\] from the layers above which another detector is tried, and the ratio at
/// which that one is much closer.
const OFF_MM: f64 = 4.0;
const MUCH_CLOSER: f64 = 3.0;
/// No tracker has a radius below this \[mm\].
const SMALLEST_TRACKER_MM: f64 = 5.0;
/// Units of length that are tried, in mm.
const UNITS: [(f64, &str); 4] = [(1.0, "mm"), (10.0, "cm"), (1000.0, "m"), (0.001, "um")];

/// The check of the first batch of a finder.
#[derive(Debug, Default)]
pub(crate) struct InputCheck(OnceLock<Option<String>>);

impl InputCheck {
    /// Checks a batch, unless a batch with spacepoints was checked before.
    ///
    /// # Errors
    /// [`Error::Columns`] if azimuths are likely in degrees. The next batch is then checked again.
    pub(crate) fn look_at(&self, batch: BatchView<'_>, detector: &Detector) -> Result<()> {
        if self.is_pending() && batch.count_spacepoints() > 0 {
            let warning = check(batch, detector, CHECKED)?;
            // Another thread may have checked its batch meanwhile.
            let _first = self.0.set(warning);
        }
        Ok(())
    }

    /// Returns whether no batch was checked yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.0.get().is_none()
    }

    /// Returns the warning of the check.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.0.get()?.as_deref()
    }
}

/// Returns a warning if many of the first `most` spacepoints of a batch lie far from their layers,
/// or if all lie off them and on those of another built-in detector. It names the built-in
/// detector, the unit of length or the first number of the layers that the spacepoints fit.
///
/// # Errors
/// [`Error::Columns`] if azimuths are likely in degrees.
pub(crate) fn check(batch: BatchView<'_>, detector: &Detector, most: usize) -> Result<Option<String>> {
    let points = || batch.iter().flat_map(|roi| (0..roi.len()).map(move |index| roi.spacepoint(index))).take(most);
    let is_angle = |phi: f64| !phi.is_finite() || phi.abs() <= Spacepoint::MAX_PHI;
    let wrong = points().filter(|point| !is_angle(point.phi)).count();
    if wrong as f64 > MOST_WRONG * points().count() as f64 {
        let first = points().find(|point| !is_angle(point.phi)).map_or(0.0, |point| point.phi);
        let reason = format!(
            "phi of {wrong} of the first {} spacepoints lies beyond 2 pi, the first is {first}: phi is in radians, are these \
             degrees?",
            points().count()
        );
        return Err(Error::Columns { reason });
    }
    let points: Vec<Spacepoint> = points().filter(|point| point.rho.is_finite() && point.z.is_finite()).collect();
    let far = points.iter().filter(|point| distance(detector, point).is_none_or(|mm| mm > FAR_MM)).count();
    if points.is_empty() || far as f64 <= MOST_WRONG * points.len() as f64 {
        return Ok(closer_detector(&points, detector));
    }
    Ok(Some(format!(
        "{far} of the first {} spacepoints lie more than {FAR_MM} mm from their layers of detector `{}`; {}",
        points.len(),
        detector.name(),
        advice(&points, detector)
    )))
}

/// Returns a warning if spacepoints lie off their layers on average, and much closer to those of a
/// built-in detector: two trackers may have layers within [`FAR_MM`] of one another.
fn closer_detector(points: &[Spacepoint], detector: &Detector) -> Option<String> {
    let fit = |detector: Detector| Hypothesis { detector, unit: UNITS[0], first_layer: 0 }.fit(points);
    let (_, own) = fit(detector.clone());
    if own <= OFF_MM {
        return None;
    }
    let others = Detector::BUILT_IN.into_iter().filter_map(|name| Detector::built_in(name).ok());
    let fits = others.filter(|other| other.name() != detector.name()).map(|other| (fit(other.clone()), other));
    let close = fits.filter(|((near, mean), _)| *near >= 1.0 - MOST_WRONG && *mean * MUCH_CLOSER < own);
    let ((_, mean), other) = close.min_by(|((_, a), _), ((_, b), _)| a.total_cmp(b))?;
    Some(format!(
        "the first {} spacepoints lie {own:.1} mm from their layers of detector `{}` on average, and {mean:.1} mm from those \
         of `{}`: they fit detector `{}`",
        points.len(),
        detector.name(),
        other.name(),
        other.name()
    ))
}

/// Spacepoints as another detector, in another unit or with another first layer.
struct Hypothesis {
    detector: Detector,
    /// Length of the unit \[mm\].
    unit: (f64, &'static str),
    /// Number of the first layer.
    first_layer: u32,
}

impl Hypothesis {
    /// Returns the spacepoint in mm, with layers from 0. None if there is no such layer.
    fn convert(&self, point: &Spacepoint) -> Option<Spacepoint> {
        let (unit, _) = self.unit;
        let layer = point.layer.checked_sub(self.first_layer)?;
        Some(Spacepoint { rho: unit * point.rho, z: unit * point.z, layer, ..*point })
    }

    /// Returns the fraction of spacepoints near their layers, and their mean distance \[mm\].
    fn fit(&self, points: &[Spacepoint]) -> (f64, f64) {
        let distances = points.iter().filter_map(|point| distance(&self.detector, &self.convert(point)?));
        let (near, sum) = distances.filter(|mm| *mm <= FAR_MM).fold((0, 0.0), |(n, sum), mm| (n + 1, sum + mm));
        (f64::from(near) / points.len() as f64, sum / f64::from(near.max(1)))
    }
}

/// Returns what the spacepoints fit, and what to do.
fn advice(points: &[Spacepoint], detector: &Detector) -> String {
    let built_in = Detector::BUILT_IN.into_iter().filter_map(|name| Detector::built_in(name).ok());
    let detectors = || built_in.clone().filter(|other| other.name() != detector.name()).chain([detector.clone()]);
    let hypotheses = detectors().flat_map(|detector| {
        UNITS.into_iter().flat_map(move |unit| {
            let detector = detector.clone();
            [0, 1].map(|first_layer| Hypothesis { detector: detector.clone(), unit, first_layer })
        })
    });
    let fits = hypotheses.map(|hypothesis| (hypothesis.fit(points), hypothesis));
    let best = fits.max_by(|((near, mean), _), ((other_near, other_mean), _)| {
        near.total_cmp(other_near).then(other_mean.total_cmp(mean))
    });
    if let Some((_, best)) = best.filter(|((near, _), _)| *near >= 1.0 - MOST_WRONG) {
        let name = best.detector.name();
        let (unit, unit_name) = best.unit;
        let mut advice = format!("they fit detector `{name}`");
        if unit != 1.0 {
            advice += &format!(" if their lengths are in {unit_name}: give lengths in mm");
        }
        if best.first_layer != 0 {
            advice += if unit == 1.0 { " if" } else { ", and if" };
            advice += " its layers are counted from 1: count layers from 0";
        }
        return advice;
    }
    // Layers that were found by volume or position are the given detector's alone.
    let near = |other: &Detector| {
        let is_near = |point: &&Spacepoint| other.layer_at(point.rho, point.z, NEAR_MM).is_some();
        points.iter().filter(is_near).count() as f64 / points.len() as f64
    };
    let likely = built_in.clone().max_by(|a, b| near(a).total_cmp(&near(b)));
    if let Some(likely) = likely.filter(|likely| near(likely) >= LEAST_NEAR && near(likely) > near(detector)) {
        return format!("they lie on layers of detector `{}`", likely.name());
    }
    let largest = points.iter().map(|point| point.rho).fold(0.0, f64::max);
    if largest < SMALLEST_TRACKER_MM {
        return format!("the largest rho is {largest} mm: are these metres? Lengths are in mm");
    }
    "no built-in detector fits: describe yours in TOML, with lengths in mm and layers from 0".to_owned()
}

/// Returns the distance of a spacepoint from its layer \[mm\]; None if the detector has no such
/// layer.
fn distance(detector: &Detector, point: &Spacepoint) -> Option<f64> {
    Some(match detector.layers().get(point.layer as usize)?.kind {
        LayerKind::Barrel { radius_mm } => (point.rho - radius_mm).abs(),
        LayerKind::Endcap { z_mm, .. } => (point.z.abs() - z_mm).abs(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roi_batch::RoiBatch;
    use crate::spacepoint::RoiDescriptor;

    /// Spacepoints on each layer of a detector, with its lengths divided by the unit.
    fn on_layers(detector: &Detector, unit: f64, first_layer: u32) -> RoiBatch {
        let point = |(layer, about): (u32, &crate::detector::Layer)| {
            let (rho, z) = match about.kind {
                LayerKind::Barrel { radius_mm } => (radius_mm, 1.0),
                LayerKind::Endcap { z_mm, r_max_mm } => (0.9 * r_max_mm, -z_mm),
            };
            Spacepoint { rho: rho / unit, phi: 0.0, z: z / unit, layer: layer + first_layer }
        };
        let mut batch = RoiBatch::new();
        batch.push(RoiDescriptor::default(), (0..).zip(detector.layers()).map(point));
        batch
    }

    fn all() -> impl Iterator<Item = Detector> {
        Detector::BUILT_IN.into_iter().filter_map(|name| Detector::built_in(name).ok())
    }

    #[test]
    fn the_detector_that_fits_is_named() {
        for right in all() {
            for asked in all() {
                let batch = on_layers(&right, 1.0, 0);
                let warning = check((&batch).into(), &asked, CHECKED).expect("radians");
                assert_eq!(warning.is_none(), right.name() == asked.name(), "{warning:?}");
                let expected = format!("they fit detector `{}`", right.name());
                assert!(warning.is_none_or(|warning| warning.ends_with(&expected)));
            }
        }
    }

    #[test]
    fn units_and_the_first_layer_are_named() {
        for right in all() {
            for asked in all() {
                for (unit, first_layer, expected) in [
                    (10.0, 0, "if their lengths are in cm: give lengths in mm"),
                    (1000.0, 0, "if their lengths are in m: give lengths in mm"),
                    (1.0, 1, "if its layers are counted from 1: count layers from 0"),
                    (10.0, 1, "give lengths in mm, and if its layers are counted from 1: count layers from 0"),
                ] {
                    let batch = on_layers(&right, unit, first_layer);
                    let warning = check((&batch).into(), &asked, CHECKED).expect("radians").expect("a warning");
                    let fit = format!("they fit detector `{}`", right.name());
                    assert!(warning.contains(&fit) && warning.ends_with(expected), "{warning}");
                }
            }
        }
    }

    #[test]
    fn a_foreign_detector_gets_no_name() {
        let layer = |radius_mm| crate::detector::Layer {
            kind: LayerKind::Barrel { radius_mm },
            sensor: None,
            z_resolution_mm: None,
            radiation_lengths: None,
            next: None,
            ids: Vec::new(),
        };
        let layers = [23.0, 210.0, 320.0, 480.0].map(layer).to_vec();
        let foreign = Detector::new("foreign", layers, None).expect("valid");
        for asked in all() {
            let warning =
                check((&on_layers(&foreign, 1.0, 0)).into(), &asked, CHECKED).expect("radians").expect("a warning");
            assert!(warning.ends_with("with lengths in mm and layers from 0"), "{warning}");
            let warning =
                check((&on_layers(&foreign, 1000.0, 0)).into(), &asked, CHECKED).expect("radians").expect("a warning");
            assert!(warning.contains("are these metres?"), "{warning}");
        }
    }

    /// The inner barrels of two detectors lie within [`FAR_MM`] of one another.
    #[test]
    fn a_detector_that_is_much_closer_is_named() {
        let mut batch = RoiBatch::new();
        let points = [32.0, 72.0, 116.0].into_iter().zip(0..);
        batch.push(RoiDescriptor::default(), points.map(|(rho, layer)| Spacepoint { rho, phi: 0.0, z: 5.0, layer }));
        let warning = |detector| check((&batch).into(), &detector, CHECKED).expect("radians");
        let of_atlas = warning(Detector::atlas2010()).expect("a warning");
        assert!(of_atlas.ends_with("mm from those of `generic`: they fit detector `generic`"), "{of_atlas}");
        assert_eq!(warning(Detector::generic()), None);
    }

    #[test]
    fn degrees_are_an_error() {
        let mut batch = RoiBatch::new();
        let layers = [33.0, 72.0, 116.0].into_iter().zip(0..).cycle();
        let points = (0..90).zip(layers).map(|(degrees, (rho, layer))| Spacepoint {
            rho,
            phi: f64::from(4 * degrees),
            z: 0.0,
            layer,
        });
        batch.push(RoiDescriptor::default(), points);
        let look = InputCheck::default();
        let error = look.look_at((&batch).into(), &Detector::generic()).expect_err("degrees").to_string();
        assert!(error.contains("the first is 8: phi is in radians, are these degrees?"), "{error}");
        // The batch after the refused one is checked.
        let good = on_layers(&Detector::odd(), 1.0, 0);
        look.look_at((&good).into(), &Detector::generic()).expect("radians");
        assert!(look.warning().is_some_and(|warning| warning.contains("`odd`")));
    }
}
