//! The place of a vertex: a robust fit of x, y and z to its tracklets, with the beam spot.

use crate::engine::tracklets::exp::{exp_below_0, sin_cos};
use crate::engine::tracklets::fit::inverse;
use crate::engine::tracklets::lanes::Eight;
use crate::tracklet::Tracklet;

/// Added to the error of z0 \[mm\].
pub(super) const ERROR_FLOOR_MM: f64 = 0.01;
/// chi2 of one degree of freedom at which a tracklet has half of its weight.
const CUT: f64 = 9.0;
/// How soft the cut is, from step to step.
const TEMPERATURES: [f64; 4] = [4.0, 2.0, 1.0, 1.0];
/// Added to the error of z, over the root of the number of tracklets: some are of decays and of
/// neighbours \[mm\].
const PULL_MM: f64 = 0.04;
/// Tracklets begin this close to the vertex, or within three errors \[mm\].
const REACH_MM: f64 = 0.3;

/// Eight tracklets as the fit takes them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    /// A track through (x, y, z) has the z0: z plus `along` times (x, y), and the d0: `across`
    /// times (x, y).
    along: [Eight; 2],
    across: [Eight; 2],
    z0: Eight,
    d0: Eight,
    /// 1 / error^2 of z0, with the beam's width.
    by_z_error2: Eight,
    /// 1 / error^2 of z0 and d0, times the probability that the tracklet belongs to the vertex.
    z_weight: Eight,
    d_weight: Eight,
    /// How far from z0 the vertex may be \[mm\].
    reach: Eight,
}

impl Lines {
    /// Tracklets that belong to the vertex.
    #[inline(always)]
    pub(super) fn new(tracklets: &[Tracklet], of: &[u32; Eight::LANES], beam_width: f64) -> Self {
        let [mut cot, mut own, mut phi0, mut z0, mut d0, mut d0_error2] = [Eight::default(); 6];
        for lane in 0..Eight::LANES {
            let tracklet = &tracklets[of[lane] as usize];
            cot.0[lane] = tracklet.cot_theta;
            own.0[lane] = tracklet.z_covariance[0] + ERROR_FLOOR_MM * ERROR_FLOOR_MM;
            phi0.0[lane] = tracklet.phi0;
            z0.0[lane] = tracklet.z0_mm;
            d0.0[lane] = tracklet.d0_mm;
            d0_error2.0[lane] = tracklet.bend_covariance[5];
        }
        let of_beam = Eight::all(beam_width) * cot;
        let z_error2 = own + Eight::all(0.5) * of_beam * of_beam;
        let [sin, cos] = sin_cos(phi0);
        let (zero, one) = (Eight::all(0.0), Eight::all(1.0));
        Self {
            along: [zero - cot * cos, zero - cot * sin],
            across: [sin, zero - cos],
            z0,
            d0,
            by_z_error2: one / z_error2,
            z_weight: one / own,
            d_weight: one / d0_error2,
            reach: Eight::all(REACH_MM) + Eight::all(3.0) * z_error2.sqrt(),
        }
    }
}

/// Tracklets of a vertex.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    lines: Vec<Lines>,
    count: usize,
}

impl Members {
    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.count = 0;
    }

    /// Adds the tracklet in a lane with the probability that it belongs to the vertex at z, if the
    /// vertex is in its reach.
    #[inline(always)]
    pub(super) fn push(&mut self, lines: &Lines, lane: usize, probability: f64, z: f64) {
        if (lines.z0.0[lane] - z).abs() >= lines.reach.0[lane] {
            return;
        }
        let to = self.count % Eight::LANES;
        if to == 0 {
            self.lines.push(Lines::default());
        }
        self.count += 1;
        let Some(last) = self.lines.last_mut() else { return };
        let copy = |to_column: &mut Eight, column: &Eight| to_column.0[to] = column.0[lane];
        copy(&mut last.along[0], &lines.along[0]);
        copy(&mut last.along[1], &lines.along[1]);
        copy(&mut last.across[0], &lines.across[0]);
        copy(&mut last.across[1], &lines.across[1]);
        copy(&mut last.z0, &lines.z0);
        copy(&mut last.d0, &lines.d0);
        copy(&mut last.by_z_error2, &lines.by_z_error2);
        last.z_weight.0[to] = probability * lines.z_weight.0[lane];
        last.d_weight.0[to] = probability * lines.d_weight.0[lane];
    }

    /// Fits the vertex of about so many tracklets at `z`. Returns its place and its covariance;
    /// None without a tracklet.
    #[inline(always)]
    pub(super) fn fit(&self, z: f64, count: f64, beam_width: f64) -> Option<([f64; 3], [[f64; 3]; 3])> {
        if self.lines.is_empty() {
            return None;
        }
        let beam = 1.0 / (beam_width.max(1e-4) * beam_width.max(1e-4));
        let (mut place, mut covariance) = ([0.0, 0.0, z], [[0.0; 3]; 3]);
        for temperature in TEMPERATURES {
            let [xx, xy, yy, xz, yz, zz, x, y, w] = self.sums(place, temperature);
            // The beam spot; z is free.
            let normal = [[beam + xx, xy, xz], [xy, beam + yy, yz], [xz, yz, 1e-9 + zz]];
            let right = [x, y, 1e-9 * z + w];
            covariance = inverse(&normal, 1.0);
            for (to, row) in place.iter_mut().zip(&covariance) {
                *to = row[0] * right[0] + row[1] * right[1] + row[2] * right[2];
            }
        }
        covariance[2][2] += PULL_MM * PULL_MM / count;
        Some((place, covariance))
    }

    /// Normal equations about a place.
    #[inline(always)]
    fn sums(&self, [x, y, z]: [f64; 3], temperature: f64) -> [f64; 9] {
        let (at_x, at_y, at_z) = (Eight::all(x), Eight::all(y), Eight::all(z));
        let mut sums = [Eight::all(0.0); 9];
        for lines in &self.lines {
            let ([x, y], [sin, cos]) = (lines.along, lines.across);
            let residual = lines.z0 - (x * at_x + y * at_y + at_z);
            let part = fermi(residual * residual * lines.by_z_error2, temperature);
            let (in_z, in_d) = (part * lines.z_weight, part * lines.d_weight);
            let (x_in_z, y_in_z) = (x * in_z, y * in_z);
            let (sin_in_d, cos_in_d) = (sin * in_d, cos * in_d);
            sums[0] = sums[0] + x_in_z * x + sin_in_d * sin;
            sums[1] = sums[1] + x_in_z * y + sin_in_d * cos;
            sums[2] = sums[2] + y_in_z * y + cos_in_d * cos;
            sums[3] = sums[3] + x_in_z;
            sums[4] = sums[4] + y_in_z;
            sums[5] = sums[5] + in_z;
            sums[6] = sums[6] + x_in_z * lines.z0 + sin_in_d * lines.d0;
            sums[7] = sums[7] + y_in_z * lines.z0 + cos_in_d * lines.d0;
            sums[8] = sums[8] + in_z * lines.z0;
        }
        let mut of_all_lanes = [0.0; 9];
        for (sum, lanes) in of_all_lanes.iter_mut().zip(sums) {
            *sum = lanes.sum();
        }
        of_all_lanes
    }
}

/// 1 / (1 + exp((chi2 - CUT) / 2T)).
#[inline(always)]
fn fermi(chi2: Eight, temperature: f64) -> Eight {
    let one = Eight::all(1.0);
    let x = (chi2 - Eight::all(CUT)) * Eight::all(0.5 / temperature);
    let small = exp_below_0(Eight::all(0.0) - x.abs().at_most(50.0));
    x.select_at_least(0.0, small, one) / (one + small)
}
