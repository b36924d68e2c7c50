//! Fractions with intervals, spreads of numbers, and areas under ROC curves.

use serde::{Deserialize, Serialize};

/// The fraction of a normal distribution within one standard deviation of its mean.
const ONE_SIGMA: f64 = 0.682_689_492_137_085_9;

/// A fraction of n tries, with its Wilson score interval of one standard deviation (68.3 %; E. B.
/// Wilson, J. Am. Stat. Assoc. 22 (1927) 209). With p = passed / n the interval is
///
/// ```text
/// (p + 1/2n -+ sqrt(p (1 - p) / n + 1/4n^2)) / (1 + 1/n)
/// ```
///
/// so that fractions of 0 and 1 have an error too. Vertices of one RoI count as independent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fraction {
    /// Number of successes.
    pub passed: u64,
    /// Number of tries.
    pub of: u64,
    /// The fraction; None without tries.
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

impl Fraction {
    pub(super) fn new(passed: u64, of: u64) -> Self {
        if of == 0 {
            return Self::default();
        }
        let (n, p) = (of as f64, passed as f64 / of as f64);
        let (middle, half) = (p + 0.5 / n, (p * (1.0 - p) / n + 0.25 / (n * n)).sqrt());
        let end = |end: f64| end / (1.0 + 1.0 / n);
        // At 0 and 1 one end equals p, apart from rounding.
        let (low, high) = (end(middle - half).clamp(0.0, p), end(middle + half).clamp(p, 1.0));
        Self { passed, of, value: Some(p), low: Some(low), high: Some(high) }
    }

    pub(super) fn count<T>(all: impl IntoIterator<Item = T>, is_so: impl Fn(T) -> bool) -> Self {
        let (passed, of) = all.into_iter().fold((0, 0), |(passed, of), one| (passed + u64::from(is_so(one)), of + 1));
        Self::new(passed, of)
    }
}

/// The spread of a set of numbers. Its members are None for an empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of values.
    pub number: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Root mean square, about 0 and not about the mean.
    pub rms: Option<f64>,
    /// Standard deviation about the mean: the root of the mean of (x - mean)^2.
    pub std: Option<f64>,
    /// The smallest h such that at least 68.3 % of the values have \|x\| <= h: equal to rms for a
    /// normal distribution about 0, but insensitive to tails.
    pub width_68: Option<f64>,
}

impl Spread {
    pub(super) fn new(mut numbers: Vec<f64>) -> Self {
        if numbers.is_empty() {
            return Self::default();
        }
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let square = |about: f64| (numbers.iter().map(|x| (x - about).powi(2)).sum::<f64>() / n).sqrt();
        let (rms, std) = (square(0.0), square(mean));
        numbers.iter_mut().for_each(|x| *x = x.abs());
        numbers.sort_by(f64::total_cmp);
        let width_68 = numbers[((ONE_SIGMA * n).ceil() as usize).clamp(1, numbers.len()) - 1];
        Self {
            number: numbers.len() as u64,
            mean: Some(mean),
            rms: Some(rms),
            std: Some(std),
            width_68: Some(width_68),
        }
    }
}

/// Returns the area under the ROC curve: the probability that a correct answer has a higher score
/// than a wrong one, with half of the ties. None without a correct or a wrong answer.
pub(super) fn roc_area(mut scores: Vec<(f64, bool)>) -> Option<f64> {
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    let right = scores.iter().filter(|(_, is_right)| *is_right).count() as f64;
    let wrong = scores.len() as f64 - right;
    let (mut below, mut area) = (0.0, 0.0);
    for tied in scores.chunk_by(|a, b| a.0 == b.0) {
        let right_here = tied.iter().filter(|(_, is_right)| *is_right).count() as f64;
        let wrong_here = tied.len() as f64 - right_here;
        area += right_here * (below + 0.5 * wrong_here);
        below += wrong_here;
    }
    (right > 0.0 && wrong > 0.0).then(|| area / (right * wrong))
}

/// Most corners of a ROC curve, in addition to its ends.
const MOST_CORNERS: usize = 500;

/// Returns the corners of the ROC curve from the highest score down: (fraction of wrong answers,
/// fraction of correct answers) with at least that score. More than [`MOST_CORNERS`] corners are
/// thinned. Empty without a correct or a wrong answer.
pub(super) fn roc_curve(mut scores: Vec<(f64, bool)>) -> Vec<[f64; 2]> {
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all_right = scores.iter().filter(|(_, is_right)| *is_right).count();
    let all_wrong = scores.len() - all_right;
    if all_right == 0 || all_wrong == 0 {
        return Vec::new();
    }
    let (mut right, mut wrong, mut curve) = (0, 0, vec![[0.0, 0.0]]);
    let apart = scores.len().div_ceil(MOST_CORNERS);
    for tied in scores.chunk_by(|a, b| a.0 == b.0) {
        let right_here = tied.iter().filter(|(_, is_right)| *is_right).count();
        right += right_here;
        wrong += tied.len() - right_here;
        let so_far = right + wrong;
        if so_far == scores.len() || so_far / apart > (so_far - tied.len()) / apart {
            curve.push([wrong as f64 / all_wrong as f64, right as f64 / all_right as f64]);
        }
    }
    curve
}
