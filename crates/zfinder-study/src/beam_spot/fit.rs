//! Fits the beam to tracks: a vote, a fit, and the width.

use super::tracks::{Plane, Track, TrackFinder, TrackFromPoint, dot};
use super::{BeamSpot, BeamSpotErrors, BeamSpotFinder};
use crate::error::{Error, Result};

/// Size of the cells of the vote \[mm\].
const CELL_MM: f64 = 0.25;
const HALF_CELLS: i64 = (BeamSpotFinder::MOST_OFF_MM / CELL_MM) as i64;
/// Largest distance of a track from the vote in the first step of the fit \[mm\].
const NEAR_VOTE_MM: f64 = 1.0;
/// Tracks beyond this many standard deviations do not come from the beam.
const CUT: f64 = 4.0;
const STEPS: usize = 12;
/// Largest error of an accepted position \[mm\].
const MOST_ERROR_MM: f64 = 0.2;
/// Gaussian prior of the slope: beams are less tilted.
const SLOPE_PRIOR: f64 = 0.01;
/// Number of tracks that share one standard deviation.
const IN_A_GROUP: usize = 100;
/// Ratio of the standard deviation of a normal distribution to its median of |x|.
const MEDIAN_TO_STD: f64 = 1.482_602_218_505_602;
/// Two tracks are close in z below `NEAR_Z` standard deviations. Pairs within `BESIDE_Z` measure
/// the background.
const NEAR_Z: f64 = 3.0;
const BESIDE_Z: (f64, f64) = (6.0, 18.0);

/// The beam's position at z = 0 and its slope.
#[derive(Clone, Copy, Default)]
struct Line {
    at: Plane,
    slope: Plane,
}

/// A track about the beam.
#[derive(Clone, Copy)]
struct Residual {
    seen: TrackFromPoint,
    /// Standard deviation of d for such tracks.
    std: f64,
    z_error: f64,
    roi: u32,
}

impl Residual {
    /// Distance in z, in standard deviations.
    fn apart(&self, other: &Self) -> f64 {
        (other.seen.z - self.seen.z).abs() / self.z_error.hypot(other.z_error)
    }
}

/// Returns the beam spot of the tracks of this many RoIs.
pub(super) fn beam_spot(tracks: &[Track], finder: &TrackFinder, rois: usize) -> Result<BeamSpot> {
    let wanted = BeamSpotFinder::LEAST_TRACKS;
    let few = |found| Error::FewTracks { wanted, found, rois };
    if tracks.len() < wanted {
        return Err(few(tracks.len()));
    }
    let mut line = Line { at: vote(tracks), slope: [0.0; 2] };
    let mut residuals = Vec::new();
    let mut covariance = [[0.0; 4]; 4];
    for step in 0..STEPS {
        residuals = about(tracks, finder, &line);
        let cut = |residual: &Residual| if step == 0 { NEAR_VOTE_MM } else { CUT * residual.std };
        residuals.retain(|residual| residual.seen.d.abs() < cut(residual));
        if residuals.len() < wanted {
            return Err(few(residuals.len()));
        }
        let uncertain = Error::UncertainBeamSpot { tracks: residuals.len() };
        let (change, errors) = least_squares(&residuals).ok_or(uncertain)?;
        covariance = errors;
        line.at = [line.at[0] + change[0], line.at[1] + change[1]];
        line.slope = [line.slope[0] + change[2], line.slope[1] + change[3]];
    }
    // Adding 0 turns -0 into 0.
    let rounded = |value: f64, steps: f64| (value * steps).round() / steps + 0.0;
    let (width_mm, width_error) = width(&residuals);
    let of_vertices = covariance_of_vertices(&residuals, &covariance);
    let error = |index: usize| covariance[index][index].max(of_vertices[index]).sqrt();
    if error(0).max(error(1)) > MOST_ERROR_MM {
        return Err(Error::UncertainBeamSpot { tracks: residuals.len() });
    }
    Ok(BeamSpot {
        x_mm: rounded(line.at[0], 1e4),
        y_mm: rounded(line.at[1], 1e4),
        dx_dz: rounded(line.slope[0], 1e7),
        dy_dz: rounded(line.slope[1], 1e7),
        width_mm: rounded(width_mm, 1e4),
        errors: BeamSpotErrors {
            x_mm: error(0),
            y_mm: error(1),
            dx_dz: error(2),
            dy_dz: error(3),
            width_mm: width_error,
        },
        tracks: residuals.len() as u64,
    })
}

/// Returns the middle of the cell that, with its eight neighbours, most tracks cross.
fn vote(tracks: &[Track]) -> Plane {
    let side = (2 * HALF_CELLS + 1) as usize;
    let mut votes = vec![0u32; side * side];
    for track in tracks {
        let TrackFromPoint { d, normal, .. } = track.seen_from([0.0; 2]);
        // The line normal · (x, y) = -d is walked along the axis to which it is closer.
        let along_x = normal[1].abs() > normal[0].abs();
        let (n_along, n_across) = if along_x { (normal[0], normal[1]) } else { (normal[1], normal[0]) };
        for step in -HALF_CELLS..=HALF_CELLS {
            let across = (-d - n_along * CELL_MM * step as f64) / n_across / CELL_MM;
            let other = across.round();
            if other.abs() <= HALF_CELLS as f64 {
                let (along, other) = ((step + HALF_CELLS) as usize, (other as i64 + HALF_CELLS) as usize);
                let (x, y) = if along_x { (along, other) } else { (other, along) };
                votes[y * side + x] += 1;
            }
        }
    }
    let sum = |x: usize, y: usize| -> u32 {
        (y - 1..=y + 1).map(|y| votes[y * side + x - 1..=y * side + x + 1].iter().sum::<u32>()).sum()
    };
    let mut best = (0, [0.0; 2]);
    for y in 1..side - 1 {
        for x in 1..side - 1 {
            let votes = sum(x, y);
            if votes > best.0 {
                best = (votes, [x, y].map(|cell| (cell as f64 - HALF_CELLS as f64) * CELL_MM));
            }
        }
    }
    best.1
}

/// Returns the residuals of all tracks about the beam at their own z. Tracks of similar curvature
/// share a standard deviation.
fn about(tracks: &[Track], finder: &TrackFinder, line: &Line) -> Vec<Residual> {
    let mut residuals: Vec<(f64, Residual)> = tracks
        .iter()
        .map(|track| {
            let z = track.seen_from(line.at).z;
            let seen = track.seen_from([line.at[0] + line.slope[0] * z, line.at[1] + line.slope[1] * z]);
            let z_error = finder.z_error(track, seen.cot);
            (track.curvature(), Residual { seen, std: 0.0, z_error, roi: track.roi })
        })
        .collect();
    // Distant chance triplets would bias the width.
    residuals.retain(|(_, residual)| residual.seen.d.abs() < NEAR_VOTE_MM);
    residuals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let groups = (residuals.len() / IN_A_GROUP).clamp(1, 20);
    let size = residuals.len().div_ceil(groups).max(1);
    for group in residuals.chunks_mut(size) {
        let mut sizes: Vec<f64> = group.iter().map(|(_, residual)| residual.seen.d.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let std = (MEDIAN_TO_STD * sizes[sizes.len() / 2]).max(1e-6);
        group.iter_mut().for_each(|(_, residual)| residual.std = std);
    }
    residuals.into_iter().map(|(_, residual)| residual).collect()
}

/// Returns the change of position and slope that minimises the sum of (d / std)^2, and its
/// covariance.
fn least_squares(residuals: &[Residual]) -> Option<([f64; 4], [[f64; 4]; 4])> {
    let (mut matrix, mut right) = ([[0.0; 4]; 4], [0.0; 4]);
    for Residual { seen: TrackFromPoint { d, normal: [nx, ny], z, .. }, std, .. } in residuals {
        let (row, weight) = ([*nx, *ny, nx * z, ny * z], 1.0 / (std * std));
        for i in 0..4 {
            right[i] -= weight * row[i] * d;
            for j in 0..4 {
                matrix[i][j] += weight * row[i] * row[j];
            }
        }
    }
    for slope in [2, 3] {
        matrix[slope][slope] += 1.0 / (SLOPE_PRIOR * SLOPE_PRIOR);
    }
    let inverse = inverse(matrix)?;
    Some((inverse.map(|row| row.iter().zip(right).map(|(a, b)| a * b).sum()), inverse))
}

/// Returns the variances of the four parameters for correlated errors of the tracks of a vertex:
/// H^-1 (sum of g g^T) H^-1. H^-1 is the covariance of independent tracks, and g is the sum of d
/// weight row over the tracks of one vertex. Errors are correlated if the vertex is off the beam,
/// or if many tracks come from one decay.
fn covariance_of_vertices(residuals: &[Residual], independent: &[[f64; 4]; 4]) -> [f64; 4] {
    let mut variances = [0.0; 4];
    for vertex in by_z(residuals).chunk_by(|a, b| a.roi == b.roi && a.apart(b) < NEAR_Z) {
        let mut sum = [0.0; 4];
        for Residual { seen: TrackFromPoint { d, normal: [nx, ny], z, .. }, std, .. } in vertex {
            let row = [*nx, *ny, nx * z, ny * z];
            (0..4).for_each(|i| sum[i] += d / (std * std) * row[i]);
        }
        for (variance, row) in variances.iter_mut().zip(independent) {
            *variance += row.iter().zip(sum).map(|(a, b)| a * b).sum::<f64>().powi(2);
        }
    }
    variances
}

/// Returns the tracks sorted by RoI and z.
fn by_z(residuals: &[Residual]) -> Vec<&Residual> {
    let mut ordered: Vec<&Residual> = residuals.iter().collect();
    ordered.sort_by(|a, b| a.roi.cmp(&b.roi).then(a.seen.z.total_cmp(&b.seen.z)));
    ordered
}

/// Returns the inverse of a positive definite matrix, by elimination without pivots; None for any
/// other matrix.
fn inverse(mut matrix: [[f64; 4]; 4]) -> Option<[[f64; 4]; 4]> {
    let mut inverse = [[0.0; 4]; 4];
    (0..4).for_each(|i| inverse[i][i] = 1.0);
    for i in 0..4 {
        let pivot = matrix[i][i];
        if !(pivot.is_finite() && pivot > 1e-12) {
            return None;
        }
        for j in 0..4 {
            matrix[i][j] /= pivot;
            inverse[i][j] /= pivot;
        }
        for k in (0..4).filter(|&k| k != i) {
            let factor = matrix[k][i];
            for j in 0..4 {
                matrix[k][j] -= factor * matrix[i][j];
                inverse[k][j] -= factor * inverse[i][j];
            }
        }
    }
    Some(inverse)
}

/// Sums over pairs of tracks: weight * cos^2, and weight * cos * d1 * d2.
#[derive(Clone, Copy, Default)]
struct PairSums {
    expected: f64,
    seen: f64,
}

impl PairSums {
    fn add(&mut self, a: &Residual, b: &Residual) {
        let (cos, weight) = (dot(a.seen.normal, b.seen.normal), 1.0 / (a.std * b.std).powi(2));
        self.expected += weight * cos * cos;
        self.seen += weight * cos * a.seen.d * b.seen.d;
    }
}

/// Returns the width and its error from the covariance of two tracks of one vertex.
///
/// Each vertex estimates width^2 as the ratio of its sums. The error of the estimate has a part
/// from measurement, 1 / expected, and a part from the position of the vertex itself, width^4: even
/// with many tracks, a vertex is one sample of x and y.
fn width(residuals: &[Residual]) -> (f64, Option<f64>) {
    let ordered = by_z(residuals);
    let most = ordered.iter().map(|residual| residual.z_error).fold(0.0, f64::max) * BESIDE_Z.1 * 2.0_f64.sqrt();
    let (mut vertices, mut beside): (Vec<PairSums>, _) = (Vec::new(), PairSums::default());
    let mut had_partner = false;
    for (i, a) in ordered.iter().enumerate() {
        let mut has_partner = false;
        for b in &ordered[i + 1..] {
            let distance = b.seen.z - a.seen.z;
            if b.roi != a.roi || distance > most {
                break;
            }
            let apart = a.apart(b);
            if apart < NEAR_Z {
                // Consecutive tracks that are close in z count as one vertex.
                if !has_partner && !had_partner {
                    vertices.push(PairSums::default());
                }
                vertices.last_mut().into_iter().for_each(|vertex| vertex.add(a, b));
                has_partner = true;
            } else if (BESIDE_Z.0..BESIDE_Z.1).contains(&apart) {
                beside.add(a, b);
            }
        }
        had_partner = has_partner;
    }
    let share = NEAR_Z / (BESIDE_Z.1 - BESIDE_Z.0);
    let all: f64 = vertices.iter().map(|vertex| vertex.expected).sum();
    let of_one_vertex = 1.0 - share * beside.expected / all;
    if all <= 0.0 || of_one_vertex <= 0.0 {
        return (0.0, None);
    }
    let (mut square, mut error) = (0.0_f64, 0.0);
    for _ in 0..STEPS {
        let (mut sum, mut weights) = (0.0, 0.0);
        for PairSums { expected, seen } in vertices.iter().filter(|vertex| vertex.expected > 0.0) {
            let weight = 1.0 / (1.0 / expected + square * square);
            sum += weight * seen / expected;
            weights += weight;
        }
        (square, error) = ((sum / weights / of_one_vertex).max(0.0), 1.0 / weights.sqrt() / of_one_vertex);
    }
    (square.sqrt(), Some(error / (2.0 * square.max(error).sqrt())))
}
