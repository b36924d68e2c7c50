//! What users get of the tracklets and vertices that a search found. All engines share it.

use crate::config::{Config, Tracklets};
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
    ranks: Vec<f64>,
    /// Of the vertices found: the best one first.
    order: Vec<usize>,
    /// The place in the answer of each vertex found.
    places: Vec<Option<usize>>,
}

/// Larger momenta are measured too badly to count more in a rank \[GeV\].
const RANK_PT_GEV: f64 = 10.0;
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
    /// The range of z in which the vertex of a peak may lie, with its neighbours \[mm\].
    pub(crate) fn z_range_near(z_mm: f64) -> [f64; 2] {
        [z_mm - RANGE_MM, z_mm + RANGE_MM]
    }

    /// Takes all vertices, the one of the hardest tracklets first.
    pub(crate) fn take_all(&mut self, config: &Config, found: Found<'_>) {
        self.rank(found);
        let Self { vertices, ranks, order, places, .. } = self;
        order.clear();
        order.extend(0..found.vertices.len());
        order.sort_unstable_by(|&a, &b| ranks[b].total_cmp(&ranks[a]).then(a.cmp(&b)));
        vertices.clear();
        places.clear();
        places.resize(found.vertices.len(), None);
        for (place, &number) in order.iter().enumerate() {
            let of = &found.vertices[number];
            let mut vertex = Vertex { weight: of.weight, significance: Some(of.significance), ..Vertex::default() };
            of.refine(&mut vertex, config.beam_at(of.z()));
            vertex.rank = ranks[number];
            vertices.push(vertex);
            places[number] = Some(place);
        }
        self.take_tracklets(config, found);
    }

    /// Sets x, y, z and their errors of the vertices of peaks, from the tracklets near each. Without
    /// any, a vertex stays as it is. `first` is the number of the first of these vertices, with
    /// whose tracklets the answer's begin.
    pub(crate) fn refine(&mut self, config: &Config, peaks: &mut [Vertex], first: usize, found: Found<'_>) {
        self.rank(found);
        let Self { ranks, places, .. } = self;
        places.clear();
        places.resize(found.vertices.len(), None);
        for (place, vertex) in peaks.iter_mut().enumerate() {
            let most = PEAK_MM.max(PEAK_ERRORS * vertex.z_error_mm);
            let is_near = |&number: &usize| (found.vertices[number].z() - vertex.z_mm).abs() <= most;
            let near = (0..found.vertices.len()).filter(|&number| places[number].is_none()).filter(is_near);
            let Some(number) = near.max_by(|&a, &b| ranks[a].total_cmp(&ranks[b]).then(b.cmp(&a))) else { continue };
            let of = &found.vertices[number];
            of.refine(vertex, config.beam_at(of.z()));
            places[number] = Some(first + place);
        }
        if first == 0 {
            self.vertices.clear();
            self.vertices.extend_from_slice(peaks);
            self.take_tracklets(config, found);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.vertices.clear();
        self.tracklets.clear();
    }

    /// Sums up the squared momenta of the tracklets of each vertex.
    fn rank(&mut self, found: Found<'_>) {
        self.ranks.clear();
        self.ranks.resize(found.vertices.len(), 0.0);
        for tracklet in found.tracklets {
            if let Some(vertex) = tracklet.vertex() {
                let pt = tracklet.pt_gev.min(RANK_PT_GEV);
                self.ranks[vertex] += pt * pt;
            }
        }
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
