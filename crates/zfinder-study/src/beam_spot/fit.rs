//! Fits the beam to tracks: a vote, a fit, and the width.

use super::purity::{FARTHEST_MM, set_purities};
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
pub(super) const NEAR_Z: f64 = 3.0;
const BESIDE_Z: (f64, f64) = (6.0, 18.0);

/// Largest error of a slope that is fitted. Beams are less tilted, so that a less precise slope is
/// of no use.
const MOST_SLOPE_ERROR: f64 = 1e-3;
/// Fewest tracks, weighted, that fix a slope. Beside one vertex of many tracks, a few chance tracks
/// far away in z must not fix the slope.
const LEAST_TRACKS_OF_SLOPE: f64 = 10.0;
/// Fewest vertices, weighted, that measure the width.
const LEAST_VERTICES: f64 = 4.0;

/// The beam's position at z = 0 and its slope.
#[derive(Clone, Copy)]
struct Line {
    at: Plane,
    slope: Plane,
}

/// Slope and width of the beam where the tracks do not determine them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assumed {
    pub(super) slope: Plane,
    pub(super) width_mm: f64,
}

/// A track about the beam.
#[derive(Clone, Copy)]
pub(super) struct Residual {
    pub(super) seen: TrackFromPoint,
    curvature: f64,
    /// Standard deviation of d for such tracks.
    std: f64,
    pub(super) z_error: f64,
    /// Share of such tracks that come from the beam.
    pub(super) purity: f64,
    pub(super) roi: u32,
}

impl Residual {
    /// Distance in z, in standard deviations.
    pub(super) fn apart(&self, other: &Self) -> f64 {
        (other.seen.z - self.seen.z).abs() / self.z_error.hypot(other.z_error)
    }

    /// Largest distance from the beam in the fit \[mm\].
    pub(super) fn cut_mm(&self) -> f64 {
        (CUT * self.std).min(NEAR_VOTE_MM)
    }

    /// Derivatives of d with respect to the four parameters, and the weight of d.
    fn row(&self) -> ([f64; 4], f64) {
        let TrackFromPoint { normal: [nx, ny], z, .. } = self.seen;
        ([nx, ny, nx * z, ny * z], self.purity / (self.std * self.std))
    }
}

type Matrix = [[f64; 4]; 4];

/// Returns the beam spot of the tracks of this many RoIs.
pub(super) fn beam_spot(tracks: &[Track], finder: &TrackFinder, rois: usize, assumed: &Assumed) -> Result<BeamSpot> {
    if tracks.len() < BeamSpotFinder::LEAST_TRACKS {
        return Err(Error::FewTracks { wanted: BeamSpotFinder::LEAST_TRACKS, found: tracks.len(), rois });
    }
    let mut line = Line { at: vote(tracks), slope: assumed.slope };
    let residuals = near_vote(tracks, finder, &line);
    let fitted = fit(tracks, finder, rois, &mut line, residuals, false)?;
    let uncertain = |residuals: &[Residual]| Error::UncertainBeamSpot { tracks: residuals.len() };
    let (_, covariance) = least_squares(&fitted.0, true).ok_or_else(|| uncertain(&fitted.0))?;
    let [.., x_slope, y_slope] = standard_errors(&fitted.0, &covariance, assumed.width_mm);
    let with_slopes = x_slope.max(y_slope) <= MOST_SLOPE_ERROR && tracks_of_slope(&fitted.0) >= LEAST_TRACKS_OF_SLOPE;
    let (residuals, covariance) = match with_slopes {
        true => fit(tracks, finder, rois, &mut line, fitted.0, true)?,
        false => fitted,
    };
    // Adding 0 turns -0 into 0.
    let rounded = |value: f64, steps: f64| (value * steps).round() / steps + 0.0;
    let (width_mm, width_error) = width(&residuals);
    let errors = standard_errors(&residuals, &covariance, width_error.map_or(assumed.width_mm, |_| width_mm));
    if errors[0].max(errors[1]) > MOST_ERROR_MM {
        return Err(uncertain(&residuals));
    }
    let slope = |axis: usize| if with_slopes { rounded(line.slope[axis], 1e7) } else { assumed.slope[axis] };
    Ok(BeamSpot {
        x_mm: rounded(line.at[0], 1e4),
        y_mm: rounded(line.at[1], 1e4),
        dx_dz: slope(0),
        dy_dz: slope(1),
        width_mm: rounded(width_mm, 1e4),
        errors: BeamSpotErrors {
            x_mm: errors[0],
            y_mm: errors[1],
            dx_dz: with_slopes.then_some(errors[2]),
            dy_dz: with_slopes.then_some(errors[3]),
            width_mm: width_error,
        },
        tracks: residuals.len() as u64,
    })
}

/// Fits the line to its tracks, and finds its tracks again, in turns. Returns the tracks of the
/// last step, and the covariance of independent tracks.
fn fit(
    tracks: &[Track],
    finder: &TrackFinder,
    rois: usize,
    line: &mut Line,
    mut residuals: Vec<Residual>,
    with_slopes: bool,
) -> Result<(Vec<Residual>, Matrix)> {
    let wanted = BeamSpotFinder::LEAST_TRACKS;
    let mut step = 0;
    loop {
        let from_beam: f64 = residuals.iter().map(|residual| residual.purity).sum();
        if from_beam < wanted as f64 {
            return Err(Error::FewTracks { wanted, found: from_beam as usize, rois });
        }
        let uncertain = Error::UncertainBeamSpot { tracks: residuals.len() };
        let (change, covariance) = least_squares(&residuals, with_slopes).ok_or(uncertain)?;
        line.at = [line.at[0] + change[0], line.at[1] + change[1]];
        line.slope = [line.slope[0] + change[2], line.slope[1] + change[3]];
        step += 1;
        if step == STEPS {
            return Ok((residuals, covariance));
        }
        residuals = of_beam(tracks, finder, line);
    }
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

/// Returns the tracks near the vote.
fn near_vote(tracks: &[Track], finder: &TrackFinder, line: &Line) -> Vec<Residual> {
    let mut residuals = about(tracks, finder, line);
    residuals.retain(|residual| residual.seen.d.abs() < NEAR_VOTE_MM);
    set_stds(&mut residuals);
    residuals
}

/// Returns the tracks that may come from the beam, with their purities.
fn of_beam(tracks: &[Track], finder: &TrackFinder, line: &Line) -> Vec<Residual> {
    let mut residuals = about(tracks, finder, line);
    set_stds(&mut residuals);
    set_purities(&mut residuals);
    // Chance tracks widen the first standard deviations.
    set_stds(&mut residuals);
    residuals.retain(|residual| residual.seen.d.abs() < residual.cut_mm());
    residuals
}

/// Returns the residuals of tracks about the beam at their own z, sorted by RoI and z.
fn about(tracks: &[Track], finder: &TrackFinder, line: &Line) -> Vec<Residual> {
    let residual = |track: &Track| {
        let z = track.seen_from(line.at).z;
        let seen = track.seen_from([line.at[0] + line.slope[0] * z, line.at[1] + line.slope[1] * z]);
        let (curvature, z_error) = (track.curvature(), finder.z_error(track, seen.cot));
        Residual { seen, curvature, std: NEAR_VOTE_MM, z_error, purity: 1.0, roi: track.roi }
    };
    let mut residuals: Vec<Residual> = tracks.iter().map(residual).collect();
    residuals.retain(|residual| residual.seen.d.abs() < FARTHEST_MM);
    residuals.sort_by(|a, b| a.roi.cmp(&b.roi).then(a.seen.z.total_cmp(&b.seen.z)));
    residuals
}

/// Sets the standard deviations. Tracks of similar curvature share one, of those near the beam.
fn set_stds(residuals: &mut [Residual]) {
    let near = |residual: &&mut Residual| residual.seen.d.abs() < NEAR_VOTE_MM;
    let mut ordered: Vec<&mut Residual> = residuals.iter_mut().collect();
    ordered.sort_by(|a, b| a.curvature.total_cmp(&b.curvature));
    let groups = (ordered.iter().filter(|residual| near(residual)).count() / IN_A_GROUP).clamp(1, 20);
    let size = ordered.len().div_ceil(groups).max(1);
    for group in ordered.chunks_mut(size) {
        let mut sizes: Vec<f64> =
            group.iter().filter(|residual| near(residual)).map(|residual| residual.seen.d.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let median = sizes.get(sizes.len() / 2).copied().unwrap_or(NEAR_VOTE_MM);
        group.iter_mut().for_each(|residual| residual.std = (MEDIAN_TO_STD * median).max(1e-6));
    }
}

/// Returns the change of position and slope that minimises the sum of (d / std)^2, and its
/// covariance. Without slopes, only the position changes.
fn least_squares(residuals: &[Residual], with_slopes: bool) -> Option<([f64; 4], Matrix)> {
    let (mut matrix, mut right) = ([[0.0; 4]; 4], [0.0; 4]);
    let parameters = if with_slopes { 4 } else { 2 };
    for residual in residuals {
        let (row, weight) = residual.row();
        for i in 0..parameters {
            right[i] -= weight * row[i] * residual.seen.d;
            for j in 0..parameters {
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

/// Returns the effective number of tracks that fix the slope. A track counts by its weight times
/// the square of its distance from the mean z.
fn tracks_of_slope(residuals: &[Residual]) -> f64 {
    let weighted = |value: &dyn Fn(&Residual) -> f64| residuals.iter().map(|r| r.row().1 * value(r)).sum::<f64>();
    let mean = weighted(&|r| r.seen.z) / weighted(&|_| 1.0);
    let leverage = |r: &Residual| (r.seen.z - mean).powi(2);
    weighted(&leverage).powi(2) / weighted(&|r| r.row().1 * leverage(r).powi(2)).max(f64::MIN_POSITIVE)
}

/// Returns the standard errors of the four parameters for correlated errors of the tracks of a
/// vertex. `independent` is the covariance H^-1 of independent tracks. g(q) is the sum of q weight
/// row over the tracks of one vertex. The variance is the larger one of
///
/// - H^-1 (sum of g(d) g(d)^T) H^-1: many tracks may come from one decay,
/// - H^-1 + width^2 H^-1 (sum of g(nx) g(nx)^T + g(ny) g(ny)^T) H^-1: a vertex is off the beam by
///   the width. With few vertices, d does not show this, because the fit follows the vertices.
fn standard_errors(residuals: &[Residual], independent: &Matrix, width_mm: f64) -> [f64; 4] {
    let (mut of_decays, mut of_width) = ([0.0; 4], [0.0; 4]);
    for vertex in residuals.chunk_by(|a, b| a.roi == b.roi && a.apart(b) < NEAR_Z) {
        // Columns: d, and both components of n.
        let mut sums = [[0.0; 3]; 4];
        for residual in vertex {
            let (row, weight) = residual.row();
            let [nx, ny] = residual.seen.normal;
            for (sums, derivative) in sums.iter_mut().zip(row) {
                let columns = sums.iter_mut().zip([residual.seen.d, nx, ny]);
                columns.for_each(|(sum, column)| *sum += weight * derivative * column);
            }
        }
        for (parameter, row) in independent.iter().enumerate() {
            let column = |c: usize| row.iter().zip(sums).map(|(a, sums)| a * sums[c]).sum::<f64>().powi(2);
            of_decays[parameter] += column(0);
            of_width[parameter] += column(1) + column(2);
        }
    }
    std::array::from_fn(|i| of_decays[i].max(independent[i][i] + width_mm * width_mm * of_width[i]).sqrt())
}

/// Returns the inverse of a positive definite matrix, by elimination without pivots; None for any
/// other matrix.
fn inverse(mut matrix: Matrix) -> Option<Matrix> {
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
    let most = residuals.iter().map(|residual| residual.z_error).fold(0.0, f64::max) * BESIDE_Z.1 * 2.0_f64.sqrt();
    let (mut vertices, mut beside): (Vec<PairSums>, _) = (Vec::new(), PairSums::default());
    let mut had_partner = false;
    for (i, a) in residuals.iter().enumerate() {
        let mut has_partner = false;
        for b in &residuals[i + 1..] {
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
    let mut effective = 0.0;
    for _ in 0..STEPS {
        let (mut sum, mut weights, mut squares) = (0.0, 0.0, 0.0);
        for PairSums { expected, seen } in vertices.iter().filter(|vertex| vertex.expected > 0.0) {
            let weight = 1.0 / (1.0 / expected + square * square);
            sum += weight * seen / expected;
            weights += weight;
            squares += weight * weight;
        }
        effective = weights * weights / squares;
        (square, error) = ((sum / weights / of_one_vertex).max(0.0), 1.0 / weights.sqrt() / of_one_vertex);
    }
    if effective < LEAST_VERTICES {
        return (0.0, None);
    }
    (square.sqrt(), Some(error / (2.0 * square.max(error).sqrt())))
}
