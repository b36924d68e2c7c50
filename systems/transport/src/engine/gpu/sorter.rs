//! The GPU side of a [`Sorter`](crate::Sorter).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytemuck::Pod;
use kernel_host::wgpu::{CommandEncoder, ComputePass, ComputePassDescriptor, Features};
use kernel_host::{Buffer, Checks, Gpu, Readback, Timer};

use super::count::{CountBuffers, CountJob, CountSettings, GpuCount, STATUS, refused, storage};
use super::sort::{GpuGather, GpuSort, SortBuffers, SortJob, SortSettings};
use crate::classes::{Count, PartTime, Sorted};
use crate::engine::gpu::trust::TRUSTED;
use crate::error::{Error, Result};

/// How to count and to sort.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GpuSettings {
    pub(crate) variant: Count,
    pub(crate) count_threads: Option<u32>,
    pub(crate) count_workgroups: Option<u32>,
    pub(crate) sort_threads: Option<u32>,
    pub(crate) is_checked: bool,
}

impl GpuSettings {
    fn checks(self) -> Checks {
        if self.is_checked { Checks::CHECKED } else { TRUSTED }
    }

    fn sort(self, classes: u32) -> SortSettings {
        SortSettings { classes, size_at: 0, threads: self.sort_threads, checks: self.checks() }
    }

    fn count(self, classes: u32) -> CountSettings {
        CountSettings {
            variant: self.variant,
            classes,
            size_at: 0,
            threads: self.count_threads,
            workgroups: self.count_workgroups,
            checks: self.checks(),
        }
    }
}

pub(crate) struct GpuSorter {
    gpu: Gpu,
    settings: GpuSettings,
    classes: u32,
    count: GpuCount,
    workspace: Mutex<Workspace>,
}

struct Workspace {
    sort: GpuSort,
    /// The same for what is moved, when that is wanted.
    moving: Option<GpuSort>,
    size: Buffer<u32>,
    classes: Buffer<u32>,
    order: Buffer<u32>,
    bounds: Buffer<u32>,
    status: Buffer<u32>,
    payload: [Buffer<[u32; 4]>; 2],
    few: Readback<u32>,
    back: Readback<u32>,
    payload_back: Readback<[u32; 4]>,
}

/// Times of one way to do something.
type Times = Result<Option<Vec<PartTime>>>;

impl GpuSorter {
    /// Features that are used where they are there.
    pub(crate) const FEATURES: Features = Features::TIMESTAMP_QUERY.union(Features::SUBGROUP);

    pub(crate) fn new(gpu: Gpu, classes: u32, settings: GpuSettings) -> Result<Self> {
        let count = GpuCount::new(&gpu, &settings.count(classes))?;
        let sort = GpuSort::new(&gpu, &settings.sort(classes))?;
        let workspace = Mutex::new(Workspace {
            sort,
            moving: None,
            size: Buffer::new("size", storage()),
            classes: Buffer::new("classes", storage()),
            order: Buffer::new("order", storage()),
            bounds: Buffer::new("bounds", storage()),
            status: Buffer::new("status", storage()),
            payload: ["payload", "payload in order"].map(|label| Buffer::new(label, storage())),
            few: Readback::new("counts and status read back"),
            back: Readback::new("order read back"),
            payload_back: Readback::new("payload read back"),
        });
        Ok(Self { gpu, settings, classes, count, workspace })
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn description(&self) -> String {
        let adapter = self.gpu.summary();
        format!("GPU, {} ({}, {})", adapter.name, adapter.kind, adapter.backend)
    }

    pub(crate) fn count(&self, elements: &[u32]) -> Result<Vec<u32>> {
        let mut workspace = self.workspace();
        workspace.prepare(&self.gpu, elements, self.classes)?;
        let job = workspace.bind_count(&self.gpu, &self.count)?;
        let mut encoder = self.gpu.encoder("count");
        self.count.encode(&mut encoder.begin_compute_pass(&ComputePassDescriptor::default()), &job)?;
        self.finish(&mut workspace, elements, encoder)
    }

    pub(crate) fn sort(&self, elements: &[u32]) -> Result<Sorted> {
        let mut workspace = self.workspace();
        workspace.prepare(&self.gpu, elements, self.classes)?;
        let job = workspace.bind_sort(&self.gpu)?;
        let mut encoder = self.gpu.encoder("sort");
        workspace.sort.encode(&mut encoder.begin_compute_pass(&ComputePassDescriptor::default()), &job)?;
        let counts = self.finish(&mut workspace, elements, encoder)?;
        Ok(Sorted { counts, order: workspace.read_order(&self.gpu, elements.len())? })
    }

    /// Groups of 16 bytes move too.
    pub(crate) fn sort_payload<T: Pod>(&self, elements: &[u32], payload: &[T]) -> Result<(Sorted, Vec<T>)> {
        let gpu = &self.gpu;
        let mut workspace = self.workspace();
        workspace.prepare(gpu, elements, self.classes)?;
        let job = workspace.bind_moving(gpu, &self.settings.sort(self.classes))?;
        workspace.payload[0].write(gpu, bytemuck::cast_slice(payload))?;
        let mut encoder = gpu.encoder("sort and move");
        if let Some(moving) = &workspace.moving {
            moving.encode(&mut encoder.begin_compute_pass(&ComputePassDescriptor::default()), &job)?;
        }
        let counts = self.finish(&mut workspace, elements, encoder)?;
        let order = workspace.read_order(gpu, elements.len())?;
        let Workspace { payload: [_, after], payload_back, .. } = &mut *workspace;
        payload_back.reserve(gpu, payload.len())?;
        let mut encoder = gpu.encoder("read back");
        payload_back.copy_from(&mut encoder, after, payload.len())?;
        gpu.wait(&gpu.submit(encoder)?)?;
        let moved = payload_back.look(gpu, payload.len(), |groups| bytemuck::cast_slice(groups).to_vec())?;
        Ok((Sorted { counts, order }, moved))
    }

    /// Of one dispatch of many in a pass, all of which add to counts; and of one that follows their
    /// being made zero.
    pub(crate) fn time_count(&self, elements: &[u32], variant: Count, dispatches: usize, rounds: usize) -> Times {
        let gpu = &self.gpu;
        let Some(mut timer) = Timer::new(gpu, 2) else { return Ok(None) };
        let mut workspace = self.workspace();
        workspace.prepare(gpu, elements, self.classes)?;
        let count = GpuCount::new(gpu, &GpuSettings { variant, ..self.settings }.count(self.classes))?;
        let job = workspace.bind_count(gpu, &count)?;
        let seen = timer.rounds::<Error>(gpu, rounds, |encoder, timer| {
            encoder.clear_buffer(workspace.bounds.raw()?, 0, None);
            let timestamp_writes = timer.pass("count");
            let mut pass =
                encoder.begin_compute_pass(&ComputePassDescriptor { label: Some("count"), timestamp_writes });
            for _ in 0..dispatches.max(1) {
                count.encode_adding(&mut pass, &job)?;
            }
            drop(pass);
            let timestamp_writes = timer.pass("zero, count");
            let mut pass =
                encoder.begin_compute_pass(&ComputePassDescriptor { label: Some("count"), timestamp_writes });
            count.encode(&mut pass, &job)
        })?;
        let mut times = collect(&seen, rounds, &[4 * elements.len() as u64; 2]);
        if let Some(first) = times.first_mut() {
            let each = |time: &Duration| time.div_f64(dispatches.max(1) as f64);
            first.rounds = first.rounds.iter().map(each).collect();
        }
        Ok(Some(times))
    }

    /// Of each part of a sort in a pass of its own, of all in one pass, of a sort that moves 16
    /// bytes an element, and of only moving.
    pub(crate) fn time_sort(&self, elements: &[u32], rounds: usize) -> Times {
        let gpu = &self.gpu;
        let n = elements.len() as u64;
        let mut workspace = self.workspace();
        workspace.prepare(gpu, elements, self.classes)?;
        let moving_job = workspace.bind_moving(gpu, &self.settings.sort(self.classes))?;
        let job = workspace.bind_sort(gpu)?;
        let gather = GpuGather::new(gpu, 0, self.settings.checks())?;
        let [before, after] = &workspace.payload;
        let gather_job = gather.bind(gpu, &workspace.size, &workspace.order, before, after)?;
        let Workspace { sort, moving: Some(moving), .. } = &*workspace else { return Ok(None) };
        let parts: Vec<_> = sort.parts().collect();
        let Some(mut timer) = Timer::new(gpu, parts.len() + 3) else { return Ok(None) };
        let seen = timer.rounds::<Error>(gpu, rounds, |encoder, timer| {
            let mut pass = |label: &str, encode: &dyn Fn(&mut ComputePass<'_>) -> Result<()>| {
                let timestamp_writes = timer.pass(label);
                let descriptor = ComputePassDescriptor { label: Some(label), timestamp_writes };
                encode(&mut encoder.begin_compute_pass(&descriptor))
            };
            for &part in &parts {
                pass(part.1.name(), &|pass| sort.encode_part(pass, &job, part))?;
            }
            pass("sort", &|pass| sort.encode(pass, &job))?;
            pass("sort and move", &|pass| moving.encode(pass, &moving_job))?;
            pass("gather", &|pass| gather.encode(pass, &gather_job))
        })?;
        let mut bytes: Vec<u64> = parts.iter().map(|(_, part)| part.bytes(n)).collect();
        bytes.extend([8 * n, 40 * n, 36 * n]);
        Ok(Some(collect(&seen, rounds, &bytes)))
    }

    fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits the encoded commands, and returns the counts.
    fn finish(&self, workspace: &mut Workspace, elements: &[u32], mut encoder: CommandEncoder) -> Result<Vec<u32>> {
        let (gpu, classes) = (&self.gpu, self.classes as usize);
        workspace.few.reserve(gpu, classes + STATUS)?;
        workspace.few.gather(&mut encoder, &workspace.bounds, classes, 0)?;
        workspace.few.gather(&mut encoder, &workspace.status, STATUS, classes)?;
        let submission = gpu.submit(encoder)?;
        let mut counts = workspace.few.read(gpu, &submission, classes + STATUS)?;
        let status = counts.split_off(classes);
        if let Some(element) = refused(&status) {
            let element = element as usize;
            let class = elements.get(element).copied().unwrap_or(u32::MAX);
            return Err(Error::Class { element, class, classes: self.classes });
        }
        Ok(counts)
    }
}

impl Workspace {
    fn prepare(&mut self, gpu: &Gpu, elements: &[u32], classes: u32) -> Result<()> {
        self.size.write(gpu, &[elements.len() as u32])?;
        // In whole fours, as kernels read them.
        self.classes.reserve(gpu, elements.len().next_multiple_of(4).max(4))?;
        self.classes.write(gpu, elements)?;
        self.order.reserve(gpu, self.classes.capacity())?;
        self.bounds.reserve(gpu, 2 * classes as usize)?;
        self.status.write(gpu, &[0; STATUS])?;
        Ok(())
    }

    fn bind_count(&self, gpu: &Gpu, count: &GpuCount) -> Result<CountJob> {
        let Self { size, classes, bounds, status, .. } = self;
        count.bind(gpu, CountBuffers { size, classes, counts: bounds, status })
    }

    fn bind_sort(&mut self, gpu: &Gpu) -> Result<SortJob> {
        let Self { sort, size, classes, order, bounds, status, .. } = self;
        sort.bind(gpu, SortBuffers { size, classes, order, bounds, status })
    }

    /// Makes room for what is moved, and builds what moves it when that is wanted for the first
    /// time.
    fn bind_moving(&mut self, gpu: &Gpu, settings: &SortSettings) -> Result<SortJob> {
        let Self { moving, size, classes, order, bounds, status, payload: [before, after], .. } = self;
        before.reserve(gpu, classes.capacity())?;
        after.reserve(gpu, classes.capacity())?;
        let moving = match moving {
            Some(moving) => moving,
            None => moving.insert(GpuSort::moving(gpu, settings)?),
        };
        let payload = [before.binding()?, after.binding()?];
        moving.bind_moving(gpu, SortBuffers { size, classes, order, bounds, status }, payload)
    }

    fn read_order(&mut self, gpu: &Gpu, len: usize) -> Result<Vec<u32>> {
        self.back.reserve(gpu, len)?;
        let mut encoder = gpu.encoder("read back");
        self.back.copy_from(&mut encoder, &self.order, len)?;
        let submission = gpu.submit(encoder)?;
        Ok(self.back.read(gpu, &submission, len)?)
    }
}

/// The last rounds, by part.
fn collect(seen: &[Vec<(String, Duration)>], rounds: usize, bytes: &[u64]) -> Vec<PartTime> {
    let seen = &seen[seen.len().saturating_sub(rounds)..];
    let part = |(place, &bytes): (usize, &u64)| PartTime {
        part: seen.first().and_then(|round| round.get(place)).map(|(label, _)| label.clone()).unwrap_or_default(),
        rounds: seen.iter().filter_map(|round| round.get(place)).map(|&(_, time)| time).collect(),
        bytes,
    };
    bytes.iter().enumerate().map(part).collect()
}
