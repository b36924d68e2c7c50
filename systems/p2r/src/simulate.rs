//! Simulated tracks and hits: copies of one known track, or helices of many directions and momenta.

use std::f64::consts::{PI, TAU};
use std::sync::LazyLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::Deserialize;

use crate::batch::{Batch, COVARIANCES, HIT, Hit, Layout, Number, PARAMETERS, TRACK, Track, words_of};
use crate::engine::reference::CURVATURE;
use crate::error::Result;

/// The kind of simulated tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Copies of the public mini-app's track of 4.5 GeV with its 22 hits, outermost first. Each
    /// value is multiplied by 1 + smear times a normal random number.
    #[default]
    Seed,
    /// Helices of both charges from the beam line: pt from 1 to 20 GeV, |eta| below 1. The hits lie
    /// at the same radii, with errors of 30 um across and 1 mm along the beam. The initial
    /// covariance is diagonal with the variances of the mini-app's track before the mini-app scales
    /// them, and the initial state is the true one smeared with it, so that pulls have unit width.
    Helices,
}

/// A simulation of tracks and hits.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    /// The numbers of events, tracks and layers, and their memory layout.
    pub layout: Layout,
    /// The kind of tracks.
    pub spread: Spread,
    /// The relative standard deviation of each value, for [`Spread::Seed`].
    pub smear: f64,
    /// The seed. Each event has its own stream of random numbers.
    pub seed: u64,
}

impl Default for Simulation {
    /// Returns 20 events of 8192 tracks with 20 layers, in groups of 32, smeared by 1e-5.
    fn default() -> Self {
        let layout = Layout { events: 20, tracks: 8192, layers: 20, bsize: 32 };
        Self { layout, spread: Spread::Seed, smear: 1e-5, seed: 1 }
    }
}

#[derive(Deserialize)]
struct Known {
    track: KnownTrack,
    hits: Vec<KnownHit>,
}

#[derive(Deserialize)]
struct KnownTrack {
    par: [f64; PARAMETERS],
    cov: [f64; COVARIANCES],
    q: f64,
}

#[derive(Deserialize)]
struct KnownHit {
    pos: [f64; 3],
    cov: [f64; 6],
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/seed.json")).expect("the crate's own file is well-formed")
});

/// The mini-app multiplies the track's covariance by this before use.
const COVARIANCE_SCALE: f64 = 100.0;

/// Returns the public mini-app's track with its covariance as the mini-app uses it, and its hits,
/// outermost first.
#[must_use]
pub fn seed_track() -> (Track, Vec<Hit>) {
    let KnownTrack { par, cov, q } = KNOWN.track;
    let track = Track { par, cov: cov.map(|entry| COVARIANCE_SCALE * entry), charge: q };
    (track, KNOWN.hits.iter().map(|hit| Hit { pos: hit.pos, cov: hit.cov }).collect())
}

impl Simulation {
    /// Simulates a batch in f32 or f64.
    ///
    /// # Errors
    /// [`Error::Batch`](crate::Error::Batch) if the layout is invalid.
    pub fn simulate<T: Number>(&self) -> Result<Batch<T>> {
        self.simulate_with_truth().map(|(batch, _)| batch)
    }

    /// Simulates a batch and returns the true parameters of each track at its last hit, event after
    /// event. There is no truth of [`Spread::Seed`] and without layers: the list is empty.
    ///
    /// # Errors
    /// [`Error::Batch`](crate::Error::Batch) if the layout is invalid.
    pub fn simulate_with_truth<T: Number>(&self) -> Result<(Batch<T>, Vec<[f64; PARAMETERS]>)> {
        let mut batch = Batch::new(self.layout)?;
        let layout = self.layout;
        // Indices in an event are those of the first event.
        let one = Layout { events: 1, ..layout };
        let (tracks, hits) = batch.words_by_event();
        let events: Vec<_> = tracks.zip(hits.map(Some).chain(std::iter::repeat_with(|| None))).collect();
        let simulated = events.into_par_iter().enumerate().map(|(event, (tracks, hits))| {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            rng.set_stream(event as u64);
            let mut none = [];
            let hits: &mut [T] = hits.unwrap_or(&mut none);
            let mut truths = Vec::new();
            for slot in 0..layout.tracks {
                let (track, own, truth) = self.track(&mut rng);
                truths.extend(truth);
                for (n, number) in words_of(&track).enumerate() {
                    tracks[one.at(slot, n, TRACK)] = T::from_f64(number);
                }
                for (layer, hit) in own.iter().take(layout.layers).enumerate() {
                    for (n, &number) in hit.pos.iter().chain(&hit.cov).enumerate() {
                        hits[one.at(slot, layer * HIT + n, layout.layers * HIT)] = T::from_f64(number);
                    }
                }
            }
            truths
        });
        let truth: Vec<Vec<_>> = simulated.collect();
        Ok((batch, truth.concat()))
    }

    fn track(&self, rng: &mut ChaCha8Rng) -> (Track, Vec<Hit>, Option<[f64; PARAMETERS]>) {
        match self.spread {
            Spread::Seed => {
                let (track, hits) = self.smeared(rng);
                (track, hits, None)
            }
            Spread::Helices => helix(rng, self.layout.layers),
        }
    }

    fn smeared(&self, rng: &mut ChaCha8Rng) -> (Track, Vec<Hit>) {
        let (mut track, mut hits) = seed_track();
        hits.truncate(self.layout.layers);
        if self.smear != 0.0 {
            let numbers = track.par.iter_mut().chain(&mut track.cov);
            for number in numbers.chain(hits.iter_mut().flat_map(|hit| hit.pos.iter_mut().chain(&mut hit.cov))) {
                let normal: f64 = StandardNormal.sample(rng);
                *number *= 1.0 + self.smear * normal;
            }
        }
        (track, hits)
    }
}

/// Errors of hits \[cm\]: across and along the beam.
const ACROSS: f64 = 0.003;
const ALONG: f64 = 0.1;

/// Returns the smeared state of a helix from the beam line at the outermost radius, its hits, and
/// its true state at the last of so many layers.
fn helix(rng: &mut ChaCha8Rng, layers: usize) -> (Track, Vec<Hit>, Option<[f64; PARAMETERS]>) {
    let mut normal = {
        let mut rng = ChaCha8Rng::seed_from_u64(rng.random());
        move || -> f64 { StandardNormal.sample(&mut rng) }
    };
    let charge = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
    let pt = 20.0_f64.powf(rng.random_range(0.0..1.0));
    let phi = rng.random_range(-PI..PI);
    let theta = PI / 2.0 + rng.random_range(-1.0_f64..1.0).sinh().atan();
    let z0 = 5.0 * normal();
    let turn = (charge * CURVATURE).signum();
    // In the plane: the circle's radius, and by how much the track has turned at a radius from the
    // beam.
    let circle = CURVATURE.abs() * pt;
    let at = |radius: f64| {
        let turned = 2.0 * (radius / (2.0 * circle)).asin();
        let place = phi + turn * turned / 2.0;
        ([radius * place.cos(), radius * place.sin(), z0 + circle * turned / theta.tan()], phi + turn * turned)
    };
    let (seed, known) = seed_track();
    let state = |radius: f64| {
        let (pos, direction) = at(radius);
        [pos[0], pos[1], pos[2], 1.0 / pt, (direction + PI).rem_euclid(TAU) - PI, theta]
    };
    let mut par = state(seed.par[0].hypot(seed.par[1]));
    let last = layers.checked_sub(1).and_then(|last| known.get(last));
    let truth = last.map(|hit| state(hit.pos[0].hypot(hit.pos[1])));
    // No correlations: the mini-app's are of its own direction.
    let mut cov = [0.0; COVARIANCES];
    for (i, number) in par.iter_mut().enumerate() {
        let place = i * (i + 3) / 2;
        cov[place] = seed.cov[place] / COVARIANCE_SCALE;
        *number += cov[place].sqrt() * normal();
    }
    let hits = known
        .iter()
        .map(|hit| {
            let (pos, _) = at(hit.pos[0].hypot(hit.pos[1]));
            // Across: along the circle of this radius.
            let radius = pos[0].hypot(pos[1]);
            let (cos, sin) = (pos[0] / radius, pos[1] / radius);
            let off = ACROSS * normal();
            let (a, b) = (ACROSS * ACROSS, 1e-4 * ACROSS * ACROSS);
            Hit {
                pos: [pos[0] - sin * off, pos[1] + cos * off, pos[2] + ALONG * normal()],
                cov: [
                    sin * sin * a + cos * cos * b,
                    sin * cos * (b - a),
                    cos * cos * a + sin * sin * b,
                    0.0,
                    0.0,
                    ALONG * ALONG,
                ],
            }
        })
        .collect();
    (Track { par, cov, charge }, hits, truth)
}
