//! The state that engines keep during a run, and its end.

use crate::track::{Process, Track};

/// Sums of a run: energies in [units](crate::deposits::units).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// The sums of [`Scores`](crate::deposits::Scores).
    pub(crate) deposits: Vec<u64>,
    pub(crate) escaped: u64,
    pub(crate) abandoned: u64,
    /// The number of steps that ended with each process.
    pub(crate) processes: [u64; Process::COUNT],
    /// The number of secondary tracks.
    pub(crate) secondaries: u64,
}

impl Tally {
    /// Adds the sums of another tally, except deposits.
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
    /// No track remains.
    Finished,
    /// All requested steps are made, and tracks remain.
    StepsMade,
    /// Secondaries need more slots than are free. The last steps of their tracks have no effect,
    /// and nothing is lost. With more capacity the same run continues.
    CapacityExceeded {
        /// The number of waiting tracks.
        waiting: u64,
    },
}

/// The end of a run on an engine.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) tally: Tally,
    /// The remaining tracks, in no order.
    pub(crate) left: Vec<Track<f64>>,
    /// The number of steps of all tracks.
    pub(crate) iterations: u32,
    /// The largest number of slots in use.
    pub(crate) slots: usize,
}
