//! Everything that a step depends on, except the track.

use crate::error::{Error, Result};
use crate::field::AnyField;
use crate::geometry::{Bounds, Geometry, Mesh};
use crate::integrate::Accuracy;
use crate::number::Number;
use crate::philox::Random;
use crate::physics::Cuts;
use crate::physics::tables::{Tables, photon_nodes};
use crate::track::{MOST_LOOPS, MOST_MATERIALS, MOST_STEPS};

/// How electrons and positrons scatter along a step in matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scattering {
    /// They do not: showers are too narrow. The prototype's published steps are these.
    #[default]
    None,
    /// By one Gaussian angle a step, with Highland's width (PDG).
    Highland,
}

/// The order in which neighbouring threads work on sorted interactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// The process: neighbouring threads do the same work.
    #[default]
    Process,
    /// The region (ring and layer): neighbouring threads read the same tables.
    Volume,
}

/// The options of a run, for every engine.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) field: AnyField,
    pub(crate) geometry: Geometry,
    pub(crate) cuts: Cuts,
    pub(crate) accuracy: Accuracy,
    pub(crate) scattering: Scattering,
    pub(crate) random: Random,
    /// A track with more steps is abandoned.
    pub(crate) most_steps: u32,
    /// A track with so many loops is abandoned; 0 is never.
    pub(crate) most_loops: u32,
    /// Whether deposits are summed by primary and material.
    pub(crate) scores: bool,
}

impl Settings {
    pub(crate) fn check(&self) -> Result<()> {
        self.cuts.check()?;
        self.accuracy.check()?;
        self.field.check()?;
        let wrong = |what: String| Err(Error::Options { what });
        if !(1..=MOST_STEPS).contains(&self.most_steps) {
            return wrong(format!("{} steps of a track at most: 1 to {MOST_STEPS} are wanted", self.most_steps));
        }
        if self.most_loops > MOST_LOOPS {
            return wrong(format!("{} loops of a track at most: 0 to {MOST_LOOPS} are wanted", self.most_loops));
        }
        if self.geometry.materials.len() > MOST_MATERIALS {
            let count = self.geometry.materials.len();
            return wrong(format!("{count} materials, or volumes that are scored: there may be {MOST_MATERIALS}"));
        }
        Ok(())
    }

    /// The number of materials that deposits are summed by; 0 if they are not.
    pub(crate) fn scored_materials(&self) -> usize {
        if self.scores { self.geometry.materials.len() } else { 0 }
    }
}

/// The same in the computation's numbers.
#[derive(Clone, Debug)]
pub(crate) struct World<T> {
    pub(crate) field: AnyField,
    pub(crate) bounds: Bounds<T>,
    /// Of each material.
    pub(crate) tables: Vec<Tables<T>>,
    /// MeV.
    pub(crate) electron_cut: T,
    pub(crate) photon_cut: T,
    pub(crate) stop: T,
    pub(crate) accuracy: Accuracy,
    pub(crate) scatters: bool,
    pub(crate) random: Random,
    pub(crate) most_steps: u32,
    pub(crate) most_loops: u32,
}

impl<T: Number> World<T> {
    pub(crate) fn new(settings: &Settings, mesh: &Mesh) -> Self {
        let (cuts, materials) = (&settings.cuts, &settings.geometry.materials);
        let nodes = photon_nodes(materials);
        Self {
            field: settings.field.clone(),
            bounds: Bounds::new(mesh),
            tables: materials.iter().map(|material| Tables::new(material, cuts, &nodes)).collect(),
            electron_cut: T::of(cuts.electron),
            photon_cut: T::of(cuts.photon),
            stop: T::of(cuts.stop),
            accuracy: settings.accuracy,
            scatters: settings.scattering == Scattering::Highland,
            random: settings.random,
            most_steps: settings.most_steps,
            most_loops: settings.most_loops,
        }
    }

    /// The tables of a material, numbered from 1.
    pub(crate) fn tables(&self, material: u32) -> &Tables<T> {
        &self.tables[material as usize - 1]
    }
}
