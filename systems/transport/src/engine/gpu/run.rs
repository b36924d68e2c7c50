//! Steps of all tracks, stage by stage, on a GPU. Tracks stay there until the run ends.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel_host::wgpu::{BindGroup, BindingResource, BufferUsages, CommandEncoder, ComputePassDescriptor, Features};
use kernel_host::{Buffer, Checks, Gpu, Kernel, KernelDescriptor, Readback, Timer};

use super::count::{STATUS, refused, storage};
use super::field::GpuField;
use super::params::{Params, at};
use super::shaders::{self, Products};
use super::sort::{GpuGather, GpuSort, SortBuffers, SortJob, SortSettings};
use crate::deposits::Grid;
use crate::engine::Kernels;
use crate::engine::capacity::{Capacity, is_sparse};
use crate::engine::ended::{Ended, Status, Tally};
use crate::error::{Error, Result};
use crate::track::{Process, Slots, Track};
use crate::world::{Settings, World};

type Counters = [u32; at::COUNTERS];

fn sum_at(words: &[u32], at: usize) -> u64 {
    u64::from(words[at]) | u64::from(words[at + 1]) << 32
}

/// Threads of a workgroup, if not given.
const WORKGROUP_SIZE: u32 = 128;
/// Steps that are submitted at once: those after the last one do nothing.
const TOGETHER: u32 = 32;
/// Slots at least, if their number is not given, and the energy that there is one for: showers have one for 7 MeV or so at their largest.
const LEAST_SLOTS: usize = 1 << 12;
const ENERGY_A_SLOT: f64 = 5.0;
/// A step's are at most as many again.
const SLOTS_OF_A_STEP: usize = 2;

/// How a GPU runs, and not what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    pub(crate) kernels: Kernels,
    pub(crate) checks: Checks,
    pub(crate) workgroup_size: Option<u32>,
}

/// The kernels of a step.
#[derive(Debug)]
enum Stages {
    Split { step_length: Kernel, interact: Kernel },
    Monolithic(Kernel),
}

/// Runs on a GPU. Built once.
pub(crate) struct GpuEngine {
    gpu: Gpu,
    grid: Grid,
    params: Params,
    field: GpuField,
    tables: Buffer<[f32; 4]>,
    plan: Kernel,
    classify: Kernel,
    gather: GpuGather,
    stages: Stages,
    workspace: Mutex<Workspace>,
}

struct Workspace {
    sort: GpuSort,
    params: Buffer<Params>,
    slots: Groups,
    /// What they are brought together in.
    packed: Groups,
    /// How many tracks there are then.
    live: Buffer<u32>,
    classes: Buffer<u32>,
    order: Buffer<u32>,
    bounds: Buffer<u32>,
    status: Buffer<u32>,
    counters: Buffer<u32>,
    dispatches: Buffer<u32>,
    deposits: Buffer<u32>,
    vacancies: Buffer<u32>,
    readback: Readback<u32>,
    groups: Readback<[f32; 4]>,
}

/// Of tracks.
struct Groups {
    places: Buffer<[f32; 4]>,
    directions: Buffer<[f32; 4]>,
    identities: Buffer<[u32; 4]>,
}

impl Groups {
    fn new() -> Self {
        Self {
            places: Buffer::new("places", storage()),
            directions: Buffer::new("directions", storage()),
            identities: Buffer::new("identities", storage()),
        }
    }

    fn reserve(&mut self, gpu: &Gpu, slots: usize) -> Result<()> {
        self.places.reserve(gpu, slots)?;
        self.directions.reserve(gpu, slots)?;
        self.identities.reserve(gpu, slots)?;
        Ok(())
    }

    fn write(&mut self, gpu: &Gpu, slots: &Slots) -> Result<()> {
        self.places.write(gpu, &slots.places)?;
        self.directions.write(gpu, &slots.directions)?;
        self.identities.write(gpu, &slots.identities)?;
        Ok(())
    }
}

/// What is bound for a step.
struct Bound {
    first: BindGroup,
    sort: SortJob,
    last: Option<BindGroup>,
    plan: BindGroup,
    classify: BindGroup,
}

/// The time of a stage of a step on the device's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTime {
    /// The stage: `step_length`, `sort`, `interact` or `monolithic`, and `plan`.
    pub stage: &'static str,
    /// The time of each round.
    pub rounds: Vec<Duration>,
}

impl GpuEngine {
    /// Features that are used where they are there.
    pub(crate) const FEATURES: Features = Features::TIMESTAMP_QUERY.union(Features::SHADER_INT64);

    pub(crate) fn new(gpu: Gpu, settings: &Settings, grid: &Grid, options: GpuSettings) -> Result<Self> {
        let limits = gpu.limits();
        let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        let size = options.workgroup_size.unwrap_or(WORKGROUP_SIZE);
        if !(Process::COUNT as u32..=most).contains(&size) {
            let what = format!("workgroups of {size} threads: {} to {most} are wanted", Process::COUNT);
            return Err(Error::Options { what });
        }
        let field = GpuField::new(&gpu, &settings.field)?;
        let products = Products::on(&gpu);
        let mut sources = vec![shaders::plan(), shaders::classify()];
        match options.kernels {
            Kernels::Split => {
                sources.extend([shaders::step_length(field.kind(), products), shaders::interact(products)])
            }
            Kernels::Monolithic => sources.push(shaders::monolithic(field.kind(), products)),
        }
        let constants = [("WORKGROUP_SIZE", f64::from(size))];
        let describe =
            |source| KernelDescriptor { source, entry_points: &[], constants: &constants, checks: options.checks };
        let descriptors: Vec<_> = sources.iter().map(describe).collect();
        let mut kernels = Kernel::build_all(&gpu, &descriptors)?.into_iter();
        let (Some(plan), Some(classify), Some(first)) = (kernels.next(), kernels.next(), kernels.next()) else {
            return Err(Error::TooLarge { what: "no kernels".to_owned() });
        };
        let stages = match kernels.next() {
            Some(interact) => Stages::Split { step_length: first, interact },
            None => Stages::Monolithic(first),
        };
        let sorting = SortSettings {
            classes: Process::COUNT as u32,
            size_at: at::SIZE as u32,
            threads: None,
            checks: options.checks,
        };
        let world = World::<f32>::new(settings);
        let mut tables = Buffer::new("tables", storage());
        let rows: Vec<[f32; 4]> = world.tables.electron.iter().chain(&world.tables.photon).copied().collect();
        tables.write(&gpu, &rows)?;
        let words = |label| Buffer::<u32>::new(label, storage());
        let workspace = Workspace {
            sort: GpuSort::new(&gpu, &sorting)?,
            params: Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            slots: Groups::new(),
            packed: Groups::new(),
            live: words("live"),
            classes: words("classes"),
            order: words("order"),
            bounds: words("bounds of classes"),
            status: words("status of classes"),
            counters: words("counters"),
            dispatches: Buffer::new("dispatches", storage() | BufferUsages::INDIRECT),
            deposits: words("deposits"),
            vacancies: words("vacancies"),
            readback: Readback::new("words read back"),
            groups: Readback::new("tracks read back"),
        };
        Ok(Self {
            params: Params::new(settings, grid),
            grid: *grid,
            field,
            tables,
            plan,
            classify,
            gather: GpuGather::new(&gpu, 0, options.checks)?,
            stages,
            workspace: Mutex::new(workspace),
            gpu,
        })
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn description(&self) -> String {
        let adapter = self.gpu.summary();
        format!("GPU, f32, {} ({}, {})", adapter.name, adapter.kind, adapter.backend)
    }

    /// Steps of all tracks, as many as there are or are asked for.
    pub(crate) fn run(&self, capacity: Capacity, tracks: &[Track<f32>], iterations: u32) -> Result<Ended> {
        let mut workspace = self.workspace();
        let mut slots = Slots::of(tracks);
        let mut slots_now = slots_at_first(capacity, tracks, &self.gpu);
        let mut counters: Counters = [0; at::COUNTERS];
        counters[at::USED] = tracks.len() as u32;
        workspace.deposits.write(&self.gpu, &vec![0; 2 * (self.grid.count() + 1)])?;
        workspace.status.write(&self.gpu, &[0; STATUS])?;
        let mut slots_at_most = 0;
        let mut bound = self.prepare(&mut workspace, &slots, &counters, slots_now, iterations)?;
        loop {
            let most;
            (counters, most) = self.go_on(&mut workspace, bound)?;
            slots_at_most = slots_at_most.max(most);
            let is_stuck = counters[at::STUCK] != 0;
            slots = if counters[at::USED] > counters[at::ROOM] {
                self.slots(&mut workspace, &counters)?
            } else {
                Slots::default()
            };
            // All slots are taken, and none is vacant. If the device has no more, that is how it ends.
            if is_stuck && !matches!(capacity, Capacity::Fixed(_)) {
                slots_now *= 2;
                if let Ok(more) = self.prepare(&mut workspace, &slots, &counters, slots_now, iterations) {
                    bound = more;
                    continue;
                }
            }
            let tally = self.tally(&mut workspace, &counters)?;
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

    /// How long the stages of the first step of tracks take, so many rounds. None if the device has no clock.
    pub(crate) fn time(&self, tracks: &[Track<f32>], rounds: usize) -> Result<Option<Vec<StageTime>>> {
        let mut workspace = self.workspace();
        let stages: &[&'static str] = match &self.stages {
            Stages::Split { .. } => &["step_length", "sort", "interact", "plan"],
            Stages::Monolithic(_) => &["monolithic", "plan"],
        };
        let Some(mut timer) = Timer::new(&self.gpu, stages.len()) else { return Ok(None) };
        let slots = Slots::of(tracks);
        let mut counters: Counters = [0; at::COUNTERS];
        counters[at::USED] = tracks.len() as u32;
        workspace.deposits.write(&self.gpu, &vec![0; 2 * (self.grid.count() + 1)])?;
        workspace.status.write(&self.gpu, &[0; STATUS])?;
        let capacity = SLOTS_OF_A_STEP * tracks.len().max(1);
        let bound = self.prepare(&mut workspace, &slots, &counters, capacity, u32::MAX)?;
        // What a round begins with.
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

    fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for so many slots, with what is in them, and bindings.
    fn prepare(
        &self,
        workspace: &mut Workspace,
        slots: &Slots,
        counters: &Counters,
        capacity: usize,
        iterations: u32,
    ) -> Result<Bound> {
        let gpu = &self.gpu;
        workspace.slots.reserve(gpu, capacity)?;
        workspace.classes.reserve(gpu, capacity.next_multiple_of(4))?;
        let classes = workspace.classes.capacity();
        workspace.order.reserve(gpu, classes)?;
        workspace.bounds.reserve(gpu, 2 * Process::COUNT)?;
        workspace.vacancies.reserve(gpu, capacity)?;
        workspace.dispatches.reserve(gpu, 8)?;
        workspace.slots.write(gpu, slots)?;
        // The first plan says how large the first step is.
        let mut counters = *counters;
        counters[at::SIZE] = 0;
        (counters[at::HEAD], counters[at::TAIL], counters[at::STUCK]) = (0, 0, 0);
        workspace.counters.write(gpu, &counters)?;
        workspace.params.write(gpu, &[self.params.of(capacity as u32, iterations)])?;
        self.bind(workspace)
    }

    fn bind(&self, workspace: &mut Workspace) -> Result<Bound> {
        let Workspace {
            sort,
            params,
            slots,
            classes,
            order,
            bounds,
            status,
            counters,
            dispatches,
            deposits,
            vacancies,
            ..
        } = workspace;
        let gpu = &self.gpu;
        let common: Vec<(&str, BindingResource<'_>)> = vec![
            ("params", params.binding()?),
            ("places", slots.places.binding()?),
            ("directions", slots.directions.binding()?),
            ("identities", slots.identities.binding()?),
            ("tables", self.tables.binding()?),
            ("counters", counters.binding()?),
        ];
        let sums = vec![("deposits", deposits.binding()?), ("vacancies", vacancies.binding()?)];
        let (first, last) = match &self.stages {
            Stages::Split { step_length, interact } => {
                let mut bindings = common.clone();
                bindings.extend(self.field.bindings()?);
                bindings.push(("classes", classes.binding()?));
                let first = step_length.bind_group(gpu, &bindings)?;
                let mut bindings = common;
                bindings.extend(sums);
                bindings.push(("order", order.binding()?));
                (first, Some(interact.bind_group(gpu, &bindings)?))
            }
            Stages::Monolithic(kernel) => {
                let mut bindings = common;
                bindings.extend(sums);
                bindings.extend(self.field.bindings()?);
                (kernel.bind_group(gpu, &bindings)?, None)
            }
        };
        let plan =
            [("params", params.binding()?), ("counters", counters.binding()?), ("dispatches", dispatches.binding()?)];
        let classify = [
            ("params", params.binding()?),
            ("identities", slots.identities.binding()?),
            ("counters", counters.binding()?),
            ("classes", classes.binding()?),
        ];
        Ok(Bound {
            first,
            sort: sort.bind(gpu, SortBuffers { size: counters, classes, order, bounds, status })?,
            last,
            plan: self.plan.bind_group(gpu, &plan)?,
            classify: self.classify.bind_group(gpu, &classify)?,
        })
    }

    /// Brings the tracks together in the first slots, where there are many without one: stages look at all that were ever taken.
    fn pack(&self, workspace: &mut Workspace, bound: &Bound, counters: &mut Counters) -> Result<Bound> {
        let gpu = &self.gpu;
        let live = counters[at::USED] - counters[at::ROOM];
        let capacity = workspace.slots.places.capacity();
        workspace.packed.reserve(gpu, capacity)?;
        workspace.live.write(gpu, &[live])?;
        let mut encoder = gpu.encoder("pack");
        {
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            let Workspace { sort, slots, packed, live, order, dispatches, .. } = &*workspace;
            self.classify.dispatch_indirect(&mut pass, "classify", &bound.classify, dispatches, 0)?;
            sort.encode(&mut pass, &bound.sort)?;
            let of_places = self.gather.bind(gpu, live, order, &slots.places, &packed.places)?;
            let of_directions = self.gather.bind(gpu, live, order, &slots.directions, &packed.directions)?;
            let of_identities = self.gather.bind(gpu, live, order, &slots.identities, &packed.identities)?;
            for job in [of_places, of_directions, of_identities] {
                self.gather.encode(&mut pass, &job)?;
            }
        }
        let submission = gpu.submit(encoder)?;
        gpu.wait(&submission)?;
        std::mem::swap(&mut workspace.slots, &mut workspace.packed);
        (counters[at::USED], counters[at::ROOM], counters[at::SIZE]) = (live, 0, 0);
        (counters[at::HEAD], counters[at::TAIL]) = (0, 0);
        workspace.counters.write(gpu, &counters[..])?;
        self.bind(workspace)
    }

    /// The plan for the first step.
    fn begin(&self, encoder: &mut CommandEncoder, bound: &Bound) -> Result<()> {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        Ok(self.plan.dispatch(&mut pass, "plan", &bound.plan, [1, 1, 1])?)
    }

    /// A step; each stage a pass of its own if it is timed.
    fn step(
        &self,
        encoder: &mut CommandEncoder,
        workspace: &Workspace,
        bound: &Bound,
        timer: &mut Option<&mut Timer>,
    ) -> Result<()> {
        let mut pass = |stage: &'static str, encode: &dyn Fn(&mut kernel_host::wgpu::ComputePass<'_>) -> Result<()>| {
            let timestamp_writes = timer.as_mut().and_then(|timer| timer.pass(stage));
            let descriptor = ComputePassDescriptor { label: Some(stage), timestamp_writes };
            encode(&mut encoder.begin_compute_pass(&descriptor))
        };
        let dispatches = &workspace.dispatches;
        match (&self.stages, &bound.last) {
            (Stages::Split { step_length, interact }, Some(last)) => {
                pass("step_length", &|pass| {
                    Ok(step_length.dispatch_indirect(pass, "step_length", &bound.first, dispatches, 0)?)
                })?;
                pass("sort", &|pass| workspace.sort.encode(pass, &bound.sort))?;
                pass("interact", &|pass| Ok(interact.dispatch_indirect(pass, "interact", last, dispatches, 4)?))?;
            }
            (Stages::Monolithic(kernel), ..) => {
                pass("monolithic", &|pass| {
                    Ok(kernel.dispatch_indirect(pass, "monolithic", &bound.first, dispatches, 0)?)
                })?;
            }
            _ => {}
        }
        pass("plan", &|pass| Ok(self.plan.dispatch(pass, "plan", &bound.plan, [1, 1, 1])?))
    }

    /// Steps until there is nothing to do; and slots that were used at most.
    fn go_on(&self, workspace: &mut Workspace, mut bound: Bound) -> Result<(Counters, usize)> {
        let mut begins = true;
        let mut most = 0;
        workspace.readback.reserve(&self.gpu, at::COUNTERS)?;
        loop {
            let mut encoder = self.gpu.encoder("steps");
            if begins {
                self.begin(&mut encoder, &bound)?;
                begins = false;
            }
            for _ in 0..TOGETHER {
                self.step(&mut encoder, workspace, &bound, &mut None)?;
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
            if is_sparse(used as usize, (used - counters[at::ROOM]) as usize) {
                bound = self.pack(workspace, &bound, &mut counters)?;
                begins = true;
            }
        }
    }

    /// Slots that were used.
    fn slots(&self, workspace: &mut Workspace, counters: &Counters) -> Result<Slots> {
        let used = counters[at::USED] as usize;
        let Workspace { slots: on_gpu, groups, .. } = workspace;
        groups.reserve(&self.gpu, 3 * used)?;
        let mut encoder = self.gpu.encoder("tracks");
        groups.gather(&mut encoder, &on_gpu.places, used, 0)?;
        groups.gather(&mut encoder, &on_gpu.directions, used, used)?;
        groups.gather(&mut encoder, &on_gpu.identities, used, 2 * used)?;
        let submission = self.gpu.submit(encoder)?;
        let mut places = groups.read(&self.gpu, &submission, 3 * used)?;
        let identities = places.split_off(2 * used).into_iter().map(|group| group.map(f32::to_bits)).collect();
        let directions = places.split_off(used);
        Ok(Slots { places, directions, identities })
    }

    fn tally(&self, workspace: &mut Workspace, counters: &Counters) -> Result<Tally> {
        let words = 2 * (self.grid.count() + 1);
        let Workspace { deposits, status, readback, .. } = workspace;
        readback.reserve(&self.gpu, words + STATUS)?;
        let mut encoder = self.gpu.encoder("deposits");
        readback.gather(&mut encoder, deposits, words, 0)?;
        readback.gather(&mut encoder, status, STATUS, words)?;
        let submission = self.gpu.submit(encoder)?;
        let found = readback.read(&self.gpu, &submission, words + STATUS)?;
        if let Some(element) = refused(&found[words..]) {
            let classes = Process::COUNT as u32;
            return Err(Error::Class { element: element as usize, class: classes, classes });
        }
        Ok(Tally {
            deposits: (0..words).step_by(2).map(|at| sum_at(&found, at)).collect(),
            escaped: sum_at(counters, at::ESCAPED),
            abandoned: sum_at(counters, at::ABANDONED),
            processes: std::array::from_fn(|process| sum_at(counters, at::DONE + 2 * process)),
            secondaries: sum_at(counters, at::SECONDARIES),
        })
    }
}

/// Slots of the first steps.
fn slots_at_first(capacity: Capacity, tracks: &[Track<f32>], gpu: &Gpu) -> usize {
    match capacity {
        Capacity::AsNeeded => {
            let energy: f64 = tracks.iter().map(Track::energy).sum();
            let largest = gpu.limits().max_storage_buffer_binding_size / size_of::<[f32; 4]>() as u64;
            let wanted = (SLOTS_OF_A_STEP * tracks.len() + (energy / ENERGY_A_SLOT) as usize).max(LEAST_SLOTS);
            wanted.min(largest as usize).max(tracks.len())
        }
        Capacity::AtFirst(slots) | Capacity::Fixed(slots) => slots.max(tracks.len()).max(1),
    }
}
