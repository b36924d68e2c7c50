//! The fit of a tracklet: two lines by generalised least squares, with scattering in the beam pipe
//! and in the layers.

use std::f64::consts::{PI, TAU};

use crate::engine::tracklets::search::{MAX_PT_GEV, MIN_COT_ON_DISK, SCATTERING_GEV, TrackletSearch};
use crate::tracklet::{Tracklet, TrackletHits};

/// A hit of a tracklet, about the beam.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FitHit {
    pub(crate) rho: f64,
    pub(crate) phi: f64,
    pub(crate) z: f64,
    pub(crate) is_disk: bool,
    pub(crate) resolution: f64,
}

const MOST: usize = TrackletHits::MOST;
type Columns = [f64; MOST];
type Matrix = [Columns; MOST];

/// Where tracks cross the beam pipe, and its thickness in layers \[mm\].
const BEAM_PIPE_MM: f64 = 20.0;
const BEAM_PIPE_LAYERS: f64 = 0.16;
/// How far d0 is held near the beam \[mm\].
const D0_PRIOR_MM: f64 = 0.05;
/// Rounds of the fit: errors depend on the fitted momentum and slope.
const ROUNDS: usize = 2;

impl TrackletSearch {
    /// Fits the first `count` hits. The numbers of the hits and the vertex are left to the caller.
    pub(crate) fn fit(&self, hits: &[FitHit; MOST], count: usize) -> Tracklet {
        let (first, last) = (hits[0], hits[count - 1]);
        let mut rho = Columns::default();
        let mut phi = Columns::default();
        let mut z = Columns::default();
        for i in 0..count {
            (rho[i], phi[i], z[i]) = (hits[i].rho, turn(hits[i].phi - first.phi), hits[i].z - first.z);
        }
        let mut cot = (last.z - first.z) / (last.rho - first.rho);
        let mut kappa = 2.0 * phi[count - 1] / (last.rho - first.rho);
        let mut tracklet = Tracklet::default();
        for _ in 0..ROUNDS {
            let mut arcs = Columns::default();
            for i in 0..count {
                arcs[i] = rho[i] * (1.0 + (kappa * rho[i]) * (kappa * rho[i]) / 24.0);
            }
            let [mut along_z, mut in_bend] = self.covariances(hits, count, &arcs, cot, kappa);
            let mut ones = [1.0; MOST];
            let mut of_z = z;
            let mut of_arcs = arcs;
            whiten(&mut along_z, count, [&mut ones, &mut of_arcs, &mut of_z]);
            let [oo, os, ss] = [(&ones, &ones), (&ones, &of_arcs), (&of_arcs, &of_arcs)].map(|(a, b)| dot(a, b, count));
            let [oz, sz, zz] = [&ones, &of_arcs, &of_z].map(|a| dot(a, &of_z, count));
            let determinant = oo * ss - os * os;
            let z0 = (ss * oz - os * sz) / determinant;
            cot = (oo * sz - os * oz) / determinant;
            tracklet.z0 = z0 + first.z;
            tracklet.z0_error = (ss / determinant).sqrt();
            tracklet.chi2 = (zz - z0 * oz - cot * sz).max(0.0);
            let mut slope = rho;
            let mut curve = Columns::default();
            let mut across = Columns::default();
            let mut offset = [-1.0; MOST];
            for i in 0..count {
                curve[i] = 0.5 * rho[i] * rho[i];
                across[i] = rho[i] * phi[i];
            }
            whiten(&mut in_bend, count, [&mut slope, &mut curve, &mut offset, &mut across]);
            let columns = [&slope, &curve, &offset];
            let mut normal = columns.map(|a| columns.map(|b| dot(a, b, count)));
            normal[2][2] += 1.0 / (D0_PRIOR_MM * D0_PRIOR_MM);
            let covariance = inverse(&normal);
            let right = columns.map(|a| dot(a, &across, count));
            let [phi0, fitted_kappa, d0] =
                covariance.map(|row| row[0] * right[0] + row[1] * right[1] + row[2] * right[2]);
            kappa = fitted_kappa;
            (tracklet.phi0, tracklet.d0, tracklet.d0_error) = (phi0 + first.phi, d0, covariance[2][2].sqrt());
        }
        (tracklet.cot, tracklet.kappa) = (cot, kappa);
        tracklet.pt_gev = self.gev_mm() / kappa.abs().max(1e-6);
        tracklet
    }

    /// The covariances of the hits in z and across the bend.
    fn covariances(&self, hits: &[FitHit; MOST], count: usize, arcs: &Columns, cot: f64, kappa: f64) -> [Matrix; 2] {
        let slope2 = 1.0 + cot * cot;
        let root = slope2.sqrt();
        let p = (self.gev_mm() / kappa.abs().max(1e-6)).min(MAX_PT_GEV) * root;
        // Times the length of the way through a layer.
        let theta2 = (SCATTERING_GEV / p) * (SCATTERING_GEV / p) * root;
        let cot_on_disk = cot.abs().max(MIN_COT_ON_DISK);
        let mut in_bend = Matrix::default();
        let mut add = |at: f64, theta2: f64, behind: usize| {
            for i in behind..count {
                for j in behind..=i {
                    in_bend[i][j] += (arcs[i] - at) * (arcs[j] - at) * theta2 * slope2;
                }
            }
        };
        add(BEAM_PIPE_MM, BEAM_PIPE_LAYERS * theta2, 0);
        for (i, hit) in hits[..count].iter().enumerate() {
            add(arcs[i], if hit.is_disk { theta2 / cot_on_disk } else { theta2 }, i + 1);
        }
        let mut along_z = in_bend;
        for i in 0..count {
            for j in 0..=i {
                along_z[i][j] *= slope2;
            }
            let FitHit { is_disk, resolution, .. } = hits[i];
            let error = if is_disk { resolution * cot_on_disk } else { resolution };
            along_z[i][i] += error * error;
            in_bend[i][i] += resolution * resolution;
        }
        [along_z, in_bend]
    }
}

/// The azimuth, the shorter way round \[rad\].
fn turn(phi: f64) -> f64 {
    if phi > PI {
        phi - TAU
    } else if phi < -PI {
        phi + TAU
    } else {
        phi
    }
}

/// Multiplies columns by the inverse of the lower triangle L, where L L^T is the covariance, so
/// that their products are weighted by its inverse.
fn whiten<const COLUMNS: usize>(covariance: &mut Matrix, count: usize, columns: [&mut Columns; COLUMNS]) {
    for j in 0..count {
        for k in 0..j {
            for i in j..count {
                covariance[i][j] -= covariance[i][k] * covariance[j][k];
            }
        }
        let by = 1.0 / covariance[j][j].sqrt();
        for i in j..count {
            covariance[i][j] *= by;
        }
    }
    for column in columns {
        for i in 0..count {
            for k in 0..i {
                column[i] -= covariance[i][k] * column[k];
            }
            column[i] /= covariance[i][i];
        }
    }
}

fn dot(a: &Columns, b: &Columns, count: usize) -> f64 {
    let mut sum = 0.0;
    for i in 0..count {
        sum += a[i] * b[i];
    }
    sum
}

/// The inverse of a symmetric matrix, by its minors.
pub(super) fn inverse(m: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let minor = |i: usize, j: usize| {
        let ([a, b], [c, d]) = ([(i + 1) % 3, (i + 2) % 3], [(j + 1) % 3, (j + 2) % 3]);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let by = 1.0 / (m[0][0] * minor(0, 0) + m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2));
    std::array::from_fn(|i| std::array::from_fn(|j| minor(j, i) * by))
}
