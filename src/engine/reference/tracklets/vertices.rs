//! Vertices of tracklets: places where tracklets are dense, one after the other, and then all
//! vertices together by expectation and maximisation.

use super::fit::Tracklet;
use super::search::TrackletCuts;
use super::vertex_fit;

/// A vertex of tracklets.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackletVertex {
    /// x, y and z about the beam \[mm\].
    pub place: [f64; 3],
    /// Of x, y and z \[mm^2\].
    pub covariance: [[f64; 3]; 3],
    /// Sum of the probabilities with which tracklets belong to it.
    pub tracklets: f64,
    /// Sum of pT^2 of its tracklets \[GeV^2\].
    pub sum_pt2: f64,
}

impl TrackletVertex {
    /// z \[mm\].
    pub fn z(&self) -> f64 {
        self.place[2]
    }

    /// Standard deviation of z \[mm\].
    pub fn z_error(&self) -> f64 {
        self.covariance[2][2].sqrt()
    }
}

/// A vertex while all are moved together.
#[derive(Clone, Copy)]
struct Candidate {
    z: f64,
    z_error: f64,
    tracklets: f64,
}

/// z of a tracklet on the beam, with all errors.
#[derive(Clone, Copy)]
struct Place {
    z: f64,
    error: f64,
    /// The tracklet's place in the list.
    of: usize,
}

/// Added to the error of z: alignment, and tails \[mm\].
const ERROR_FLOOR_MM: f64 = 0.01;
/// Tracklets with larger errors name no vertex \[mm\].
const MAX_ERROR_MM: f64 = 1.0;
/// Tracklets of three hits are mostly wrong combinations where they are steeper.
const MAX_COT_OF_THREE: f64 = 4.3;
/// chi2 of one degree of freedom at which half a tracklet belongs to a vertex.
const CUT: f64 = 9.0;
/// Width of a bin of the density \[mm\], and its steps for a Gaussian's maximum of 1.
const BIN_MM: f64 = 0.05;
const STEPS: f64 = 65536.0;
/// Errors below this do not add to the height of a tracklet's density \[mm\].
const SHARPEST_MM: f64 = 0.04;
const ROUNDS: usize = 15;
/// Rounds after which vertices closer than [`MERGE`] errors are joined.
const MERGE_AFTER: [usize; 2] = [4, 9];
const MERGE: f64 = 2.0;
/// Density of tracklets that belong to no vertex, where a vertex has exp(-chi2 / 2).
const OUTLIER_LOG: f64 = -4.5;

pub(super) fn find(cuts: &TrackletCuts, beam_width: f64, tracklets: &mut [Tracklet]) -> Vec<TrackletVertex> {
    let places: Vec<Place> = tracklets.iter().enumerate().filter_map(|(of, t)| place(beam_width, of, t)).collect();
    let mut candidates = maximise(cuts, &places, dense_places(cuts, &places));
    candidates.sort_by(|a, b| a.z.total_cmp(&b.z));
    let probabilities: Vec<Vec<f64>> = places.iter().map(|place| weights(place, &candidates)).collect();
    let vertex = |(number, candidate): (usize, &Candidate)| {
        let own = places.iter().zip(&probabilities).map(|(place, of)| (&tracklets[place.of], of[number]));
        let fitted = vertex_fit::fit(own, candidate.z, beam_width);
        let (place, covariance) = fitted.map_or_else(
            || ([0.0, 0.0, candidate.z], diagonal([beam_width, beam_width, candidate.z_error])),
            |fitted| (fitted.place, fitted.covariance),
        );
        TrackletVertex { place, covariance, tracklets: candidate.tracklets, sum_pt2: 0.0 }
    };
    let mut vertices: Vec<TrackletVertex> = candidates.iter().enumerate().map(vertex).collect();
    tracklets.iter_mut().for_each(|tracklet| tracklet.vertex = None);
    for (place, of) in places.iter().zip(&probabilities) {
        if let Some(best) = (0..of.len()).find(|&number| of[number] > 0.5) {
            let tracklet = &mut tracklets[place.of];
            tracklet.vertex = Some(best);
            vertices[best].sum_pt2 += tracklet.pt_gev.powi(2);
        }
    }
    vertices
}

fn diagonal(errors: [f64; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| if i == j { errors[i].powi(2) } else { 0.0 }))
}

fn place(beam_width: f64, of: usize, tracklet: &Tracklet) -> Option<Place> {
    let &Tracklet { z0, z0_error, cot, .. } = tracklet;
    let error = (z0_error.powi(2) + 0.5 * (beam_width * cot).powi(2) + ERROR_FLOOR_MM.powi(2)).sqrt();
    let keeps = error < MAX_ERROR_MM && (tracklet.hits.len() > 3 || cot.abs() < MAX_COT_OF_THREE);
    keeps.then_some(Place { z: z0, error, of })
}

/// The density of tracklets along z, in whole steps, so that order does not matter.
struct Density {
    low: f64,
    bins: Vec<i64>,
    /// Bins where no tracklet was found.
    closed: Vec<bool>,
}

impl Density {
    fn new([z_min, z_max]: [f64; 2]) -> Self {
        let count = ((z_max - z_min) / BIN_MM).ceil() as usize + 1;
        Self { low: z_min, bins: vec![0; count], closed: vec![false; count] }
    }

    fn z(&self, bin: usize) -> f64 {
        self.low + bin as f64 * BIN_MM
    }

    /// Adds the Gaussian of a tracklet `times` times: once, or -1 times to remove it.
    fn add(&mut self, place: &Place, times: i64) {
        let reach = 3.0 * place.error;
        let bin = |z: f64| ((z - self.low) / BIN_MM).clamp(0.0, (self.bins.len() - 1) as f64);
        let (first, last) = (bin(place.z - reach).ceil() as usize, bin(place.z + reach).floor() as usize);
        for i in first..=last {
            let apart = (self.z(i) - place.z) / place.error;
            if apart.abs() <= 3.0 {
                let height = (-0.5 * apart * apart).exp() / place.error.max(SHARPEST_MM).sqrt();
                self.bins[i] += times * (height * STEPS).round() as i64;
            }
        }
    }

    /// The densest open bin, the first one of several.
    fn densest(&self) -> Option<usize> {
        let open = (0..self.bins.len()).filter(|&i| !self.closed[i] && self.bins[i] > 0);
        open.max_by(|&a, &b| self.bins[a].cmp(&self.bins[b]).then(b.cmp(&a)))
    }
}

/// Finds the densest place, takes its tracklets out, and repeats.
fn dense_places(cuts: &TrackletCuts, places: &[Place]) -> Vec<f64> {
    let mut density = Density::new(cuts.z_range);
    places.iter().for_each(|place| density.add(place, 1));
    let mut free: Vec<Place> = places.to_vec();
    let mut found = Vec::new();
    while let Some(bin) = density.densest() {
        let z = robust_mean(&free, density.z(bin));
        let (taken, left) = free.iter().partition(|place| ((place.z - z) / place.error).powi(2) < CUT);
        let taken: Vec<Place> = taken;
        if taken.is_empty() {
            let last = density.closed.len() - 1;
            density.closed[bin.saturating_sub(2)..=(bin + 2).min(last)].fill(true);
            continue;
        }
        taken.iter().for_each(|place| density.add(place, -1));
        free = left;
        if taken.len() > 1 {
            found.push(z);
        }
    }
    found
}

/// The mean about z with weights that fall to a half at [`CUT`], sharper from step to step.
fn robust_mean(places: &[Place], mut z: f64) -> f64 {
    for temperature in [4.0, 2.0, 1.0] {
        let (mut sum, mut total) = (0.0, 0.0);
        for place in places {
            let chi2 = ((place.z - z) / place.error).powi(2);
            let weight = 1.0 / (1.0 + ((chi2 - CUT) / (2.0 * temperature)).clamp(-50.0, 50.0).exp());
            let weight = weight / place.error.powi(2);
            (sum, total) = (sum + weight * place.z, total + weight);
        }
        if total > 0.0 {
            z = sum / total;
        }
    }
    z
}

/// The probabilities with which a tracklet belongs to each vertex.
fn weights(place: &Place, vertices: &[Candidate]) -> Vec<f64> {
    let likelihood = |vertex: &Candidate| {
        let chi2 = ((place.z - vertex.z) / place.error).powi(2);
        (-(chi2 / 2.0).min(60.0)).exp()
    };
    let likelihoods: Vec<f64> = vertices.iter().map(likelihood).collect();
    let total = likelihoods.iter().sum::<f64>() + OUTLIER_LOG.exp();
    likelihoods.iter().map(|likelihood| likelihood / total).collect()
}

/// Moves all vertices together, and joins or drops some.
fn maximise(cuts: &TrackletCuts, places: &[Place], found: Vec<f64>) -> Vec<Candidate> {
    let vertex = |z| Candidate { z, z_error: 0.0, tracklets: 0.0 };
    let mut vertices: Vec<_> = found.into_iter().map(vertex).collect();
    for round in 0..ROUNDS {
        let mut sums = vec![[0.0; 3]; vertices.len()];
        for place in places {
            for (sums, weight) in sums.iter_mut().zip(weights(place, &vertices)) {
                let by_error = weight / place.error.powi(2);
                *sums = [sums[0] + weight, sums[1] + by_error, sums[2] + by_error * place.z];
            }
        }
        for (vertex, [tracklets, by_error, z]) in vertices.iter_mut().zip(sums) {
            let by_error = by_error.max(1e-12);
            (vertex.tracklets, vertex.z, vertex.z_error) = (tracklets, z / by_error, by_error.powf(-0.5));
        }
        if MERGE_AFTER.contains(&round) {
            vertices = join(cuts, vertices);
        }
    }
    vertices.retain(|vertex| vertex.tracklets >= cuts.min_tracklets);
    vertices
}

/// Drops vertices with too few tracklets, and those close to one with more.
fn join(cuts: &TrackletCuts, mut vertices: Vec<Candidate>) -> Vec<Candidate> {
    vertices.sort_by(|a, b| b.tracklets.total_cmp(&a.tracklets));
    let mut kept: Vec<Candidate> = Vec::new();
    for vertex in vertices {
        let is_apart = |other: &Candidate| (vertex.z - other.z).abs() > MERGE * vertex.z_error.hypot(other.z_error);
        if vertex.tracklets >= 0.75 * cuts.min_tracklets && kept.iter().all(is_apart) {
            kept.push(vertex);
        }
    }
    kept
}
