//! Steps of all tracks, stage by stage, on all cores.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::interact::interact;
use super::step_length::step_length;
use super::{count, sort};
use crate::deposits::{Bins, Grid, units};
use crate::engine::capacity::Capacity;
use crate::engine::ended::{Ended, Status, Tally};
use crate::error::Result;
use crate::simulation::Kernels;
use crate::track::{self, Groups, Process, Slots, Track};
use crate::world::{Settings, World};

/// Slots that a thread takes at a time.
const TOGETHER: usize = 256;

/// Slots are brought together when so many are taken and only one in so many has a track: stages look at all of them.
const MANY_SLOTS: usize = 1 << 10;
const FEW_TRACKS: usize = 4;

/// What threads add to.
struct Sums {
    deposits: Vec<AtomicU64>,
    escaped: AtomicU64,
    abandoned: AtomicU64,
    secondaries: AtomicU64,
    processes: [AtomicU64; Process::COUNT],
}

impl Sums {
    fn new(bins: usize) -> Self {
        Self {
            deposits: (0..bins).map(|_| AtomicU64::new(0)).collect(),
            escaped: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            secondaries: AtomicU64::new(0),
            processes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn tally(&self) -> Tally {
        let of = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        Tally {
            deposits: self.deposits.iter().map(of).collect(),
            escaped: of(&self.escaped),
            abandoned: of(&self.abandoned),
            processes: std::array::from_fn(|process| of(&self.processes[process])),
            secondaries: of(&self.secondaries),
        }
    }
}

fn add(sum: &AtomicU64, energy: f32) {
    let units = units(energy);
    if units > 0 {
        sum.fetch_add(units, Ordering::Relaxed);
    }
}

/// A run on the CPU.
pub(crate) struct CpuRun {
    world: World<f32>,
    bins: Bins<f32>,
    kernels: Kernels,
    capacity: Capacity,
    slots: Slots,
    sums: Sums,
}

/// Room for what a step makes.
struct Room<'a> {
    slots: usize,
    taken: AtomicUsize,
    sums: &'a Sums,
}

impl Room<'_> {
    fn take(&self) -> bool {
        self.taken.fetch_add(1, Ordering::Relaxed) < self.slots
    }
}

impl CpuRun {
    pub(crate) fn new(
        settings: &Settings,
        grid: &Grid,
        kernels: Kernels,
        capacity: Capacity,
        tracks: &[Track<f32>],
    ) -> Self {
        Self {
            world: World::new(settings),
            bins: Bins::new(grid),
            kernels,
            capacity,
            slots: Slots::of(tracks),
            sums: Sums::new(grid.count() + 1),
        }
    }

    /// Steps of all tracks, as many as there are or are asked for.
    pub(crate) fn run(mut self, iterations: u32) -> Result<Ended> {
        let (mut made, mut slots_at_most) = (0, 0);
        let status = loop {
            let (live, mut vacancies) = self.vacancies()?;
            slots_at_most = slots_at_most.max(self.slots.len());
            if live == 0 {
                break Status::Finished;
            }
            if made == iterations {
                break Status::StepsMade;
            }
            if self.slots.len() > MANY_SLOTS && live * FEW_TRACKS < self.slots.len() {
                self.slots = Slots::of(&self.slots.tracks().collect::<Vec<_>>());
                vacancies.clear();
            }
            let waiting = match self.kernels {
                Kernels::Split => {
                    self.all(Stages::Length, &[]);
                    let order = sort::sort(&self.classes(), Process::COUNT as u32)?;
                    let live = order.order.len() - order.counts[Process::Vacant as usize] as usize;
                    self.all(Stages::Interaction, &order.order[live..])
                }
                Kernels::Monolithic => self.all(Stages::Both, &vacancies),
            };
            made += 1;
            if waiting == live {
                break Status::CapacityExceeded { waiting: waiting as u64 };
            }
        };
        let left = self.slots.tracks().map(|track| track.widened()).collect();
        let slots = slots_at_most.max(self.slots.len());
        Ok(Ended { status, tally: self.sums.tally(), left, iterations: made, slots })
    }

    /// The process of each slot's step.
    fn classes(&self) -> Vec<u32> {
        let slots = self.slots.identities.par_iter();
        slots.map(|&identity| class_of(identity) as u32).collect()
    }

    /// How many slots hold a track, and which do not.
    fn vacancies(&self) -> Result<(usize, Vec<u32>)> {
        let classes = self.classes();
        let vacant = count::count(&classes, Process::COUNT as u32)?[Process::Vacant as usize] as usize;
        let mut vacancies = Vec::with_capacity(vacant);
        if self.kernels == Kernels::Monolithic {
            let slots = classes.iter().zip(0..);
            vacancies.extend(slots.filter(|&(&class, _)| class == Process::Vacant as u32).map(|(_, slot)| slot));
        }
        Ok((classes.len() - vacant, vacancies))
    }

    /// Stages of all slots; how many tracks wait after them.
    fn all(&mut self, stages: Stages, vacancies: &[u32]) -> usize {
        let len = self.slots.len();
        let grown = match self.capacity {
            Capacity::Fixed(slots) => slots.saturating_sub(len),
            Capacity::AsNeeded | Capacity::AtFirst(_) => usize::MAX,
        };
        let room = Room { slots: vacancies.len().saturating_add(grown), taken: AtomicUsize::new(0), sums: &self.sums };
        let (world, bins) = (&self.world, &self.bins);
        let Slots { places, directions, identities } = &mut self.slots;
        let chunks = places
            .par_chunks_mut(TOGETHER)
            .zip(directions.par_chunks_mut(TOGETHER))
            .zip(identities.par_chunks_mut(TOGETHER));
        let made: Vec<(Vec<Track<f32>>, usize)> = chunks
            .map(|((places, directions), identities)| {
                let mut secondaries = Vec::new();
                let mut waiting = 0;
                for ((place, direction), identity) in places.iter_mut().zip(directions).zip(identities) {
                    let mut track = Track::of_groups((*place, *direction, *identity));
                    if track.status == track::Status::Vacant {
                        continue;
                    }
                    if stages != Stages::Interaction {
                        step_length(world, &mut track);
                    }
                    if stages != Stages::Length {
                        match finish(world, bins, &room, &track) {
                            Some((after, secondary)) => {
                                track = after;
                                secondaries.extend(secondary);
                            }
                            None => {
                                track.status = track::Status::Waiting;
                                waiting += 1;
                            }
                        }
                    }
                    let groups: Groups = track.groups();
                    (*place, *direction, *identity) = groups;
                }
                (secondaries, waiting)
            })
            .collect();
        let waiting = made.iter().map(|(_, waiting)| waiting).sum();
        let mut vacancies = vacancies.iter();
        for secondary in made.into_iter().flat_map(|(secondaries, _)| secondaries) {
            match vacancies.next() {
                Some(&slot) => self.slots.set(slot as usize, &secondary),
                None => self.slots.push(&secondary),
            }
        }
        waiting
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stages {
    Length,
    Interaction,
    Both,
}

fn class_of(identity: [u32; 4]) -> Process {
    let track = Track::of_groups(([0.0; 4], [0.0; 4], identity));
    if track.status == track::Status::Vacant { Process::Vacant } else { track.process }
}

/// What a step leaves, once there is room for it; none if there is not, and nothing has happened then.
fn finish(
    world: &World<f32>,
    bins: &Bins<f32>,
    room: &Room<'_>,
    track: &Track<f32>,
) -> Option<(Track<f32>, Option<Track<f32>>)> {
    let effect = interact(world, track);
    if effect.secondary.is_some() && !room.take() {
        return None;
    }
    let sums = room.sums;
    add(&sums.deposits[bins.of(track.place)], effect.deposited);
    add(&sums.escaped, effect.escaped);
    add(&sums.abandoned, effect.abandoned);
    sums.processes[track.process as usize].fetch_add(1, Ordering::Relaxed);
    sums.secondaries.fetch_add(u64::from(effect.secondary.is_some()), Ordering::Relaxed);
    Some((effect.after, effect.secondary))
}
