//! All vertices of an event: places where tracklets are dense, one after the other, and then all
//! together by expectation and maximisation of a mixture. The reference has the same definitions,
//! without an order along z.

use std::f64::consts::TAU;

use crate::engine::tracklets::exp::exp_below_0;
use crate::engine::tracklets::search::TrackletSearch;
use crate::engine::tracklets::vertex_fit::{self, ERROR_FLOOR_MM, TEMPERATURES, fermi};
use crate::tracklet::{Tracklet, TrackletVertex};

/// Tracklets with larger errors name no vertex \[mm\].
const MAX_ERROR_MM: f64 = 1.0;
/// The density of tracklets is counted this far to both sides \[mm\].
const DENSITY_REACH_MM: f64 = 30.0;
/// Tracklets of no vertex as a part of the density: with more than three hits, and with three,
/// which are mostly wrong combinations where they are steep.
const BACKGROUND: f64 = 0.02;
const BACKGROUND_OF_THREE: f64 = 0.6;
const STEEP: f64 = 2.0;
/// chi2 below which a dense place takes a tracklet from others.
const TAKEN: f64 = 3.0;
/// Width of a bin of the density \[mm\], and its steps for a Gaussian's maximum of 1.
const BIN_MM: f64 = 0.05;
const STEPS: f64 = 65536.0;
/// Bins whose maximum is kept.
const BLOCK: usize = 64;
/// Errors below this do not add to the height of a tracklet's density \[mm\].
const SHARPEST_MM: f64 = 0.04;
/// A tracklet farther than so many errors does not belong to a vertex.
const REACH: f64 = 6.5;
/// The robust mean of a place: weights fall below 1e-8 beyond so many errors.
const MEAN_REACH: f64 = 12.5;
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

/// z of a tracklet on the beam, with all errors.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    z: f64,
    error: f64,
    /// 1 / error^2.
    weight: f64,
    /// The largest density of a tracklet \[1/mm\].
    height: f64,
    /// Tracklets of its kind that belong to no vertex \[1/mm\].
    background: f64,
    /// The tracklet's place in the list.
    of: u32,
    is_free: bool,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    z: f64,
    z_error: f64,
    tracklets: f64,
    gain: f64,
}

/// Memory of the search for vertices.
#[derive(Debug, Default)]
pub(crate) struct VertexBuffers {
    /// Ascending in z.
    places: Vec<Place>,
    density: Vec<i64>,
    /// The largest density of each block.
    maxima: Vec<i64>,
    candidates: Vec<Candidate>,
    sums: Vec<[f64; 4]>,
    /// The densities that the vertices near a place make there.
    near: Vec<f64>,
    /// Of the tracklets of each vertex: which one, and the probability.
    members: Vec<Vec<(u32, f64)>>,
    /// Tracklets of each vertex that belong to it more likely than not, and the sum of their pT^2.
    counts: Vec<(u64, f64)>,
}

impl TrackletSearch {
    /// Finds the vertices of tracklets, ascending in z, and sets the vertex of each tracklet.
    pub(crate) fn find_vertices(
        &self,
        z_range: [f64; 2],
        tracklets: &mut [Tracklet],
        buffers: &mut VertexBuffers,
        vertices: &mut Vec<TrackletVertex>,
    ) {
        vertices.clear();
        self.fill_places(tracklets, &mut buffers.places);
        find_dense_places(z_range, buffers);
        self.maximise(buffers);
        let VertexBuffers { places, candidates, near, members, counts, .. } = buffers;
        members.resize_with(candidates.len().max(members.len()), Vec::new);
        members.iter_mut().for_each(Vec::clear);
        tracklets.iter_mut().for_each(|tracklet| tracklet.set_vertex(None));
        counts.clear();
        counts.resize(candidates.len(), (0, 0.0));
        let mut first = 0;
        for place in places.iter() {
            let total = densities(place, candidates, &mut first, near);
            let tracklet = &mut tracklets[place.of as usize];
            for (vertex, density) in (first..).zip(near.iter()) {
                let probability = density / total;
                members[vertex].push((place.of, probability));
                if probability > 0.5 {
                    tracklet.set_vertex(Some(vertex));
                    let (count, sum_pt2) = &mut counts[vertex];
                    *count += 1;
                    *sum_pt2 += tracklet.pt_gev * tracklet.pt_gev;
                }
            }
        }
        let width = self.config.beam_width_mm;
        for ((candidate, members), &(count, sum_pt2)) in candidates.iter().zip(&mut *members).zip(&*counts) {
            // In the order of the tracklets.
            members.sort_unstable_by_key(|&(of, _)| of);
            let own = members.iter().map(|&(of, probability)| (&tracklets[of as usize], probability));
            let (place, covariance) = vertex_fit::fit(own, candidate.z, width).unwrap_or_else(|| {
                let errors = [width * width, width * width, candidate.z_error * candidate.z_error];
                let diagonal = |i, j| if i == j { errors[i] } else { 0.0 };
                ([0.0, 0.0, candidate.z], std::array::from_fn(|i| std::array::from_fn(|j| diagonal(i, j))))
            });
            let significance = (2.0 * candidate.gain).max(0.0).sqrt();
            let weight = candidate.tracklets;
            vertices.push(TrackletVertex { place, covariance, weight, tracklets: count, significance, sum_pt2 });
        }
    }

    /// The places of the tracklets that may name a vertex.
    fn fill_places(&self, tracklets: &[Tracklet], places: &mut Vec<Place>) {
        places.clear();
        for (of, &Tracklet { z0_mm: z0, cot_theta: cot, z_covariance, .. }) in (0..).zip(tracklets) {
            let width = self.config.beam_width_mm * cot;
            let error2 = z_covariance[0] + 0.5 * width * width + ERROR_FLOOR_MM * ERROR_FLOOR_MM;
            let error = error2.sqrt();
            if error < MAX_ERROR_MM {
                let height = 1.0 / (error * TAU.sqrt());
                places.push(Place { z: z0, error, weight: 1.0 / error2, height, background: 0.0, of, is_free: true });
            }
        }
        places.sort_unstable_by(|a, b| a.z.total_cmp(&b.z).then(a.of.cmp(&b.of)));
        let (mut first, mut end) = (0, 0);
        for i in 0..places.len() {
            let z = places[i].z;
            first += places[first..].iter().take_while(|place| z - place.z > DENSITY_REACH_MM).count();
            end += places[end..].iter().take_while(|place| place.z - z <= DENSITY_REACH_MM).count();
            let tracklet = &tracklets[places[i].of as usize];
            let part = match tracklet.hits.len() {
                3 => BACKGROUND_OF_THREE * (1.0 + (tracklet.cot_theta / STEEP) * (tracklet.cot_theta / STEEP)),
                _ => BACKGROUND,
            };
            places[i].background = part * (end - first) as f64 / (2.0 * DENSITY_REACH_MM);
        }
    }

    /// Maximises the extended likelihood of all tracklets.
    fn maximise(&self, buffers: &mut VertexBuffers) {
        let VertexBuffers { places, candidates, sums, near, .. } = buffers;
        let least_gain = 0.5 * self.config.tracklet_significance * self.config.tracklet_significance;
        for round in 0..ROUNDS {
            candidates.sort_unstable_by(|a, b| a.z.total_cmp(&b.z));
            sums.clear();
            sums.resize(candidates.len(), [0.0; 4]);
            let joins = MERGE_AFTER.contains(&round);
            let with_gain = joins || round + 1 == ROUNDS;
            let mut first = 0;
            for place in places.iter() {
                let total = densities(place, candidates, &mut first, near);
                for (sums, density) in sums[first..].iter_mut().zip(near.iter()) {
                    let probability = density / total;
                    let by_error = probability * place.weight;
                    sums[0] += probability;
                    sums[1] += by_error;
                    sums[2] += by_error * place.z;
                    if with_gain {
                        sums[3] -= libm::log((1.0 - probability).max(1e-12));
                    }
                }
            }
            for (vertex, &[tracklets, by_error, z, gain]) in candidates.iter_mut().zip(sums.iter()) {
                let by_error = by_error.max(1e-12);
                let (z, z_error) = (z / by_error, 1.0 / by_error.sqrt());
                *vertex = Candidate { z, z_error, tracklets, gain: gain - tracklets };
            }
            if joins {
                join(least_gain, candidates);
            }
        }
        candidates.retain(|vertex| vertex.tracklets >= MIN_TRACKLETS && vertex.gain >= least_gain);
        candidates.sort_unstable_by(|a, b| a.z.total_cmp(&b.z));
    }
}

/// Drops vertices that are far from significant, and those close to one with more tracklets.
fn join(least_gain: f64, vertices: &mut Vec<Candidate>) {
    vertices.sort_by(|a, b| b.tracklets.total_cmp(&a.tracklets).then(a.z.total_cmp(&b.z)));
    let mut kept = 0;
    for i in 0..vertices.len() {
        let vertex = vertices[i];
        let is_apart = |other: &Candidate| {
            let (apart, errors2) = (vertex.z - other.z, vertex.z_error.powi(2) + other.z_error.powi(2));
            apart * apart > MERGE * MERGE * (errors2 + MERGE_FLOOR_MM * MERGE_FLOOR_MM)
        };
        let may_stay = vertex.tracklets >= 0.75 * MIN_TRACKLETS && vertex.gain >= 0.5 * least_gain;
        if may_stay && vertices[..kept].iter().all(is_apart) {
            vertices[kept] = vertex;
            kept += 1;
        }
    }
    vertices.truncate(kept);
}

/// Fills `near` with the densities that the vertices from `first` on make at a place \[1/mm\], and
/// returns the density of all and of the background. Places come in ascending order; `first` only
/// grows.
#[inline(always)]
fn densities(place: &Place, vertices: &[Candidate], first: &mut usize, near: &mut Vec<f64>) -> f64 {
    // An earlier place may reach less far.
    while *first < vertices.len() && vertices[*first].z < place.z - REACH * MAX_ERROR_MM {
        *first += 1;
    }
    near.clear();
    let mut total = place.background;
    let by = -0.5 * place.weight;
    let reach2 = REACH * REACH * place.error * place.error;
    for vertex in &vertices[*first..] {
        let apart = place.z - vertex.z;
        if apart < -REACH * place.error {
            break;
        }
        let density = match apart * apart <= reach2 {
            true => vertex.tracklets * place.height * exp_below_0(by * apart * apart),
            false => 0.0,
        };
        near.push(density);
        total += density;
    }
    total
}

/// Finds the densest place, takes its tracklets out, and repeats.
fn find_dense_places([z_min, z_max]: [f64; 2], buffers: &mut VertexBuffers) {
    let VertexBuffers { places, density, maxima, candidates, .. } = buffers;
    let count = ((z_max - z_min) / BIN_MM).ceil() as usize + 1;
    density.clear();
    density.resize(count, 0);
    candidates.clear();
    for place in places.iter() {
        add(density, z_min, place, 1);
    }
    maxima.clear();
    maxima.extend(density.chunks(BLOCK).map(maximum));
    while let Some(bin) = densest(density, maxima) {
        let z = robust_mean(places, z_min + bin as f64 * BIN_MM);
        let mut taken = 0;
        let (mut low, mut high) = (count, 0);
        let from = places.partition_point(|place| place.z < z - TAKEN.sqrt() * MAX_ERROR_MM);
        for place in &mut places[from..] {
            let apart = place.z - z;
            if apart > TAKEN.sqrt() * MAX_ERROR_MM {
                break;
            }
            if place.is_free && apart * apart * place.weight < TAKEN {
                place.is_free = false;
                taken += 1;
                let bins = add(density, z_min, place, -1);
                (low, high) = (low.min(bins.start), high.max(bins.end));
            }
        }
        if taken == 0 {
            // Nothing more is found there.
            (low, high) = (bin.saturating_sub(2), (bin + 3).min(count));
            density[low..high].fill(CLOSED);
        }
        for block in low / BLOCK..high.div_ceil(BLOCK) {
            maxima[block] = maximum(&density[block * BLOCK..((block + 1) * BLOCK).min(count)]);
        }
        if taken > 1 {
            candidates.push(Candidate { z, z_error: 0.0, tracklets: FIRST_TRACKLETS, gain: 0.0 });
        }
    }
}

/// The density of a bin that is not looked at again, whatever is taken out.
const CLOSED: i64 = i64::MIN / 2;

fn maximum(densities: &[i64]) -> i64 {
    densities.iter().copied().max().unwrap_or(CLOSED)
}

/// The densest bin, the first one of several.
fn densest(density: &[i64], maxima: &[i64]) -> Option<usize> {
    let most = maximum(maxima);
    let block = maxima.iter().position(|&maximum| maximum == most).filter(|_| most > 0)?;
    density[block * BLOCK..].iter().position(|&density| density == most).map(|bin| block * BLOCK + bin)
}

/// Adds the Gaussian of a tracklet to the density `times` times, in whole steps. Returns its bins.
fn add(density: &mut [i64], z_min: f64, place: &Place, times: i64) -> std::ops::Range<usize> {
    let reach = 3.0 * place.error;
    let last = density.len() - 1;
    let bin = |z: f64| ((z - z_min) / BIN_MM).clamp(0.0, last as f64);
    let (first, end) = (bin(place.z - reach).ceil() as usize, bin(place.z + reach).floor() as usize + 1);
    let steps = STEPS / place.error.max(SHARPEST_MM).sqrt();
    for (i, density) in (first..).zip(&mut density[first..end.max(first)]) {
        let apart = (z_min + i as f64 * BIN_MM) - place.z;
        if apart.abs() <= reach {
            *density += times * (exp_below_0(-0.5 * apart * apart * place.weight) * steps + 0.5) as i64;
        }
    }
    first..end.max(first)
}

/// The mean about z of free places, with weights that fall to a half at a chi2 of 9, sharper from
/// step to step.
fn robust_mean(places: &[Place], mut z: f64) -> f64 {
    for temperature in TEMPERATURES {
        let (mut sum, mut total) = (0.0, 0.0);
        let from = places.partition_point(|place| place.z < z - MEAN_REACH * MAX_ERROR_MM);
        let near = places[from..].iter().take_while(|place| place.z <= z + MEAN_REACH * MAX_ERROR_MM);
        for place in near.filter(|place| place.is_free) {
            let chi2 = (place.z - z) * (place.z - z) * place.weight;
            if chi2 <= MEAN_REACH * MEAN_REACH {
                let weight = fermi(chi2, temperature) * place.weight;
                (sum, total) = (sum + weight * place.z, total + weight);
            }
        }
        if total > 0.0 {
            z = sum / total;
        }
    }
    z
}
