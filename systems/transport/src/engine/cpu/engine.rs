//! Steps of all tracks in a fixed number of slots, stage by stage, on all cores. A track that finds
//! no slot for its secondary waits, as on a GPU. Without such a limit,
//! [`histories`](super::histories) are faster.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::histories::add;
use super::interact::interact;
use super::step_length::step_length;
use super::{count, sort};
use crate::deposits::{Scores, units};
use crate::engine::Kernels;
use crate::engine::capacity::is_sparse;
use crate::engine::ended::{Ended, Status, Tally};
use crate::error::Result;
use crate::geometry::Mesh;
use crate::track::{self, Groups, Process, Slots, Track};
use crate::world::{Settings, World};

/// The largest number of slots that a thread takes at a time. Of few tracks, each may take long.
const TOGETHER: usize = 256;
const PARTS_A_THREAD: usize = 16;

/// The results of some slots.
#[derive(Default)]
struct Part {
    secondaries: Vec<Track<f32>>,
    waiting: usize,
    /// Without deposits, which all threads add to directly.
    tally: Tally,
}

/// A run on the CPU.
pub(crate) struct CpuRun {
    world: World<f32>,
    scores: Scores<f32>,
    kernels: Kernels,
    /// Slots.
    capacity: usize,
    slots: Slots,
    deposits: Vec<AtomicU64>,
    /// The rest.
    tally: Tally,
}

/// Slots for the secondaries of a step.
struct SecondarySlots {
    slots: usize,
    taken: AtomicUsize,
}

impl SecondarySlots {
    fn take(&self) -> bool {
        self.taken.fetch_add(1, Ordering::Relaxed) < self.slots
    }
}

impl CpuRun {
    pub(crate) fn new(
        settings: &Settings,
        mesh: &Mesh,
        scores: Scores<f32>,
        kernels: Kernels,
        capacity: usize,
        tracks: &[Track<f32>],
    ) -> Self {
        Self {
            world: World::new(settings, mesh),
            kernels,
            capacity,
            slots: Slots::of(tracks),
            deposits: (0..scores.count()).map(|_| AtomicU64::new(0)).collect(),
            scores,
            tally: Tally::default(),
        }
    }

    /// Makes at most `iterations` steps of all tracks.
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
            if is_sparse(self.slots.len(), live) {
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
        let left = self.slots.left();
        let slots = slots_at_most.max(self.slots.len());
        let tally = Tally { deposits: self.deposits.into_iter().map(AtomicU64::into_inner).collect(), ..self.tally };
        Ok(Ended { status, tally, left, iterations: made, slots })
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
        let slots = vacancies.len() + self.capacity.saturating_sub(len);
        let together = (len / (PARTS_A_THREAD * rayon::current_num_threads())).clamp(1, TOGETHER);
        let room = SecondarySlots { slots, taken: AtomicUsize::new(0) };
        let (world, scores, deposits) = (&self.world, &self.scores, &self.deposits);
        let Slots { places, directions, identities } = &mut self.slots;
        let chunks = places
            .par_chunks_mut(together)
            .zip(directions.par_chunks_mut(together))
            .zip(identities.par_chunks_mut(together));
        let parts: Vec<Part> = chunks
            .map(|((places, directions), identities)| {
                let mut part = Part::default();
                for ((place, direction), identity) in places.iter_mut().zip(directions).zip(identities) {
                    let mut track = Track::of_groups((*place, *direction, *identity));
                    if track.status == track::TrackStatus::Vacant {
                        continue;
                    }
                    if stages != Stages::Interaction {
                        step_length(world, &mut track);
                    }
                    if stages != Stages::Length {
                        let effect = interact(world, &track);
                        if effect.secondary.is_none() || room.take() {
                            add(deposits, scores, &track, effect.deposited);
                            let (escaped, abandoned) = (units(effect.escaped), units(effect.abandoned));
                            part.tally.finish(track.process, escaped, abandoned, effect.secondary.is_some());
                            part.secondaries.extend(effect.secondary);
                            track = effect.after;
                        } else {
                            // The step is discarded.
                            track.status = track::TrackStatus::Waiting;
                            part.waiting += 1;
                        }
                    }
                    let groups: Groups = track.groups();
                    (*place, *direction, *identity) = groups;
                }
                part
            })
            .collect();
        let mut waiting = 0;
        let mut secondaries = Vec::new();
        for mut part in parts {
            waiting += part.waiting;
            self.tally.add(&part.tally);
            secondaries.append(&mut part.secondaries);
        }
        let (reusing, fresh) = secondaries.split_at(secondaries.len().min(vacancies.len()));
        for (&slot, secondary) in vacancies.iter().zip(reusing) {
            self.slots.set(slot as usize, secondary);
        }
        self.slots.append(Slots::of(fresh));
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
    if track.status == track::TrackStatus::Vacant { Process::Vacant } else { track.process }
}
