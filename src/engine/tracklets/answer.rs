//! The answer for an RoI from the tracklets and vertices that a search found, for all engines.

use crate::config::{Config, Tracklets};
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::tracklet::{Tracklet, TrackletVertex};
use crate::vertex::Vertex;

/// Tracklets and vertices of a search. Vertices ascend in z; a tracklet's vertex is a place among
/// them.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) tracklets: &'a [Tracklet],
    pub(crate) vertices: &'a [TrackletVertex],
}

/// The answer for one RoI, and memory for it.
#[derive(Debug, Default)]
pub(crate) struct TrackletAnswer {
    pub(crate) vertices: Vec<Vertex>,
    pub(crate) tracklets: Vec<Tracklet>,
    /// Of the vertices found: the sum of pT^2 of the tracklets that are measured well.
    hardness: Vec<f64>,
    /// The numbers of the vertices found that are not at a peak.
    others: Vec<usize>,
    /// The place in the answer of each vertex found.
    places: Vec<Option<usize>>,
}

/// Tracklets of fewer spacepoints are often wrong combinations, and larger momenta have errors as
/// large as themselves \[GeV\].
const HARD_HITS: usize = 4;
const HARD_PT_GEV: f64 = 20.0;
/// Tracklets within so many standard deviations, and this distance more, are those of the first
/// vertex \[mm\].
const WINDOW_ERRORS: f64 = 3.0;
const WINDOW_MM: f64 = 0.1;
/// A vertex of tracklets is the one of a peak if it is as near as so many errors of z, or as this
/// distance \[mm\].
const PEAK_ERRORS: f64 = 5.0;
const PEAK_MM: f64 = 0.3;
/// Tracklets for the vertex of a peak point this close to it \[mm\].
const RANGE_MM: f64 = 2.0;

impl TrackletAnswer {
    /// The ranges of z in which the vertices of peaks may lie, with their neighbours.
    pub(crate) fn z_ranges_near(peaks: impl Iterator<Item = f64>) -> ZRanges {
        ZRanges::near(peaks, RANGE_MM)
    }

    pub(crate) fn clear(&mut self) {
        self.vertices.clear();
        self.tracklets.clear();
    }

    /// Takes all vertices that were found: first vertices at peaks, in the order of the peaks, and
    /// then the others, the hardest one first.
    pub(crate) fn take_all(&mut self, config: &Config, peaks: &[Vertex], found: Found<'_>) {
        self.begin(found);
        self.vertices.clear();
        for peak in peaks.iter().filter(|peak| !peak.is_insignificant()) {
            if let Some(number) = self.at_peak(peak, found) {
                self.places[number] = Some(self.vertices.len());
                self.vertices.push(vertex(config, &found.vertices[number], peak.rank));
            }
        }
        let Self { vertices, hardness, others, places, .. } = self;
        others.clear();
        others.extend((0..places.len()).filter(|&number| places[number].is_none()));
        others.sort_unstable_by(|&a, &b| hardness[b].total_cmp(&hardness[a]).then(a.cmp(&b)));
        for &number in &*others {
            places[number] = Some(vertices.len());
            vertices.push(vertex(config, &found.vertices[number], 0.0));
        }
        self.take_tracklets(config, found);
    }

    /// Sets x, y, z and their errors of the vertices of peaks, from the tracklets near each.
    /// Without any, a vertex stays as it is.
    pub(crate) fn refine(&mut self, config: &Config, peaks: &mut [Vertex], found: Found<'_>) {
        self.begin(found);
        for (place, peak) in peaks.iter_mut().enumerate() {
            if let Some(number) = self.at_peak(peak, found) {
                let of = &found.vertices[number];
                of.refine(peak, config.beam_at(of.z()));
                self.places[number] = Some(place);
            }
        }
        self.vertices.clear();
        self.vertices.extend_from_slice(peaks);
        self.take_tracklets(config, found);
    }

    /// Sums up the squared momenta of the tracklets of each vertex.
    fn begin(&mut self, found: Found<'_>) {
        let Self { hardness, places, .. } = self;
        places.clear();
        places.resize(found.vertices.len(), None);
        hardness.clear();
        hardness.resize(found.vertices.len(), 0.0);
        for tracklet in found.tracklets.iter().filter(|tracklet| tracklet.hits.len() >= HARD_HITS) {
            if let Some(vertex) = tracklet.vertex() {
                let pt = tracklet.pt_gev.min(HARD_PT_GEV);
                hardness[vertex] += pt * pt;
            }
        }
    }

    /// Returns the hardest vertex near a peak that is not at another one.
    fn at_peak(&self, peak: &Vertex, found: Found<'_>) -> Option<usize> {
        let Self { hardness, places, .. } = self;
        let most = PEAK_MM.max(PEAK_ERRORS * peak.z_error_mm);
        let is_near = |&number: &usize| (found.vertices[number].z() - peak.z_mm).abs() <= most;
        let near = (0..places.len()).filter(|&number| places[number].is_none()).filter(is_near);
        near.max_by(|&a, &b| hardness[a].total_cmp(&hardness[b]).then(b.cmp(&a)))
    }

    fn take_tracklets(&mut self, config: &Config, found: Found<'_>) {
        let Self { vertices, tracklets, places, .. } = self;
        tracklets.clear();
        let (Some(first), true) = (vertices.first(), config.tracklets != Tracklets::Off) else { return };
        let is_taken = |tracklet: &&Tracklet| match config.tracklets {
            Tracklets::All => true,
            _ => {
                let of_beam = config.beam_width_mm * tracklet.cot_theta;
                let error = (tracklet.z_covariance[0] + 0.5 * of_beam * of_beam).sqrt();
                (tracklet.z0_mm - first.z_mm).abs() <= WINDOW_ERRORS * error + WINDOW_MM
            }
        };
        let taken = found.tracklets.iter().filter(is_taken);
        tracklets.extend(taken.map(|of| of.with_vertex(of.vertex().and_then(|vertex| places[vertex]))));
    }
}

/// The vertex as users get it.
fn vertex(config: &Config, of: &TrackletVertex, rank: f64) -> Vertex {
    let mut vertex = Vertex { weight: of.weight, rank, significance: Some(of.significance), ..Vertex::default() };
    of.refine(&mut vertex, config.beam_at(of.z()));
    vertex
}
