//! Track by track in f64, on one core: no slots, no counting and no sorting. What the other engines are checked against.

use super::cpu::interact::interact;
use super::cpu::step_length::step_length;
use super::ended::{Ended, Status, Tally};
use crate::deposits::{Bins, Grid, units};
use crate::track::{self, Process, Track};
use crate::world::{Settings, World};

/// Steps of all tracks, as many as there are or are asked for.
pub(crate) fn run(settings: &Settings, grid: &Grid, tracks: Vec<Track<f64>>, iterations: u32) -> Ended {
    let world = World::<f64>::new(settings);
    let bins = Bins::<f64>::new(grid);
    let mut tally = Tally { deposits: vec![0; grid.count() + 1], ..Tally::default() };
    let mut left = tracks;
    let mut slots = left.len();
    let mut made = 0;
    while made < iterations && !left.is_empty() {
        let mut next = Vec::with_capacity(left.len());
        for mut track in left {
            step_length(&world, &mut track);
            let effect = interact(&world, &track);
            tally.processes[track.process as usize] += 1;
            tally.deposits[bins.of(track.place)] += units(effect.deposited);
            tally.escaped += units(effect.escaped);
            tally.abandoned += units(effect.abandoned);
            tally.secondaries += u64::from(effect.secondary.is_some());
            next.extend(effect.secondary);
            if effect.after.status == track::TrackStatus::Alive {
                next.push(effect.after);
            }
        }
        left = next;
        slots = slots.max(left.len());
        made += 1;
    }
    debug_assert_eq!(tally.processes[Process::Vacant as usize], 0);
    let status = if left.is_empty() { Status::Finished } else { Status::StepsMade };
    Ended { status, tally, left, iterations: made, slots }
}
