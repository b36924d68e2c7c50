//! Compares answers of an engine with those of the reference engine.

use std::time::{Duration, Instant};

use crate::failure::WRONG_ANSWER;
use rayon::prelude::*;
use zfinder::config::PairWeight;
use zfinder::{Config, Encoding, Engine, Results, RoiResult, Status, Vertex, ZFinder};
use zfinder_study::inspect::ZHistogram;

use super::report::CheckReport;
use super::sample::Sample;
use command_host::Failure;

/// Number of peaks of the reference engine that are compared if the first two are about equal.
pub const PEAKS: u32 = 8;

/// After this time the reference engine starts no further RoI: it is serial, and slow with 100,000
/// spacepoints.
const MOST_TIME: Duration = Duration::from_secs(10);

/// Tolerance of weights, in pairs: a pair on the edge of a bin or of a cut may fall on either side.
const PAIRS: f64 = 2.0;
/// With weighted pairs, the largest weight of such a pair, in units of the mean weight of a peak's
/// pairs.
const HEAVIEST: f64 = 2.0;

/// The largest weight of one pair ([`zfinder::config::PtWeight::weight`]). A cut decides between
/// this weight and almost none.
const HEAVIEST_OF_ALL: f64 = 1042.0;

/// Additional tolerance for triplets in the compact encoding, as a fraction of the weight: its
/// rounding moves some pairs across the edge of a bin or a cut.
pub const COMPACT_TRIPLETS: f64 = 0.01;

/// Tolerance of z \[mm\] for equal weights.
const Z_MM: f64 = 0.01;

/// Fraction of the RoIs, and smallest number, whose window of three bins may be shifted by one or
/// two bins.
const SHIFTED: f64 = 0.05;
const SHIFTED_ROIS: usize = 2;

/// Answers of the reference engine for the first RoIs of a sample.
pub struct Expected {
    results: Results,
    /// The width of the bins of each \[mm\].
    bins: Vec<f64>,
    /// [`COMPACT_TRIPLETS`] if it applies, else 0.
    share: f64,
}

/// The kind of agreement of two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    Same,
    /// Another of several peaks whose weights agree within the tolerance.
    Tie,
    /// The same peak with its window of three bins shifted by one or two bins. A pair in another
    /// bin can decide which of two overlapping windows is higher.
    Shifted,
}

impl Expected {
    pub fn new(sample: &Sample, config: &Config, encoding: Encoding, rois: usize) -> Result<Self, Failure> {
        let finder = ZFinder::builder(sample.detector().clone())
            .config(config.clone().with(|c| c.peaks = PEAKS))
            .engine(Engine::Reference)
            .build()?;
        let find = |index: usize| {
            let roi = sample.roi(index);
            let bin = config.z_bin_mm + config.z_bin_eta_coeff * roi.descriptor.eta.abs();
            finder.find(&roi).map(|result| (result, bin))
        };
        let (start, rois) = (Instant::now(), rois.min(sample.len()));
        let (mut results, mut bins) = (Results::new(), Vec::new());
        while results.len() < rois && (results.is_empty() || start.elapsed() < MOST_TIME) {
            // The engine is serial, so threads search different RoIs.
            let next = results.len()..rois.min(results.len() + rayon::current_num_threads());
            let found: zfinder::Result<Vec<_>> = next.into_par_iter().map(find).collect();
            for (result, bin) in found? {
                results.extend(&result);
                bins.push(bin);
            }
        }
        let coarse = encoding == Encoding::Compact && config.pair_weight != PairWeight::One;
        Ok(Self { results, bins, share: if coarse { COMPACT_TRIPLETS } else { 0.0 } })
    }

    pub fn len(&self) -> usize {
        self.results.len()
    }

    /// Compares answers for the first RoIs of the sample.
    pub fn check(&self, what: &str, found: &Results) -> Result<CheckReport, Failure> {
        let mut checked = CheckReport::default();
        for ((found, expected), bin) in found.iter().zip(&self.results).zip(&self.bins) {
            let compared = compare(found, expected, *bin, self.share);
            checked.rois += 1;
            match compared {
                Some((Agreement::Shifted, ..)) => checked.shifted += 1,
                Some((agreement, weight, z)) => {
                    checked.ties += usize::from(agreement == Agreement::Tie);
                    checked.max_weight_difference = checked.max_weight_difference.max(weight);
                    checked.max_z_difference_mm = checked.max_z_difference_mm.max(z);
                }
                None => {}
            }
            let most = SHIFTED_ROIS.max((SHIFTED * self.len() as f64) as usize);
            if compared.is_none() || checked.shifted > most {
                let id = expected.id();
                return Err(Failure::wrong_answer(format!(
                    "{what}: {} for event {}, RoI {}: {}; the reference engine: {}",
                    if compared.is_none() { "wrong answer" } else { "another answer in a bin next to the peak" },
                    id.event_id,
                    id.roi_id,
                    answer(found, 1),
                    answer(expected, 3)
                ))
                .with_help(WRONG_ANSWER));
            }
        }
        Ok(checked)
    }
}

/// Returns the agreement of the first vertices with the differences of weight and z; None if they
/// disagree.
pub fn compare(found: RoiResult<'_>, expected: RoiResult<'_>, bin: f64, share: f64) -> Option<(Agreement, f64, f64)> {
    if (found.id(), found.status()) != (expected.id(), expected.status()) {
        return None;
    }
    let (Some(vertex), Some(first)) = (found.vertices().first(), expected.vertices().first()) else {
        let neither = found.vertices().is_empty() && expected.vertices().is_empty();
        return neither.then_some((Agreement::Same, 0.0, 0.0));
    };
    // 1 unless pairs are weighted.
    let mean = first.weight / first.pairs.max(1) as f64;
    let heaviest = if mean > 1.0 { HEAVIEST * mean } else { 1.0 };
    let most = PAIRS * heaviest + share * first.weight;
    let equals = expected.vertices().iter().take_while(|other| first.weight - other.weight <= most);
    let mut shifted = None;
    for (rank, other) in equals.enumerate() {
        let (weight, z) = ((vertex.weight - other.weight).abs(), (vertex.z_mm - other.z_mm).abs());
        if weight > most {
            continue;
        }
        if z <= Z_MM + moved(weight, &vertex, bin) {
            return Some((if rank == 0 { Agreement::Same } else { Agreement::Tie }, weight, z));
        }
        if z <= 2.0 * bin {
            shifted = Some((Agreement::Shifted, weight, z));
        }
    }
    shifted
}

/// Returns the largest shift of the mean from entries of this weight that are in one window of
/// three bins and not in the other. Each moves the mean by at most half a window.
fn moved(weight: f64, vertex: &Vertex, bin: f64) -> f64 {
    weight * 1.5 * bin / vertex.weight.max(1.0)
}

/// Returns whether one pair on the other side of a cut explains the difference: the highest peak
/// has one pair more or less, or a vertex has a single pair and the other answer has no vertex. The
/// caller must know another reason why the pair changed sides.
pub fn is_a_pair_beside(found: RoiResult<'_>, expected: RoiResult<'_>, bin: f64) -> bool {
    match (found.vertices().first(), expected.vertices().first()) {
        (Some(vertex), Some(other)) => {
            let weight = (vertex.weight - other.weight).abs();
            vertex.pairs.abs_diff(other.pairs) <= 1
                && weight <= HEAVIEST_OF_ALL
                && (vertex.z_mm - other.z_mm).abs() <= Z_MM + moved(weight, &vertex, bin)
        }
        (Some(vertex), None) | (None, Some(vertex)) => vertex.pairs == 1 && vertex.weight <= HEAVIEST_OF_ALL,
        (None, None) => false,
    }
}

/// Returns whether three bins of the reference engine's histograms hold the weight of the first
/// vertex and have their mean there, and no bins hold more. For an answer without a vertex, no
/// three bins may hold enough for one. The comparison tolerates pairs that changed bins: in an RoI
/// with few pairs, one such pair can form a peak with others.
pub fn is_as_high(found: RoiResult<'_>, histograms: &[ZHistogram]) -> bool {
    // Weight and mean of every three bins.
    let windows = |histogram: &ZHistogram| -> Vec<(f64, f64)> {
        let bins = histogram.weights.windows(3).zip(histogram.z_sums_mm.windows(3));
        bins.map(|(weights, sums)| (weights.iter().sum::<u64>() as f64, sums.iter().sum::<f64>()))
            .filter(|&(weight, _)| weight > 0.0)
            .map(|(weight, sum)| (weight, sum / weight))
            .collect()
    };
    let all: u64 = histograms.iter().flat_map(|histogram| &histogram.weights).sum();
    let pairs: u64 = histograms.iter().flat_map(|histogram| &histogram.pairs).sum();
    let mean = all as f64 / pairs.max(1) as f64;
    let most = PAIRS * if mean > 1.0 { HEAVIEST * mean } else { 1.0 };
    let highest = histograms.iter().flat_map(windows).map(|(weight, _)| weight).fold(0.0, f64::max);
    let Some(vertex) = found.vertices().first() else {
        return found.status() == Status::NoPeak && highest <= most;
    };
    histograms.iter().any(|histogram| {
        windows(histogram).into_iter().any(|(weight, mean)| {
            let changed = (vertex.weight - weight).abs();
            // An additional entry moves the mean by at most a window.
            let moved = changed * 3.0 * histogram.bin_mm / vertex.weight.max(1.0);
            changed <= most && highest - weight <= most && (vertex.z_mm - mean).abs() <= Z_MM + moved
        })
    })
}

/// Formats an answer with this many vertices.
pub fn answer(result: RoiResult<'_>, vertices: usize) -> String {
    let vertex = |vertex: Vertex| format!("z {:.4} mm of weight {}", vertex.z_mm, vertex.weight);
    let vertices: Vec<String> = result.vertices().iter().take(vertices).map(vertex).collect();
    let vertices = if vertices.is_empty() { "no vertex".to_owned() } else { vertices.join(", then ") };
    format!("{}, {vertices}", result.status())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zfinder::RoiId;
    use zfinder::results::RoiSummary;

    fn result(status: Status, vertices: &[(f64, f64)]) -> Results {
        of_vertices(status, vertices.iter().map(|&(z_mm, weight)| (z_mm, weight, weight as u64)))
    }

    /// Vertices are z, weight and pairs.
    fn of_vertices(status: Status, vertices: impl IntoIterator<Item = (f64, f64, u64)>) -> Results {
        let vertex = |(z_mm, weight, pairs)| {
            let mut vertex = Vertex::at(z_mm);
            (vertex.weight, vertex.pairs) = (weight, pairs);
            vertex
        };
        let mut results = Results::new();
        results.push(RoiSummary::new(RoiId::default(), status), vertices.into_iter().map(vertex));
        results
    }

    fn one(z: f64, weight: f64) -> Results {
        result(Status::Ok, &[(z, weight)])
    }

    const BIN: f64 = 0.25;

    #[test]
    fn near_answers_agree_and_others_do_not() {
        let expected = result(Status::Ok, &[(1.0, 50.0), (80.0, 30.0)]);
        let agree = |found: &Results| compare(found.roi(0), expected.roi(0), BIN, 0.0);
        assert_eq!(agree(&one(1.0078125, 50.0)), Some((Agreement::Same, 0.0, 0.0078125)));
        assert_eq!(agree(&one(1.015625, 49.0)), Some((Agreement::Same, 1.0, 0.015625)), "one pair less");
        assert_eq!(agree(&one(1.015625, 50.0)), Some((Agreement::Shifted, 0.0, 0.015625)));
        assert_eq!(agree(&one(1.625, 50.0)), None);
        assert_eq!(agree(&one(1.0, 47.0)), None);
        assert_eq!(compare(one(1.0, 47.5).roi(0), expected.roi(0), BIN, 0.01), Some((Agreement::Same, 2.5, 0.0)));
        assert_eq!(agree(&one(80.0, 30.0)), None);
        assert_eq!(agree(&result(Status::NoPeak, &[])), None);
        let nothing = result(Status::NoPeak, &[]);
        assert_eq!(compare(nothing.roi(0), nothing.roi(0), BIN, 0.0), Some((Agreement::Same, 0.0, 0.0)));
    }

    #[test]
    fn a_weighted_pair_moves_its_weight() {
        let expected = one(1.0, 50.0);
        assert_eq!(compare(one(1.0, 45.0).roi(0), expected.roi(0), BIN, 0.0), None);
        let expected = of_vertices(Status::Ok, [(1.0, 50.0, 25)]);
        assert_eq!(compare(one(1.0, 45.0).roi(0), expected.roi(0), BIN, 0.0), Some((Agreement::Same, 5.0, 0.0)));
        assert_eq!(compare(one(1.0, 41.0).roi(0), expected.roi(0), BIN, 0.0), None);
    }

    #[test]
    fn one_pair_is_one() {
        let nothing = result(Status::NoPeak, &[]);
        let pairs = |z, weight, pairs| of_vertices(Status::Ok, [(z, weight, pairs)]);
        let expected = pairs(1.0, 466.0, 5);
        let beside = |found: &Results| is_a_pair_beside(found.roi(0), expected.roi(0), BIN);
        assert!(beside(&pairs(1.05, 700.0, 6)) && beside(&pairs(1.05, 700.0, 5)));
        assert!(!beside(&pairs(1.05, 700.0, 7)), "two pairs");
        assert!(!beside(&pairs(1.0, 1600.0, 6)), "no pair is so heavy");
        assert!(!beside(&pairs(1.5, 700.0, 6)), "elsewhere");
        assert!(!beside(&nothing));
        assert!(
            is_a_pair_beside(pairs(5.0, 1.0, 1).roi(0), nothing.roi(0), BIN)
                && is_a_pair_beside(nothing.roi(0), pairs(5.0, 1.0, 1).roi(0), BIN)
        );
        assert!(!is_a_pair_beside(pairs(5.0, 2.0, 2).roi(0), nothing.roi(0), BIN));
    }

    #[test]
    fn of_equal_peaks_either_will_do() {
        let expected = result(Status::Ok, &[(1.0, 50.0), (80.0, 49.0), (-7.0, 47.0)]);
        assert_eq!(compare(one(80.0, 50.0).roi(0), expected.roi(0), BIN, 0.0), Some((Agreement::Tie, 1.0, 0.0)));
        assert_eq!(compare(one(-7.0, 47.0).roi(0), expected.roi(0), BIN, 0.0), None);
    }

    #[test]
    fn a_pair_that_changed_its_bin_may_make_a_peak() {
        let mut weights = vec![0; 100];
        let histogram = |weights: &[u64]| {
            let mut histogram = ZHistogram {
                low_mm: -10.0,
                bin_mm: 0.2,
                weights: weights.to_vec(),
                z_sums_mm: Vec::new(),
                pairs: weights.to_vec(),
            };
            histogram.z_sums_mm = (0..100).map(|bin| weights[bin] as f64 * histogram.centre_mm(bin)).collect();
            [histogram]
        };
        (weights[10], weights[13], weights[60], weights[61]) = (1, 1, 1, 1);
        let few = histogram(&weights);
        // Two pairs three bins apart. Each has the weight of a window with the other.
        assert!(is_as_high(one(-7.6, 2.0).roi(0), &few));
        assert!(is_as_high(one(2.2, 2.0).roi(0), &few));
        assert!(!is_as_high(one(5.0, 3.0).roi(0), &few), "nothing is there");
        assert!(is_as_high(result(Status::NoPeak, &[]).roi(0), &few));
        assert!(!is_as_high(result(Status::Empty, &[]).roi(0), &few));
        weights[60] = 30;
        let many = histogram(&weights);
        assert!(is_as_high(one(2.1, 31.0).roi(0), &many) && is_as_high(one(2.1, 29.0).roi(0), &many));
        assert!(!is_as_high(one(2.1, 27.0).roi(0), &many), "too light");
        assert!(!is_as_high(one(-7.6, 2.0).roi(0), &many), "another is higher");
        assert!(!is_as_high(one(3.1, 31.0).roi(0), &many), "elsewhere");
        assert!(!is_as_high(result(Status::NoPeak, &[]).roi(0), &many));
    }

    #[test]
    fn a_wrong_answer_says_which_and_both() {
        let results = result(Status::Ok, &[(1.0, 50.0), (80.0, 30.0)]);
        let expected = Expected { results, bins: vec![BIN], share: 0.0 };
        let error = expected.check("pairs, cpu", &one(2.0, 50.0)).expect_err("wrong").to_string();
        for part in ["pairs, cpu", "event 0, RoI 0", "z 2.0000 mm", "z 1.0000 mm of weight 50, then z 80.0000 mm"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn few_peaks_may_be_a_bin_beside() {
        let beside = |rois| {
            let repeated = |results: Results| std::iter::repeat_n(results.roi(0), rois).collect::<Results>();
            let expected = Expected { results: repeated(one(1.0, 50.0)), bins: vec![BIN; rois], share: 0.0 };
            expected.check("", &repeated(one(1.25, 50.0))).map(|checked| checked.shifted)
        };
        assert_eq!(beside(2).ok(), Some(2));
        assert!(beside(3).is_err());
    }
}
