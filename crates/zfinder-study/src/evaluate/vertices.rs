//! Figures of all found vertices: positions in the list, distances of pairs, and the calibration of
//! the significance.

use serde::{Deserialize, Serialize};
use zfinder::RoiResult;
use zfinder_io::TruthVertex;

use super::figures::RoiRecord;
use super::statistics::roc_curve;

/// Number of bins of the distances of pairs, up to this distance \[mm\].
const DISTANCES: usize = 200;
const MOST_DISTANCE_MM: f64 = 10.0;
/// Fewest pairs for a fit.
const LEAST_PAIRS: u64 = 20;
/// Grid of the fit: step in distance \[mm\], number of widths, and smallest width \[mm\].
const STEP_MM: f64 = 0.01;
const WIDTHS: usize = 20;
const LEAST_WIDTH_MM: f64 = 0.01;
/// Ratio of consecutive widths, such that the last is 1 mm.
const WIDTH_RATIO: f64 = 1.274_274_985_703_132;
/// Thresholds of the calibration.
const ABOVE: [f64; 7] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

/// Counts over all RoIs.
#[derive(Clone, Debug)]
pub(super) struct VertexCounts {
    /// Number of RoIs by position of the correct vertex, from 1.
    positions: Vec<u64>,
    distances: Vec<u64>,
    /// The significance of each vertex that has one, and whether the vertex is false.
    significances: Vec<(f64, bool)>,
    rois: u64,
}

impl Default for VertexCounts {
    fn default() -> Self {
        Self { positions: Vec::new(), distances: vec![0; DISTANCES], significances: Vec::new(), rois: 0 }
    }
}

impl VertexCounts {
    pub(super) fn add(&mut self, result: RoiResult<'_>, truth: &[TruthVertex], within_mm: f64) {
        self.rois += 1;
        let z = result.vertices().z_mm();
        for (number, a) in z.iter().enumerate() {
            for b in &z[number + 1..] {
                let bin = (a - b).abs() / MOST_DISTANCE_MM * DISTANCES as f64;
                if let Some(count) = self.distances.get_mut(bin as usize) {
                    *count += 1;
                }
            }
        }
        let is_near = |z: f64, vertex: &TruthVertex| (z - vertex.z_mm).abs() < within_mm;
        for vertex in result.vertices().iter() {
            let is_false = !truth.iter().any(|one| is_near(vertex.z_mm, one));
            self.significances.extend(vertex.significance.map(|significance| (significance, is_false)));
        }
        let is_right = |z: &f64| truth.iter().any(|vertex| vertex.is_hard_scatter && is_near(*z, vertex));
        if let Some(position) = z.iter().position(is_right) {
            self.positions.resize(self.positions.len().max(position + 1), 0);
            self.positions[position] += 1;
        }
    }
}

/// Figures of all found vertices; [definitions](super#definitions).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VertexFigures {
    /// Number of RoIs whose first correct vertex is the first, second, ... in the list.
    pub positions: Vec<u64>,
    /// Distances of pairs of vertices of one RoI: counts in bins of
    /// [`VertexFigures::distance_bin_mm`], from 0.
    pub distances: Vec<u64>,
    /// Width of these bins \[mm\].
    pub distance_bin_mm: f64,
    /// The fitted step in these distances; None below 20 pairs.
    pub resolution: Option<StepFit>,
    /// Calibration of the significance at several thresholds.
    pub calibration: Vec<Calibration>,
    /// Corners of the ROC curve of the significance: fractions of wrong and of correct first
    /// vertices above a threshold.
    pub roc_significance: Vec<[f64; 2]>,
    /// The same for the ratio of ranks.
    pub roc_rank_ratio: Vec<[f64; 2]>,
}

/// A step 1 / (1 + exp((distance_mm - d) / width_mm)) in the density of the distances d of pairs,
/// fitted by maximum likelihood between 0 and 10 mm. Beyond the step, the density of pairs of
/// independent vertices is constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFit {
    /// The middle of the step \[mm\]: the vertex-vertex resolution.
    pub distance_mm: f64,
    /// Half of the range in which the log-likelihood is within 1/2 of its maximum \[mm\].
    pub distance_error_mm: f64,
    /// The width \[mm\].
    pub width_mm: f64,
    /// Number of pairs in the fit.
    pub pairs: u64,
}

/// Vertices above a threshold of significance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The threshold.
    pub above: f64,
    /// Number of vertices above it.
    pub vertices: u64,
    /// Number of false vertices above it.
    pub false_vertices: u64,
    /// Expected number of false vertices: the probability of a background fluctuation above the
    /// threshold anywhere in an RoI, which is that of a normal distribution beyond `above`, times
    /// the number of RoIs.
    pub expected_false: f64,
}

impl VertexFigures {
    pub(super) fn new(counts: &VertexCounts, seen: &[RoiRecord]) -> Self {
        let calibration = |above: f64| {
            let vertices = counts.significances.iter().filter(|(significance, _)| *significance > above);
            Calibration {
                above,
                vertices: vertices.clone().count() as u64,
                false_vertices: vertices.filter(|(_, is_false)| *is_false).count() as u64,
                expected_false: beyond(above) * counts.rois as f64,
            }
        };
        let has_significance = !counts.significances.is_empty();
        Self {
            positions: counts.positions.clone(),
            distances: counts.distances.clone(),
            distance_bin_mm: MOST_DISTANCE_MM / DISTANCES as f64,
            resolution: StepFit::new(&counts.distances),
            calibration: ABOVE.into_iter().filter(|_| has_significance).map(calibration).collect(),
            roc_significance: roc_curve(seen.iter().filter_map(RoiRecord::significance).collect()),
            roc_rank_ratio: roc_curve(seen.iter().filter_map(RoiRecord::rank_ratio).collect()),
        }
    }
}

impl StepFit {
    fn new(distances: &[u64]) -> Option<Self> {
        let pairs: u64 = distances.iter().sum();
        if pairs < LEAST_PAIRS {
            return None;
        }
        let places = (0.5 * MOST_DISTANCE_MM / STEP_MM) as usize;
        // Profile likelihood: the best width at each position of the step.
        let mut profile = Vec::with_capacity(places);
        for place in 0..places {
            let middle = STEP_MM * place as f64;
            let widths = (0..WIDTHS).map(|number| LEAST_WIDTH_MM * WIDTH_RATIO.powi(number as i32));
            let likelihoods = widths.map(|width| (log_likelihood(distances, middle, width), width));
            profile.extend(
                likelihoods.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(likelihood, width)| (likelihood, middle, width)),
            );
        }
        let &(best, distance_mm, width_mm) = profile.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let within = profile.iter().filter(|(likelihood, ..)| *likelihood > best - 0.5).map(|(_, middle, _)| *middle);
        let (low, high) =
            within.fold((distance_mm, distance_mm), |(low, high), middle| (low.min(middle), high.max(middle)));
        Some(Self { distance_mm, distance_error_mm: (0.5 * (high - low)).max(STEP_MM), width_mm, pairs })
    }
}

/// Returns the log-likelihood of the counts for a step.
fn log_likelihood(distances: &[u64], middle: f64, width: f64) -> f64 {
    // The integral of the step up to x, up to a constant; without overflow.
    let integral = |x: f64| {
        let t = (x - middle) / width;
        width * (t.max(0.0) + (-t.abs()).exp().ln_1p())
    };
    let edge = |bin: usize| MOST_DISTANCE_MM * bin as f64 / distances.len() as f64;
    let whole = integral(MOST_DISTANCE_MM) - integral(0.0);
    let terms = distances.iter().enumerate().filter(|(_, count)| **count > 0);
    terms
        .map(|(bin, &count)| {
            let share = (integral(edge(bin + 1)) - integral(edge(bin))) / whole;
            count as f64 * share.max(1e-12).ln()
        })
        .sum()
}

/// Returns the probability of a normal distribution beyond this many standard deviations.
fn beyond(deviations: f64) -> f64 {
    0.5 * libm::erfc(deviations / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn a_step_is_found_where_it_is() {
        // None below 1.5 mm, a constant density above.
        let sharp: Vec<u64> = (0..DISTANCES).map(|bin| if bin < 30 { 0 } else { 20 }).collect();
        let fit = StepFit::new(&sharp).expect("pairs");
        assert_abs_diff_eq!(fit.distance_mm, 1.5, epsilon = 0.02);
        assert!(fit.distance_error_mm < 0.05 && fit.width_mm < 0.03, "{fit:?}");
        assert_eq!(fit.pairs, 170 * 20);
        let soft = |bin: usize| {
            let distance = (bin as f64 + 0.5) * MOST_DISTANCE_MM / DISTANCES as f64;
            (1000.0 / (1.0 + ((2.0 - distance) / 0.3).exp())).round() as u64
        };
        let fit = StepFit::new(&(0..DISTANCES).map(soft).collect::<Vec<_>>()).expect("pairs");
        assert_abs_diff_eq!(fit.distance_mm, 2.0, epsilon = 0.03);
        assert_abs_diff_eq!(fit.width_mm, 0.3, epsilon = 0.05);
        assert_eq!(StepFit::new(&[1; 19]), None);
    }

    #[test]
    fn probabilities_are_of_one_side() {
        for (deviations, probability) in [(0.0, 0.5), (1.0, 0.158_655_254), (3.0, 1.349_898e-3)] {
            assert_abs_diff_eq!(beyond(deviations), probability, epsilon = 1e-9);
        }
    }
}
