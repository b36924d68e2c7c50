//! The engines that fit tracks.

pub(crate) mod cpu;
pub(crate) mod gpu;
pub(crate) mod reference;

use crate::batch::{Layout, Number, STATE};
use crate::status::Status;

/// Where each layer begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// With the state after the previous layer: a Kalman filter.
    #[default]
    Sequential,
    /// With the input track, as the published benchmarks of p2r do. The result is the result of the
    /// last layer alone. [`Fitted::layer_sum`] sums all layers, so that no compiler removes them.
    SeedState,
}

/// Fitted tracks, in the layout of their batch.
#[derive(Clone, Debug)]
pub struct Fitted<T: Number> {
    layout: Layout,
    pub(crate) states: Vec<T>,
    pub(crate) statuses: Vec<u32>,
    pub(crate) layer_sums: Vec<T>,
}

/// Compares all tracks and ignores unused slots.
impl<T: Number> PartialEq for Fitted<T> {
    fn eq(&self, other: &Self) -> bool {
        let same = |slot: usize| {
            let word = |fitted: &Self, n: usize| fitted.states[self.layout.at(slot, n, STATE)];
            (0..STATE).all(|n| word(self, n) == word(other, n))
                && self.statuses[slot] == other.statuses[slot]
                && self.layer_sums.get(slot) == other.layer_sums.get(slot)
        };
        self.layout == other.layout
            && self.layer_sums.len() == other.layer_sums.len()
            && (0..self.layout.slots()).filter(|&slot| self.layout.is_used(slot)).all(same)
    }
}

impl<T: Number> Fitted<T> {
    pub(crate) fn new(layout: Layout, mode: Mode) -> Self {
        let slots = layout.slots();
        let sums = if mode == Mode::SeedState { slots } else { 0 };
        Self {
            layout,
            states: vec![T::default(); slots * STATE],
            statuses: vec![0; slots],
            layer_sums: vec![T::default(); sums],
        }
    }

    /// Adapts the memory to a layout. The content is unspecified.
    pub(crate) fn prepare(&mut self, layout: Layout, mode: Mode) {
        let sums = if mode == Mode::SeedState { layout.slots() } else { 0 };
        if (self.layout, self.layer_sums.len()) != (layout, sums) {
            *self = Self::new(layout, mode);
        }
    }

    /// Returns the memory layout.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the parameters and covariances of a track.
    ///
    /// # Panics
    /// If the event or the track is out of range.
    #[must_use]
    pub fn state(&self, event: usize, track: usize) -> [f64; STATE] {
        let slot = self.checked(event, track);
        std::array::from_fn(|n| self.states[self.layout.at(slot, n, STATE)].into())
    }

    /// Returns the faults of a track.
    ///
    /// # Panics
    /// If the event or the track is out of range.
    #[must_use]
    pub fn status(&self, event: usize, track: usize) -> Status {
        Status::from_bits(self.statuses[self.checked(event, track)])
    }

    /// Returns the sum of all parameters and covariances after each layer, over all layers, in
    /// [`Mode::SeedState`]. Returns None in [`Mode::Sequential`].
    ///
    /// # Panics
    /// If the event or the track is out of range.
    #[must_use]
    pub fn layer_sum(&self, event: usize, track: usize) -> Option<f64> {
        let slot = self.checked(event, track);
        self.layer_sums.get(slot).map(|&sum| sum.into())
    }

    fn checked(&self, event: usize, track: usize) -> usize {
        let Layout { events, tracks, .. } = self.layout;
        assert!(event < events && track < tracks, "track {track} of event {event}: {events} events of {tracks} tracks");
        self.layout.slot(event, track)
    }
}
