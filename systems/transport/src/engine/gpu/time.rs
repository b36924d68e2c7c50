//! Times of the stages of a step on the device's clock.

use std::time::Duration;

use kernel_host::{Buffer, Timer};

use super::count::{STATUS, storage};
use super::kernels::{GpuEngine, Stages};
use super::params::at;
use super::run::SLOTS_A_TRACK;
use super::workspace::{Counters, Groups};
use crate::error::Result;
use crate::track::{Slots, Track};

/// The time of a stage of a step on the device's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTime {
    /// The stage: `step_length`, `sort`, `interact` or `monolithic`, and `plan`.
    pub stage: &'static str,
    /// The time of each round.
    pub rounds: Vec<Duration>,
}

impl GpuEngine {
    /// Measures how long the stages of the first step take. None if the device has no timestamps.
    pub(crate) fn time(&self, tracks: &[Track<f32>], sums: usize, rounds: usize) -> Result<Option<Vec<StageTime>>> {
        let mut workspace = self.workspace();
        let stages: &[&'static str] = match &self.stages {
            Stages::Split { .. } => &["step_length", "sort", "interact", "plan"],
            Stages::Monolithic(_) => &["monolithic", "plan"],
        };
        let Some(mut timer) = Timer::new(&self.gpu, stages.len()) else { return Ok(None) };
        let slots = Slots::of(tracks);
        let mut counters: Counters = [0; at::COUNTERS];
        counters[at::USED] = tracks.len() as u32;
        workspace.deposits.write(&self.gpu, &vec![0; 2 * sums])?;
        workspace.status.write(&self.gpu, &[0; STATUS])?;
        let capacity = SLOTS_A_TRACK * tracks.len().max(1);
        let bound = self.prepare(&mut workspace, &slots, &counters, capacity, u32::MAX)?;
        // Each round begins with these.
        let mut before = Groups::new();
        before.write(&self.gpu, &slots)?;
        let mut counters_before = Buffer::<u32>::new("counters before", storage());
        counters_before.write(&self.gpu, &counters)?;
        let seen: Vec<_> = timer.rounds(&self.gpu, rounds, |encoder, timer| -> Result<()> {
            let (there, groups) = (&workspace.slots, 16 * tracks.len() as u64);
            encoder.copy_buffer_to_buffer(before.places.raw()?, 0, there.places.raw()?, 0, groups);
            encoder.copy_buffer_to_buffer(before.directions.raw()?, 0, there.directions.raw()?, 0, groups);
            encoder.copy_buffer_to_buffer(before.identities.raw()?, 0, there.identities.raw()?, 0, groups);
            let bytes = 4 * at::COUNTERS as u64;
            encoder.copy_buffer_to_buffer(counters_before.raw()?, 0, workspace.counters.raw()?, 0, bytes);
            self.begin(encoder, &bound)?;
            self.step(encoder, &workspace, &bound, &mut Some(timer))
        })?;
        let seen = &seen[seen.len() - rounds..];
        let time = |(place, &stage): (usize, &&'static str)| StageTime {
            stage,
            rounds: seen.iter().map(|passes| passes[place].1).collect(),
        };
        Ok(Some(stages.iter().enumerate().map(time).collect()))
    }
}
