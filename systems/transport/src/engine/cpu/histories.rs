//! Whole histories on all cores: each batch of tracks is followed by one thread, and is split when
//! it grows.
//!
//! Tracks are independent and all sums are integers, so the results do not depend on the batches.
//! Threads share nothing but the sums of energy, and wait for each other only at the end.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::interact::interact;
use super::step_length::step_length;
use crate::deposits::{Scores, units};
use crate::engine::Kernels;
use crate::engine::ended::{Ended, Status, Tally};
use crate::geometry::Mesh;
use crate::number::Number;
use crate::track::{Process, Track, TrackStatus};
use crate::world::{Settings, SortBy, World};

/// The largest batch: its tracks stay in a core's cache.
const MOST_TRACKS: usize = 256;
/// Batches for each thread at first, so that threads end together.
const BATCHES_A_THREAD: usize = 16;

/// Result of a batch.
#[derive(Default)]
struct Followed {
    /// Without deposits.
    tally: Tally,
    left: Vec<Track<f64>>,
    iterations: u32,
    /// The number of tracks in each iteration.
    tracks: Vec<usize>,
}

impl Followed {
    fn merge(mut self, mut other: Self) -> Self {
        self.tally.add(&other.tally);
        self.left.append(&mut other.left);
        self.iterations = self.iterations.max(other.iterations);
        if self.tracks.len() < other.tracks.len() {
            std::mem::swap(&mut self.tracks, &mut other.tracks);
        }
        self.tracks.iter_mut().zip(&other.tracks).for_each(|(sum, tracks)| *sum += tracks);
        self
    }

    fn count(&mut self, iteration: u32, tracks: usize) {
        let iteration = iteration as usize;
        if self.tracks.len() <= iteration {
            self.tracks.resize(iteration + 1, 0);
        }
        self.tracks[iteration] += tracks;
    }
}

/// A run without a limit of slots.
struct Histories<'a> {
    world: World<f32>,
    scores: Scores<f32>,
    deposits: &'a [AtomicU64],
    kernels: Kernels,
    sort_by: SortBy,
    iterations: u32,
}

/// Follows tracks for at most `iterations` steps each.
pub(crate) fn run(
    settings: &Settings,
    mesh: &Mesh,
    scores: Scores<f32>,
    (kernels, sort_by): (Kernels, SortBy),
    tracks: &[Track<f32>],
    iterations: u32,
) -> Ended {
    let deposits: Vec<AtomicU64> = (0..scores.count()).map(|_| AtomicU64::new(0)).collect();
    let world = World::new(settings, mesh);
    let histories = Histories { world, scores, deposits: &deposits, kernels, sort_by, iterations };
    let batch = tracks.len().div_ceil(BATCHES_A_THREAD * rayon::current_num_threads()).clamp(1, MOST_TRACKS);
    let followed = tracks.par_chunks(batch).map(|tracks| histories.follow(tracks.to_vec(), 0));
    let Followed { tally, left, iterations, tracks } = followed.reduce(Followed::default, Followed::merge);
    let tally = Tally { deposits: deposits.into_iter().map(AtomicU64::into_inner).collect(), ..tally };
    let status = if left.is_empty() { Status::Finished } else { Status::StepsMade };
    Ended { status, tally, left, iterations, slots: tracks.into_iter().max().unwrap_or(0) }
}

impl Histories<'_> {
    fn follow(&self, mut tracks: Vec<Track<f32>>, mut iteration: u32) -> Followed {
        let mut followed = Followed::default();
        let mut next = Vec::with_capacity(tracks.len());
        while iteration < self.iterations && !tracks.is_empty() {
            if tracks.len() > MOST_TRACKS {
                let others = tracks.split_off(tracks.len() / 2);
                let (one, other) = rayon::join(|| self.follow(tracks, iteration), || self.follow(others, iteration));
                return followed.merge(one).merge(other);
            }
            followed.count(iteration, tracks.len());
            match self.kernels {
                Kernels::Monolithic => {
                    for track in &mut tracks {
                        step_length(&self.world, track);
                        self.interact(track, &mut next, &mut followed.tally);
                    }
                }
                Kernels::Split => {
                    tracks.iter_mut().for_each(|track| step_length(&self.world, track));
                    tracks.sort_by_key(|track| self.class(track));
                    tracks.iter().for_each(|track| self.interact(track, &mut next, &mut followed.tally));
                }
            }
            std::mem::swap(&mut tracks, &mut next);
            next.clear();
            iteration += 1;
            followed.iterations = iteration;
        }
        if tracks.is_empty() {
            return followed;
        }
        followed.left.extend(tracks.iter().map(Track::widened));
        followed.iterations = followed.iterations.max(iteration);
        followed
    }

    fn class(&self, track: &Track<f32>) -> u32 {
        match self.sort_by {
            SortBy::Process => track.process as u32,
            SortBy::Volume => self.world.bounds.region(track.cell),
        }
    }

    fn interact(&self, track: &Track<f32>, next: &mut Vec<Track<f32>>, tally: &mut Tally) {
        let effect = interact(&self.world, track);
        add(self.deposits, &self.scores, track, effect.deposited);
        tally.finish(track.process, units(effect.escaped), units(effect.abandoned), effect.secondary.is_some());
        if effect.after.status == TrackStatus::Alive {
            next.push(effect.after);
        }
        next.extend(effect.secondary);
    }
}

/// Adds the energy that a step deposits to its bin, and to the score of its primary.
pub(crate) fn add<T: Number>(deposits: &[AtomicU64], scores: &Scores<T>, track: &Track<T>, energy: T) {
    let units = units(energy);
    if units > 0 {
        deposits[scores.bin(track.place)].fetch_add(units, Ordering::Relaxed);
        if let Some(score) = scores.score(track) {
            deposits[score].fetch_add(units, Ordering::Relaxed);
        }
    }
}

impl Tally {
    /// Counts a step that ended with a process.
    pub(crate) fn finish(&mut self, process: Process, escaped: u64, abandoned: u64, has_secondary: bool) {
        self.escaped += escaped;
        self.abandoned += abandoned;
        self.processes[process as usize] += 1;
        self.secondaries += u64::from(has_secondary);
    }
}
