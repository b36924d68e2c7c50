//! What engines keep while they run, and what is left when they end.

use crate::track::{Process, Track};

/// Sums of a run: energies in [units](crate::deposits::units).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Of each bin, and beyond them.
    pub(crate) deposits: Vec<u64>,
    pub(crate) escaped: u64,
    pub(crate) abandoned: u64,
    /// Steps that ended so.
    pub(crate) processes: [u64; Process::COUNT],
    /// Tracks that others made.
    pub(crate) secondaries: u64,
}

impl Tally {
    /// Adds another one, but for its deposits.
    pub(crate) fn add(&mut self, other: &Self) {
        self.escaped += other.escaped;
        self.abandoned += other.abandoned;
        self.secondaries += other.secondaries;
        for (sum, process) in self.processes.iter_mut().zip(&other.processes) {
            *sum += process;
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No track is left.
    Finished,
    /// As many steps as were asked for are made, and tracks are left.
    StepsMade,
    /// Tracks wait for room for what they make, and there is none: nothing of their last steps has happened, and nothing is lost. With more
    /// capacity, the same run goes on.
    CapacityExceeded {
        /// Those that wait.
        waiting: u64,
    },
}

/// What an engine leaves.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) tally: Tally,
    /// Tracks that are left, in no order.
    pub(crate) left: Vec<Track<f64>>,
    /// Steps that all tracks made together.
    pub(crate) iterations: u32,
    /// Slots that were used at most.
    pub(crate) slots: usize,
}

impl Track<f32> {
    pub(crate) fn widened(&self) -> Track<f64> {
        let wide = |vector: [f32; 3]| vector.map(f64::from);
        let &Self { number, kind, status, place, direction, kinetic, cell, steps, step, in_material, process } = self;
        Track {
            number,
            kind,
            status,
            place: wide(place),
            direction: wide(direction),
            kinetic: kinetic.into(),
            cell,
            steps,
            step: step.into(),
            in_material,
            process,
        }
    }
}
