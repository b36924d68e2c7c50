//! The GPU engine: uploads parts of a batch, fits them, and reads them back, several at a time.

mod shaders;
pub(crate) mod trust;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{self, BindGroup, BufferUsages, Features};
use kernel_host::{
    Buffer, Checks, Gpu, GpuOptions, Kernel, KernelDescriptor, Readback, Submission, Timer, Upload, UploadPart,
};
use rayon::prelude::*;

use crate::batch::{Batch, HIT, Layout, Number, STATE, TRACK};
use crate::engine::{Fitted, Mode, Task};
use crate::error::{Error, Result};

/// As in shaders/types.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    tracks: u32,
    groups: u32,
    events: u32,
    layers: u32,
}

/// The mapping of tracks onto threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMap {
    /// One thread a track, of any event: `v1` of the slides.
    #[default]
    ByTrack,
    /// One workgroup an event: `v2`.
    ByEvent,
    /// One workgroup a group of tracks: `v3`. See [`Layout`].
    ByBatch,
}

impl IndexMap {
    /// All mappings.
    pub const ALL: [Self; 3] = [Self::ByTrack, Self::ByEvent, Self::ByBatch];

    fn entry_point(self) -> &'static str {
        match self {
            Self::ByTrack => "by_track",
            Self::ByEvent => "by_event",
            Self::ByBatch => "by_batch",
        }
    }
}

/// Options of the GPU engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    pub(crate) map: IndexMap,
    /// Threads of a workgroup.
    pub(crate) workgroup_size: u32,
    /// Rows of threads of a workgroup.
    pub(crate) rows: u32,
    pub(crate) checks: Checks,
    /// The bytes of hits of a part.
    pub(crate) part_bytes: u64,
}

/// The number of workgroups in a row of a dispatch.
const ROW: u32 = 32_768;
/// The number of parts in flight while another is written. With more parts, the written data leaves
/// the host's caches before the device copies it.
const IN_FLIGHT: usize = 2;

/// A variant of the kernel: the group size, whether hits may lie on disks, and whether tracks
/// scatter.
type Variant = (usize, bool, bool);

pub(crate) struct GpuEngine<T: Number> {
    gpu: Gpu,
    task: Task,
    settings: GpuSettings,
    kernels: Mutex<Vec<(Variant, Kernel)>>,
    workspaces: Mutex<Vec<Workspace<T>>>,
}

struct Workspace<T: Number> {
    params: Buffer<Params>,
    tracks: (Upload<T>, Buffer<T>),
    hits: (Upload<T>, Buffer<T>),
    scatterings: (Upload<T>, Buffer<T>),
    states: (Buffer<T>, Readback<T>),
    statuses: (Buffer<u32>, Readback<u32>),
    layer_sums: (Buffer<T>, Readback<T>),
    chi2s: (Buffer<T>, Readback<T>),
}

impl<T: Number> Workspace<T> {
    fn new(gpu: &Gpu) -> Self {
        let input = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let output = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        Self {
            params: Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            tracks: (Upload::new("tracks on their way").cached(gpu), Buffer::new("tracks", input)),
            hits: (Upload::new("hits on their way").cached(gpu), Buffer::new("hits", input)),
            scatterings: (Upload::new("scattering on its way").cached(gpu), Buffer::new("scattering", input)),
            states: (Buffer::new("states", output), Readback::new("states read back")),
            statuses: (Buffer::new("statuses", output), Readback::new("statuses read back")),
            layer_sums: (Buffer::new("sums of layers", output), Readback::new("sums of layers read back")),
            chi2s: (Buffer::new("chi2", output), Readback::new("chi2 read back")),
        }
    }
}

/// A part in flight.
type InFlight<T> = (Workspace<T>, Range<usize>, Submission);

impl<T: Number> Workspace<T> {
    fn encode_upload(&mut self, batch: &Batch<T>, events: usize, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        let layout = batch.layout();
        let places = events * layout.groups() * layout.bsize;
        self.tracks.0.copy_to(encoder, &self.tracks.1, places * TRACK)?;
        self.hits.0.copy_to(encoder, &self.hits.1, places * layout.layers * HIT)?;
        if !batch.scattering_words().is_empty() {
            self.scatterings.0.copy_to(encoder, &self.scatterings.1, places * layout.layers)?;
        }
        Ok(())
    }
}

/// The number of words that a thread copies at a time.
const COPIED: usize = 1 << 16;

/// A copy by one thread: to memory that the device reads, or from memory that it wrote.
enum Copy<'a, T: Number> {
    There(UploadPart<'a, T>, &'a [T]),
    Back(&'a mut [T], &'a [T]),
    Statuses(&'a mut [u32], &'a [u32]),
}

impl<T: Number> Copy<'_, T> {
    fn make(self) {
        match self {
            Self::There(mut to, from) => {
                let fits = to.write(from);
                debug_assert!(fits, "there is room for all words");
            }
            Self::Back(to, from) => to.copy_from_slice(from),
            Self::Statuses(to, from) => to.copy_from_slice(from),
        }
    }
}

impl<T: Number> GpuEngine<T> {
    /// Returns the options of the device.
    pub(crate) fn device() -> GpuOptions {
        let optional_features = Features::TIMESTAMP_QUERY | Features::SHADER_F64 | Features::MAPPABLE_PRIMARY_BUFFERS;
        GpuOptions { optional_features, ..GpuOptions::default() }
    }

    pub(crate) fn new(gpu: Gpu, task: Task, settings: GpuSettings) -> Result<Self> {
        if !gpu.has(T::PRECISION.required_features()) {
            return Err(Error::NoF64 { adapter: gpu.name().to_owned() });
        }
        let size = settings.workgroup_size;
        let limits = gpu.limits();
        let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        if size == 0 || size > most {
            return Err(Error::WorkgroupSize { size, what: format!("{} has 1 to {most}", gpu.name()) });
        }
        let rows = settings.rows;
        if rows == 0 || !size.is_multiple_of(rows) {
            return Err(Error::WorkgroupSize { size, what: format!("they do not make {rows} equal rows") });
        }
        Ok(Self { gpu, task, settings, kernels: Mutex::default(), workspaces: Mutex::default() })
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn description(&self) -> String {
        let adapter = self.gpu.summary();
        format!("GPU, {}, {} ({}, {})", T::PRECISION, adapter.name, adapter.kind, adapter.backend)
    }

    /// Returns the kernel for a batch.
    fn kernel(&self, batch: &Batch<T>) -> Result<Kernel> {
        let scatters = !batch.scattering_words().is_empty();
        let key @ (bsize, has_disks, _) = (batch.layout().bsize, batch.has_disks(), scatters);
        let mut kernels = locked(&self.kernels);
        if let Some((_, kernel)) = kernels.iter().find(|(of, _)| *of == key) {
            return Ok(kernel.clone());
        }
        let kernel = Kernel::build(
            &self.gpu,
            &KernelDescriptor {
                source: &shaders::fit(T::PRECISION, self.task.formulas, has_disks),
                entry_points: &[self.settings.map.entry_point()],
                constants: &[
                    ("WORKGROUP_SIZE", self.settings.workgroup_size.into()),
                    ("ROWS", self.settings.rows.into()),
                    ("BSIZE", bsize as f64),
                    ("SEED_STATE", f64::from(u8::from(self.task.mode == Mode::SeedState))),
                    ("CHI2", f64::from(u8::from(self.task.chi2))),
                    ("SCATTERS", f64::from(u8::from(scatters))),
                ],
                checks: self.settings.checks,
            },
        )?;
        kernels.push((key, kernel.clone()));
        Ok(kernel)
    }

    /// Returns the events of each part: as many as fit.
    fn parts(&self, layout: Layout, most_bytes: u64) -> Result<Vec<Range<usize>>> {
        let slots = layout.groups() * layout.bsize;
        let words = (slots * TRACK.max(layout.layers * HIT)) as u64;
        let bytes = words * size_of::<T>() as u64;
        // The shader counts words in 32 bits.
        let limit = self.gpu.limits().max_storage_buffer_binding_size.min(u64::from(u32::MAX) * size_of::<T>() as u64);
        if bytes > limit {
            return Err(Error::EventTooLarge { bytes, limit });
        }
        let together = (most_bytes.min(limit) / bytes.max(1)).clamp(1, layout.events.max(1) as u64) as usize;
        Ok((0..layout.events).step_by(together).map(|first| first..(first + together).min(layout.events)).collect())
    }

    pub(crate) fn fit(&self, batch: &Batch<T>, fitted: &mut Fitted<T>) -> Result<()> {
        let layout = batch.layout();
        if layout.slots() == 0 {
            return Ok(());
        }
        let kernel = self.kernel(batch)?;
        let mut parts = self.parts(layout, self.settings.part_bytes)?.into_iter();
        let mut in_flight: VecDeque<InFlight<T>> = VecDeque::new();
        loop {
            let part = parts.next();
            let is_full = in_flight.len() >= IN_FLIGHT;
            let oldest = if is_full || part.is_none() { in_flight.pop_front() } else { None };
            if part.is_none() && oldest.is_none() {
                return Ok(());
            }
            let mut next = match part {
                Some(part) => Some((self.workspace(batch, part.len())?, part)),
                None => None,
            };
            self.copy(batch, next.as_mut(), oldest.as_ref(), fitted)?;
            if let Some((workspace, ..)) = oldest {
                locked(&self.workspaces).push(workspace);
            }
            if let Some((mut workspace, part)) = next {
                let mut encoder = self.gpu.encoder("fit");
                workspace.encode_upload(batch, part.len(), &mut encoder)?;
                let group = self.bind(&kernel, &workspace)?;
                self.encode(&kernel, &group, layout, part.len(), &mut encoder, None)?;
                self.encode_readback(&mut workspace, layout, part.len(), &mut encoder)?;
                in_flight.push_back((workspace, part, self.gpu.submit(encoder)?));
            }
        }
    }

    /// Returns the kernel's time in each of `rounds` rounds, with the batch in device memory. None
    /// if the device has no clock.
    pub(crate) fn time(&self, batch: &Batch<T>, rounds: usize) -> Result<Option<Vec<Duration>>> {
        let layout = batch.layout();
        let kernel = self.kernel(batch)?;
        let Some(mut timer) = Timer::new(&self.gpu, 1) else { return Ok(None) };
        let mut times = vec![Duration::ZERO; rounds];
        for part in self.parts(layout, u64::MAX)? {
            let mut next = (self.workspace(batch, part.len())?, part);
            self.copy(batch, Some(&mut next), None, &mut Fitted::new(Layout { events: 0, ..layout }, self.task)?)?;
            let (mut workspace, part) = next;
            let mut encoder = self.gpu.encoder("upload");
            workspace.encode_upload(batch, part.len(), &mut encoder)?;
            self.gpu.wait(&self.gpu.submit(encoder)?)?;
            let group = self.bind(&kernel, &workspace)?;
            let seen: Vec<_> = timer.rounds(&self.gpu, rounds, |encoder, timer| {
                self.encode(&kernel, &group, layout, part.len(), encoder, Some(timer))
            })?;
            for (time, round) in times.iter_mut().zip(seen) {
                *time += round.iter().map(|(_, duration)| *duration).sum::<Duration>();
            }
            locked(&self.workspaces).push(workspace);
        }
        Ok(Some(times))
    }

    /// Returns buffers with room for a part of so many events.
    fn workspace(&self, batch: &Batch<T>, events: usize) -> Result<Workspace<T>> {
        let gpu = &self.gpu;
        let layout = batch.layout();
        let scattering_layers = if batch.scattering_words().is_empty() { 0 } else { layout.layers };
        let mut workspace = locked(&self.workspaces).pop().unwrap_or_else(|| Workspace::new(gpu));
        let params = Params {
            tracks: layout.tracks as u32,
            groups: layout.groups() as u32,
            events: events as u32,
            layers: layout.layers as u32,
        };
        workspace.params.write(gpu, &[params])?;
        let places = events * layout.groups() * layout.bsize;
        workspace.tracks.1.reserve(gpu, places * TRACK)?;
        workspace.hits.1.reserve(gpu, (places * layout.layers * HIT).max(1))?;
        workspace.scatterings.1.reserve(gpu, (places * scattering_layers).max(1))?;
        workspace.states.0.reserve(gpu, places * STATE)?;
        workspace.statuses.0.reserve(gpu, places)?;
        let [sums, chi2s] = self.task.lengths(places);
        workspace.layer_sums.0.reserve(gpu, sums.max(1))?;
        workspace.chi2s.0.reserve(gpu, chi2s.max(1))?;
        Ok(workspace)
    }

    /// Copies the next part of the batch to staging memory, and the results of a finished part to
    /// the host. All threads copy at once, because waking them takes as long as copying a megabyte.
    fn copy(
        &self,
        batch: &Batch<T>,
        next: Option<&mut (Workspace<T>, Range<usize>)>,
        done: Option<&InFlight<T>>,
        fitted: &mut Fitted<T>,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let layout = batch.layout();
        let slots = layout.groups() * layout.bsize;
        let mut views = Vec::new();
        if let Some((workspace, part)) = next {
            let Workspace { tracks, hits, scatterings, .. } = workspace;
            let hits = (&mut hits.0, batch.hit_words(), layout.layers * HIT);
            let scatterings = (&mut scatterings.0, batch.scattering_words(), layout.layers);
            let all = [(&mut tracks.0, batch.track_words(), TRACK), hits].into_iter();
            for (to, words, each) in all.chain(Some(scatterings).filter(|(_, words, _)| !words.is_empty())) {
                let words = &words[part.start * slots * each..part.end * slots * each];
                views.push((to.map(gpu, words.len())?, words));
            }
        }
        let there = views.iter_mut().flat_map(|(view, words)| {
            let parts = view.parts(words.chunks(COPIED).map(<[T]>::len));
            parts.into_iter().zip(words.chunks(COPIED)).map(|(to, from)| Copy::There(to, from))
        });
        let copies: Vec<Copy<'_, T>> = there.collect();
        let Some((workspace, part, submission)) = done else {
            copies.into_par_iter().for_each(Copy::make);
            return Ok(());
        };
        gpu.wait(submission)?;
        let places = part.start * slots..part.end * slots;
        let states = &mut fitted.states[places.start * STATE..places.end * STATE];
        let statuses = &mut fitted.statuses[places.clone()];
        let sums = fitted.layer_sums.get_mut(places.clone()).unwrap_or_default();
        let chi2s = fitted.chi2s.get_mut(places).unwrap_or_default();
        let Workspace { states: found_states, statuses: found_statuses, layer_sums, chi2s: found_chi2s, .. } =
            workspace;
        found_states.1.look(gpu, states.len(), |found_states| {
            found_statuses.1.look(gpu, statuses.len(), |found_statuses| {
                layer_sums.1.look(gpu, sums.len(), |found_sums| {
                    found_chi2s.1.look(gpu, chi2s.len(), |found_chi2s| {
                        let back = pairs(states, found_states).chain(pairs(sums, found_sums));
                        let back = back.chain(pairs(chi2s, found_chi2s)).map(|(to, from)| Copy::Back(to, from));
                        let statuses = pairs(statuses, found_statuses).map(|(to, from)| Copy::Statuses(to, from));
                        let all: Vec<Copy<'_, T>> = copies.into_iter().chain(back).chain(statuses).collect();
                        all.into_par_iter().for_each(Copy::make);
                    })
                })
            })
        })????;
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
                ("chi2s", workspace.chi2s.0.binding()?),
                ("scatterings", workspace.scatterings.1.binding()?),
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
        let GpuSettings { map, workgroup_size, rows, .. } = self.settings;
        let groups = (events * layout.groups()) as u32;
        let workgroups = match map {
            IndexMap::ByTrack => (groups * layout.bsize as u32).div_ceil(workgroup_size),
            IndexMap::ByEvent => (events as u32).div_ceil(rows),
            IndexMap::ByBatch => groups.div_ceil(rows),
        };
        let timestamp_writes = timer.and_then(|timer| timer.pass("fit"));
        let descriptor = wgpu::ComputePassDescriptor { label: Some("fit"), timestamp_writes };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        let grid = [workgroups.min(ROW), workgroups.div_ceil(ROW), 1];
        kernel.dispatch(&mut pass, map.entry_point(), group, grid)?;
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
        let Workspace { states, statuses, layer_sums, chi2s, .. } = workspace;
        states.1.reserve(gpu, places * STATE)?;
        states.1.copy_from(encoder, &states.0, places * STATE)?;
        statuses.1.reserve(gpu, places)?;
        statuses.1.copy_from(encoder, &statuses.0, places)?;
        let lengths = self.task.lengths(places);
        for (length, (from, to)) in lengths.into_iter().zip([layer_sums, chi2s]).filter(|(length, _)| *length > 0) {
            to.reserve(gpu, length)?;
            to.copy_from(encoder, from, length)?;
        }
        Ok(())
    }
}

/// Returns chunks for threads to copy. Unused slots, which the shader does not write, are copied
/// too.
fn pairs<'a, U>(to: &'a mut [U], from: &'a [U]) -> impl Iterator<Item = (&'a mut [U], &'a [U])> {
    to.chunks_mut(COPIED).zip(from.chunks(COPIED))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
