//! Tracks of pairs with third spacepoints.

use crate::detector::MAX_LAYERS;
use crate::engine::cpu::column::{MOST_LANES, ROOM};
use crate::engine::cpu::lanes::Lanes;

/// The tracks that third spacepoints make with one pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracks<R> {
    /// A bit for each layer that holds a third spacepoint.
    pub(super) layers: u64,
    /// The highest pT in each of these layers \[GeV\].
    pub(super) best: [R; MAX_LAYERS],
}

/// Tracks of the pairs of one middle spacepoint.
#[derive(Debug)]
pub(super) struct PairTracks<R> {
    /// The place of each pair's tracks in `tracks`, if a third spacepoint confirms the pair.
    pub(super) of_pair: Box<[Option<usize>; ROOM + MOST_LANES]>,
    pub(super) tracks: Vec<Tracks<R>>,
}

impl<R> Default for PairTracks<R> {
    fn default() -> Self {
        Self { of_pair: Box::new([None; ROOM + MOST_LANES]), tracks: Vec::new() }
    }
}

impl<R: Lanes> PairTracks<R> {
    pub(super) fn clear(&mut self, pairs: usize) {
        self.tracks.clear();
        self.of_pair[..pairs].fill(None);
    }

    /// Adds a track of a pair with a third spacepoint of a layer.
    #[inline(always)]
    pub(super) fn add(&mut self, pair: usize, layer: usize, pt: R) {
        let tracks = match self.of_pair[pair] {
            Some(known) => &mut self.tracks[known],
            None => {
                self.of_pair[pair] = Some(self.tracks.len());
                self.tracks.push_mut(Tracks { layers: 0, best: [R::from_f64(0.0); MAX_LAYERS] })
            }
        };
        tracks.layers |= 1 << layer;
        let best = &mut tracks.best[layer];
        *best = if pt > *best { pt } else { *best };
    }
}
