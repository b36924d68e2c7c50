//! Runs on a GPU. Tracks stay there until the run ends.

use kernel_host::wgpu::{CommandEncoder, ComputePass, ComputePassDescriptor};
use kernel_host::{Gpu, Kernel, Timer};

use super::count::STATUS;
use super::kernels::{GpuEngine, Stages};
use super::params::at;
use super::workspace::{Bound, Counters, Workspace};
use crate::engine::capacity::{Capacity, is_sparse};
use crate::engine::ended::{Ended, Status};
use crate::error::Result;
use crate::track::{Slots, Track};

/// Steps in a submission. Steps after the end of the run do nothing.
const STEPS_TOGETHER: u32 = 32;
/// The least default number of slots, and the energy for each \[MeV\]: showers have a track for 7
/// MeV or so at most.
const LEAST_SLOTS: usize = 1 << 12;
const ENERGY_A_SLOT: f64 = 5.0;
/// Slots for each track at first.
pub(super) const SLOTS_A_TRACK: usize = 2;
/// Slots that a thread of the tail takes in turn, as in shaders/tail.wgsl.
pub(crate) const TAIL_TURNS: u32 = 2;

/// How the next steps are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Each stage in dispatches of its own.
    Wide,
    /// Many steps in one dispatch of one workgroup.
    Tail,
}

impl GpuEngine {
    /// Makes at most `iterations` steps of all tracks. `sums` is the number of sums of deposits.
    pub(crate) fn run(&self, capacity: Capacity, tracks: &[Track<f32>], sums: usize, iterations: u32) -> Result<Ended> {
        let mut workspace = self.workspace();
        let mut slots = Slots::of(tracks);
        let mut slots_now = slots_at_first(capacity, tracks, &self.gpu);
        let mut counters: Counters = [0; at::COUNTERS];
        counters[at::USED] = tracks.len() as u32;
        workspace.deposits.write(&self.gpu, &vec![0; 2 * sums])?;
        workspace.status.write(&self.gpu, &[0; STATUS])?;
        let mut slots_at_most = 0;
        let mut bound = self.prepare(&mut workspace, &slots, &counters, slots_now, iterations)?;
        loop {
            let most;
            (counters, most) = self.steps(&mut workspace, bound)?;
            slots_at_most = slots_at_most.max(most);
            let is_stuck = counters[at::STUCK] != 0;
            slots = if counters[at::USED] > counters[at::ROOM] {
                self.slots(&mut workspace, &counters)?
            } else {
                Slots::default()
            };
            // All slots are in use. Without more memory the run ends so.
            if is_stuck && !matches!(capacity, Capacity::Fixed(_)) {
                slots_now *= 2;
                if let Ok(more) = self.prepare(&mut workspace, &slots, &counters, slots_now, iterations) {
                    bound = more;
                    continue;
                }
            }
            let tally = self.tally(&mut workspace, &counters, sums)?;
            let status = if is_stuck {
                Status::CapacityExceeded { waiting: counters[at::WAITED].into() }
            } else if slots.len() > 0 {
                Status::StepsMade
            } else {
                Status::Finished
            };
            return Ok(Ended {
                status,
                tally,
                left: slots.left(),
                iterations: counters[at::ITERATIONS],
                slots: slots_at_most,
            });
        }
    }

    /// Encodes the plan of the first step.
    pub(super) fn begin(&self, encoder: &mut CommandEncoder, bound: &Bound) -> Result<()> {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        Ok(self.plan.dispatch(&mut pass, "plan", &bound.plan, [1, 1, 1])?)
    }

    /// Encodes a step; each stage is a timed pass of its own with a timer.
    pub(super) fn step(
        &self,
        encoder: &mut CommandEncoder,
        workspace: &Workspace,
        bound: &Bound,
        timer: &mut Option<&mut Timer>,
    ) -> Result<()> {
        let mut pass = |stage: &'static str, encode: &dyn Fn(&mut ComputePass<'_>) -> Result<()>| {
            let timestamp_writes = timer.as_mut().and_then(|timer| timer.pass(stage));
            let descriptor = ComputePassDescriptor { label: Some(stage), timestamp_writes };
            encode(&mut encoder.begin_compute_pass(&descriptor))
        };
        #[expect(unsafe_code, reason = "an earlier kernel counts workgroups")]
        let indirect = |kernel: &Kernel, pass: &mut ComputePass<'_>, entry_point, group: &_, first| {
            // SAFETY: `plan.wgsl` limits the numbers of workgroups to rows of so many.
            Ok(unsafe { kernel.dispatch_indirect(pass, entry_point, group, &workspace.dispatches, first) }?)
        };
        match (&self.stages, &bound.last) {
            (Stages::Split { step_length, interact }, Some(last)) => {
                pass("step_length", &|pass| indirect(step_length, pass, "step_length", &bound.first, 0))?;
                pass("sort", &|pass| workspace.sort.encode(pass, &bound.sort))?;
                pass("interact", &|pass| indirect(interact, pass, "interact", last, 4))?;
            }
            (Stages::Monolithic(kernel), ..) => {
                pass("monolithic", &|pass| indirect(kernel, pass, "monolithic", &bound.first, 0))?;
            }
            _ => {}
        }
        pass("plan", &|pass| Ok(self.plan.dispatch(pass, "plan", &bound.plan, [1, 1, 1])?))
    }

    /// Makes steps until the run ends or is stuck. Returns the counters and the largest number of
    /// slots in use.
    fn steps(&self, workspace: &mut Workspace, mut bound: Bound) -> Result<(Counters, usize)> {
        let (mut begins, mut phase) = (true, Phase::Wide);
        let mut most = 0;
        workspace.readback.reserve(&self.gpu, at::COUNTERS)?;
        loop {
            let mut encoder = self.gpu.encoder("steps");
            if begins {
                self.begin(&mut encoder, &bound)?;
                begins = false;
            }
            match phase {
                Phase::Wide => {
                    for _ in 0..STEPS_TOGETHER {
                        self.step(&mut encoder, workspace, &bound, &mut None)?;
                    }
                }
                Phase::Tail => {
                    let group = self.bind_tail(workspace)?;
                    let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                    self.tail()?.dispatch(&mut pass, "tail", &group, [1, 1, 1])?;
                }
            }
            workspace.readback.copy_from(&mut encoder, &workspace.counters, at::COUNTERS)?;
            let submission = self.gpu.submit(encoder)?;
            let words = workspace.readback.read(&self.gpu, &submission, at::COUNTERS)?;
            let mut counters: Counters = [0; at::COUNTERS];
            counters.copy_from_slice(&words);
            let used = counters[at::USED];
            most = most.max(used as usize);
            if counters[at::SIZE] == 0 {
                return Ok((counters, most));
            }
            let live = used - counters[at::ROOM];
            let next = self.next_phase(live);
            let is_full = next == Phase::Tail && used > TAIL_TURNS * self.tail_threads();
            if is_full || is_sparse(used as usize, live as usize) {
                bound = self.pack(workspace, &bound, &mut counters)?;
                begins = true;
            } else if phase == Phase::Tail && next == Phase::Wide {
                // The tail does not size the dispatches of the next step.
                self.restart(workspace, &mut counters)?;
                begins = true;
            }
            phase = next;
        }
    }

    /// Few tracks are left to one workgroup, with some threads for their secondaries.
    fn next_phase(&self, live: u32) -> Phase {
        let is_few = self.settings.tail_steps > 0 && live <= self.tail_threads() * 3 / 4;
        if is_few { Phase::Tail } else { Phase::Wide }
    }
}

/// Slots of the first steps.
fn slots_at_first(capacity: Capacity, tracks: &[Track<f32>], gpu: &Gpu) -> usize {
    match capacity {
        Capacity::AsNeeded => {
            let energy: f64 = tracks.iter().map(Track::energy).sum();
            let largest = gpu.limits().max_storage_buffer_binding_size / size_of::<[f32; 4]>() as u64;
            let wanted = (SLOTS_A_TRACK * tracks.len() + (energy / ENERGY_A_SLOT) as usize).max(LEAST_SLOTS);
            wanted.min(largest as usize).max(tracks.len())
        }
        Capacity::AtFirst(slots) | Capacity::Fixed(slots) => slots.max(tracks.len()).max(1),
    }
}
