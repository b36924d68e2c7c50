//! What fits.

pub(crate) mod cpu;
pub(crate) mod gpu;
pub(crate) mod reference;

use crate::batch::{Layout, Number, STATE};
use crate::status::Status;

/// Where each layer begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// With the state that the layer before left: a Kalman filter.
    #[default]
    Sequential,
    /// With the track as it came, as the published benchmarks of this program do: the result is that of the last layer
    /// alone. So that the others are computed none the less, all are summed: [`Fitted::layer_sum`].
    SeedState,
}

/// Fitted tracks, laid out as the batch was.
#[derive(Clone, Debug)]
pub struct Fitted<T: Number> {
    layout: Layout,
    pub(crate) states: Vec<T>,
    pub(crate) statuses: Vec<u32>,
    pub(crate) layer_sums: Vec<T>,
}

/// Of all tracks; what lies in places that are not used is nobody's.
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

    /// Room for a batch of this layout; what is there already is to be written over.
    pub(crate) fn prepare(&mut self, layout: Layout, mode: Mode) {
        let sums = if mode == Mode::SeedState { layout.slots() } else { 0 };
        if (self.layout, self.layer_sums.len()) != (layout, sums) {
            *self = Self::new(layout, mode);
        }
    }

    /// How they are laid out.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Parameters and covariances of a track.
    ///
    /// # Panics
    /// If there is no such track.
    #[must_use]
    pub fn state(&self, event: usize, track: usize) -> [f64; STATE] {
        let slot = self.checked(event, track);
        std::array::from_fn(|n| self.states[self.layout.at(slot, n, STATE)].into())
    }

    /// What was wrong with a track.
    ///
    /// # Panics
    /// If there is no such track.
    #[must_use]
    pub fn status(&self, event: usize, track: usize) -> Status {
        Status::from_bits(self.statuses[self.checked(event, track)])
    }

    /// In [`Mode::SeedState`], the sum of all parameters and covariances after each layer, of all layers.
    ///
    /// # Panics
    /// If there is no such track.
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
