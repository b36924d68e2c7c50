//! The GPU engine: the four stages as shaders, a batch at a time. Each stage's file binds the shader of its name.

mod batch;
mod find_peaks;
mod find_z;
mod highest_windows;
mod kernels;
mod rounding;
mod shaders;
mod slice_spacepoints;
mod sum_histos;
#[cfg(test)]
pub(in crate::engine) mod tests;
mod timing;
mod walk;
mod workspace;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kernel_host::{Checks, Gpu, Pool, Pooled, Reserved, Submission, Timer, UploadPart, UploadView, Waiting, wgpu};
use rayon::prelude::*;

use crate::config::{Config, Triplets, Weighting};
use crate::engine::encoding::{Compact, Lossless};
use crate::engine::gpu::batch::{Capacity, Layout, Pairs, Regions, Shape, Stage};
use crate::engine::gpu::find_z::Teams;
use crate::engine::gpu::kernels::Kernels;
use crate::engine::gpu::shaders::{Pairing, Variant};
use crate::engine::gpu::slice_spacepoints::Room;
use crate::engine::gpu::workspace::{Constants, Groups, Sums, Workspace};
use crate::engine::plan::{RoiPlan, Search, Taken};
use crate::engine::real::Real;
use crate::engine::threads::{Helpers, in_threads};
use crate::engine::vertices::Vertices;
use crate::error::{Error, Result};
use crate::histogram::Peak;
use crate::options::{Accumulate, DeviceTimes, Encoding, EngineOptions, Precision};
use crate::spacepoint::{RoiBatch, Rois};
use crate::vertex::RoiResult;

pub(crate) enum GpuEngine {
    F32(Typed<f32>),
    F64(Typed<f64>),
}

/// The engine in one number type.
pub(crate) struct Typed<R: Real> {
    gpu: Gpu,
    search: Search,
    accumulate: Accumulate,
    /// How spacepoints travel where it can.
    compact: Option<Compact>,
    shape: Shape,
    capacity: Capacity,
    kernels: Kernels,
    constants: Constants<R>,
    /// Bytes of an upload that shaders read where it lies.
    direct_bytes: u64,
    /// How long to ask the device again and again before waiting for it.
    spin: Duration,
    workspaces: Pool<Workspace<R>>,
}

/// Parts of a batch that one thread lets the device have at once: one computes while the next is prepared.
const IN_FLIGHT: usize = 2;

/// Threads that prepare parts: beyond this the bus is full (measured on an H200: docs/performance.md).
const MOST_THREADS: usize = 16;

/// An upload of up to so many bytes is read over the bus no slower than it is copied (measured on an H200:
/// docs/performance.md).
const DIRECT_BYTES: u64 = 256 << 10;

/// A part that the device works on.
struct InFlight<'a, R: Real> {
    rois: Vec<usize>,
    /// Of each of them.
    taken: Vec<Taken>,
    workspace: Pooled<'a, Workspace<R>>,
    submission: Submission,
}

/// What became of a part that was to be submitted.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once; a box would cost each part an allocation")]
enum Submitted<'a, R: Real> {
    InFlight(InFlight<'a, R>),
    /// There is no memory before another part of the caller gives its back.
    Later,
    /// There is no memory for it by itself.
    TooLarge(Error),
}

/// A batch that is planned.
#[derive(Clone, Copy)]
struct Planned<'a> {
    batch: Rois<'a>,
    plans: &'a [RoiPlan],
    encoding: Encoding,
    waiting: Waiting,
    helpers: Helpers,
    /// How long to ask the device before waiting for it.
    spin: Duration,
    /// With room for as many peaks as are asked for this time.
    shape: Shape,
}

/// RoIs of a batch and their answers; those whose spacepoints the encoding cannot hold, or with more peaks than there was
/// room for, have none yet.
type Answers = Vec<(usize, Option<RoiResult>)>;

/// What became of parts.
#[derive(Default)]
struct Found {
    answers: Answers,
    /// Parts for which there was no memory, by themselves.
    too_large: Vec<(Vec<usize>, Error)>,
    /// RoIs of parts that were not tried then.
    left: Vec<usize>,
}

impl Found {
    fn and(mut self, other: Self) -> Self {
        self.answers.extend(other.answers);
        self.too_large.extend(other.too_large);
        self.left.extend(other.left);
        self
    }
}

/// An RoI that takes less than this on the device is no large one: where it has no room, nothing has.
const LARGE_ROI_BYTES: u64 = 1 << 20;

impl GpuEngine {
    /// The features that a number type needs.
    pub(crate) fn required_features(precision: Precision) -> wgpu::Features {
        match precision {
            Precision::F32 => wgpu::Features::empty(),
            Precision::F64 => wgpu::Features::SHADER_F64,
        }
    }

    pub(crate) async fn new(gpu: Gpu, search: Search, options: &EngineOptions) -> Result<Self> {
        let missing = Self::required_features(options.precision).difference(gpu.features());
        if !missing.is_empty() {
            return Err(kernel_host::Error::MissingFeature {
                adapter: gpu.name().to_owned(),
                feature: format!("{missing:?}"),
                hint: "f64 arithmetic needs it: use f32, or the CPU engine".into(),
            }
            .into());
        }
        if let Some(bytes) = options.most_gpu_bytes {
            gpu.limit_memory(bytes);
        }
        Ok(match options.precision {
            Precision::F32 => Self::F32(Typed::new(gpu, search, options).await?),
            Precision::F64 => Self::F64(Typed::new(gpu, search, options).await?),
        })
    }

    fn gpu(&self) -> &Gpu {
        match self {
            Self::F32(engine) => &engine.gpu,
            Self::F64(engine) => &engine.gpu,
        }
    }

    pub(crate) fn description(&self) -> String {
        let precision = match self {
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
        };
        format!("GPU engine, {precision}, on {}", self.device())
    }

    /// The adapter, for people.
    pub(crate) fn device(&self) -> String {
        let adapter = self.gpu().summary();
        format!("{} ({}, {})", adapter.name, adapter.kind, adapter.backend)
    }

    /// Bytes of the buffers on the device.
    pub(crate) fn bytes(&self) -> u64 {
        self.gpu().memory_bytes()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.gpu().lost().is_some()
    }

    pub(crate) fn find_batch(&self, batch: Rois<'_>, helpers: Helpers) -> Result<Vec<RoiResult>> {
        // The future never yields: it blocks where it waits.
        match self {
            Self::F32(engine) => pollster::block_on(engine.find_batch(batch, Waiting::Blocking, helpers)),
            Self::F64(engine) => pollster::block_on(engine.find_batch(batch, Waiting::Blocking, helpers)),
        }
    }

    pub(crate) async fn find_batch_async(&self, batch: Rois<'_>) -> Result<Vec<RoiResult>> {
        match self {
            Self::F32(engine) => engine.find_batch(batch, Waiting::Async, Helpers::Pool).await,
            Self::F64(engine) => engine.find_batch(batch, Waiting::Async, Helpers::Pool).await,
        }
    }

    /// Times the device alone, with as much of the batch as one part can be.
    pub(crate) fn time_on_device(&self, batch: &RoiBatch, rounds: usize) -> Result<Option<DeviceTimes>> {
        match self {
            Self::F32(engine) => engine.time_on_device(batch, rounds),
            Self::F64(engine) => engine.time_on_device(batch, rounds),
        }
    }

    /// Times one thread of the host.
    pub(crate) fn time_packing(&self, batch: &RoiBatch) -> Result<Option<f64>> {
        match self {
            Self::F32(engine) => engine.time_packing(batch),
            Self::F64(engine) => engine.time_packing(batch),
        }
    }
}

impl<R: Real> Typed<R> {
    async fn new(gpu: Gpu, search: Search, options: &EngineOptions) -> Result<Self> {
        let pairs = match options.slices_per_histogram {
            Some(slices) => Pairs::Numbered { slices },
            None => Pairs::Streamed { share: None },
        };
        let weighting = search.config.weighting;
        let several = search.config.charge_aware || search.config.histogram_per_slice;
        let by_layer = several || weighting == Weighting::Pt || !search.is_single();
        let pairing = match pairs {
            Pairs::Numbered { .. } => Pairing::Numbered,
            Pairs::Streamed { .. } if by_layer => Pairing::ByLayer,
            Pairs::Streamed { .. } => Pairing::TwoSlices,
        };
        let bins = search.config.z_bins(0.0, None)?.bins;
        // A weight is counted.
        let triplets = if weighting == Weighting::Pt { Triplets::Count } else { search.config.triplets };
        let variant = Variant {
            precision: options.precision,
            accumulate: options.accumulate,
            pairing,
            triplets,
            weighting,
            extrapolation: search.config.extrapolation,
            several,
            rounding: rounding::of::<R>(&gpu, options.precision).await?,
        };
        let workgroup_size = find_z::workgroup_size(&gpu, pairing, triplets);
        let teams = Teams::new(pairing, triplets, weighting, workgroup_size);
        let mut shape = Shape {
            pairs,
            workgroup_size,
            teams,
            tile_bins: find_z::tile_bins(&gpu, pairs, teams, workgroup_size, variant.row_parts(), bins)?,
            rooms: Room::few_and_many(&gpu, variant.of_few()),
            walk: None,
            variants: [variant.of_few(), variant],
            layers: search.layers() as u32,
            // Said anew for every search: [`Typed::shape_for`].
            peaks: search.config.peaks,
            charge_aware: search.config.charge_aware,
            per_slice: search.config.histogram_per_slice,
        };
        if matches!(pairs, Pairs::Streamed { .. }) && !several && weighting == Weighting::Count {
            shape.walk = walk::Room::new::<R>(&gpu, &shape, bins);
        }
        let compact = match options.encoding {
            Encoding::Compact => Compact::new(&search),
            Encoding::Lossless => None,
        };
        let checks = if options.checked { Checks::Checked } else { Checks::Trusted };
        let kernels = Kernels::build(&gpu, &shape, compact.as_ref(), checks)?;
        let mut capacity = Capacity::of(&gpu);
        if let Some(bytes) = options.most_buffer_bytes {
            capacity.buffer_bytes = capacity.buffer_bytes.min(bytes);
        }
        Ok(Self {
            accumulate: options.accumulate,
            direct_bytes: if gpu.has(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) { DIRECT_BYTES } else { 0 },
            spin: options.spin,
            workspaces: Pool::default(),
            constants: Constants::new(&gpu, R::cuts(search.triplet_cuts()), &search.neighbours)?,
            gpu,
            search,
            compact,
            shape,
            capacity,
            kernels,
        })
    }

    fn new_workspace(&self) -> Workspace<R> {
        Workspace::new(&self.gpu, self.capacity.buffer_bytes)
    }

    fn plan(&self, batch: Rois<'_>, helpers: Helpers) -> Result<Vec<RoiPlan>> {
        let plan = |i| self.search.plan(batch.roi(i));
        if helpers == Helpers::Pool {
            return (0..batch.len()).into_par_iter().with_min_len(64).map(plan).collect();
        }
        // Collecting results does not know how many there will be.
        let mut plans = Vec::with_capacity(batch.len());
        for i in 0..batch.len() {
            plans.push(plan(i)?);
        }
        Ok(plans)
    }

    /// The encoding that is tried first.
    fn encoding(&self) -> Encoding {
        if self.compact.is_some() { Encoding::Compact } else { Encoding::Lossless }
    }

    /// Bytes of a spacepoint on its way.
    fn packed_bytes(&self, encoding: Encoding) -> usize {
        match encoding {
            Encoding::Compact => size_of::<[u32; 2]>(),
            Encoding::Lossless => size_of::<R::Spacepoint>(),
        }
    }

    async fn find_batch(&self, batch: Rois<'_>, waiting: Waiting, helpers: Helpers) -> Result<Vec<RoiResult>> {
        let plans = self.plan(batch, helpers)?;
        let mut results: Vec<RoiResult> =
            plans.iter().map(|plan| plan.result(plan.nothing_taken(), Vec::new(), false)).collect();
        let spin = if waiting == Waiting::Blocking && helpers != Helpers::NONE { self.spin } else { Duration::ZERO };
        let shape = self.shape_for(self.first_peaks());
        let mut planned = Planned { batch, plans: &plans, encoding: self.encoding(), waiting, helpers, spin, shape };
        let mut wanted: Vec<usize> = (0..plans.len()).filter(|&roi| !plans[roi].is_empty()).collect();
        let mut capacity = self.capacity;
        // Its spacepoints are told as ever.
        let too_large = |roi: usize| {
            let taken = self.search.pack::<R, _>(&Lossless, &plans[roi], batch.roi(roi), |_| {});
            plans[roi].result(taken, Vec::new(), taken.kept > 0)
        };
        while !wanted.is_empty() {
            let mut left = std::mem::take(&mut wanted);
            while !left.is_empty() {
                let bytes = self.packed_bytes(planned.encoding);
                let cut = batch::cut::<R>(&plans, &left, bytes, &capacity, &planned.shape);
                for &roi in &cut.too_large {
                    results[roi] = too_large(roi);
                }
                let found = self.find_parts(planned, cut.parts).await?;
                for (roi, answer) in found.answers {
                    match answer {
                        Some(result) => results[roi] = result,
                        None => wanted.push(roi),
                    }
                }
                left = found.left;
                for (part, error) in found.too_large {
                    let spacepoints: usize = part.iter().map(|&roi| plans[roi].spacepoints).sum();
                    match part[..] {
                        [roi] if batch::bytes_of::<R>(&plans[roi], &planned.shape) < LARGE_ROI_BYTES => {
                            return Err(error);
                        }
                        [roi] => results[roi] = too_large(roi),
                        _ => {
                            capacity.upload_bytes = capacity.upload_bytes.min((spacepoints * bytes) as u64 / 2);
                            left.extend(part);
                        }
                    }
                }
            }
            // What the compact encoding cannot hold, the lossless one does; and more peaks may have to be looked at.
            planned.encoding = Encoding::Lossless;
            planned.shape = self.shape_for(planned.shape.peaks.saturating_mul(8).min(Config::MAX_BINS));
        }
        Ok(results)
    }

    /// Peaks to ask for at first: a few more than vertices where some may be mixed.
    fn first_peaks(&self) -> u32 {
        let peaks = self.search.config.peaks;
        if self.search.config.keeps_every_peak() { peaks } else { 2 * peaks + 6 }
    }

    fn shape_for(&self, peaks: u32) -> Shape {
        Shape { peaks, ..self.shape }
    }

    /// Parts, until there is no memory for one of them.
    async fn find_parts(&self, planned: Planned<'_>, parts: Vec<Vec<usize>>) -> Result<Found> {
        let mut found = Found::default();
        if planned.waiting == Waiting::Blocking && planned.helpers != Helpers::NONE && parts.len() > 1 {
            return self.find_in_threads(planned, parts);
        }
        let mut in_flight = VecDeque::new();
        let mut parts = parts.into_iter();
        while let Some(rois) = parts.next() {
            loop {
                if in_flight.len() < IN_FLIGHT {
                    match self.submit(planned, &rois, !in_flight.is_empty()).await? {
                        Submitted::InFlight(part) => {
                            in_flight.push_back(part);
                            break;
                        }
                        Submitted::Later => {}
                        // Nothing else is in flight here.
                        Submitted::TooLarge(error) => {
                            found.too_large.push((rois, error));
                            found.left.extend(parts.flatten());
                            return Ok(found);
                        }
                    }
                }
                found.answers.extend(self.collect(planned, in_flight.pop_front()).await?);
            }
        }
        while !in_flight.is_empty() {
            found.answers.extend(self.collect(planned, in_flight.pop_front()).await?);
        }
        Ok(found)
    }

    /// Every thread prepares a part, lets the device have it, waits, decodes, and takes the next.
    fn find_in_threads(&self, planned: Planned<'_>, parts: Vec<Vec<usize>>) -> Result<Found> {
        let all = planned.helpers.threads();
        let threads = all.clamp(IN_FLIGHT, MOST_THREADS).min(parts.len());
        let planned = Planned { helpers: Helpers::Threads((all / threads).max(1)), spin: Duration::ZERO, ..planned };
        let parts = Mutex::new(parts.into_iter());
        let parts = || parts.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |_| {
            let mut found = Found::default();
            loop {
                let Some(rois) = parts().next() else { return Ok(found) };
                // The futures never yield: they block where they wait.
                match pollster::block_on(self.submit(planned, &rois, false))? {
                    Submitted::InFlight(part) => {
                        found.answers.extend(pollster::block_on(self.collect(planned, Some(part)))?);
                    }
                    Submitted::Later => found.left.extend(rois),
                    Submitted::TooLarge(error) => {
                        found.too_large.push((rois, error));
                        found.left.extend(parts().by_ref().flatten());
                    }
                }
            }
        };
        let all = in_threads(vec![(); threads], threads, work);
        Ok(all.into_iter().collect::<Result<Vec<Found>>>()?.into_iter().fold(Found::default(), Found::and))
    }

    /// Packs a part straight into memory that the device reads, and lets the device begin.
    async fn submit(&self, planned: Planned<'_>, rois: &[usize], has_another: bool) -> Result<Submitted<'_, R>> {
        let (mut layout, regions) = self.layout(planned, rois);
        let make_room = |w: &mut Workspace<R>| w.make_room(&self.gpu, &layout, regions, self.direct_bytes);
        let new = || self.new_workspace();
        let room = self.workspaces.reserve(planned.waiting, has_another, new, make_room, is_out_of_memory).await?;
        let (mut workspace, view) = match room {
            Reserved::Ready(workspace, view) => (workspace, view),
            Reserved::Later => return Ok(Submitted::Later),
            Reserved::Full(error) => return Ok(Submitted::TooLarge(error)),
        };
        let taken = self.pack(planned, view, &mut layout, regions, rois);
        let mut encoder = self.gpu.encoder("zfinder");
        self.begin(&mut encoder, &mut workspace)?;
        self.encode(&mut encoder, planned.encoding, &mut workspace, &layout, None)?;
        if !workspace.direct {
            workspace.results.copy_from(&mut encoder, &workspace.peaks, layout.peaks())?;
        }
        let submission = self.gpu.submit(encoder)?;
        Ok(Submitted::InFlight(InFlight { rois: rois.to_vec(), taken, workspace, submission }))
    }

    /// Fills a workspace with a part. What is staged still has to be copied on the device: [`Typed::begin`].
    fn upload(&self, planned: Planned<'_>, workspace: &mut Workspace<R>, rois: &[usize]) -> Result<Layout<R>> {
        let (mut layout, regions) = self.layout(planned, rois);
        let view = workspace.make_room(&self.gpu, &layout, regions, self.direct_bytes)?;
        self.pack(planned, view, &mut layout, regions, rois);
        Ok(layout)
    }

    fn layout(&self, planned: Planned<'_>, rois: &[usize]) -> (Layout<R>, Regions) {
        let plans = rois.iter().map(|&roi| &planned.plans[roi]);
        let sharing = batch::sharing::<R>(plans.clone(), &self.capacity, &planned.shape);
        let layout = Layout::new(&self.search, &planned.shape, sharing, plans);
        let regions = layout.regions(self.packed_bytes(planned.encoding));
        (layout, regions)
    }

    /// Writes a part to where it is staged.
    fn pack(
        &self,
        planned: Planned<'_>,
        mut view: UploadView<u32>,
        layout: &mut Layout<R>,
        regions: Regions,
        rois: &[usize],
    ) -> Vec<Taken> {
        let bytes = self.packed_bytes(planned.encoding);
        let header_words = regions.spacepoints as usize / 4;
        let words = rois.iter().map(|&roi| planned.plans[roi].spacepoints * bytes / 4);
        let mut parts = view.parts(std::iter::once(header_words).chain(words)).into_iter();
        let mut header = parts.next().expect("the first length is the header's");
        let pack = |(mut part, &roi): (UploadPart<'_, u32>, &usize)| {
            let (plan, view) = (&planned.plans[roi], planned.batch.roi(roi));
            let mut fits = true;
            let taken = match (&self.compact, planned.encoding) {
                (Some(compact), Encoding::Compact) => self.search.pack::<R, _>(compact, plan, view, |block| {
                    fits &= part.write(bytemuck::cast_slice(block));
                }),
                _ => self.search.pack::<R, _>(&Lossless, plan, view, |block| {
                    fits &= part.write(bytemuck::cast_slice(block));
                }),
            };
            debug_assert!(fits, "a part has room for all spacepoints of its RoI");
            taken
        };
        let few = layout.spacepoints < PARALLEL_PACKING || rois.len() == 1;
        let parts: Vec<_> = parts.zip(rois).collect();
        let taken: Vec<Taken> = match planned.helpers {
            _ if few => parts.into_iter().map(pack).collect(),
            Helpers::Pool => parts.into_par_iter().with_min_len(rois.len() / 64 + 1).map(pack).collect(),
            Helpers::Threads(threads) => in_threads(parts, threads, pack),
        };
        for (roi, taken) in layout.rois.iter_mut().zip(&taken) {
            if taken.kept == 0 {
                R::leave_out(roi);
            }
        }
        let fits = header.write(&layout.header(&regions));
        debug_assert!(fits, "the header has the room that it asked for");
        taken
    }

    /// Encodes what the stages rely on: the input on the device.
    fn begin(&self, encoder: &mut wgpu::CommandEncoder, workspace: &mut Workspace<R>) -> Result<()> {
        if workspace.direct {
            workspace.staging.unmap();
        } else {
            workspace.staging.copy_to(encoder, &workspace.input, workspace.regions.end as usize / 4)?;
        }
        Ok(())
    }

    /// The stages: in one pass, or to be timed, each in its own.
    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        encoding: Encoding,
        workspace: &mut Workspace<R>,
        layout: &Layout<R>,
        timer: Option<&mut Timer>,
    ) -> Result<()> {
        self.clear(encoder, workspace, layout)?;
        let mut groups = std::mem::take(&mut workspace.groups);
        match timer {
            Some(timer) => {
                for &stage in layout.stages() {
                    let timestamp_writes = timer.pass(stage.name());
                    let descriptor = wgpu::ComputePassDescriptor { label: Some(stage.name()), timestamp_writes };
                    let pass = &mut encoder.begin_compute_pass(&descriptor);
                    self.encode_stage(stage, pass, encoding, workspace, &mut groups, layout)?;
                }
            }
            None => {
                let pass = &mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                for &stage in layout.stages() {
                    self.encode_stage(stage, pass, encoding, workspace, &mut groups, layout)?;
                }
            }
        }
        workspace.groups = groups;
        Ok(())
    }

    /// Clears several histograms an RoI; of one, slice_spacepoints does it.
    fn clear(&self, encoder: &mut wgpu::CommandEncoder, workspace: &Workspace<R>, layout: &Layout<R>) -> Result<()> {
        if layout.several {
            let sums = layout.rois.len() * size_of::<Sums>();
            encoder.clear_buffer(workspace.totals.raw()?, 0, Some(4 * layout.total_words() as u64));
            encoder.clear_buffer(workspace.sums.raw()?, 0, Some(sums as u64));
        }
        Ok(())
    }

    fn encode_stage(
        &self,
        stage: Stage,
        pass: &mut wgpu::ComputePass<'_>,
        encoding: Encoding,
        workspace: &Workspace<R>,
        groups: &mut Groups,
        layout: &Layout<R>,
    ) -> Result<()> {
        let (gpu, constants, kernels) = (&self.gpu, &self.constants, &self.kernels);
        let (w, l, g) = (workspace, layout, groups);
        let readers = kernels.readers(encoding);
        match stage {
            Stage::SliceSpacepoints => {
                let kernel = &readers.slice_spacepoints[l.room];
                slice_spacepoints::encode(kernel, gpu, &mut g.slice_spacepoints, pass, w, l)
            }
            Stage::FindZ => find_z::encode(&kernels.find_z[l.room], gpu, &mut g.find_z, pass, constants, w, l),
            Stage::SumHistos => {
                let kernel = kernels.sum_histos.as_ref().expect("a layout of one histogram an RoI");
                sum_histos::encode(kernel, gpu, &mut g.sum_histos, pass, w, l)
            }
            Stage::HighestWindows => {
                let kernel = kernels.highest_windows.as_ref().expect("a layout of several histograms an RoI");
                highest_windows::encode(kernel, gpu, g, pass, w, l)
            }
            Stage::FindPeaks => find_peaks::encode(&kernels.find_peaks, gpu, &mut g.find_peaks, pass, w, l),
            Stage::Walk => {
                let kernel = readers.walk.as_ref().expect("a layout that is walked");
                walk::encode(kernel, gpu, &mut g.walk, pass, constants, w, l)
            }
        }
    }

    /// Waits for a part and decodes its answers.
    async fn collect(&self, planned: Planned<'_>, part: Option<InFlight<'_, R>>) -> Result<Answers> {
        let Some(InFlight { rois, taken, workspace, submission }) = part else { return Ok(Vec::new()) };
        let each = planned.shape.peaks as usize;
        let count = rois.len() * each;
        let peaks = match planned.waiting {
            Waiting::Blocking => {
                self.gpu.wait_spinning(&submission, planned.spin)?;
                workspace.results.read_done(&self.gpu, count)?
            }
            Waiting::Async => workspace.results.read_async(&self.gpu, &submission, count).await?,
        };
        workspace.give_back();
        let decode = |(i, roi): (usize, usize)| {
            if taken[i].too_far {
                return (roi, None);
            }
            let plan = &planned.plans[roi];
            let mut vertices = Vertices::new(&self.search, plan, self.accumulate, Vec::new());
            let peaks = &peaks[i * each..(i + 1) * each];
            let mut found = peaks.iter().take_while(|peak| peak.bin != Peak::NONE);
            let all = found.by_ref().take_while(|peak| vertices.take(peak)).count() == each;
            // No peak came after the last one: there may be more.
            if all && peaks[0].flags == 0 {
                return (roi, None);
            }
            (roi, Some(plan.result(taken[i], vertices.found(), peaks[0].flags != 0)))
        };
        Ok(rois.into_iter().enumerate().map(decode).collect())
    }
}

/// Spacepoints of a part that are worth more than one thread.
const PARALLEL_PACKING: usize = 1 << 16;

/// Whether the device had no memory to give: nothing was begun, and less may fit.
fn is_out_of_memory(error: &Error) -> bool {
    matches!(error, Error::Gpu(kernel_host::Error::OutOfMemory { .. }))
}
