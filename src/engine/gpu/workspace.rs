//! The buffers of one batch in flight. They grow to the largest batch seen and are used again.

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::BufferUsages;
use kernel_host::{Buffer, Gpu, Readback, Upload};

use crate::engine::gpu::batch::Layout;
use crate::engine::plan::Search;
use crate::engine::real::Real;
use crate::error::Result;
use crate::histogram::Peak;

/// `Params` in `shaders/types.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) layers: u32,
    pub(crate) inner_layers: u32,
    pub(crate) slices_per_histogram: u32,
    pub(crate) row_bins: u32,
    pub(crate) peaks: u32,
    pub(crate) least_weight: u32,
    pub(crate) prefer_central: u32,
    pub(crate) stage: u32,
}

pub(crate) struct Workspace<R: Real> {
    /// Of the two stages of sum_histos; all else takes the first.
    pub(crate) params: [Buffer<Params>; 2],
    pub(crate) cuts: Buffer<R::Cuts>,
    pub(crate) neighbours: Buffer<u32>,
    pub(crate) rois: Buffer<R::Roi>,
    pub(crate) staging: Upload<R::Spacepoint>,
    /// Spacepoints as uploaded.
    pub(crate) packed: Buffer<R::Spacepoint>,
    pub(crate) cells: Buffer<u32>,
    /// Spacepoints by RoI, layer and slice.
    pub(crate) spacepoints: Buffer<R::Spacepoint>,
    pub(crate) histograms: Buffer<u32>,
    pub(crate) partials: Buffer<u32>,
    pub(crate) totals: Buffer<u32>,
    pub(crate) peaks: Buffer<Peak>,
    pub(crate) status: Buffer<u32>,
    pub(crate) peaks_readback: Readback<Peak>,
    pub(crate) status_readback: Readback<u32>,
}

impl<R: Real> Workspace<R> {
    /// `most_bytes`: of any buffer.
    pub(crate) fn new(most_bytes: u64) -> Self {
        let upload = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let uniform = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        // COPY_SRC: tests read every stage's output.
        let device = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        Self {
            params: [Buffer::new("params, stage 0", uniform), Buffer::new("params, stage 1", uniform)],
            cuts: Buffer::new("triplet cuts", uniform),
            neighbours: Buffer::new("neighbours", upload),
            rois: Buffer::new("rois", upload).most_bytes(most_bytes),
            staging: Upload::new("staged spacepoints"),
            packed: Buffer::new("packed spacepoints", upload).most_bytes(most_bytes),
            cells: Buffer::new("cells", device).most_bytes(most_bytes),
            spacepoints: Buffer::new("sorted spacepoints", device).most_bytes(most_bytes),
            histograms: Buffer::new("histograms", device).most_bytes(most_bytes),
            partials: Buffer::new("partial sums of histograms", device).most_bytes(most_bytes),
            totals: Buffer::new("summed histograms", device).most_bytes(most_bytes),
            peaks: Buffer::new("peaks", device).most_bytes(most_bytes),
            status: Buffer::new("status", device).most_bytes(most_bytes),
            peaks_readback: Readback::new("peaks readback"),
            status_readback: Readback::new("status readback"),
        }
    }

    /// Makes room for a part of a batch and uploads all but its spacepoints, of which there are at most `spacepoints`.
    pub(crate) fn upload(&mut self, gpu: &Gpu, search: &Search, layout: &Layout<R>, spacepoints: usize) -> Result<()> {
        for (stage, params) in self.params.iter_mut().enumerate() {
            params.write(gpu, &[Params { stage: stage as u32, ..layout.params }])?;
        }
        self.cuts.write(gpu, &[R::cuts(search.triplet_cuts())])?;
        self.neighbours.write(gpu, &search.neighbours)?;
        self.rois.write(gpu, &layout.rois)?;
        let row = 2 * layout.params.row_bins as usize;
        let peaks = layout.rois.len() * layout.params.peaks as usize;
        self.packed.reserve(gpu, spacepoints)?;
        self.cells.reserve(gpu, layout.cells)?;
        self.spacepoints.reserve(gpu, spacepoints)?;
        self.histograms.reserve(gpu, layout.histogram_rows * row)?;
        self.partials.reserve(gpu, layout.partial_rows * row)?;
        self.totals.reserve(gpu, layout.rois.len() * row)?;
        self.peaks.reserve(gpu, peaks)?;
        self.status.reserve(gpu, layout.rois.len())?;
        self.peaks_readback.reserve(gpu, peaks)?;
        self.status_readback.reserve(gpu, layout.rois.len())?;
        Ok(())
    }
}
