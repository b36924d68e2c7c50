//! The answer for an RoI from the tracklets and vertices that a search found, for all engines.

use crate::config::{Config, Tracklets};
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::spacepoint::normalised;
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
    /// The particles of each vertex found.
    particles: Vec<Particles>,
    /// The tracklets of vertices, in the order of vertex and azimuth.
    directions: Vec<Direction>,
    /// The numbers of the vertices found that are not at a peak.
    others: Vec<usize>,
    /// The place in the answer of each vertex found.
    places: Vec<Option<usize>>,
}

/// Sums over the particles of a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Particles {
    count: usize,
    /// Sum of pT^2 of tracklets with [`HARD_HITS`], up to [`HARD_PT_GEV`] each \[GeV^2\].
    hardness: f64,
    /// Sum of pT^2, up to [`PEAK_PT_GEV`] each \[GeV^2\].
    at_peak: f64,
}

/// The direction of a tracklet of a vertex.
#[derive(Clone, Copy, Debug)]
struct Direction {
    vertex: usize,
    phi: f64,
    cot_theta: f64,
    /// The place of the tracklet in the search.
    tracklet: usize,
    /// Whether a tracklet before this one is of the same particle.
    is_repeat: bool,
}

/// Tracklets of fewer spacepoints are often wrong combinations, and larger momenta have errors as
/// large as themselves \[GeV\].
const HARD_HITS: usize = 4;
const HARD_PT_GEV: f64 = 20.0;
/// Two tracklets of a vertex are of one particle if their azimuths agree within this angle \[rad\]
/// and their cot(theta) within this number over sin(theta). A particle with more than six pixel
/// spacepoints has two tracklets.
const SAME_PHI: f64 = 0.01;
const SAME_SLOPE: f64 = 0.02;
/// Tracklets within so many standard deviations, and this distance more, are those of the first
/// vertex \[mm\].
const WINDOW_ERRORS: f64 = 3.0;
const WINDOW_MM: f64 = 0.1;
/// A vertex of tracklets is the one of a peak if it is as near as so many errors of z, or as this
/// distance \[mm\].
const PEAK_ERRORS: f64 = 5.0;
const PEAK_MM: f64 = 0.3;
/// A vertex of a peak has at least so many particles. Each counts up to this momentum \[GeV\],
/// because decays make vertices of few hard particles beside the vertex of many.
const PEAK_PARTICLES: usize = 2;
const PEAK_PT_GEV: f64 = 5.0;
/// Pairs of other vertices move a peak by about this distance \[mm\].
const PEAK_SPREAD_MM: f64 = 0.2;
/// Tracklets are searched this close to a peak. Tracks of neighbours, too, must claim their
/// spacepoints: nearer ranges make more wrong tracklets \[mm\].
const RANGE_MM: f64 = 20.0;

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
        for peak in peaks.iter().filter(|peak| peak.is_significant()) {
            if let Some(number) = self.at_peak(peak, found) {
                self.places[number] = Some(self.vertices.len());
                self.vertices.push(vertex(config, &found.vertices[number], peak.rank));
            }
        }
        let Self { vertices, particles, others, places, .. } = self;
        others.clear();
        others.extend((0..places.len()).filter(|&number| places[number].is_none()));
        others.sort_unstable_by(|&a, &b| particles[b].hardness.total_cmp(&particles[a].hardness).then(a.cmp(&b)));
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

    /// Sums up the squared momenta of the particles of each vertex.
    fn begin(&mut self, found: Found<'_>) {
        self.find_repeats(found.tracklets);
        let Self { particles, places, directions, .. } = self;
        places.clear();
        places.resize(found.vertices.len(), None);
        particles.clear();
        particles.resize(found.vertices.len(), Particles::default());
        for direction in directions.iter().filter(|direction| !direction.is_repeat) {
            let tracklet = &found.tracklets[direction.tracklet];
            let of = &mut particles[direction.vertex];
            let pt2_up_to = |most: f64| tracklet.pt_gev.min(most).powi(2);
            of.count += 1;
            of.at_peak += pt2_up_to(PEAK_PT_GEV);
            if tracklet.hits.len() >= HARD_HITS {
                of.hardness += pt2_up_to(HARD_PT_GEV);
            }
        }
    }

    /// Marks each tracklet of a vertex that has the direction of one before it. Across an azimuth
    /// of pi, no tracklet is marked.
    fn find_repeats(&mut self, tracklets: &[Tracklet]) {
        let directions = &mut self.directions;
        directions.clear();
        directions.extend(tracklets.iter().enumerate().filter_map(|(place, tracklet)| {
            let (phi, cot_theta) = (normalised(tracklet.phi0), tracklet.cot_theta);
            let vertex = tracklet.vertex()?;
            Some(Direction { vertex, phi, cot_theta, tracklet: place, is_repeat: false })
        }));
        directions.sort_unstable_by(|a, b| {
            a.vertex.cmp(&b.vertex).then(a.phi.total_cmp(&b.phi)).then(a.tracklet.cmp(&b.tracklet))
        });
        for place in 0..directions.len() {
            let (one, others) = directions[place..].split_first_mut().expect("a direction");
            let (vertex, phi) = (one.vertex, one.phi);
            let near = |other: &&mut Direction| other.vertex == vertex && other.phi - phi < SAME_PHI;
            for other in others.iter_mut().take_while(near) {
                if (other.cot_theta - one.cot_theta).abs() < SAME_SLOPE * 1f64.hypot(one.cot_theta) {
                    let later = if one.tracklet > other.tracklet { &mut *one } else { other };
                    later.is_repeat = true;
                }
            }
        }
    }

    /// Returns the vertex of a peak: of those near it that are not at another peak, the one with
    /// the largest sum of pT^2 times the probability of its distance.
    fn at_peak(&self, peak: &Vertex, found: Found<'_>) -> Option<usize> {
        let Self { particles, places, .. } = self;
        let most = PEAK_MM.max(PEAK_ERRORS * peak.z_error_mm);
        let distance = |number: usize| found.vertices[number].z() - peak.z_mm;
        let score = |number: usize| {
            let errors = [peak.z_error_mm, found.vertices[number].z_error(), PEAK_SPREAD_MM];
            let variance: f64 = errors.iter().map(|error| error * error).sum();
            particles[number].at_peak * (-0.5 * distance(number).powi(2) / variance).exp()
        };
        let is_candidate = |&number: &usize| {
            let is_free = places[number].is_none() && particles[number].count >= PEAK_PARTICLES;
            is_free && distance(number).abs() <= most
        };
        let candidates = (0..places.len()).filter(is_candidate).map(|number| (number, score(number)));
        candidates.max_by(|(a, of_a), (b, of_b)| of_a.total_cmp(of_b).then(b.cmp(a))).map(|(number, _)| number)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A tracklet of a vertex, with three spacepoints.
    fn tracklet(vertex: usize, pt_gev: f64, phi0: f64, cot_theta: f64) -> Tracklet {
        let mut tracklet =
            Tracklet { pt_gev, phi0, cot_theta, hits: [0, 1, 2].into_iter().collect(), ..Tracklet::default() };
        tracklet.set_vertex(Some(vertex));
        tracklet
    }

    /// Tracklets of one momentum, each in a direction of its own.
    fn tracklets(vertex: usize, count: usize, pt_gev: f64) -> impl Iterator<Item = Tracklet> {
        (0..count).map(move |number| tracklet(vertex, pt_gev, 0.1 * number as f64, 0.5))
    }

    fn vertex_at(z: f64) -> TrackletVertex {
        let covariance = [[1e-4, 0.0, 0.0], [0.0, 1e-4, 0.0], [0.0, 0.0, 1e-4]];
        TrackletVertex { place: [0.0, 0.0, z], covariance, weight: 2.0, tracklets: 2, significance: 5.0, sum_pt2: 0.0 }
    }

    fn peak_at(z_mm: f64) -> Vertex {
        Vertex { z_mm, z_error_mm: 0.02, significance: Some(5.0), ..Vertex::default() }
    }

    /// The vertices of peaks, in the order of the peaks: their places in `z`.
    fn choose(peaks: &[f64], z: &[f64], tracklets: &[Tracklet]) -> Vec<Option<usize>> {
        let vertices: Vec<TrackletVertex> = z.iter().copied().map(vertex_at).collect();
        let found = Found { tracklets, vertices: &vertices };
        let mut answer = TrackletAnswer::default();
        answer.begin(found);
        let mut choose = |&z: &f64| {
            let number = answer.at_peak(&peak_at(z), found)?;
            answer.places[number] = Some(0);
            Some(number)
        };
        peaks.iter().map(&mut choose).collect()
    }

    #[test]
    fn a_vertex_of_many_particles_wins_over_few_hard_ones() {
        let many = || tracklets(0, 40, 1.0);
        let beside_one: Vec<Tracklet> = many().chain([tracklet(1, 8.0, 3.0, 0.5)]).collect();
        assert_eq!(choose(&[0.1], &[0.0, 0.2], &beside_one), [Some(0)]);
        assert_eq!(choose(&[0.25], &[0.0, 0.2], &beside_one), [Some(0)], "one particle is no vertex of a peak");
        let beside_two: Vec<Tracklet> = many().chain(tracklets(1, 2, 20.0)).collect();
        assert_eq!(choose(&[0.0], &[0.0, 0.2], &beside_two), [Some(0)]);
        let hard = many().chain(tracklets(1, 2, 4.9)).collect::<Vec<_>>();
        assert_eq!(choose(&[0.1], &[0.0, 0.2], &hard), [Some(1)], "the larger sum of pT^2");
    }

    #[test]
    fn the_nearer_of_two_like_vertices_is_taken() {
        let like: Vec<Tracklet> = tracklets(0, 10, 1.0).chain(tracklets(1, 11, 1.0)).collect();
        assert_eq!(choose(&[0.0], &[-0.05, 0.25], &like), [Some(0)]);
        assert_eq!(choose(&[0.2], &[-0.05, 0.25], &like), [Some(1)]);
        assert_eq!(choose(&[0.6], &[-0.05, 0.25], &like), [None]);
    }

    #[test]
    fn peaks_share_no_vertex() {
        let like: Vec<Tracklet> = tracklets(0, 10, 1.0).chain(tracklets(1, 10, 1.0)).collect();
        assert_eq!(choose(&[0.0, 0.0, 0.0], &[-0.05, 0.2], &like), [Some(0), Some(1), None]);
    }

    #[test]
    fn two_tracklets_of_one_particle_count_once() {
        let two =
            |phi: f64, cot: f64| choose(&[0.0], &[0.0], &[tracklet(0, 3.0, 1.0, 5.0), tracklet(0, 3.0, phi, cot)]);
        assert_eq!(two(1.002, 5.05), [None]);
        assert_eq!(two(0.998 + std::f64::consts::TAU, 4.95), [None]);
        assert_eq!(two(1.02, 5.05), [Some(0)]);
        assert_eq!(two(1.002, 5.2), [Some(0)]);
        // Of a particle, the tracklet that comes first counts.
        let mut answer = TrackletAnswer::default();
        let (tracklets, vertices) = ([tracklet(0, 3.0, 1.0, 5.0), tracklet(0, 9.0, 0.999, 5.0)], [vertex_at(0.0)]);
        answer.begin(Found { tracklets: &tracklets, vertices: &vertices });
        assert_eq!(answer.particles, [Particles { count: 1, hardness: 0.0, at_peak: 9.0 }]);
    }
}
