//! All that a step depends on but the track.

use crate::field::AnyField;
use crate::geometry::{Bounds, Geometry};
use crate::integrate::Accuracy;
use crate::number::Number;
use crate::philox::Random;
use crate::physics::{Cuts, Tables};

/// What a run is asked for, for every engine.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) field: AnyField,
    pub(crate) geometry: Geometry,
    pub(crate) cuts: Cuts,
    pub(crate) accuracy: Accuracy,
    pub(crate) random: Random,
    /// Of a track at most.
    pub(crate) most_steps: u32,
}

/// The same in the computation's numbers.
#[derive(Clone, Debug)]
pub(crate) struct World<T> {
    pub(crate) field: AnyField,
    pub(crate) bounds: Bounds<T>,
    pub(crate) tables: Tables<T>,
    /// MeV.
    pub(crate) electron_cut: T,
    pub(crate) photon_cut: T,
    pub(crate) stop: T,
    pub(crate) accuracy: Accuracy,
    pub(crate) random: Random,
    pub(crate) most_steps: u32,
}

impl<T: Number> World<T> {
    pub(crate) fn new(settings: &Settings) -> Self {
        let cuts = &settings.cuts;
        Self {
            field: settings.field.clone(),
            bounds: Bounds::new(&settings.geometry),
            tables: Tables::new(cuts),
            electron_cut: T::of(cuts.electron),
            photon_cut: T::of(cuts.photon),
            stop: T::of(cuts.stop),
            accuracy: settings.accuracy,
            random: settings.random,
            most_steps: settings.most_steps,
        }
    }
}
