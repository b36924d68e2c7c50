//! Says in words why the first vertex of an RoI is not the true hard scatter.

use zfinder::RoiResult;
use zfinder_io::{TruthVertex, primary_z};

use crate::evaluate::WITHIN_MM;
use crate::inspect::{Inspection, ZHistogram};

/// Returns why the first vertex of `result` is further than [`WITHIN_MM`] from the true hard
/// scatter. None if it is nearer, or if the hard scatter is unknown.
///
/// The reasons are the range of z, the status, the position of the right vertex, the pairs that
/// point at both, and the rank of the hard scatter in the sum of pT^2. `inspection` is of the same
/// RoI and configuration.
pub fn reason(inspection: &Inspection, result: RoiResult<'_>, truth: &[TruthVertex]) -> Option<String> {
    let true_z_mm = primary_z(truth)?;
    let is_near = |z_mm: f64| (z_mm - true_z_mm).abs() < WITHIN_MM;
    let found = result.vertices().z_mm();
    let first = found.first().copied();
    if first.is_some_and(is_near) {
        return None;
    }
    let histogram = inspection.histogram();
    if histogram.pairs.is_empty() {
        return Some(format!("not searched: status {}", result.status()));
    }
    if true_z_mm < histogram.low_mm || true_z_mm > histogram.high_mm() {
        let (low, high) = (histogram.low_mm, histogram.high_mm());
        return Some(format!("true z is outside the searched range, {low:.1} to {high:.1} mm"));
    }
    let mut parts = Vec::new();
    if let Some(position) = found.iter().position(|&z_mm| is_near(z_mm)) {
        parts.push(format!("found at position {}", position + 1));
    }
    let pairs = most_pairs(&histogram, true_z_mm);
    match first {
        _ if pairs == 0 => parts.push(format!("no pair points within {WITHIN_MM} mm of it")),
        Some(first) => {
            parts.push(format!("{pairs} pairs point at it, {} at the first vertex", most_pairs(&histogram, first)));
        }
        None => parts.push(format!("at most {pairs} pairs point at it")),
    }
    let is_pile_up = |vertex: &TruthVertex| first.is_some_and(|first| (vertex.z_mm - first).abs() < WITHIN_MM);
    if truth.iter().any(|vertex| !vertex.is_hard_scatter && is_pile_up(vertex)) {
        parts.push("the first vertex is pile-up".into());
    }
    let hardness = |vertex: &TruthVertex| vertex.sum_pt2_gev2;
    if let Some(own) = truth.iter().find(|vertex| vertex.is_hard_scatter).and_then(hardness) {
        let harder = truth.iter().filter_map(hardness).filter(|&other| other > own).count();
        if harder > 0 {
            parts.push(format!("soft: rank {} of {} in the sum of pT^2", harder + 1, truth.len()));
        }
    }
    Some(parts.join("; "))
}

/// Returns the largest sum of pairs in three bins whose middle is near z, as the search for peaks
/// adds them.
fn most_pairs(histogram: &ZHistogram, z_mm: f64) -> u64 {
    let sums = histogram.pairs.windows(3).enumerate();
    let near = sums.filter(|(first, _)| (histogram.centre_mm(first + 1) - z_mm).abs() < WITHIN_MM);
    near.map(|(_, pairs)| pairs.iter().sum()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use zfinder::results::RoiSummary;
    use zfinder::{Results, RoiId, Status, Vertex};

    use super::*;

    /// Returns an inspection whose histogram has 10 bins of 1 mm about 0, with these pairs.
    fn inspection(pairs: [u64; 10]) -> Inspection {
        let (z_sums_mm, weights) = (vec![0.0; 10], pairs.to_vec());
        let histogram = ZHistogram { low_mm: -5.0, bin_mm: 1.0, weights, z_sums_mm, pairs: pairs.to_vec() };
        Inspection { histograms: vec![histogram], ..Inspection::default() }
    }

    fn reason_of(inspection: &Inspection, found: &[f64], truth: &[(f64, Option<f64>)]) -> Option<String> {
        let mut results = Results::new();
        let status = if found.is_empty() { Status::NoPeak } else { Status::Ok };
        results.push(RoiSummary::new(RoiId::default(), status), found.iter().map(|&z| Vertex::at(z)));
        let vertex = |(number, &(z_mm, sum_pt2_gev2))| TruthVertex {
            z_mm,
            is_hard_scatter: number == 0,
            sum_pt2_gev2,
            ..TruthVertex::default()
        };
        let truth: Vec<TruthVertex> = truth.iter().enumerate().map(vertex).collect();
        reason(inspection, results.roi(0), &truth)
    }

    #[test]
    fn wrong_vertices_have_a_reason() {
        let two_peaks = inspection([0, 0, 5, 0, 0, 0, 0, 9, 0, 0]);
        assert_eq!(reason_of(&two_peaks, &[-2.6], &[(-2.5, None)]), None);
        assert_eq!(reason_of(&two_peaks, &[2.5], &[]), None);
        let text = |found: &[f64], truth: &[(f64, Option<f64>)]| reason_of(&two_peaks, found, truth).expect("a reason");
        assert_eq!(text(&[2.5], &[(7.0, None)]), "true z is outside the searched range, -5.0 to 5.0 mm");
        assert_eq!(
            text(&[2.5, -2.5], &[(-2.5, Some(3.0)), (2.5, Some(4.0))]),
            "found at position 2; 5 pairs point at it, 9 at the first vertex; the first vertex is pile-up; soft: rank 2 of \
             2 in the sum of pT^2"
        );
        assert_eq!(text(&[2.5], &[(-4.5, None)]), "no pair points within 1 mm of it");
        assert_eq!(text(&[], &[(-2.5, None)]), "at most 5 pairs point at it");
        let bad = Inspection::default();
        assert_eq!(reason_of(&bad, &[], &[(0.0, None)]).expect("a reason"), "not searched: status no_peak");
    }
}
