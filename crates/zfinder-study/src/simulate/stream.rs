//! A sample in parts, so that it need not be in memory as a whole.

use rayon::prelude::*;

use super::event::simulate;
use super::{SimulatedRoi, Simulation};

/// RoIs of a chunk: few enough that they are little memory,
const MOST_ROIS: usize = 128;
/// and busy ones are fewer, of this many tracks together,
const TRACKS: f64 = 100_000.0;
/// but enough for all threads, of which some have an RoI that takes longer.
const ROIS_A_THREAD: usize = 2;

/// The RoIs of a sample in order, some at a time: [`Simulation::chunks`]. How many that is depends
/// on the machine, what they are does not.
#[derive(Clone, Debug)]
pub struct Chunks {
    /// In range.
    knobs: Simulation,
    next: usize,
}

impl Chunks {
    pub(super) fn new(knobs: Simulation) -> Self {
        Self { knobs, next: 0 }
    }

    fn size(&self) -> usize {
        let k = &self.knobs;
        let tracks = 2.0 * k.eta_half_width * (k.hard_tracks_per_eta + k.pile_up * k.tracks_per_eta);
        let rois = (TRACKS / tracks.max(1.0)) as usize;
        rois.min(MOST_ROIS).max(ROIS_A_THREAD * rayon::current_num_threads())
    }
}

impl Iterator for Chunks {
    type Item = Vec<SimulatedRoi>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next;
        self.next = self.knobs.rois.min(start + self.size());
        let made: Vec<_> =
            (start..self.next).into_par_iter().map(|index| simulate(&self.knobs, index as u64)).collect();
        (!made.is_empty()).then_some(made)
    }
}
