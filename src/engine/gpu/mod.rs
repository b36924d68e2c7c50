//! The GPU engine: the four stages as shaders, a batch at a time. Each stage's file binds the shader of its name.

mod batch;
mod find_peaks;
mod find_z;
mod shaders;
mod slice_spacepoints;
mod sum_histos;
#[cfg(test)]
mod tests;
mod workspace;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use kernel_host::{Checks, Gpu, Kernel, KernelDescriptor, Submission, Timer, wgpu};
use rayon::prelude::*;

use crate::engine::gpu::batch::{Capacity, Layout, Shape};
use crate::engine::gpu::shaders::Variant;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::plan::{RoiPlan, Search, Taken};
use crate::engine::real::Real;
use crate::error::Result;
use crate::finder::{Accumulate, EngineOptions, Precision};
use crate::histogram::Peak;
use crate::spacepoint::RoiBatch;
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
    shape: Shape,
    capacity: Capacity,
    slice_spacepoints: Kernel,
    find_z: Kernel,
    sum_histos: Kernel,
    find_peaks: Kernel,
    /// Workspaces that no batch uses now.
    idle: Mutex<Vec<Workspace<R>>>,
}

/// How to wait for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// On the caller's thread.
    Blocking,
    /// As a future.
    Async,
}

/// Parts of a batch that the device may hold at once: one computes while the next is prepared.
const IN_FLIGHT: usize = 2;

/// A part that the device works on.
struct InFlight<R: Real> {
    rois: Vec<usize>,
    /// Of each of them.
    taken: Vec<Taken>,
    workspace: Workspace<R>,
    submission: Submission,
}

impl GpuEngine {
    /// The features that a number type needs.
    pub(crate) fn required_features(precision: Precision) -> wgpu::Features {
        match precision {
            Precision::F32 => wgpu::Features::empty(),
            Precision::F64 => wgpu::Features::SHADER_F64,
        }
    }

    pub(crate) fn new(gpu: Gpu, search: Search, options: &EngineOptions) -> Result<Self> {
        let missing = Self::required_features(options.precision).difference(gpu.features());
        if !missing.is_empty() {
            return Err(kernel_host::Error::MissingFeature {
                adapter: gpu.name().to_owned(),
                feature: format!("{missing:?}"),
                hint: "f64 arithmetic needs it: use f32, or the CPU engine".into(),
            }
            .into());
        }
        Ok(match options.precision {
            Precision::F32 => Self::F32(Typed::new(gpu, search, options)?),
            Precision::F64 => Self::F64(Typed::new(gpu, search, options)?),
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
        let adapter = self.gpu().summary();
        format!("GPU engine, {precision}, on {} ({}, {})", adapter.name, adapter.kind, adapter.backend)
    }

    pub(crate) fn find_batch(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        // The future never yields: it blocks where it waits.
        match self {
            Self::F32(engine) => pollster::block_on(engine.find_batch(batch, Waiting::Blocking)),
            Self::F64(engine) => pollster::block_on(engine.find_batch(batch, Waiting::Blocking)),
        }
    }

    pub(crate) async fn find_batch_async(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        match self {
            Self::F32(engine) => engine.find_batch(batch, Waiting::Async).await,
            Self::F64(engine) => engine.find_batch(batch, Waiting::Async).await,
        }
    }

    /// Times the stages' passes on the device's clock \[s\], with the batch in one part; None where it has no clock
    /// that shaders can read.
    pub(crate) fn time_stages(&self, batch: &RoiBatch) -> Result<Option<Vec<(String, f64)>>> {
        match self {
            Self::F32(engine) => engine.time_stages(batch),
            Self::F64(engine) => engine.time_stages(batch),
        }
    }
}

impl<R: Real> Typed<R> {
    fn new(gpu: Gpu, search: Search, options: &EngineOptions) -> Result<Self> {
        let variant = Variant { precision: options.precision, accumulate: options.accumulate };
        let bins = search.config.z_bins(0.0, None)?.bins;
        let shape = Shape {
            slices_per_histogram: options.slices_per_histogram,
            tile_bins: find_z::tile_bins(&gpu, bins)?,
            layers: search.layers() as u32,
            peaks: search.config.peaks,
        };
        let sources = [variant.slice_spacepoints(), variant.find_z(), variant.sum_histos(), variant.find_peaks()];
        let tile = ("TILE_BINS", f64::from(shape.tile_bins));
        let find_z_constants = [
            tile,
            ("WORKGROUP_SIZE", f64::from(find_z::WORKGROUP_SIZE)),
            ("TRIPLETS", f64::from(search.triplet_mode())),
        ];
        let checks = if options.checked { Checks::Checked } else { Checks::Trusted };
        let descriptor = |i: usize, entry_points, constants| KernelDescriptor {
            source: &sources[i],
            entry_points,
            constants,
            checks,
        };
        let mut kernels = Kernel::build_all(
            &gpu,
            &[
                descriptor(0, &slice_spacepoints::ENTRY_POINTS, &[]),
                descriptor(1, &find_z::ENTRY_POINTS, &find_z_constants),
                descriptor(2, &sum_histos::ENTRY_POINTS, &[]),
                descriptor(3, &find_peaks::ENTRY_POINTS, &[]),
            ],
        )?
        .into_iter();
        let mut next = || kernels.next().expect("build_all gives a kernel for each descriptor");
        let (slice_spacepoints, find_z, sum_histos, find_peaks) = (next(), next(), next(), next());
        let mut capacity = Capacity::of(&gpu);
        if let Some(bytes) = options.most_buffer_bytes {
            capacity.buffer_bytes = capacity.buffer_bytes.min(bytes);
        }
        Ok(Self {
            accumulate: options.accumulate,
            idle: Mutex::new(Vec::new()),
            gpu,
            search,
            shape,
            capacity,
            slice_spacepoints,
            find_z,
            sum_histos,
            find_peaks,
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Workspace<R>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self, batch: &RoiBatch) -> Result<Vec<RoiPlan>> {
        (0..batch.len()).into_par_iter().map(|i| self.search.plan(batch.roi(i))).collect()
    }

    async fn find_batch(&self, batch: &RoiBatch, waiting: Waiting) -> Result<Vec<RoiResult>> {
        let plans = self.plan(batch)?;
        let cut = batch::cut::<R>(&plans, &self.capacity, &self.shape);
        let mut results: Vec<RoiResult> =
            plans.iter().map(|plan| plan.result(plan.nothing_taken(), Vec::new(), false)).collect();
        for &roi in &cut.too_large {
            results[roi] = plans[roi].result(plans[roi].nothing_taken(), Vec::new(), true);
        }
        let mut in_flight = VecDeque::new();
        for rois in cut.parts {
            if in_flight.len() == IN_FLIGHT {
                self.collect(in_flight.pop_front(), waiting, &plans, &mut results).await?;
            }
            in_flight.push_back(self.submit(rois, batch, &plans, None)?);
        }
        while !in_flight.is_empty() {
            self.collect(in_flight.pop_front(), waiting, &plans, &mut results).await?;
        }
        Ok(results)
    }

    /// Packs a part straight into memory that the device reads, and lets the device begin.
    fn submit(
        &self,
        rois: Vec<usize>,
        batch: &RoiBatch,
        plans: &[RoiPlan],
        mut timer: Option<&mut Timer>,
    ) -> Result<InFlight<R>> {
        let mut workspace = self.idle().pop().unwrap_or_else(|| Workspace::new(self.capacity.buffer_bytes));
        let (layout, taken) = self.upload(&mut workspace, &rois, batch, plans)?;
        let mut encoder = self.gpu.encoder("zfinder");
        self.begin(&mut encoder, &mut workspace, &layout)?;
        self.encode(&mut encoder, &workspace, &layout, timer.as_deref_mut())?;
        if let Some(timer) = timer {
            timer.resolve(&mut encoder)?;
        }
        let submission = self.gpu.submit(encoder)?;
        Ok(InFlight { rois, taken, workspace, submission })
    }

    /// Fills a workspace with a part. What is packed still has to be copied on the device: [`Typed::begin`].
    fn upload(
        &self,
        workspace: &mut Workspace<R>,
        rois: &[usize],
        batch: &RoiBatch,
        plans: &[RoiPlan],
    ) -> Result<(Layout<R>, Vec<Taken>)> {
        let room = || rois.iter().map(|&roi| plans[roi].spacepoints);
        let spacepoints = room().sum();
        let mut view = workspace.staging.map(&self.gpu, spacepoints)?;
        let taken: Vec<Taken> = view
            .parts(room())
            .into_par_iter()
            .zip(rois)
            .map(|(mut part, &roi)| {
                let mut fits = true;
                let taken = self.search.pack::<R>(&plans[roi], batch.roi(roi), |block| fits &= part.write(block));
                debug_assert!(fits, "a part has room for all spacepoints of its RoI");
                taken
            })
            .collect();
        drop(view);
        let slices = batch::slices_per_histogram::<R>(rois.iter().map(|&roi| &plans[roi]), &self.capacity, &self.shape);
        let layout = Layout::new(
            &self.search,
            &self.shape,
            slices,
            rois.iter().zip(&taken).map(|(&roi, &taken)| (&plans[roi], taken)),
        );
        workspace.upload(&self.gpu, &self.search, &layout, spacepoints)?;
        Ok((layout, taken))
    }

    /// Encodes what the stages rely on: spacepoints on the device, zeroed cells and status.
    fn begin(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        workspace: &mut Workspace<R>,
        layout: &Layout<R>,
    ) -> Result<()> {
        workspace.staging.copy_to(encoder, &workspace.packed, layout.spacepoints)?;
        encoder.clear_buffer(workspace.cells.raw()?, 0, None);
        encoder.clear_buffer(workspace.status.raw()?, 0, None);
        Ok(())
    }

    /// The four stages, each a pass, and the way back.
    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        workspace: &Workspace<R>,
        layout: &Layout<R>,
        mut timer: Option<&mut Timer>,
    ) -> Result<()> {
        type Encode<R> = fn(&Kernel, &Gpu, &mut wgpu::ComputePass<'_>, &Workspace<R>, &Layout<R>) -> Result<()>;
        let stages: [(&Kernel, Encode<R>); 4] = [
            (&self.slice_spacepoints, slice_spacepoints::encode),
            (&self.find_z, find_z::encode),
            (&self.sum_histos, sum_histos::encode),
            (&self.find_peaks, find_peaks::encode),
        ];
        for (kernel, encode) in stages {
            let timestamp_writes = timer.as_deref_mut().and_then(|timer| timer.pass(kernel.name()));
            let descriptor = wgpu::ComputePassDescriptor { label: Some(kernel.name()), timestamp_writes };
            encode(kernel, &self.gpu, &mut encoder.begin_compute_pass(&descriptor), workspace, layout)?;
        }
        let rois = layout.rois.len();
        workspace.peaks_readback.copy_from(encoder, &workspace.peaks, rois * layout.params.peaks as usize)?;
        workspace.status_readback.copy_from(encoder, &workspace.status, rois)?;
        Ok(())
    }

    /// Waits for a part and puts its answers where they belong.
    async fn collect(
        &self,
        part: Option<InFlight<R>>,
        waiting: Waiting,
        plans: &[RoiPlan],
        results: &mut [RoiResult],
    ) -> Result<()> {
        let Some(InFlight { rois, taken, workspace, submission }) = part else { return Ok(()) };
        let each = self.shape.peaks as usize;
        let count = rois.len() * each;
        let (peaks, status) = match waiting {
            Waiting::Blocking => (
                workspace.peaks_readback.read(&self.gpu, &submission, count)?,
                workspace.status_readback.read_done(&self.gpu, rois.len())?,
            ),
            Waiting::Async => (
                workspace.peaks_readback.read_async(&self.gpu, &submission, count).await?,
                workspace.status_readback.read_async(&self.gpu, &submission, rois.len()).await?,
            ),
        };
        self.idle().push(workspace);
        for (i, &roi) in rois.iter().enumerate() {
            let found = peaks[i * each..(i + 1) * each].iter().take_while(|peak| peak.bin != Peak::NONE);
            let vertices = found.map(|peak| peak.vertex(&plans[roi].bins, self.accumulate)).collect();
            results[roi] = plans[roi].result(taken[i], vertices, status[i] != 0);
        }
        Ok(())
    }

    fn time_stages(&self, batch: &RoiBatch) -> Result<Option<Vec<(String, f64)>>> {
        let Some(mut timer) = Timer::new(&self.gpu, 4) else { return Ok(None) };
        let plans = self.plan(batch)?;
        let Some(rois) = batch::cut::<R>(&plans, &self.capacity, &self.shape).parts.into_iter().next() else {
            return Ok(None);
        };
        let InFlight { rois, workspace, submission, .. } = self.submit(rois, batch, &plans, Some(&mut timer))?;
        let times = timer.read(&self.gpu, &submission)?;
        self.idle().push(workspace);
        let each = |(name, time): (String, std::time::Duration)| (name, time.as_secs_f64() / rois.len() as f64);
        Ok(Some(times.into_iter().map(each).collect()))
    }
}
