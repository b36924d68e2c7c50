//! Tracks, as structures of arrays in groups of 16 bytes, which GPUs read at once.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::{Cell, Mesh};
use crate::number::{Number, Vector};
use crate::philox::{Random, philox4x32};
use crate::physics::ELECTRON_MASS;

/// The kind of a particle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// A photon.
    Photon = 0,
    /// An electron.
    Electron = 1,
    /// A positron.
    Positron = 2,
}

impl Kind {
    /// Returns the charge in units of the positron charge.
    #[must_use]
    pub fn charge(self) -> f64 {
        match self {
            Self::Photon => 0.0,
            Self::Electron => -1.0,
            Self::Positron => 1.0,
        }
    }
}

/// The process that ends a step. Tracks are counted and sorted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Process {
    /// Bremsstrahlung: an electron or positron radiates a photon.
    Bremsstrahlung = 0,
    /// Moller scattering: an electron or positron knocks out an electron.
    Moller = 1,
    /// Compton scattering: a photon knocks out an electron.
    Compton = 2,
    /// Pair production: a photon becomes an electron and a positron.
    Pair = 3,
    /// Photoelectric effect: an atom absorbs a photon.
    Photoelectric = 4,
    /// Annihilation: a stopped positron becomes two photons.
    Annihilation = 5,
    /// No interaction: the step ends at a boundary or at the largest step length.
    Nothing = 6,
    /// The slot has no track.
    Vacant = 7,
}

impl Process {
    /// The number of processes.
    pub const COUNT: usize = 8;

    /// All processes, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Bremsstrahlung,
        Self::Moller,
        Self::Compton,
        Self::Pair,
        Self::Photoelectric,
        Self::Annihilation,
        Self::Nothing,
        Self::Vacant,
    ];

    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bremsstrahlung => "bremsstrahlung",
            Self::Moller => "moller",
            Self::Compton => "compton",
            Self::Pair => "pair",
            Self::Photoelectric => "photoelectric",
            Self::Annihilation => "annihilation",
            Self::Nothing => "nothing",
            Self::Vacant => "vacant",
        }
    }
}

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum TrackStatus {
    /// The slot is vacant.
    Vacant = 0,
    /// The track makes a step.
    Alive = 1,
    /// The track has moved and waits for room for its secondaries.
    Waiting = 2,
}

/// A track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track<T> {
    /// The number of the track, which selects its random numbers. The high 32 bits are the index of
    /// the primary particle. The low 32 bits are 0 for the primary. For a secondary they depend on
    /// where it was made.
    pub number: u64,
    /// The kind of particle.
    pub kind: Kind,
    /// The state of the track.
    pub status: TrackStatus,
    /// x, y, z \[mm\].
    pub place: Vector<T>,
    /// The direction, a unit vector.
    pub direction: Vector<T>,
    /// The kinetic energy \[MeV\].
    pub kinetic: T,
    /// The cell.
    pub cell: Cell,
    /// The number of steps made.
    pub steps: u32,
    /// The number of last steps in a row in vacuum that ended at the integrator's limit.
    pub loops: u32,
    /// The length of the current step \[mm\].
    pub step: T,
    /// The material of the current step: 0 is vacuum, then an index into the geometry's materials
    /// from 1.
    pub material: u32,
    /// The process that ends the current step.
    pub process: Process,
}

impl<T> Track<T> {
    /// Returns the index of the primary particle that this track comes from.
    #[must_use]
    pub fn primary(&self) -> usize {
        (self.number >> 32) as usize
    }
}

impl<T: Number> Track<T> {
    /// Returns the energy that the track would deposit if it ended \[MeV\]. A positron annihilates
    /// with an electron.
    #[must_use]
    pub fn energy(&self) -> f64 {
        let rest = if self.kind == Kind::Positron { 2.0 * ELECTRON_MASS } else { 0.0 };
        match self.status {
            TrackStatus::Vacant => 0.0,
            TrackStatus::Alive | TrackStatus::Waiting => self.kinetic.into() + rest,
        }
    }
}

/// Returns the number of a secondary: that of the same primary.
pub(crate) fn child_of(parent: u64, steps: u32, which: u32, random: Random) -> u64 {
    // The key differs from that of the drawn numbers.
    let seed = match random {
        Random::Seeded(seed) => !seed,
        Random::Constant => 0,
    };
    let counter = [which, steps, parent as u32, (parent >> 32) as u32];
    let [low, ..] = philox4x32(counter, [seed as u32, (seed >> 32) as u32]);
    parent >> 32 << 32 | u64::from(low)
}

/// A primary particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Primary {
    /// The kind of particle.
    pub kind: Kind,
    /// x, y, z \[mm\].
    pub place: [f64; 3],
    /// The momentum \[MeV/c\].
    pub momentum: [f64; 3],
}

/// The reason why a particle is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejected {
    /// A position or momentum that is not finite.
    NotFinite,
    /// A momentum of zero, which has no direction.
    NoMomentum,
    /// An energy above the tables: 10 TeV.
    TooEnergetic,
    /// A position outside of the world.
    OutsideWorld,
}

impl Rejected {
    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFinite => "not finite",
            Self::NoMomentum => "no momentum",
            Self::TooEnergetic => "above 10 TeV",
            Self::OutsideWorld => "outside the world",
        }
    }
}

/// MeV.
const MOST_ENERGY: f64 = 1e7;
/// Least momentum \[MeV/c\]: below it a direction is lost in f32.
const LEAST_MOMENTUM: f64 = 1e-9;

impl Primary {
    /// Returns the kinetic energy \[MeV\].
    #[must_use]
    pub fn kinetic(&self) -> f64 {
        let p = self.momentum.iter().map(|p| p * p).sum::<f64>().sqrt();
        match self.kind {
            Kind::Photon => p,
            // sqrt(p^2 + m^2) - m, for small p as well.
            Kind::Electron | Kind::Positron => p * p / (p.hypot(ELECTRON_MASS) + ELECTRON_MASS),
        }
    }

    /// Makes the track of the primary particle with an index.
    ///
    /// # Errors
    /// The reason why the particle is rejected.
    pub(crate) fn track<T: Number>(&self, index: usize, mesh: &Mesh) -> Result<Track<T>, Rejected> {
        if !self.place.iter().chain(&self.momentum).all(|x| x.is_finite()) {
            return Err(Rejected::NotFinite);
        }
        let p = self.momentum.iter().map(|p| p * p).sum::<f64>().sqrt();
        if p < LEAST_MOMENTUM {
            return Err(Rejected::NoMomentum);
        }
        let kinetic = self.kinetic();
        if kinetic > MOST_ENERGY {
            return Err(Rejected::TooEnergetic);
        }
        let cell = mesh.locate(self.place);
        if cell == Cell::OUTSIDE {
            return Err(Rejected::OutsideWorld);
        }
        Ok(Track {
            number: (index as u64) << 32,
            kind: self.kind,
            status: TrackStatus::Alive,
            place: self.place.map(T::of),
            direction: self.momentum.map(|q| T::of(q / p)),
            kinetic: T::of(kinetic),
            cell,
            steps: 0,
            loops: 0,
            step: T::of(0.0),
            material: 0,
            process: Process::Nothing,
        })
    }
}

/// Simulates the particles of the prototype. Positions are 1290 to 1520 mm from the axis and up to
/// 3000 mm along it on either side. Momenta are 20 to 1000 MeV/c away from the centre. All are
/// uniform. `photons` is the fraction of photons.
#[must_use]
pub fn simulate(count: usize, photons: f64, seed: u64) -> Vec<Primary> {
    let primary = |number: u64| {
        // Steps are fewer.
        let mut draws = Random::Seeded(seed).draws(number, u32::MAX);
        let mut between = |low: f64, high: f64| low + f64::from(draws.uniform()) * (high - low);
        let kind = if between(0.0, 1.0) < photons { Kind::Photon } else { Kind::Electron };
        let (rho, phi, z) = (between(1290.0, 1520.0), between(0.0, std::f64::consts::TAU), between(-3000.0, 3000.0));
        let p = between(20.0, 1000.0);
        let place = [rho * phi.cos(), rho * phi.sin(), z];
        let from_middle = p / rho.hypot(z);
        Primary { kind, place, momentum: place.map(|x| x * from_middle) }
    };
    (0..count as u64).into_par_iter().map(primary).collect()
}

/// Slots for tracks of f32, as engines hold them: three groups of 16 bytes each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// x, y, z \[mm\]; the length of the step \[mm\].
    pub(crate) places: Vec<[f32; 4]>,
    /// The direction; the kinetic energy \[MeV\].
    pub(crate) directions: Vec<[f32; 4]>,
    /// The number's low and high words; steps, loops and material; kind, status, process and cell.
    pub(crate) identities: Vec<[u32; 4]>,
}

/// Bits of the last word of an identity: two of the kind, two of the status, one is unused, three
/// of the process, twenty of the cell. The highest four mark a track that a kernel has just made,
/// and are all set otherwise.
pub(crate) const STATUS_AT: u32 = 2;
pub(crate) const PROCESS_AT: u32 = 5;
pub(crate) const CELL_AT: u32 = 8;
pub(crate) const BORN_AT: u32 = 28;
pub(crate) const LONG_AGO: u32 = 15;
/// Bits of the word before it: sixteen of the steps, eight of the loops, eight of the material.
pub(crate) const LOOPS_AT: u32 = 16;
pub(crate) const MATERIAL_AT: u32 = 24;
/// Limits of these bits.
pub(crate) const MOST_STEPS: u32 = 0xffff;
pub(crate) const MOST_LOOPS: u32 = 0xff;
pub(crate) const MOST_MATERIALS: usize = 0xff;

/// A track as the three groups.
pub(crate) type Groups = ([f32; 4], [f32; 4], [u32; 4]);

impl Track<f32> {
    pub(crate) fn groups(&self) -> Groups {
        let [x, y, z] = self.place;
        let [u, v, w] = self.direction;
        let word = self.kind as u32
            | (self.status as u32) << STATUS_AT
            | (self.process as u32) << PROCESS_AT
            | self.cell.0 << CELL_AT
            | LONG_AGO << BORN_AT;
        (
            [x, y, z, self.step],
            [u, v, w, self.kinetic],
            [
                self.number as u32,
                (self.number >> 32) as u32,
                self.steps | self.loops << LOOPS_AT | self.material << MATERIAL_AT,
                word,
            ],
        )
    }

    /// The same track in f64.
    pub(crate) fn widened(&self) -> Track<f64> {
        let wide = |vector: [f32; 3]| vector.map(f64::from);
        let &Self { number, kind, status, place, direction, kinetic, cell, steps, loops, step, material, process } =
            self;
        Track {
            number,
            kind,
            status,
            place: wide(place),
            direction: wide(direction),
            kinetic: kinetic.into(),
            cell,
            steps,
            loops,
            step: step.into(),
            material,
            process,
        }
    }

    pub(crate) fn of_groups(([x, y, z, step], [u, v, w, kinetic], [low, high, counts, word]): Groups) -> Self {
        let kind = match word & 3 {
            0 => Kind::Photon,
            1 => Kind::Electron,
            _ => Kind::Positron,
        };
        let status = match word >> STATUS_AT & 3 {
            0 => TrackStatus::Vacant,
            1 => TrackStatus::Alive,
            _ => TrackStatus::Waiting,
        };
        Self {
            number: u64::from(low) | u64::from(high) << 32,
            kind,
            status,
            place: [x, y, z],
            direction: [u, v, w],
            kinetic,
            cell: Cell(word >> CELL_AT & Cell::OUTSIDE.0),
            steps: counts & MOST_STEPS,
            loops: counts >> LOOPS_AT & MOST_LOOPS,
            step,
            material: counts >> MATERIAL_AT,
            process: Process::ALL[(word >> PROCESS_AT & 7) as usize],
        }
    }
}

impl Slots {
    /// Of tracks.
    pub(crate) fn of(tracks: &[Track<f32>]) -> Self {
        let groups = tracks.par_iter().map(|track| {
            let (place, direction, identity) = track.groups();
            (place, (direction, identity))
        });
        let (places, (directions, identities)) = groups.unzip();
        Self { places, directions, identities }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.places.append(&mut other.places);
        self.directions.append(&mut other.directions);
        self.identities.append(&mut other.identities);
    }

    pub(crate) fn set(&mut self, slot: usize, track: &Track<f32>) {
        let (place, direction, identity) = track.groups();
        self.places[slot] = place;
        self.directions[slot] = direction;
        self.identities[slot] = identity;
    }

    /// Returns the tracks of occupied slots.
    pub(crate) fn tracks(&self) -> impl ParallelIterator<Item = Track<f32>> + '_ {
        let groups = self.places.par_iter().zip(&self.directions).zip(&self.identities);
        groups
            .map(|((&place, &direction), &identity)| Track::of_groups((place, direction, identity)))
            .filter(|track| track.status != TrackStatus::Vacant)
    }

    /// Returns the same tracks in the form of results.
    pub(crate) fn left(&self) -> Vec<Track<f64>> {
        self.tracks().map(|track| track.widened()).collect()
    }
}

/// Slots at most: they are numbered in 32 bits, and no buffer of a GPU is larger.
const MOST_SLOTS: usize = 1 << 28;

/// That so many slots can be had.
pub(crate) fn check_capacity(capacity: usize, tracks: usize) -> Result<()> {
    if capacity > MOST_SLOTS || tracks > capacity {
        let what =
            format!("{tracks} tracks in {capacity} slots: there can be {MOST_SLOTS} slots, and each track needs one");
        return Err(Error::TooLarge { what });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;

    #[test]
    fn tracks_are_groups_and_back() {
        let geometry = Mesh::new(&Geometry::default()).expect("a geometry");
        let primaries = simulate(500, 0.2, 3);
        for (number, primary) in primaries.iter().enumerate() {
            let mut track = primary.track::<f32>(number + (5 << 10), &geometry).expect("it is inside");
            track.status = [TrackStatus::Alive, TrackStatus::Waiting, TrackStatus::Vacant][number % 3];
            track.process = Process::ALL[number % 8];
            (track.material, track.loops) = (number as u32 % 3, number as u32 % 250);
            track.number += 77;
            (track.steps, track.step) = (number as u32, 0.5);
            if number % 7 == 0 {
                (track.kind, track.cell) = (Kind::Positron, Cell::OUTSIDE);
            }
            assert_eq!(Track::of_groups(track.groups()), track);
        }
        let photons = primaries.iter().filter(|primary| primary.kind == Kind::Photon).count();
        assert!((60..140).contains(&photons), "{photons}, not about 100");
        assert!(
            primaries
                .iter()
                .all(|primary| geometry.regions[geometry.locate(primary.place).layer() as usize + geometry.layers()]
                    == 1)
        );
    }

    #[test]
    fn particles_that_cannot_be_are_told() {
        let usual = Primary { kind: Kind::Electron, place: [1300.0, 0.0, 0.0], momentum: [100.0, 0.0, 0.0] };
        let told = |primary: Primary| {
            primary.track::<f32>(0, &Mesh::new(&Geometry::default()).expect("a geometry")).expect_err("nonsense")
        };
        assert_eq!(told(Primary { place: [f64::NAN, 0.0, 0.0], ..usual }), Rejected::NotFinite);
        assert_eq!(told(Primary { momentum: [0.0, f64::INFINITY, 0.0], ..usual }), Rejected::NotFinite);
        assert_eq!(told(Primary { momentum: [0.0; 3], ..usual }), Rejected::NoMomentum);
        assert_eq!(told(Primary { momentum: [0.0, 0.0, 2e7], ..usual }), Rejected::TooEnergetic);
        assert_eq!(told(Primary { place: [0.0, 9001.0, 0.0], ..usual }), Rejected::OutsideWorld);
        assert!((usual.kinetic() - (100.0_f64.hypot(ELECTRON_MASS) - ELECTRON_MASS)).abs() < 1e-9);
    }
}
