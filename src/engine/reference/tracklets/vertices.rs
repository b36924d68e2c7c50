//! Vertices of tracklets: places where tracklets are dense, one after the other, and then all
//! vertices together by expectation and maximisation of a mixture: a Gaussian for each vertex and
//! each tracklet, and tracklets of no vertex.

use std::f64::consts::TAU;

use super::vertex_fit;
use crate::config::Config;
use crate::tracklet::{Tracklet, TrackletVertex};

/// A vertex while all are moved together.
#[derive(Clone, Copy)]
struct Candidate {
    z: f64,
    z_error: f64,
    /// Sum of probabilities.
    tracklets: f64,
    /// How much the logarithm of the likelihood falls without it.
    gain: f64,
}

impl Candidate {
    /// The significance that a likelihood ratio has by Wilks' theorem.
    fn significance(&self) -> f64 {
        (2.0 * self.gain).max(0.0).sqrt()
    }
}

/// z of a tracklet on the beam, with all errors.
#[derive(Clone, Copy)]
struct Place {
    z: f64,
    error: f64,
    /// Tracklets of its kind that belong to no vertex \[1/mm\].
    background: f64,
    /// The tracklet's place in the list.
    of: usize,
}

/// Added to the error of z: alignment, and tails \[mm\].
const ERROR_FLOOR_MM: f64 = 0.01;
/// Tracklets with larger errors name no vertex \[mm\].
const MAX_ERROR_MM: f64 = 1.0;
/// The density of tracklets is counted in cells of 1 mm, so many to both sides.
const DENSITY_REACH: usize = 30;
/// Tracklets of no vertex as a part of the density: with more than three hits, and with three,
/// which are mostly wrong combinations where they are steep.
const BACKGROUND: f64 = 0.02;
const BACKGROUND_OF_THREE: f64 = 0.6;
const STEEP: f64 = 2.0;
/// Tracklets within so many errors make a density, and the mean about a dense place.
const DENSE: f64 = 3.0;
/// chi2 below which a dense place takes a tracklet from others.
const TAKEN: f64 = 3.0;
/// Width of a bin of the density \[mm\], and its steps for a Gaussian's maximum of 1.
const BIN_MM: f64 = 0.05;
const STEPS: f64 = 65536.0;
/// Errors below this do not add to the height of a tracklet's density \[mm\].
const SHARPEST_MM: f64 = 0.04;
/// A tracklet farther than so many errors does not belong to a vertex.
const REACH: f64 = 6.5;
/// Tracklets of a vertex before the first round.
const FIRST_TRACKLETS: f64 = 3.0;
const ROUNDS: usize = 15;
/// Rounds after which vertices closer than [`MERGE`] errors are joined, and those dropped that are
/// far from significant.
const MERGE_AFTER: [usize; 2] = [4, 9];
const MERGE: f64 = 3.0;
/// Added to both errors: tracks of decays make a second place near their vertex \[mm\].
const MERGE_FLOOR_MM: f64 = 0.03;
/// The least number of tracklets, as a sum of probabilities.
const MIN_TRACKLETS: f64 = 1.5;

pub(super) fn find(config: &Config, z_range: [f64; 2], tracklets: &mut [Tracklet]) -> Vec<TrackletVertex> {
    let (beam_width, least) = (config.beam_width_mm, config.tracklet_significance);
    let places = places(beam_width, z_range, tracklets);
    let mut candidates = maximise(least, &places, dense_places(z_range, &places));
    candidates.sort_by(|a, b| a.z.total_cmp(&b.z));
    let probabilities: Vec<Vec<f64>> = places.iter().map(|place| probabilities(place, &candidates)).collect();
    let vertex = |(number, candidate): (usize, &Candidate)| {
        let own = places.iter().zip(&probabilities).map(|(place, of)| (&tracklets[place.of], of[number]));
        let fitted = vertex_fit::fit(own, candidate.z, candidate.tracklets, beam_width);
        let (place, covariance) = fitted.map_or_else(
            || ([0.0, 0.0, candidate.z], diagonal([beam_width, beam_width, candidate.z_error])),
            |fitted| (fitted.place, fitted.covariance),
        );
        let significance = candidate.significance();
        TrackletVertex { place, covariance, weight: candidate.tracklets, tracklets: 0, significance, sum_pt2: 0.0 }
    };
    let mut vertices: Vec<TrackletVertex> = candidates.iter().enumerate().map(vertex).collect();
    tracklets.iter_mut().for_each(|tracklet| tracklet.set_vertex(None));
    for (place, of) in places.iter().zip(&probabilities) {
        if let Some(best) = (0..of.len()).find(|&number| of[number] > 0.5) {
            let tracklet = &mut tracklets[place.of];
            tracklet.set_vertex(Some(best));
            vertices[best].tracklets += 1;
            vertices[best].sum_pt2 += tracklet.pt_gev.powi(2);
        }
    }
    vertices
}

fn diagonal(errors: [f64; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| if i == j { errors[i].powi(2) } else { 0.0 }))
}

/// The places of the tracklets that may name a vertex.
fn places(beam_width: f64, [z_min, z_max]: [f64; 2], tracklets: &[Tracklet]) -> Vec<Place> {
    let place = |(of, tracklet): (usize, &Tracklet)| {
        let &Tracklet { z0_mm: z0, cot_theta: cot, z_covariance, .. } = tracklet;
        let error = (z_covariance[0] + 0.5 * (beam_width * cot).powi(2) + ERROR_FLOOR_MM.powi(2)).sqrt();
        (error < MAX_ERROR_MM).then_some(Place { z: z0, error, background: 0.0, of })
    };
    let mut places: Vec<Place> = tracklets.iter().enumerate().filter_map(place).collect();
    let last = (z_max - z_min).ceil();
    let cell = |z: f64| (z - z_min).clamp(0.0, last) as usize;
    let cells: Vec<usize> = places.iter().map(|place| cell(place.z)).collect();
    for place in &mut places {
        let tracklet = &tracklets[place.of];
        let part = match tracklet.hits.len() {
            3 => BACKGROUND_OF_THREE * (1.0 + (tracklet.cot_theta / STEEP).powi(2)),
            _ => BACKGROUND,
        };
        let near = cells.iter().filter(|&&other| other.abs_diff(cell(place.z)) <= DENSITY_REACH).count();
        place.background = part * near as f64 / (2 * DENSITY_REACH + 1) as f64;
    }
    places
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
        let reach = DENSE * place.error;
        let bin = |z: f64| ((z - self.low) / BIN_MM).clamp(0.0, (self.bins.len() - 1) as f64);
        let (first, last) = (bin(place.z - reach).ceil() as usize, bin(place.z + reach).floor() as usize);
        for i in first..=last {
            let apart = (self.z(i) - place.z) / place.error;
            if apart.abs() <= DENSE {
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
fn dense_places(z_range: [f64; 2], places: &[Place]) -> Vec<f64> {
    let mut density = Density::new(z_range);
    places.iter().for_each(|place| density.add(place, 1));
    let mut free: Vec<Place> = places.to_vec();
    let mut found = Vec::new();
    while let Some(bin) = density.densest() {
        let z = mean(&free, density.z(bin));
        let (taken, left) = free.iter().partition(|place| ((place.z - z) / place.error).powi(2) < TAKEN);
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

/// The mean about z of the places within [`DENSE`] errors.
fn mean(places: &[Place], z: f64) -> f64 {
    let near = places.iter().filter(|place| ((place.z - z) / place.error).abs() < DENSE);
    let weighted = near.map(|place| (place.z, place.error.powi(-2)));
    let (sum, total) = weighted.fold((0.0, 0.0), |(sum, total), (z, by)| (sum + by * z, total + by));
    if total > 0.0 { sum / total } else { z }
}

/// The density of a tracklet's z that each vertex makes \[1/mm\].
fn densities(place: &Place, vertices: &[Candidate]) -> Vec<f64> {
    let density = |vertex: &Candidate| {
        let apart = (place.z - vertex.z) / place.error;
        let gaussian = (-0.5 * apart * apart).exp() / (place.error * TAU.sqrt());
        if apart.abs() <= REACH { vertex.tracklets * gaussian } else { 0.0 }
    };
    vertices.iter().map(density).collect()
}

/// The probabilities with which a tracklet belongs to each vertex.
fn probabilities(place: &Place, vertices: &[Candidate]) -> Vec<f64> {
    let densities = densities(place, vertices);
    let total = densities.iter().sum::<f64>() + place.background;
    densities.iter().map(|density| density / total).collect()
}

/// Maximises the extended likelihood of all tracklets by expectation and maximisation; joins and
/// drops vertices meanwhile.
fn maximise(least: f64, places: &[Place], found: Vec<f64>) -> Vec<Candidate> {
    let vertex = |z| Candidate { z, z_error: 0.0, tracklets: FIRST_TRACKLETS, gain: 0.0 };
    let mut vertices: Vec<_> = found.into_iter().map(vertex).collect();
    for round in 0..ROUNDS {
        let mut sums = vec![[0.0; 4]; vertices.len()];
        for place in places {
            for (sums, probability) in sums.iter_mut().zip(probabilities(place, &vertices)) {
                let by_error = probability / place.error.powi(2);
                let gain = -(1.0 - probability).max(1e-12).ln();
                *sums = [sums[0] + probability, sums[1] + by_error, sums[2] + by_error * place.z, sums[3] + gain];
            }
        }
        for (vertex, [tracklets, by_error, z, gain]) in vertices.iter_mut().zip(sums) {
            let by_error = by_error.max(1e-12);
            // Without the vertex, its tracklets are not expected either.
            *vertex = Candidate { z: z / by_error, z_error: by_error.powf(-0.5), tracklets, gain: gain - tracklets };
        }
        if MERGE_AFTER.contains(&round) {
            vertices = join(least, vertices);
        }
    }
    let keeps = |vertex: &Candidate| vertex.tracklets >= MIN_TRACKLETS && vertex.significance() >= least;
    vertices.retain(keeps);
    vertices
}

/// Drops vertices that are far from significant, and those close to one with more tracklets.
fn join(least: f64, mut vertices: Vec<Candidate>) -> Vec<Candidate> {
    vertices.sort_by(|a, b| b.tracklets.total_cmp(&a.tracklets));
    let mut kept: Vec<Candidate> = Vec::new();
    for vertex in vertices {
        let is_apart = |other: &Candidate| {
            let error = vertex.z_error.hypot(other.z_error).hypot(MERGE_FLOOR_MM);
            (vertex.z - other.z).abs() > MERGE * error
        };
        let may_stay = vertex.tracklets >= 0.75 * MIN_TRACKLETS && vertex.gain >= 0.25 * least.powi(2);
        if may_stay && kept.iter().all(is_apart) {
            kept.push(vertex);
        }
    }
    kept
}
