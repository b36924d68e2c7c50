//! Figures of the list of all vertices: which true vertices it has, by their number of tracks, and
//! which of its vertices are clean, merged, split and false.

use serde::{Deserialize, Serialize};

use super::statistics::Fraction;
use zfinder_io::TruthVertex;

/// Least numbers of tracks of a true vertex.
pub(super) const TRACKS: [u64; 4] = [1, 3, 5, 10];
/// The place of 3 among them.
const THREE: usize = 1;
/// A true vertex has a neighbour if another one lies this close \[mm\].
const NEIGHBOUR_MM: f64 = 0.5;
/// The efficiency of vertex finders in reconstruction is often given for vertices with two tracks
/// that have a found vertex this near \[mm\].
const PV_FINDER_TRACKS: u64 = 2;
const PV_FINDER_MM: f64 = 0.17;

/// Counts of an RoI.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListCounts {
    /// True vertices with at least so many tracks, and those that are matched.
    of: [u32; TRACKS.len()],
    matched: [u32; TRACKS.len()],
    /// Of those with three tracks, matched by the mirrored list.
    by_chance: u32,
    /// True vertices with three tracks that have another one with a track near them, and those of
    /// them that are matched.
    with_neighbour: u32,
    matched_with_neighbour: u32,
    /// True vertices with two tracks, and those with a found vertex near them.
    of_two: u32,
    near_two: u32,
    found: u32,
    clean: u32,
    merged: u32,
    split: u32,
}

impl ListCounts {
    /// Counts for the found z of an RoI. Nothing is counted where truth has no numbers of tracks.
    pub(super) fn new(found: &[f64], truth: &[TruthVertex], match_mm: f64) -> Self {
        let tracks = |vertex: &TruthVertex| vertex.tracks.unwrap_or_default();
        let visible: Vec<&TruthVertex> = truth.iter().filter(|vertex| tracks(vertex) > 0).collect();
        if visible.is_empty() {
            return Self::default();
        }
        let of_true = matches(found, &visible, match_mm);
        let mut counts = Self { found: found.len() as u32, ..Self::default() };
        for (vertex, match_) in visible.iter().zip(&of_true) {
            for (i, &least) in TRACKS.iter().enumerate() {
                counts.of[i] += u32::from(tracks(vertex) >= least);
                counts.matched[i] += u32::from(tracks(vertex) >= least && match_.is_some());
            }
            let is_near = |other: &&&TruthVertex| (other.z_mm - vertex.z_mm).abs() < NEIGHBOUR_MM;
            // The vertex itself is one of them.
            if tracks(vertex) >= TRACKS[THREE] && visible.iter().filter(is_near).count() > 1 {
                counts.with_neighbour += 1;
                counts.matched_with_neighbour += u32::from(match_.is_some());
            }
            if tracks(vertex) >= PV_FINDER_TRACKS {
                counts.of_two += 1;
                counts.near_two += u32::from(found.iter().any(|z| (z - vertex.z_mm).abs() < PV_FINDER_MM));
            }
        }
        // About the mean of the true vertices, so that the density along the beam is the same.
        let mean = visible.iter().map(|vertex| vertex.z_mm).sum::<f64>() / visible.len() as f64;
        let mirrored: Vec<f64> = found.iter().map(|z| 2.0 * mean - z).collect();
        let with_three = visible.iter().zip(matches(&mirrored, &visible, match_mm));
        counts.by_chance =
            with_three.filter(|(vertex, of)| tracks(vertex) >= TRACKS[THREE] && of.is_some()).count() as u32;
        for (number, z) in found.iter().enumerate() {
            let is_near = |vertex: &TruthVertex| (z - vertex.z_mm).abs() < match_mm;
            let is_matched = of_true.contains(&Some(number));
            let missed = visible.iter().zip(&of_true).filter(|(_, of)| of.is_none());
            let takes_another =
                missed.into_iter().any(|(vertex, _)| tracks(vertex) >= TRACKS[THREE] && is_near(vertex));
            if is_matched {
                *(if takes_another { &mut counts.merged } else { &mut counts.clean }) += 1;
            } else if truth.iter().any(is_near) {
                counts.split += 1;
            }
        }
        counts
    }
}

/// Matches found and true vertices one to one, the nearest pair first. Returns the found vertex of
/// each true one.
fn matches(found: &[f64], truth: &[&TruthVertex], match_mm: f64) -> Vec<Option<usize>> {
    let pairs = |i: usize| truth.iter().enumerate().map(move |(j, vertex)| ((found[i] - vertex.z_mm).abs(), i, j));
    let mut pairs: Vec<(f64, usize, usize)> = (0..found.len()).flat_map(pairs).collect();
    pairs.retain(|(apart, ..)| *apart < match_mm);
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut is_used, mut of_true) = (vec![false; found.len()], vec![None; truth.len()]);
    for (_, i, j) in pairs {
        if !is_used[i] && of_true[j].is_none() {
            (is_used[i], of_true[j]) = (true, Some(i));
        }
    }
    of_true
}

/// Figures of the list of all vertices; [definitions](super#definitions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListFigures {
    /// True vertices with at least 1, 3, 5 and 10 tracks that are found.
    pub efficiency: [Fraction; TRACKS.len()],
    /// True vertices with at least 3 tracks that the mirrored list has.
    pub chance: Fraction,
    /// True vertices with at least 3 tracks that are found, of those that have another true vertex
    /// with a track within 0.5 mm.
    pub with_neighbour: Fraction,
    /// The same, of the others.
    pub without_neighbour: Fraction,
    /// True vertices with at least 2 tracks that have a found vertex within 0.17 mm.
    pub near: Fraction,
    /// Found vertices that are matched to a true vertex.
    pub clean: Fraction,
    /// Found vertices that are matched, and near a true vertex with 3 tracks that is not.
    pub merged: Fraction,
    /// Found vertices that are near a true vertex, which another one is matched to.
    pub split: Fraction,
    /// Mean number of found vertices of an RoI that are near no true one.
    pub fakes_per_roi: Option<f64>,
}

impl ListFigures {
    pub(super) fn new<'a>(rois: impl Iterator<Item = &'a ListCounts> + Clone) -> Self {
        let sum = |count: &dyn Fn(&ListCounts) -> u32| rois.clone().map(|roi| u64::from(count(roi))).sum::<u64>();
        let found = sum(&|roi| roi.found);
        let [clean, merged, split] = [sum(&|roi| roi.clean), sum(&|roi| roi.merged), sum(&|roi| roi.split)];
        let with_truth = rois.clone().filter(|roi| roi.of[0] > 0).count();
        let fakes = found - clean - merged - split;
        Self {
            efficiency: std::array::from_fn(|i| Fraction::new(sum(&|roi| roi.matched[i]), sum(&|roi| roi.of[i]))),
            chance: Fraction::new(sum(&|roi| roi.by_chance), sum(&|roi| roi.of[THREE])),
            with_neighbour: Fraction::new(sum(&|roi| roi.matched_with_neighbour), sum(&|roi| roi.with_neighbour)),
            without_neighbour: Fraction::new(
                sum(&|roi| roi.matched[THREE] - roi.matched_with_neighbour),
                sum(&|roi| roi.of[THREE] - roi.with_neighbour),
            ),
            near: Fraction::new(sum(&|roi| roi.near_two), sum(&|roi| roi.of_two)),
            clean: Fraction::new(clean, found),
            merged: Fraction::new(merged, found),
            split: Fraction::new(split, found),
            fakes_per_roi: (with_truth > 0).then(|| fakes as f64 / with_truth as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(vertices: &[(f64, u64)]) -> Vec<TruthVertex> {
        let vertex =
            |&(z_mm, tracks): &(f64, u64)| TruthVertex { z_mm, tracks: Some(tracks), ..TruthVertex::default() };
        vertices.iter().map(vertex).collect()
    }

    #[test]
    fn vertices_are_clean_merged_split_or_false() {
        // One at each of the first two; two at the third; one between the fourth and the fifth; one
        // at a vertex without tracks; one far from all.
        let truth = truth(&[(0.0, 4), (5.0, 1), (10.0, 12), (20.0, 6), (20.15, 3), (40.0, 0), (50.0, 2)]);
        let found = [0.02, 5.1, 9.99, 10.1, 20.05, 40.01, 70.0];
        let counts = ListCounts::new(&found, &truth, 0.2);
        let figures = ListFigures::new([counts].iter());
        let passed = |fraction: Fraction| (fraction.passed, fraction.of);
        assert_eq!(figures.efficiency.map(passed), [(4, 6), (3, 4), (2, 2), (1, 1)]);
        assert_eq!(passed(figures.near), (4, 5));
        // The fourth and the fifth are 0.15 mm apart.
        assert_eq!((passed(figures.with_neighbour), passed(figures.without_neighbour)), ((1, 2), (2, 2)));
        assert_eq!((passed(figures.clean), passed(figures.merged)), ((3, 7), (1, 7)));
        assert_eq!((passed(figures.split), figures.fakes_per_roi), ((2, 7), Some(1.0)));
    }

    #[test]
    fn chance_is_that_of_the_mirrored_list() {
        let truth = truth(&[(-1.0, 3), (1.0, 3), (3.0, 3)]);
        let counts = ListCounts::new(&[-1.0, 0.1], &truth, 0.2);
        let figures = ListFigures::new([counts].iter());
        // The mean is 1: mirrored, they lie at 3 and 1.9.
        assert_eq!((figures.chance.passed, figures.chance.of), (1, 3));
        assert_eq!(figures.efficiency[THREE].passed, 1);
    }

    #[test]
    fn truth_without_tracks_gives_no_figure() {
        let truth = [TruthVertex { z_mm: 1.0, ..TruthVertex::default() }];
        let figures = ListFigures::new([ListCounts::new(&[1.0], &truth, 0.2)].iter());
        assert_eq!(figures, ListFigures::default());
    }
}
