//! Checks whether spacepoints lie on their layers.

use zfinder::{Detector, LayerKind, RoiBatch, Spacepoint};

/// Number of spacepoints of the first RoIs that are checked.
const LOOKED_AT: usize = 10_000;
/// Distance from its layer \[mm\] beyond which a spacepoint is far. Modules of a layer lie up to 20
/// mm apart.
const FAR_MM: f64 = 25.0;
/// Largest fraction of far spacepoints for a matching detector.
const MOST_FAR: f64 = 0.1;
/// Distance from any layer \[mm\] within which a spacepoint is near, and the fraction of near
/// spacepoints of a likely detector.
const NEAR_MM: f64 = 10.0;
const LEAST_NEAR: f64 = 0.9;

/// Returns a warning if many of the first spacepoints lie far from their layers. It names the
/// built-in detector that they fit, if there is one.
pub(super) fn misfit(batch: &RoiBatch, detector: &Detector) -> Option<String> {
    let points = batch.iter().flat_map(|roi| roi.spacepoints().collect::<Vec<_>>());
    let points: Vec<Spacepoint> =
        points.filter(|point| point.rho.is_finite() && point.z.is_finite()).take(LOOKED_AT).collect();
    let far = points.iter().filter(|point| distance(detector, point).is_none_or(|mm| mm > FAR_MM)).count();
    if points.is_empty() || far as f64 <= MOST_FAR * points.len() as f64 {
        return None;
    }
    let near = |other: &Detector| {
        points.iter().filter(|point| other.layer_at(point.rho, point.z, NEAR_MM).is_some()).count() as f64
    };
    let likely = Detector::BUILT_IN.into_iter().filter(|name| *name != detector.name()).filter_map(Detector::built_in);
    let likely = likely.max_by(|a, b| near(a).total_cmp(&near(b)));
    let likely = likely.filter(|other| near(other) >= LEAST_NEAR * points.len() as f64);
    let advice = match likely {
        Some(other) => format!("they fit --detector {}", other.name()),
        None => "no built-in detector fits: name yours with --detector FILE.toml".to_owned(),
    };
    Some(format!(
        "{far} of the first {} spacepoints lie more than {FAR_MM} mm from their layers of detector `{}`; {advice}",
        points.len(),
        detector.name()
    ))
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
    use zfinder::RoiDescriptor;

    use super::*;

    /// A spacepoint on each layer of a detector.
    fn on_layers(detector: &Detector) -> RoiBatch {
        let point = |(layer, about): (u32, &zfinder::Layer)| match about.kind {
            LayerKind::Barrel { radius_mm } => Spacepoint { rho: radius_mm, phi: 0.0, z: 1.0, layer },
            LayerKind::Endcap { z_mm, r_max_mm } => Spacepoint { rho: 0.9 * r_max_mm, phi: 0.0, z: -z_mm, layer },
        };
        let mut batch = RoiBatch::new();
        batch.push(RoiDescriptor::default(), (0..).zip(detector.layers()).map(point));
        batch
    }

    #[test]
    fn a_detector_that_does_not_fit_is_told_from_one_that_does() {
        let all = || Detector::BUILT_IN.into_iter().filter_map(Detector::built_in);
        for right in all() {
            for asked in all() {
                let told = misfit(&on_layers(&right), &asked);
                assert_eq!(told.is_none(), right.name() == asked.name(), "{told:?}");
                if let Some(told) = told {
                    assert!(told.ends_with(&format!("they fit --detector {}", right.name())), "{told}");
                }
            }
        }
    }
}
