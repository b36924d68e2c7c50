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
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted<T: Number> {
    layout: Layout,
    pub(crate) states: Vec<T>,
    pub(crate) statuses: Vec<u32>,
    pub(crate) layer_sums: Vec<T>,
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
