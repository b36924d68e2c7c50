//! The place of a vertex: a robust fit of x, y and z to its tracklets, with the beam spot.

use super::fit::inverse;
use crate::tracklet::Tracklet;

/// A fitted vertex.
pub(super) struct FittedVertex {
    /// x, y, z \[mm\].
    pub(super) place: [f64; 3],
    /// Of x, y, z \[mm^2\].
    pub(super) covariance: [[f64; 3]; 3],
}

/// Added to the error of z0 \[mm\].
const ERROR_FLOOR_MM: f64 = 0.01;
/// chi2 of one degree of freedom at which a tracklet has half of its weight.
const CUT: f64 = 9.0;
/// How soft the cut is, from step to step.
const TEMPERATURES: [f64; 4] = [4.0, 2.0, 1.0, 1.0];
/// Added to the error of z, over the root of the number of tracklets: some are of decays and of
/// neighbours \[mm\].
const PULL_MM: f64 = 0.04;
/// Tracklets begin this close to the vertex, or within three errors \[mm\].
const REACH_MM: f64 = 0.3;

/// Fits the vertex of about `count` tracklets at `z` to the tracklets, each with the probability
/// that it belongs to the vertex. Returns None without a tracklet nearby.
pub(super) fn fit<'a>(
    tracklets: impl Iterator<Item = (&'a Tracklet, f64)>,
    z: f64,
    count: f64,
    beam_width: f64,
) -> Option<FittedVertex> {
    let in_transverse = |tracklet: &Tracklet| 0.5 * (beam_width * tracklet.cot_theta).powi(2);
    let own_error2 = |tracklet: &Tracklet| tracklet.z_covariance[0] + ERROR_FLOOR_MM.powi(2);
    let z_error2 = |tracklet: &Tracklet| own_error2(tracklet) + in_transverse(tracklet);
    let is_near = |tracklet: &Tracklet| (tracklet.z0_mm - z).abs() < REACH_MM + 3.0 * z_error2(tracklet).sqrt();
    let tracklets: Vec<(&Tracklet, f64)> = tracklets.filter(|(tracklet, _)| is_near(tracklet)).collect();
    if tracklets.is_empty() {
        return None;
    }
    let mut fitted = FittedVertex { place: [0.0, 0.0, z], covariance: [[0.0; 3]; 3] };
    for temperature in TEMPERATURES {
        // The beam spot; z is free.
        let beam = beam_width.max(1e-4).powi(-2);
        let mut normal = vec![vec![beam, 0.0, 0.0], vec![0.0, beam, 0.0], vec![0.0, 0.0, 1e-9]];
        let mut right = [0.0, 0.0, 1e-9 * z];
        let mut add = |row: [f64; 3], value: f64, weight: f64| {
            for i in 0..3 {
                right[i] += weight * row[i] * value;
                for j in 0..3 {
                    normal[i][j] += weight * row[i] * row[j];
                }
            }
        };
        for &(tracklet, probability) in &tracklets {
            let (sin, cos) = tracklet.phi0.sin_cos();
            // z0 of a track through the vertex, and its d0.
            let along = [-tracklet.cot_theta * cos, -tracklet.cot_theta * sin, 1.0];
            let across = [sin, -cos, 0.0];
            let residual = tracklet.z0_mm - dot(along, fitted.place);
            let chi2 = residual * residual / z_error2(tracklet);
            let fermi = 1.0 / (1.0 + ((chi2 - CUT) / (2.0 * temperature)).clamp(-50.0, 50.0).exp());
            let weight = probability * fermi;
            add(along, tracklet.z0_mm, weight / own_error2(tracklet));
            add(across, tracklet.d0_mm, weight / tracklet.bend_covariance[5]);
        }
        let covariance = inverse(&normal);
        for i in 0..3 {
            fitted.covariance[i].copy_from_slice(&covariance[i]);
        }
        fitted.place = std::array::from_fn(|i| dot(fitted.covariance[i], right));
    }
    fitted.covariance[2][2] += PULL_MM.powi(2) / count;
    Some(fitted)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
