//! The place of a vertex: a robust fit of x, y and z to its tracklets, with the beam spot.

use crate::engine::tracklets::exp::exp_below_0;
use crate::engine::tracklets::fit::inverse;
use crate::tracklet::Tracklet;

/// Added to the error of z0 \[mm\].
pub(super) const ERROR_FLOOR_MM: f64 = 0.01;
/// chi2 of one degree of freedom at which a tracklet has half of its weight.
pub(super) const CUT: f64 = 9.0;
/// How soft the cut is, from step to step.
pub(super) const TEMPERATURES: [f64; 3] = [4.0, 2.0, 1.0];
const ROUNDS: usize = 3;
/// Added to the error of z: tracks of decays and of neighbours pull it \[mm\].
const Z_FLOOR_MM: f64 = 0.005;
/// Tracklets begin this close to the vertex, or within three errors \[mm\].
const REACH_MM: f64 = 0.3;

/// A tracklet as the fit takes it.
struct Line {
    /// z0 of a track through a place is `along` times that place; its d0 is `across` times it.
    along: [f64; 3],
    across: [f64; 2],
    z0: f64,
    d0: f64,
    z_error2: f64,
    z_weight: f64,
    d_weight: f64,
}

/// Fits the vertex at `z` to tracklets, each with the probability that it belongs to the vertex.
/// Returns its place and its covariance; None without a tracklet nearby.
pub(super) fn fit<'a>(
    tracklets: impl Iterator<Item = (&'a Tracklet, f64)>,
    z: f64,
    beam_width: f64,
) -> Option<([f64; 3], [[f64; 3]; 3])> {
    let line = |(tracklet, probability): (&Tracklet, f64)| {
        let &Tracklet { z0_mm: z0, cot_theta: cot, phi0, d0_mm: d0, .. } = tracklet;
        let own = tracklet.z_covariance[0] + ERROR_FLOOR_MM * ERROR_FLOOR_MM;
        let z_error2 = own + 0.5 * (beam_width * cot) * (beam_width * cot);
        let (sin, cos) = libm::sincos(phi0);
        ((z0 - z).abs() < REACH_MM + 3.0 * z_error2.sqrt()).then_some(Line {
            along: [-cot * cos, -cot * sin, 1.0],
            across: [sin, -cos],
            z0,
            d0,
            z_error2,
            z_weight: probability / own,
            d_weight: probability / tracklet.bend_covariance[5],
        })
    };
    let lines: Vec<Line> = tracklets.filter(|(_, probability)| *probability > 0.0).filter_map(line).collect();
    if lines.is_empty() {
        return None;
    }
    let beam = 1.0 / (beam_width.max(1e-4) * beam_width.max(1e-4));
    let (mut place, mut covariance) = ([0.0, 0.0, z], [[0.0; 3]; 3]);
    for temperature in TEMPERATURES {
        for _ in 0..ROUNDS {
            // The beam spot; z is free.
            let mut normal = [[beam, 0.0, 0.0], [0.0, beam, 0.0], [0.0, 0.0, 1e-9]];
            let mut right = [0.0, 0.0, 1e-9 * z];
            for line in &lines {
                let [x, y, w] = line.along;
                let residual = line.z0 - (x * place[0] + y * place[1] + w * place[2]);
                let fermi = fermi(residual * residual / line.z_error2, temperature);
                let (in_z, in_d) = (fermi * line.z_weight, fermi * line.d_weight);
                let [sin, cos] = line.across;
                normal[0][0] += in_z * x * x + in_d * sin * sin;
                normal[0][1] += in_z * x * y + in_d * sin * cos;
                normal[1][1] += in_z * y * y + in_d * cos * cos;
                normal[0][2] += in_z * x;
                normal[1][2] += in_z * y;
                normal[2][2] += in_z;
                right[0] += in_z * x * line.z0 + in_d * sin * line.d0;
                right[1] += in_z * y * line.z0 + in_d * cos * line.d0;
                right[2] += in_z * line.z0;
            }
            (normal[1][0], normal[2][0], normal[2][1]) = (normal[0][1], normal[0][2], normal[1][2]);
            covariance = inverse(&normal, 1.0);
            place = covariance.map(|row| row[0] * right[0] + row[1] * right[1] + row[2] * right[2]);
        }
    }
    covariance[2][2] += Z_FLOOR_MM * Z_FLOOR_MM;
    Some((place, covariance))
}

/// 1 / (1 + exp((chi2 - CUT) / 2T)).
#[inline(always)]
pub(super) fn fermi(chi2: f64, temperature: f64) -> f64 {
    let x = ((chi2 - CUT) / (2.0 * temperature)).clamp(-50.0, 50.0);
    let small = exp_below_0(-x.abs());
    if x > 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
}
