//! The first half of a step: its length, its process, and the path. Shader: step_length.wgsl, whose
//! lines these are.

use std::cell::Cell as Shared;

use crate::geometry::Cell;
use crate::integrate::{State, follow_to_boundary};
use crate::number::{Number, dot, plus, times};
use crate::physics::ELECTRON_MASS;
use crate::track::{Kind, MOST_LOOPS, Process, Track, TrackStatus};
use crate::world::World;

/// The longest step in vacuum \[mm\].
pub(crate) const LONGEST: f64 = 10_000.0;

/// An electron goes a fifth of its range in a step, and more towards the end; a range below this
/// one at once \[mm\].
pub(crate) const LAST_RANGE: f64 = 1.0;
pub(crate) const RANGE_PART: f64 = 0.2;

/// The momentum of an electron of a kinetic energy \[MeV/c\].
pub(crate) fn momentum<T: Number>(kinetic: T) -> T {
    (kinetic * (kinetic + T::of(2.0 * ELECTRON_MASS))).root()
}

/// Moves a live track to the end of its step.
pub(crate) fn step_length<T: Number>(world: &World<T>, track: &mut Track<T>) {
    if track.status != TrackStatus::Alive {
        return;
    }
    track.material = world.bounds.material(track.cell);
    track.loops = if track.material == 0 { track.loops } else { 0 };
    track.process = Process::Nothing;
    track.step = T::of(LONGEST);
    if track.kind == Kind::Positron && track.kinetic == T::of(0.0) {
        track.process = Process::Annihilation;
        track.step = T::of(0.0);
        return;
    }
    if track.material > 0 {
        choose(world, track);
    }
    go(world, track);
}

/// Chooses the process that comes first: each has an exponential path. Or none, where an electron
/// would lose too much.
fn choose<T: Number>(world: &World<T>, track: &mut Track<T>) {
    let mut draws = world.random.draws(track.number, track.steps);
    let kinetic = track.kinetic;
    let tables = world.tables(track.material);
    let mut after = |process: Process, rate: T| {
        let free_paths = -T::of(f64::from(draws.uniform())).ln();
        if rate > T::of(0.0) && free_paths < track.step * rate {
            track.step = free_paths / rate;
            track.process = process;
        }
    };
    if track.kind == Kind::Photon {
        let [compton, pair, photoelectric] = tables.of_photon(kinetic);
        after(Process::Compton, compton);
        after(Process::Pair, if kinetic > T::of(2.0 * ELECTRON_MASS) { pair } else { T::of(0.0) });
        after(Process::Photoelectric, photoelectric);
        return;
    }
    let [bremsstrahlung, moller, _, range] = tables.of_electron(kinetic);
    after(Process::Bremsstrahlung, if kinetic > world.photon_cut { bremsstrahlung } else { T::of(0.0) });
    after(Process::Moller, if kinetic > T::of(2.0) * world.electron_cut { moller } else { T::of(0.0) });
    let [part, last, two] = [RANGE_PART, LAST_RANGE, 2.0].map(T::of);
    let range = range.exp();
    let bound = if range <= last { range } else { part * range + last * (T::of(1.0) - part) * (two - last / range) };
    if bound < track.step {
        track.step = bound;
        track.process = Process::Nothing;
    }
}

/// Moves the track to the end of the step, or to the cell's boundary, where no process happens.
fn go<T: Number>(world: &World<T>, track: &mut Track<T>) {
    let (cell, wanted) = (track.cell, track.step);
    if track.kind == Kind::Photon {
        let exit = world.bounds.exit(cell, track.place, track.direction);
        if exit.distance <= track.step {
            (track.step, track.cell, track.process) = (exit.distance, exit.to, Process::Nothing);
        }
        track.place = plus(track.place, times(track.step, track.direction));
        return;
    }
    let last = Shared::new(Cell::OUTSIDE);
    let from = State { place: track.place, momentum: times(momentum(track.kinetic), track.direction) };
    let charge = T::of(track.kind.charge());
    let (path, crosses) =
        follow_to_boundary(&world.field, charge, from, wanted, &world.accuracy, |place, direction| {
            let exit = world.bounds.exit(cell, place, direction);
            last.set(exit.to);
            exit.distance
        });
    track.place = path.state.place;
    let p = dot(path.state.momentum, path.state.momentum).root();
    if p > T::of(0.0) {
        track.direction = times(T::of(1.0) / p, path.state.momentum);
    }
    track.step = path.length;
    if crosses {
        track.cell = last.get();
    }
    // In vacuum the integrator's limit ends a step of a track that circles.
    let is_looping = track.material == 0 && !crosses && path.length < wanted;
    track.loops = if is_looping { (track.loops + 1).min(MOST_LOOPS) } else { 0 };
    if crosses || path.length < wanted {
        track.process = Process::Nothing;
    }
}
