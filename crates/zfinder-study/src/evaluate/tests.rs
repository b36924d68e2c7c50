use approx::assert_abs_diff_eq;

use super::*;
use zfinder::results::RoiSummary;
use zfinder::{Results, RoiId, Vertex};

/// Returns an answer with vertices (z, error).
fn answer(vertices: &[(f64, f64)], spacepoints: u64) -> Results {
    let vertex = |&(z_mm, z_error_mm): &(f64, f64)| {
        let mut vertex = Vertex::at(z_mm);
        vertex.z_error_mm = z_error_mm;
        vertex
    };
    results(vertices.iter().map(vertex), spacepoints)
}

fn results(vertices: impl ExactSizeIterator<Item = Vertex>, spacepoints: u64) -> Results {
    let status = if vertices.len() == 0 { Status::NoPeak } else { Status::Ok };
    let mut summary = RoiSummary::new(RoiId { event_id: 0, roi_id: 0 }, status);
    (summary.spacepoints, summary.outside_window) = (spacepoints, 3);
    let mut results = Results::new();
    results.push(summary, vertices);
    results
}

/// Returns true vertices, the primary first.
fn truth(z: &[f64]) -> Vec<TruthVertex> {
    let vertex =
        |(number, &z_mm): (usize, &f64)| TruthVertex { z_mm, is_hard_scatter: number == 0, ..TruthVertex::default() };
    z.iter().enumerate().map(vertex).rev().collect()
}

fn six() -> Evaluation {
    let mut evaluation = Evaluation::new(Options::default());
    // Correct, with a pile-up vertex and a false one.
    evaluation.add(answer(&[(10.2, 0.1), (30.4, 0.1), (50.0, 0.1)], 100).roi(0), &truth(&[10.0, 30.0, 31.5]));
    // Pile-up first; close.
    evaluation.add(answer(&[(5.1, 0.1), (-0.4, 0.2)], 200).roi(0), &truth(&[0.0, 5.0]));
    // Split.
    evaluation.add(answer(&[(-20.3, 0.1), (-19.5, 0.1)], 300).roi(0), &truth(&[-20.0]));
    // Nothing found; close, because the other vertex is not more than 10 mm away.
    evaluation.add(answer(&[], 5).roi(0), &truth(&[7.0, 17.0]));
    // False, because the distance is not below 1 mm.
    evaluation.add(answer(&[(2.0, 0.1)], 400).roi(0), &truth(&[1.0, 40.0]));
    // Correct, with an error of 0.
    evaluation.add(answer(&[(1.5, 0.0)], 500).roi(0), &truth(&[1.0]));
    evaluation
}

fn counts(fraction: Fraction) -> (u64, u64) {
    (fraction.passed, fraction.of)
}

#[test]
fn figures_are_those_of_the_definitions() {
    let mut evaluation = six();
    let of_pile_up = [TruthVertex::default()];
    for without_primary in [&[][..], &of_pile_up] {
        evaluation.add(answer(&[(0.0, 0.1)], 1).roi(0), without_primary);
    }
    let summary = evaluation.summary(None);
    assert_eq!((evaluation.rois(), summary.without_truth), (6, 2));
    assert_eq!(summary.statuses, BTreeMap::from([("ok", 5), ("no_peak", 1)]));
    let figures = summary.figures;
    assert_eq!((figures.rois, figures.vertices), (6, 9));
    assert_eq!([figures.first, figures.any, figures.split].map(counts), [(3, 6), (4, 6), (1, 6)]);
    assert_eq!([figures.false_rois, figures.false_vertices].map(counts), [(2, 6), (2, 9)]);
    assert_eq!(counts(figures.pile_up_vertices), (2, 9));
    let isolated = figures.isolated;
    assert_eq!([isolated.first, isolated.any, isolated.split].map(counts), [(3, 4), (3, 4), (1, 4)]);
    let close = figures.close;
    assert_eq!([close.first, close.any, close.split].map(counts), [(0, 2), (1, 2), (0, 2)]);

    let residual = figures.residual_mm;
    let some = |value: Option<f64>| value.expect("a value");
    assert_eq!(residual.number, 3);
    assert_abs_diff_eq!(some(residual.mean), 0.4 / 3.0, epsilon = 1e-12);
    assert_abs_diff_eq!(some(residual.rms), (0.38_f64 / 3.0).sqrt(), epsilon = 1e-12);
    assert_abs_diff_eq!(some(residual.width_68), 0.5, epsilon = 1e-12);
    let pull = figures.pull;
    assert_eq!(pull.number, 2, "none without an error");
    assert_abs_diff_eq!(some(pull.mean), -0.5, epsilon = 1e-9);
    assert_abs_diff_eq!(some(pull.std), 2.5, epsilon = 1e-9);
    assert_abs_diff_eq!(some(pull.rms), 6.5_f64.sqrt(), epsilon = 1e-9);
    assert_abs_diff_eq!(some(pull.width_68), 3.0, epsilon = 1e-9);
}

/// Returns an answer with vertices (z, rank, significance).
fn ranked(vertices: &[(f64, f64, f64)]) -> Results {
    let vertex = |&(z_mm, rank, significance): &(f64, f64, f64)| {
        let mut vertex = Vertex::at(z_mm);
        (vertex.z_error_mm, vertex.rank, vertex.significance) = (0.1, rank, Some(significance));
        vertex
    };
    results(vertices.iter().map(vertex), 1)
}

/// Four RoIs with vertices 0 to 3 mm apart. First vertices are correct at significance 5 and 3, and
/// wrong at 4 and 2.
fn four() -> Evaluation {
    let mut evaluation = Evaluation::new(Options::default());
    evaluation.add(ranked(&[(10.2, 8.0, 5.0), (10.4, 2.0, 1.5)]).roi(0), &truth(&[10.0, 30.0]));
    evaluation.add(ranked(&[(5.1, 6.0, 4.0), (-0.4, 5.0, 2.5), (60.0, 1.0, 0.5)]).roi(0), &truth(&[0.0, 5.0]));
    evaluation.add(ranked(&[(-20.3, 7.0, 3.0)]).roi(0), &truth(&[-20.0, -17.5, 80.0]));
    evaluation.add(ranked(&[(50.0, 3.0, 2.0)]).roi(0), &truth(&[0.0]));
    evaluation
}

#[test]
fn every_true_vertex_counts_in_precision_and_recall() {
    let figures = four().figures();
    // Matched: one of 10.2 and 10.4 with 10.0; 5.1 and -0.4; -20.3; neither 50 nor 60.
    assert_eq!([figures.precision, figures.recall].map(counts), [(4, 7), (4, 8)]);
    assert_abs_diff_eq!(figures.f1.expect("vertices"), 8.0 / 15.0, epsilon = 1e-12);
    assert_eq!(figures.false_per_roi, Some(0.5));
    // Correct at positions 1, 2 and 1.
    assert_abs_diff_eq!(figures.position.expect("right ones"), 4.0 / 3.0, epsilon = 1e-12);
}

#[test]
fn roc_areas_count_pairs_of_right_and_wrong() {
    let evaluation = four();
    let figures = evaluation.figures();
    // Correct 5 and 3, wrong 4 and 2: three of four pairs.
    assert_eq!(figures.roc_significance, Some(0.75));
    // Correct 4 and infinite, wrong 1.2 and infinite: 4 above 1.2, infinite above 1.2, a tie, and 4
    // below infinite.
    assert_eq!(figures.roc_rank_ratio, Some(2.5 / 4.0));
    let curve = evaluation.summary(None).vertices.roc_significance;
    assert_eq!(curve, [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 1.0], [1.0, 1.0]]);
    let mut all_right = Evaluation::new(Options::default());
    all_right.add(ranked(&[(0.0, 1.0, 1.0)]).roi(0), &truth(&[0.0]));
    assert_eq!(
        (all_right.figures().roc_significance, all_right.summary(None).vertices.roc_significance),
        (None, vec![])
    );
}

#[test]
fn long_roc_curves_are_thinned() {
    let mut evaluation = Evaluation::new(Options::default());
    for number in 0..2_000 {
        let z = if number % 2 == 0 { 0.0 } else { 50.0 };
        evaluation.add(ranked(&[(z, 1.0, f64::from(number))]).roi(0), &truth(&[0.0]));
    }
    let curve = evaluation.summary(None).vertices.roc_significance;
    assert_eq!((curve.len(), curve[0], curve[500]), (501, [0.0, 0.0], [1.0, 1.0]));
    assert_eq!(curve[250], [0.5, 0.5]);
}

#[test]
fn vertices_are_counted_by_position_distance_and_significance() {
    let vertices = four().summary(None).vertices;
    assert_eq!(vertices.positions, [2, 1]);
    // 0.2 and 5.5 mm; 60.4 and 54.9 are beyond 10.
    let distances: Vec<usize> = (0..vertices.distances.len()).filter(|&bin| vertices.distances[bin] > 0).collect();
    assert_eq!((distances, vertices.distance_bin_mm), (vec![4, 110], 0.05));
    assert_eq!(vertices.resolution, None, "two pairs");
    let above = |above: f64| vertices.calibration.iter().find(|one| one.above == above).copied().expect("a threshold");
    let one = above(1.0);
    assert_eq!((one.vertices, one.false_vertices), (6, 1));
    assert_abs_diff_eq!(one.expected_false, 4.0 * 0.158_655_254, epsilon = 1e-8);
    assert_eq!((above(2.0).vertices, above(2.0).false_vertices, above(5.0).vertices), (4, 0, 0));
}

#[test]
fn figures_are_shown_against_what_truth_knows_of_the_primary() {
    let mut evaluation = Evaluation::new(Options::default());
    for number in 0..20u32 {
        let primary = TruthVertex {
            z_mm: 0.0,
            is_hard_scatter: true,
            tracks: Some(u64::from(number)),
            sum_pt2_gev2: Some(f64::from(number).powi(2)),
            leading_pt_gev: (number < 10).then_some(0.5 * f64::from(number)),
        };
        let other = TruthVertex { z_mm: 0.1 * f64::from(number), ..TruthVertex::default() };
        evaluation.add(answer(&[(0.2, 0.1)], 1).roi(0), &[other, primary]);
    }
    let ends = |by| evaluation.binning(by, Some(2)).bins.iter().map(|bin| (bin.low, bin.high)).collect::<Vec<_>>();
    assert_eq!(ends(By::Tracks), [(0, 9), (10, 19)]);
    assert_eq!(ends(By::SumPt), [(0, 9_999), (10_000, 19_000)]);
    assert_eq!(ends(By::Distance), [(0, 999), (1_000, 1_900)]);
    assert_eq!(ends(By::LeadingPt), [(0, 2_499), (2_500, 4_500)]);
    // An RoI without this quantity is in no bin.
    let binning = evaluation.binning(By::LeadingPt, Some(2));
    let rois: Vec<u64> = evaluation.summary(Some(&binning)).bins.iter().map(|bin| bin.figures.rois).collect();
    assert_eq!(rois, [5, 5]);
}

#[test]
fn lengths_are_options() {
    let mut evaluation = Evaluation::new(Options { within_mm: 0.25, isolation_mm: 3.0, ..Options::default() });
    evaluation.add(answer(&[(0.2, 0.1)], 1).roi(0), &truth(&[0.0, 5.0]));
    evaluation.add(answer(&[(0.3, 0.1)], 1).roi(0), &truth(&[0.0, 2.0]));
    let figures = evaluation.figures();
    assert_eq!([figures.first, figures.isolated.first, figures.close.first].map(counts), [(1, 2), (1, 1), (0, 1)]);
}

#[test]
fn where_truth_has_no_pile_up_its_vertices_are_false_and_all_primaries_isolated() {
    let mut evaluation = Evaluation::new(Options::default());
    evaluation.add(answer(&[(0.2, 0.1), (5.0, 0.1)], 1).roi(0), &truth(&[0.0]));
    let figures = evaluation.figures();
    assert_eq!([figures.false_vertices, figures.pile_up_vertices].map(counts), [(1, 2), (0, 2)]);
    assert_eq!([figures.isolated.first, figures.close.first].map(counts), [(1, 1), (0, 0)]);
    assert_eq!(figures.close.first.value, None);
}

#[test]
fn nothing_gives_no_figure() {
    let evaluation = Evaluation::new(Options::default());
    assert!(evaluation.figures().named().iter().all(|figure| figure.value.is_none() && figure.interval.is_none()));
    assert_eq!(evaluation.binning(By::PileUp, Some(3)).bins, []);
}

#[test]
fn intervals_are_wilsons() {
    for (passed, of) in [(0, 4), (1, 1), (8, 10), (3, 1000), (1000, 1000)] {
        let Fraction { value: Some(p), low: Some(low), high: Some(high), .. } = Fraction::new(passed, of) else {
            panic!("{passed} of {of}");
        };
        assert!(0.0 <= low && low <= p && p <= high && high <= 1.0, "{passed} of {of}: {low} {high}");
        // By definition, p is one standard deviation of the probability away from either end.
        for end in [low, high] {
            assert_abs_diff_eq!((p - end).powi(2), end * (1.0 - end) / of as f64, epsilon = 1e-12);
        }
    }
    assert_eq!((Fraction::new(0, 4).low, Fraction::new(4, 4).high), (Some(0.0), Some(1.0)));
}

#[test]
fn widths_hold_68_percent() {
    let spread = Spread::new((1..=100).map(|x| f64::from(x) * if x % 2 == 0 { 1.0 } else { -1.0 }).collect());
    assert_eq!((spread.number, spread.width_68), (100, Some(69.0)));
    let ones = Spread::new([1.0, -1.0].repeat(50));
    assert_eq!((ones.mean, ones.std, ones.rms, ones.width_68), (Some(0.0), Some(1.0), Some(1.0), Some(1.0)));
    let tail = Spread::new([vec![0.1; 90], vec![9.0; 10]].concat());
    assert_eq!(tail.width_68, Some(0.1));
}

#[test]
fn bins_hold_as_many_rois_each() {
    let evaluation = six();
    let bin = |low, high| Bin { low, high };
    let bins = |by, most| evaluation.binning(by, most).bins;
    assert_eq!(bins(By::PileUp, None), [bin(1, 3)], "few RoIs, one bin");
    // 1, 1, 2, 2, 2, 3 true vertices: equal numbers stay together.
    assert_eq!(bins(By::PileUp, Some(2)), [bin(1, 1), bin(2, 3)]);
    assert_eq!(bins(By::PileUp, Some(99)), [bin(1, 1), bin(2, 2), bin(3, 3)]);
    assert_eq!(bins(By::Spacepoints, Some(3)), [bin(5, 199), bin(200, 399), bin(400, 500)]);
    let binning = evaluation.binning(By::Spacepoints, Some(3));
    let first = |evaluation: &Evaluation| {
        let bins = evaluation.summary(Some(&binning)).bins;
        bins.iter().map(|bin| counts(bin.figures.first)).collect::<Vec<_>>()
    };
    assert_eq!(first(&evaluation), [(1, 2), (1, 2), (1, 2)]);
    // Values beyond all bins are in the nearest bin.
    let mut other = Evaluation::new(Options::default());
    other.add(answer(&[(0.0, 0.1)], 1).roi(0), &truth(&[0.0]));
    other.add(answer(&[(0.0, 0.1)], 9999).roi(0), &truth(&[0.0]));
    assert_eq!(first(&other), [(1, 1), (0, 0), (1, 1)]);

    let mut many = Evaluation::new(Options::default());
    (0..100).for_each(|number| many.add(answer(&[], number).roi(0), &truth(&[0.0])));
    let fives: Vec<Bin> = (0..5).map(|number| bin(20 * number, 20 * number + 19)).collect();
    assert_eq!(many.binning(By::Spacepoints, None).bins, fives);
}
