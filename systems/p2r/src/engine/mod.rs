//! The engines that fit tracks.

pub(crate) mod cpu;
pub(crate) mod gpu;
pub(crate) mod reference;

use crate::batch::{Layout, Number, STATE, zeros};
use crate::error::Result;
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

/// The formulas of the propagation to a cylinder. A disk has the closed form in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formulas {
    /// The helix in closed form, with its exact Jacobian.
    #[default]
    Exact,
    /// The published formulas of the mini-app p2r. Their Jacobian holds where a track crosses a
    /// cylinder at right angles. chi2 and errors of tracks that bend more are wrong.
    P2r,
}

/// Mode of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) mode: Mode,
    pub(crate) formulas: Formulas,
    /// Whether chi2 is returned.
    pub(crate) chi2: bool,
}

impl Task {
    /// Returns the lengths of the sums of layers and of the chi2 for so many slots.
    pub(crate) fn lengths(self, slots: usize) -> [usize; 2] {
        [self.mode == Mode::SeedState, self.chi2].map(|wanted| if wanted { slots } else { 0 })
    }
}

/// Fitted tracks, in the layout of their batch.
#[derive(Clone, Debug)]
pub struct Fitted<T: Number> {
    layout: Layout,
    pub(crate) states: Vec<T>,
    /// The faults, and the number of updates above them.
    pub(crate) statuses: Vec<u32>,
    pub(crate) layer_sums: Vec<T>,
    pub(crate) chi2s: Vec<T>,
}

/// Compares all tracks and ignores unused slots.
impl<T: Number> PartialEq for Fitted<T> {
    fn eq(&self, other: &Self) -> bool {
        let same = |slot: usize| {
            let word = |fitted: &Self, n: usize| fitted.states[self.layout.at(slot, n, STATE)];
            (0..STATE).all(|n| word(self, n) == word(other, n))
                && self.statuses[slot] == other.statuses[slot]
                && self.layer_sums.get(slot) == other.layer_sums.get(slot)
                && self.chi2s.get(slot) == other.chi2s.get(slot)
        };
        self.layout == other.layout
            && self.layer_sums.len() == other.layer_sums.len()
            && self.chi2s.len() == other.chi2s.len()
            && (0..self.layout.slots()).filter(|&slot| self.layout.is_used(slot)).all(same)
    }
}

impl<T: Number> Fitted<T> {
    pub(crate) fn new(layout: Layout, task: Task) -> Result<Self> {
        let slots = layout.slots();
        let [sums, chi2s] = task.lengths(slots);
        Ok(Self {
            layout,
            states: zeros(slots * STATE)?,
            statuses: zeros(slots)?,
            layer_sums: zeros(sums)?,
            chi2s: zeros(chi2s)?,
        })
    }

    /// Adapts the memory to a layout. The content is unspecified.
    pub(crate) fn prepare(&mut self, layout: Layout, task: Task) -> Result<()> {
        let lengths = [self.layer_sums.len(), self.chi2s.len()];
        if (self.layout, lengths) != (layout, task.lengths(layout.slots())) {
            *self = Self::new(layout, task)?;
        }
        Ok(())
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
        Status::of_word(self.statuses[self.checked(event, track)])
    }

    /// Returns the number of hits that updated a track.
    ///
    /// # Panics
    /// If the event or the track is out of range.
    #[must_use]
    pub fn updates(&self, event: usize, track: usize) -> u32 {
        Status::updates(self.statuses[self.checked(event, track)])
    }

    /// Returns the chi2 of a track: the sum over its updates in [`Mode::Sequential`], of the last
    /// update in [`Mode::SeedState`]. Each update has two degrees of freedom. Returns None if the
    /// fitter was not asked for it.
    ///
    /// # Panics
    /// If the event or the track is out of range.
    #[must_use]
    pub fn chi2(&self, event: usize, track: usize) -> Option<f64> {
        let slot = self.checked(event, track);
        self.chi2s.get(slot).map(|&chi2| chi2.into())
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
