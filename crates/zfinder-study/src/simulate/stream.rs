//! Simulates a sample in chunks, so that it need not fit in memory.

use rayon::prelude::*;

use super::event::simulate;
use super::{SimulatedRoi, Simulation};

/// Most RoIs of a chunk, which bounds its memory.
const MOST_ROIS: usize = 128;
/// Most tracks of a chunk, on average, which bounds it for busy events.
const TRACKS: f64 = 100_000.0;
/// Fewest RoIs of a chunk for each thread, so that threads with short RoIs have more work.
const ROIS_A_THREAD: usize = 2;

/// The RoIs of a sample in order, chunk by chunk: [`Simulation::chunks`]. The size of a chunk
/// depends on the machine, its content does not.
#[derive(Clone, Debug)]
pub struct Chunks {
    /// Knobs in range.
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
