//! Fits on a GPU: parts of a batch go there, are fitted, and come back, several at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{self, BindGroup, BufferUsages, Features};
use kernel_host::{Buffer, Checks, Gpu, GpuOptions, Kernel, KernelDescriptor, Readback, Submission, Timer, Upload};
use rayon::prelude::*;

use crate::batch::{Batch, HIT, Layout, Number, STATE, TRACK};
use crate::engine::{Fitted, Mode};
use crate::error::{Error, Result};
use crate::shaders;

/// As in shaders/types.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    tracks: u32,
    groups: u32,
    events: u32,
    layers: u32,
}

/// How tracks are mapped onto threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMap {
    /// A thread a track, of any event: `v1` of the slides.
    #[default]
    ByTrack,
    /// A workgroup an event: `v2`.
    ByEvent,
    /// A workgroup a group of tracks that are laid out together: `v3`.
    ByBatch,
}

impl IndexMap {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ByTrack, Self::ByEvent, Self::ByBatch];

    fn entry_point(self) -> &'static str {
        match self {
            Self::ByTrack => "by_track",
            Self::ByEvent => "by_event",
            Self::ByBatch => "by_batch",
        }
    }
}

/// What of the GPU is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    pub(crate) map: IndexMap,
    /// Threads of a workgroup.
    pub(crate) workgroup_size: u32,
    pub(crate) checks: Checks,
    /// Bytes of hits that go there at once.
    pub(crate) part_bytes: u64,
}

/// Dispatches are rows of so many workgroups.
const ROW: u32 = 32_768;
/// Parts on their way at once.
const IN_FLIGHT: usize = 3;

pub(crate) struct GpuEngine<T: Number> {
    gpu: Gpu,
    mode: Mode,
    settings: GpuSettings,
    /// By the groups of tracks that they were built for.
    kernels: Mutex<Vec<(usize, Kernel)>>,
    workspaces: Mutex<Vec<Workspace<T>>>,
}

struct Workspace<T: Number> {
    params: Buffer<Params>,
    tracks: (Upload<T>, Buffer<T>),
    hits: (Upload<T>, Buffer<T>),
    states: (Buffer<T>, Readback<T>),
    statuses: (Buffer<u32>, Readback<u32>),
    layer_sums: (Buffer<T>, Readback<T>),
}

impl<T: Number> Workspace<T> {
    fn new() -> Self {
        let input = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let output = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        Self {
            params: Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            tracks: (Upload::new("tracks on their way"), Buffer::new("tracks", input)),
            hits: (Upload::new("hits on their way"), Buffer::new("hits", input)),
            states: (Buffer::new("states", output), Readback::new("states read back")),
            statuses: (Buffer::new("statuses", output), Readback::new("statuses read back")),
            layer_sums: (Buffer::new("sums of layers", output), Readback::new("sums of layers read back")),
        }
    }
}

/// Words that a thread copies at a time.
const COPIED: usize = 1 << 20;

/// To memory that the device reads, by all threads.
fn upload<T: Number>(gpu: &Gpu, to: &mut Upload<T>, words: &[T]) -> Result<()> {
    let mut view = to.map(gpu, words.len())?;
    let lengths = words.chunks(COPIED).map(<[T]>::len);
    let parts = view.parts(lengths);
    let all_fit = parts.into_par_iter().zip(words.par_chunks(COPIED)).all(|(mut part, words)| part.write(words));
    debug_assert!(all_fit, "there is room for all words");
    Ok(())
}

impl<T: Number> GpuEngine<T> {
    /// What is asked of a device.
    pub(crate) fn device() -> GpuOptions {
        let optional_features = Features::TIMESTAMP_QUERY | Features::SHADER_F64;
        GpuOptions { optional_features, ..GpuOptions::default() }
    }

    pub(crate) fn new(gpu: Gpu, mode: Mode, settings: GpuSettings) -> Result<Self> {
        if T::NAME == "f64" && !gpu.has(Features::SHADER_F64) {
            return Err(Error::NoF64 { adapter: gpu.name().to_owned() });
        }
        let size = settings.workgroup_size;
        let limits = gpu.limits();
        let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        if size == 0 || size > most {
            return Err(Error::WorkgroupSize { size, what: format!("{} has 1 to {most}", gpu.name()) });
        }
        Ok(Self { gpu, mode, settings, kernels: Mutex::default(), workspaces: Mutex::default() })
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn description(&self) -> String {
        let adapter = self.gpu.summary();
        format!("GPU, {}, {} ({}, {})", T::NAME, adapter.name, adapter.kind, adapter.backend)
    }

    /// The kernel for groups of so many tracks.
    fn kernel(&self, bsize: usize) -> Result<Kernel> {
        let mut kernels = locked(&self.kernels);
        if let Some((_, kernel)) = kernels.iter().find(|(of, _)| *of == bsize) {
            return Ok(kernel.clone());
        }
        let kernel = Kernel::build(
            &self.gpu,
            &KernelDescriptor {
                source: &shaders::fit(T::NAME == "f64"),
                entry_points: &[self.settings.map.entry_point()],
                constants: &[
                    ("WORKGROUP_SIZE", self.settings.workgroup_size.into()),
                    ("BSIZE", bsize as f64),
                    ("SEED_STATE", f64::from(u8::from(self.mode == Mode::SeedState))),
                ],
                checks: self.settings.checks,
            },
        )?;
        kernels.push((bsize, kernel.clone()));
        Ok(kernel)
    }

    /// Events that go there at once: as many as fit.
    fn parts(&self, layout: Layout, most_bytes: u64) -> Result<Vec<Range<usize>>> {
        let slots = layout.groups() * layout.bsize;
        let words = (slots * TRACK.max(layout.layers * HIT)) as u64;
        let bytes = words * size_of::<T>() as u64;
        // Numbers of words and places are 32 bits there.
        let limit = self.gpu.limits().max_storage_buffer_binding_size.min(u64::from(u32::MAX) * size_of::<T>() as u64);
        if bytes > limit {
            return Err(Error::EventTooLarge { bytes, limit });
        }
        let together = (most_bytes.min(limit) / bytes.max(1)).clamp(1, layout.events.max(1) as u64) as usize;
        Ok((0..layout.events).step_by(together).map(|first| first..(first + together).min(layout.events)).collect())
    }

    pub(crate) fn fit(&self, batch: &Batch<T>) -> Result<Fitted<T>> {
        let layout = batch.layout();
        let mut fitted = Fitted::new(layout, self.mode);
        if layout.slots() == 0 {
            return Ok(fitted);
        }
        let kernel = self.kernel(layout.bsize)?;
        let mut in_flight: VecDeque<(Workspace<T>, Range<usize>, Submission)> = VecDeque::new();
        let mut finish = |(workspace, part, submission): (Workspace<T>, Range<usize>, Submission)| -> Result<()> {
            self.read(&workspace, &part, &submission, &mut fitted)?;
            locked(&self.workspaces).push(workspace);
            Ok(())
        };
        for part in self.parts(layout, self.settings.part_bytes)? {
            if in_flight.len() >= IN_FLIGHT
                && let Some(oldest) = in_flight.pop_front()
            {
                finish(oldest)?;
            }
            let mut workspace = locked(&self.workspaces).pop().unwrap_or_else(Workspace::new);
            let mut encoder = self.gpu.encoder("fit");
            self.upload(&mut workspace, batch, &part, &mut encoder)?;
            let group = self.bind(&kernel, &workspace)?;
            self.encode(&kernel, &group, layout, part.len(), &mut encoder, None)?;
            self.encode_readback(&mut workspace, layout, part.len(), &mut encoder)?;
            in_flight.push_back((workspace, part, self.gpu.submit(encoder)?));
        }
        in_flight.into_iter().try_for_each(finish)?;
        Ok(fitted)
    }

    /// The kernel's time, `rounds` times over, with the batch on the device already. None if the device has no clock.
    pub(crate) fn time(&self, batch: &Batch<T>, rounds: usize) -> Result<Option<Vec<Duration>>> {
        let layout = batch.layout();
        let kernel = self.kernel(layout.bsize)?;
        let Some(mut timer) = Timer::new(&self.gpu, 1) else { return Ok(None) };
        let mut times = vec![Duration::ZERO; rounds];
        let mut workspace = locked(&self.workspaces).pop().unwrap_or_else(Workspace::new);
        for part in self.parts(layout, u64::MAX)? {
            let mut encoder = self.gpu.encoder("upload");
            self.upload(&mut workspace, batch, &part, &mut encoder)?;
            self.gpu.wait(&self.gpu.submit(encoder)?)?;
            let group = self.bind(&kernel, &workspace)?;
            let seen: Vec<_> = timer.rounds(&self.gpu, rounds, |encoder, timer| {
                self.encode(&kernel, &group, layout, part.len(), encoder, Some(timer))
            })?;
            for (time, round) in times.iter_mut().zip(seen) {
                *time += round.iter().map(|(_, duration)| *duration).sum::<Duration>();
            }
        }
        locked(&self.workspaces).push(workspace);
        Ok(Some(times))
    }

    fn upload(
        &self,
        workspace: &mut Workspace<T>,
        batch: &Batch<T>,
        part: &Range<usize>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let layout = batch.layout();
        let slots = layout.groups() * layout.bsize;
        let params = Params {
            tracks: layout.tracks as u32,
            groups: layout.groups() as u32,
            events: part.len() as u32,
            layers: layout.layers as u32,
        };
        workspace.params.write(gpu, &[params])?;
        let of = |words: &'_ [T], each: usize| -> Range<usize> {
            debug_assert_eq!(words.len(), layout.slots() * each);
            part.start * slots * each..part.end * slots * each
        };
        let hits = layout.layers * HIT;
        for ((to, buffer), words, each) in
            [(&mut workspace.tracks, batch.track_words(), TRACK), (&mut workspace.hits, batch.hit_words(), hits)]
        {
            let words = &words[of(words, each)];
            buffer.reserve(gpu, words.len().max(1))?;
            if !words.is_empty() {
                upload(gpu, to, words)?;
                to.copy_to(encoder, buffer, words.len())?;
            }
        }
        let places = part.len() * slots;
        workspace.states.0.reserve(gpu, places * STATE)?;
        workspace.statuses.0.reserve(gpu, places)?;
        workspace.layer_sums.0.reserve(gpu, if self.mode == Mode::SeedState { places } else { 1 })?;
        Ok(())
    }

    fn bind(&self, kernel: &Kernel, workspace: &Workspace<T>) -> Result<BindGroup> {
        Ok(kernel.bind_group(
            &self.gpu,
            &[
                ("params", workspace.params.binding()?),
                ("tracks", workspace.tracks.1.binding()?),
                ("hits", workspace.hits.1.binding()?),
                ("states", workspace.states.0.binding()?),
                ("statuses", workspace.statuses.0.binding()?),
                ("layer_sums", workspace.layer_sums.0.binding()?),
            ],
        )?)
    }

    fn encode(
        &self,
        kernel: &Kernel,
        group: &BindGroup,
        layout: Layout,
        events: usize,
        encoder: &mut wgpu::CommandEncoder,
        timer: Option<&mut Timer>,
    ) -> Result<()> {
        let GpuSettings { map, workgroup_size, .. } = self.settings;
        let groups = (events * layout.groups()) as u32;
        let workgroups = match map {
            IndexMap::ByTrack => (groups * layout.bsize as u32).div_ceil(workgroup_size),
            IndexMap::ByEvent => events as u32,
            IndexMap::ByBatch => groups,
        };
        let timestamp_writes = timer.and_then(|timer| timer.pass("fit"));
        let descriptor = wgpu::ComputePassDescriptor { label: Some("fit"), timestamp_writes };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        let rows = [workgroups.min(ROW), workgroups.div_ceil(ROW), 1];
        kernel.dispatch(&mut pass, map.entry_point(), group, rows)?;
        Ok(())
    }

    fn encode_readback(
        &self,
        workspace: &mut Workspace<T>,
        layout: Layout,
        events: usize,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let places = events * layout.groups() * layout.bsize;
        let Workspace { states, statuses, layer_sums, .. } = workspace;
        states.1.reserve(gpu, places * STATE)?;
        states.1.copy_from(encoder, &states.0, places * STATE)?;
        statuses.1.reserve(gpu, places)?;
        statuses.1.copy_from(encoder, &statuses.0, places)?;
        if self.mode == Mode::SeedState {
            layer_sums.1.reserve(gpu, places)?;
            layer_sums.1.copy_from(encoder, &layer_sums.0, places)?;
        }
        Ok(())
    }

    fn read(
        &self,
        workspace: &Workspace<T>,
        part: &Range<usize>,
        submission: &Submission,
        fitted: &mut Fitted<T>,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let slots = fitted.layout.groups() * fitted.layout.bsize;
        let places = part.start * slots..part.end * slots;
        let states = workspace.states.1.read(gpu, submission, places.len() * STATE)?;
        fitted.states[places.start * STATE..places.end * STATE].copy_from_slice(&states);
        let statuses = workspace.statuses.1.read(gpu, submission, places.len())?;
        fitted.statuses[places.clone()].copy_from_slice(&statuses);
        if self.mode == Mode::SeedState {
            let sums = workspace.layer_sums.1.read(gpu, submission, places.len())?;
            fitted.layer_sums[places].copy_from_slice(&sums);
        }
        // Places that are not used are not written there.
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
