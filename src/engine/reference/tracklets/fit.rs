//! The fit of a tracklet: two lines by generalised least squares, with scattering.

use super::chains::Chain;
use super::hits::{PixelHit, PixelHits, turn};
use super::search::ReferenceTracklets;
use super::triplets::arc;
use crate::tracklet::Tracklet;

/// Where tracks cross the beam pipe \[mm\], and its thickness.
const BEAM_PIPE_MM: f64 = 20.0;
const BEAM_PIPE_RADIATION_LENGTHS: f64 = 0.0016;
/// How far d0 is held near the beam \[mm\].
const D0_PRIOR_MM: f64 = 0.05;
/// Rounds of the fit: errors depend on the fitted momentum and slope.
const ROUNDS: usize = 2;

type Matrix = Vec<Vec<f64>>;

impl ReferenceTracklets {
    pub(super) fn fit(&self, all: &PixelHits, chain: &Chain) -> Tracklet {
        let hits: Vec<PixelHit> = chain.hits.iter().map(|&index| all.hit(index)).collect();
        let (first, last) = (&hits[0], &hits[hits.len() - 1]);
        // Azimuths from that of the first hit.
        let phi: Vec<f64> = hits.iter().map(|hit| turn(first.phi, hit.phi)).collect();
        let step = last.rho - first.rho;
        let mut tracklet = Tracklet {
            hits: chain.hits.iter().map(|&hit| hit as u32).collect(),
            cot_theta: (last.z - first.z) / step,
            curvature: 2.0 * phi[hits.len() - 1] / step,
            ..Tracklet::default()
        };
        for _ in 0..ROUNDS {
            let arcs: Vec<f64> = hits.iter().map(|hit| arc(hit.rho, tracklet.curvature)).collect();
            let [along_z, in_bend] = self.covariances(&hits, &arcs, &tracklet);
            fit_z(&hits, &arcs, &along_z, &mut tracklet);
            fit_bend(&hits, &phi, &in_bend, &mut tracklet);
        }
        tracklet.phi0 += first.phi;
        tracklet.pt_gev = self.pt(tracklet.curvature);
        tracklet
    }

    /// The covariances of the hits in z and across the bend: resolution, and scattering in the beam
    /// pipe and in each layer before.
    fn covariances(&self, hits: &[PixelHit], arcs: &[f64], tracklet: &Tracklet) -> [Matrix; 2] {
        let &Tracklet { cot_theta: cot, curvature: kappa, .. } = tracklet;
        let count = hits.len();
        let mut along_z = vec![vec![0.0; count]; count];
        let mut in_bend = along_z.clone();
        for (i, hit) in hits.iter().enumerate() {
            along_z[i][i] = hit.z_error(cot).powi(2);
            in_bend[i][i] = hit.resolution.powi(2);
        }
        let of_pipe = PixelHit { is_disk: false, radiation_lengths: BEAM_PIPE_RADIATION_LENGTHS, ..hits[0] };
        let pipe = (BEAM_PIPE_MM, self.scattering(kappa, cot, &of_pipe), 0);
        let layer = |(i, hit): (usize, &PixelHit)| (arcs[i], self.scattering(kappa, cot, hit), i + 1);
        for (at, theta, behind) in [pipe].into_iter().chain(hits.iter().enumerate().map(layer)) {
            for i in behind..count {
                for j in behind..count {
                    let lever = (arcs[i] - at) * (arcs[j] - at) * theta * theta;
                    along_z[i][j] += lever * (1.0 + cot * cot).powi(2);
                    in_bend[i][j] += lever * (1.0 + cot * cot);
                }
            }
        }
        [along_z, in_bend]
    }
}

/// Fits z = z0 + cot s.
fn fit_z(hits: &[PixelHit], arcs: &[f64], covariance: &Matrix, tracklet: &mut Tracklet) {
    let rows: Vec<Vec<f64>> = arcs.iter().map(|&s| vec![1.0, s]).collect();
    let z: Vec<f64> = hits.iter().map(|hit| hit.z).collect();
    let weights = inverse(covariance);
    let (fitted, errors) = least_squares(&rows, &z, &weights, &[0.0, 0.0]);
    (tracklet.z0_mm, tracklet.cot_theta) = (fitted[0], fitted[1]);
    tracklet.z_covariance = [errors[0][0], errors[0][1], errors[1][1]];
    let residual: Vec<f64> = z.iter().zip(arcs).map(|(z, s)| z - fitted[0] - fitted[1] * s).collect();
    tracklet.chi2 = 0.0;
    for (i, row) in weights.iter().enumerate() {
        for (j, weight) in row.iter().enumerate() {
            tracklet.chi2 += residual[i] * weight * residual[j];
        }
    }
}

/// Fits rho phi = rho phi0 + kappa rho^2 / 2 - d0.
fn fit_bend(hits: &[PixelHit], phi: &[f64], covariance: &Matrix, tracklet: &mut Tracklet) {
    let rows: Vec<Vec<f64>> = hits.iter().map(|hit| vec![hit.rho, 0.5 * hit.rho * hit.rho, -1.0]).collect();
    let across: Vec<f64> = hits.iter().zip(phi).map(|(hit, phi)| hit.rho * phi).collect();
    let prior = [0.0, 0.0, D0_PRIOR_MM.powi(-2)];
    let (fitted, errors) = least_squares(&rows, &across, &inverse(covariance), &prior);
    (tracklet.phi0, tracklet.curvature, tracklet.d0_mm) = (fitted[0], fitted[1], fitted[2]);
    let triangle = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
    tracklet.bend_covariance = triangle.map(|(i, j): (usize, usize)| errors[i][j]);
}

/// The x that minimises (y - A x)^T W (y - A x) + sum of prior x^2, and its covariance.
fn least_squares(rows: &Matrix, y: &[f64], weights: &Matrix, prior: &[f64]) -> (Vec<f64>, Matrix) {
    let count = prior.len();
    let mut normal = vec![vec![0.0; count]; count];
    let mut right = vec![0.0; count];
    for (i, row) in rows.iter().enumerate() {
        for (j, other) in rows.iter().enumerate() {
            for k in 0..count {
                right[k] += row[k] * weights[i][j] * y[j];
                for l in 0..count {
                    normal[k][l] += row[k] * weights[i][j] * other[l];
                }
            }
        }
    }
    for k in 0..count {
        normal[k][k] += prior[k];
    }
    let covariance = inverse(&normal);
    let fitted = covariance.iter().map(|row| row.iter().zip(&right).map(|(c, r)| c * r).sum()).collect();
    (fitted, covariance)
}

/// The inverse of a positive definite matrix, by elimination.
pub(super) fn inverse(matrix: &Matrix) -> Matrix {
    let count = matrix.len();
    let mut left = matrix.clone();
    let mut right: Matrix = (0..count).map(|i| (0..count).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for pivot in 0..count {
        let by = 1.0 / left[pivot][pivot];
        for row in [&mut left, &mut right] {
            row[pivot].iter_mut().for_each(|number| *number *= by);
        }
        for other in (0..count).filter(|&other| other != pivot) {
            let by = left[other][pivot];
            for matrix in [&mut left, &mut right] {
                for column in 0..count {
                    matrix[other][column] -= by * matrix[pivot][column];
                }
            }
        }
    }
    right
}
