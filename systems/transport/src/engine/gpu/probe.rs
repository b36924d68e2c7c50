//! Fields, paths and random numbers by themselves on a GPU.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{BindingResource, BufferUsages};
use kernel_host::wgpu::{CommandEncoder, ComputePassDescriptor, ComputePassTimestampWrites, Features};
use kernel_host::{AdapterChoice, Buffer, Checks, Gpu, GpuOptions, Kernel, KernelDescriptor, Readback, Timer};

use super::field::{GpuAccuracy, GpuField};
use super::shaders::{self, Products};
use crate::engine::gpu::trust::TRUSTED;
use crate::error::{Error, Result};
use crate::field::AnyField;
use crate::integrate::{Path, State};
use crate::number::Vector;
use crate::philox::Random;
use crate::probe::Walk;

/// As in shaders/probe.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ProbeParams {
    accuracy: GpuAccuracy,
    first: u32,
    end: u32,
    steps: u32,
    charge: f32,
    length: f32,
    unused: u32,
}

/// As in shaders/probe_draws.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct DrawParams {
    seed: [u32; 2],
    is_constant: u32,
    count: u32,
}

/// Options of a [`Probe`].
#[derive(Clone, Debug, Default)]
pub struct ProbeOptions {
    /// The GPU.
    pub adapter: AdapterChoice,
    /// The workgroup size; 128 by default.
    pub workgroup_size: Option<u32>,
    /// Whether shaders have bounds checks.
    pub is_checked: bool,
    /// Whether products of random numbers use 32-bit halves even if the device has 64-bit integers.
    pub in_halves: bool,
}

/// Evaluates fields, paths and random numbers on a GPU, for tests and benches.
#[derive(Debug)]
pub struct Probe {
    gpu: Gpu,
    field: GpuField,
    paths: Kernel,
    draws: Kernel,
    workgroup_size: u32,
    workspace: Mutex<Workspace>,
}

#[derive(Debug)]
struct Workspace {
    /// Of each dispatch.
    params: Vec<Buffer<ProbeParams>>,
    /// Places and momenta, before and after.
    states: [Buffer<[f32; 4]>; 4],
    readback: Readback<[f32; 4]>,
}

/// Dispatches are rows of so many workgroups, and of so many fields, that a device is not taken for
/// hung.
const ROW: u32 = 32_768;
const MOST_FIELDS: u64 = 1 << 30;
const WORKGROUP_SIZE: u32 = 128;

/// Operation of a dispatch on states.
#[derive(Clone, Copy, Debug)]
enum Work<'a> {
    Fields,
    Walk(&'a Walk, f32),
}

impl Work<'_> {
    fn entry_point(self) -> &'static str {
        match self {
            Work::Fields => "fields",
            Work::Walk(Walk::Plain { .. }, _) => "plain_steps",
            Work::Walk(Walk::Halved { .. }, _) => "halved_steps",
            Work::Walk(Walk::Follow { .. }, _) => "follow_paths",
        }
    }

    fn fields(self) -> u64 {
        match self {
            Work::Fields => 1,
            Work::Walk(walk, _) => walk.fields().max(1),
        }
    }

    fn params(self, range: &Range<usize>) -> ProbeParams {
        let params = ProbeParams { first: range.start as u32, end: range.end as u32, ..ProbeParams::default() };
        match self {
            Work::Fields => params,
            Work::Walk(&(Walk::Plain { steps, length } | Walk::Halved { steps, length }), charge) => {
                ProbeParams { steps, charge, length: length as f32, ..params }
            }
            Work::Walk(Walk::Follow { length, accuracy }, charge) => {
                ProbeParams { accuracy: accuracy.into(), charge, length: *length as f32, ..params }
            }
        }
    }
}

fn storage<T: Pod>(label: &str) -> Buffer<T> {
    Buffer::new(label, BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST)
}

fn uniform<T: Pod>() -> Buffer<T> {
    Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST)
}

impl Probe {
    /// Opens a GPU and uploads a field.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::Options`] if the device cannot have the workgroup size.
    pub fn new(field: &AnyField, options: &ProbeOptions) -> Result<Self> {
        let adapter = options.adapter.clone();
        let optional_features = Features::TIMESTAMP_QUERY | Features::SHADER_INT64;
        let gpu = Gpu::new(&GpuOptions { adapter, optional_features, ..GpuOptions::default() })?;
        let limits = gpu.limits();
        let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        let workgroup_size = options.workgroup_size.unwrap_or(WORKGROUP_SIZE);
        if !(1..=most).contains(&workgroup_size) {
            let what = format!("workgroups of {workgroup_size} threads: the device has 1 to {most}");
            return Err(Error::Options { what });
        }
        let field = GpuField::new(&gpu, field)?;
        let checks = if options.is_checked { Checks::CHECKED } else { TRUSTED };
        let constants: &[_] = &[("WORKGROUP_SIZE", workgroup_size.into())];
        let build = |source| {
            let source = &source;
            Kernel::build(&gpu, &KernelDescriptor { source, entry_points: &[], constants, checks })
        };
        let products = if options.in_halves { Products::Halves } else { Products::on(&gpu) };
        let (paths, draws) = (build(shaders::probe(field.kind()))?, build(shaders::probe_draws(products))?);
        let workspace = Mutex::new(Workspace {
            params: Vec::new(),
            states: ["places", "momenta", "new places", "new momenta"].map(storage),
            readback: Readback::new("states read back"),
        });
        Ok(Self { gpu, field, paths, draws, workgroup_size, workspace })
    }

    /// Returns the name of the device.
    #[must_use]
    pub fn name(&self) -> &str {
        self.gpu.name()
    }

    /// Returns the field \[T\] at positions \[mm\].
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::Gpu`].
    pub fn fields(&self, places: &[Vector<f32>]) -> Result<Vec<Vector<f32>>> {
        let states: Vec<_> = places.iter().map(|&place| State { place, momentum: [0.0; 3] }).collect();
        let found = self.run(Work::Fields, &states)?;
        Ok(found.into_iter().map(|([x, y, z, _], _)| [x, y, z]).collect())
    }

    /// Returns the paths of states of a charge. Steps of a fixed length are all made, whatever the
    /// state.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::Gpu`].
    pub fn walk(&self, walk: &Walk, charge: f32, states: &[State<f32>]) -> Result<Vec<Path<f32>>> {
        let found = self.run(Work::Walk(walk, charge), states)?;
        let path = |([x, y, z, length], [px, py, pz, steps]): ([f32; 4], [f32; 4])| {
            let state = State { place: [x, y, z], momentum: [px, py, pz] };
            let (length, steps) = match *walk {
                Walk::Plain { steps, length } | Walk::Halved { steps, length } => {
                    ((f64::from(steps) * length) as f32, steps)
                }
                Walk::Follow { .. } => (length, steps as u32),
            };
            Path { state, length, steps }
        };
        Ok(found.into_iter().map(path).collect())
    }

    /// Returns how long [`Probe::walk`] takes in `rounds` rounds on the device's clock, with the
    /// states in device memory. Returns None if the device has no timestamps.
    ///
    /// # Errors
    /// As [`Probe::walk`].
    pub fn time(
        &self,
        walk: &Walk,
        charge: f32,
        states: &[State<f32>],
        rounds: usize,
    ) -> Result<Option<Vec<Duration>>> {
        let work = Work::Walk(walk, charge);
        let Some(mut timer) = Timer::new(&self.gpu, 1) else { return Ok(None) };
        let mut workspace = self.workspace();
        let parts = self.prepare(&mut workspace, work, states)?;
        let seen: Vec<_> = timer.rounds(&self.gpu, rounds, |encoder, timer| {
            self.encode(&workspace, work, &parts, encoder, timer.pass(work.entry_point()))
        })?;
        let whole = |round: &Vec<(String, Duration)>| round.iter().map(|(_, time)| *time).sum();
        Ok(Some(seen[seen.len() - rounds..].iter().map(whole).collect()))
    }

    /// Returns `count` random numbers of each of `steps` (track, step).
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::Gpu`].
    pub fn draw(&self, random: Random, steps: &[(u64, u32)], count: u32) -> Result<Vec<f32>> {
        let drawn = steps.len().checked_mul(count as usize).filter(|&drawn| u32::try_from(drawn).is_ok());
        let Some(drawn) = drawn else {
            return Err(Error::TooLarge { what: format!("{count} numbers of {} steps", steps.len()) });
        };
        if drawn == 0 {
            return Ok(Vec::new());
        }
        let (seed, is_constant) = match random {
            Random::Seeded(seed) => (seed, 0),
            Random::Constant => (0, 1),
        };
        let (mut params, mut asked, mut out) = (uniform(), storage("asked"), storage::<f32>("drawn"));
        params.write(&self.gpu, &[DrawParams { seed: halves(seed), is_constant, count }])?;
        let words = |&(track, step): &(u64, u32)| {
            let [low, high] = halves(track);
            [low, high, step, 0]
        };
        asked.write(&self.gpu, &steps.iter().map(words).collect::<Vec<[u32; 4]>>())?;
        out.reserve(&self.gpu, drawn)?;
        let bindings = [("params", params.binding()?), ("asked", asked.binding()?), ("drawn", out.binding()?)];
        let group = self.draws.bind_group(&self.gpu, &bindings)?;
        let mut encoder = self.gpu.encoder("draw");
        {
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            self.draws.dispatch(&mut pass, "draw", &group, self.rows(steps.len()))?;
        }
        let mut readback = Readback::new("drawn read back");
        readback.reserve(&self.gpu, drawn)?;
        readback.copy_from(&mut encoder, &out, drawn)?;
        let submission = self.gpu.submit(encoder)?;
        Ok(readback.read(&self.gpu, &submission, drawn)?)
    }

    fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self, threads: usize) -> [u32; 3] {
        let workgroups = (threads as u32).div_ceil(self.workgroup_size);
        [workgroups.min(ROW), workgroups.div_ceil(ROW), 1]
    }

    fn run(&self, work: Work<'_>, states: &[State<f32>]) -> Result<Vec<([f32; 4], [f32; 4])>> {
        if states.is_empty() {
            return Ok(Vec::new());
        }
        let mut workspace = self.workspace();
        let parts = self.prepare(&mut workspace, work, states)?;
        let mut encoder = self.gpu.encoder(work.entry_point());
        self.encode(&workspace, work, &parts, &mut encoder, None)?;
        let count = states.len();
        let Workspace { states, readback, .. } = &mut *workspace;
        readback.reserve(&self.gpu, 2 * count)?;
        let [.., new_places, new_momenta] = &*states;
        readback.gather(&mut encoder, new_places, count, 0)?;
        readback.gather(&mut encoder, new_momenta, count, count)?;
        let submission = self.gpu.submit(encoder)?;
        let found = readback.read(&self.gpu, &submission, 2 * count)?;
        let (places, momenta) = found.split_at(count);
        Ok(places.iter().copied().zip(momenta.iter().copied()).collect())
    }

    /// Uploads states and the parameters of each dispatch, reserves memory for results, and returns
    /// the ranges of the parameters.
    fn prepare(&self, workspace: &mut Workspace, work: Work<'_>, states: &[State<f32>]) -> Result<Vec<Range<usize>>> {
        // A thread is one of a dispatch, whose last workgroup may exceed the number of states.
        if u32::try_from(states.len()).is_err() || (states.len() as u32).checked_add(self.workgroup_size).is_none() {
            return Err(Error::TooLarge { what: format!("{} states: they are numbered in 32 bits", states.len()) });
        }
        let of_one = work.fields();
        if of_one > MOST_FIELDS / u64::from(self.workgroup_size) {
            return Err(Error::TooLarge { what: format!("{of_one} fields for a state are too many for a device") });
        }
        let wide = |[x, y, z]: Vector<f32>| [x, y, z, 0.0];
        let places: Vec<_> = states.iter().map(|state| wide(state.place)).collect();
        let momenta: Vec<_> = states.iter().map(|state| wide(state.momentum)).collect();
        workspace.states[0].write(&self.gpu, &places)?;
        workspace.states[1].write(&self.gpu, &momenta)?;
        workspace.states[2].reserve(&self.gpu, states.len())?;
        workspace.states[3].reserve(&self.gpu, states.len())?;
        let size = u64::from(self.workgroup_size);
        let part = (MOST_FIELDS / of_one / size * size) as usize;
        let parts: Vec<_> =
            (0..states.len()).step_by(part).map(|first| first..states.len().min(first + part)).collect();
        workspace.params.resize_with(parts.len().max(workspace.params.len()), uniform);
        for (buffer, range) in workspace.params.iter_mut().zip(&parts) {
            buffer.write(&self.gpu, &[work.params(range)])?;
        }
        Ok(parts)
    }

    fn encode(
        &self,
        workspace: &Workspace,
        work: Work<'_>,
        parts: &[Range<usize>],
        encoder: &mut CommandEncoder,
        timestamp_writes: Option<ComputePassTimestampWrites<'_>>,
    ) -> Result<()> {
        let label = Some(work.entry_point());
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label, timestamp_writes });
        let [places, momenta, new_places, new_momenta] = &workspace.states;
        for (params, range) in workspace.params.iter().zip(parts) {
            let mut bindings: Vec<(&str, BindingResource<'_>)> = vec![
                ("params", params.binding()?),
                ("places", places.binding()?),
                ("momenta", momenta.binding()?),
                ("new_places", new_places.binding()?),
                ("new_momenta", new_momenta.binding()?),
            ];
            bindings.extend(self.field.bindings()?);
            let group = self.paths.bind_group(&self.gpu, &bindings)?;
            self.paths.dispatch(&mut pass, work.entry_point(), &group, self.rows(range.len()))?;
        }
        Ok(())
    }
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}
