//! The buffers of one part of a batch in flight. They grow to the largest part seen and are used
//! again.

use kernel_host::wgpu::{self, BufferUsages};
use kernel_host::{BindGroupSlot, Buffer, Error as GpuError, Gpu, Readback, Upload};

use crate::engine::gpu::capacity::ALIGNMENT;
use crate::engine::gpu::kernels::KernelName;
use crate::engine::gpu::part_plan::{Dispatch, GROUPS, PartPlan, ROWS_IN_GROUPS, Regions};
use crate::engine::gpu::shape::SearchMethod;
use crate::engine::real::Real;
use crate::engine::records::{Params, Peak, RoiStatus, Sums, Window};
use crate::error::Result;

/// Buffers of the search, which all parts share.
pub(crate) struct SearchBuffers<R: Real> {
    pub(crate) cuts: Buffer<R::Cuts>,
    pub(crate) neighbours: Buffer<u32>,
}

impl<R: Real> SearchBuffers<R> {
    /// `neighbours` has 4096 words in `shaders/find_z/find_z.wgsl`.
    const NEIGHBOURS: usize = crate::detector::MAX_LAYERS * crate::detector::MAX_LAYERS;

    pub(crate) fn new(gpu: &Gpu, cuts: R::Cuts, neighbours: &[u32]) -> Result<Self> {
        let uniform = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let mut buffers =
            Self { cuts: Buffer::new("triplet cuts", uniform), neighbours: Buffer::new("neighbours", uniform) };
        let mut words = vec![0; Self::NEIGHBOURS];
        words[..neighbours.len()].copy_from_slice(neighbours);
        buffers.cuts.write(gpu, &[cuts])?;
        buffers.neighbours.write(gpu, &words)?;
        Ok(buffers)
    }
}

pub(crate) struct Workspace<R: Real> {
    /// Of any buffer, and of a binding.
    most_bytes: u64,
    /// Params, RoIs, the RoI of each row, spacepoints: on the host's side and on the device's.
    pub(crate) staging: Upload<u32>,
    pub(crate) input: Buffer<u32>,
    pub(crate) regions: Regions,
    /// Shaders read the input where the host wrote it, and write results where the host reads them.
    pub(crate) direct: bool,
    pub(crate) cells: Buffer<u32>,
    /// Spacepoints by RoI and cell: 1 / rho and z / rho, and what is kept beside.
    pub(crate) points: Buffer<[R; 2]>,
    pub(crate) beside: Buffer<R::Stored>,
    pub(crate) histograms: Buffer<u32>,
    pub(crate) partials: Buffer<u32>,
    pub(crate) totals: Buffer<u32>,
    /// Where RoIs have several histograms: the highest window of each, and what all of an RoI's
    /// together say.
    pub(crate) windows: Buffer<Window>,
    pub(crate) sums: Buffer<Sums>,
    pub(crate) peaks: Buffer<Peak>,
    pub(crate) status: Buffer<RoiStatus>,
    pub(crate) results: Readback<Peak>,
    /// Bind groups of earlier parts, by kernel and stage.
    groups: Vec<((KernelName, usize), BindGroupSlot)>,
}

impl<R: Real> Workspace<R> {
    /// `most_bytes`: of any buffer.
    pub(crate) fn new(gpu: &Gpu, most_bytes: u64) -> Self {
        // COPY_SRC: tests read every stage's output.
        let device = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let input = BufferUsages::STORAGE | BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        Self {
            most_bytes,
            staging: Upload::new("staged input").readable_by_shaders(gpu),
            input: Buffer::new("input", input).most_bytes(most_bytes),
            regions: Regions::default(),
            direct: false,
            cells: Buffer::new("cells", device).most_bytes(most_bytes),
            points: Buffer::new("sorted spacepoints", device).most_bytes(most_bytes),
            beside: Buffer::new("phi, slices, layers", device).most_bytes(most_bytes),
            histograms: Buffer::new("histograms", device).most_bytes(most_bytes),
            partials: Buffer::new("partial sums of histograms", device).most_bytes(most_bytes),
            totals: Buffer::new("summed histograms", device).most_bytes(most_bytes),
            windows: Buffer::new("highest windows", device).most_bytes(most_bytes),
            sums: Buffer::new("sums of windows", device).most_bytes(most_bytes),
            peaks: Buffer::new("peaks", device).most_bytes(most_bytes),
            status: Buffer::new("status", device).most_bytes(most_bytes),
            results: Readback::new("results").writable_by_shaders(gpu),
            groups: Vec::new(),
        }
    }

    /// Makes room for a part, but not where it is staged. Of up to `direct_bytes`, shaders read it
    /// there.
    pub(crate) fn make_room(&mut self, gpu: &Gpu, plan: &PartPlan<R>, direct_bytes: u64) -> Result<()> {
        let regions = plan.regions;
        self.direct = regions.end <= direct_bytes;
        self.regions = regions;
        let is_walked = plan.method == SearchMethod::Walk;
        let (several, needs) = (plan.variant.several, &plan.needs);
        let sorted = if is_walked { 1 } else { needs.spacepoints as usize };
        // Bind groups would keep buffers that are to be replaced.
        let mut enough = true;
        macro_rules! reserve {
            ($($buffer:ident: $len:expr),* $(,)?) => {
                $(enough &= self.$buffer.has_room($len);)*
                if !enough {
                    self.groups.clear();
                }
                $(self.$buffer.reserve(gpu, $len)?;)*
            };
        }
        reserve! {
            input: if self.direct { 1 } else { regions.end as usize / 4 },
            cells: needs.cell_words as usize,
            points: sorted,
            beside: sorted,
            histograms: plan.row_words().max(1),
            partials: if plan.sums_in_two_stages() {
                (needs.partial_rows * 2 * u64::from(plan.params.row_bins)) as usize
            } else {
                1
            },
            totals: if is_walked { 1 } else { plan.total_words() },
            windows: if several { needs.totals as usize } else { 1 },
            sums: if several { plan.rois.len() } else { 1 },
            peaks: plan.peaks(),
            status: plan.rois.len(),
        }
        self.results.reserve(gpu, plan.peaks())?;
        Ok(())
    }

    /// Binds the input from byte `from` on: `bytes` of it, or without a number as much as a binding
    /// may hold. A binding that does not end with its region serves parts of any size, so that
    /// their bind group can be kept.
    #[expect(unsafe_code, reason = "shaders read mapped memory")]
    fn input_from(&self, from: u64, bytes: Option<u64>) -> Result<wgpu::BindingResource<'_>> {
        // SAFETY: only bind groups keep the buffer, and nothing takes it out of them.
        let buffer = if self.direct { unsafe { self.staging.raw() }? } else { self.input.raw()? };
        let all = (buffer.size() - from).min(self.most_bytes) & !3;
        let size = std::num::NonZero::new(bytes.unwrap_or(all));
        Ok(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: from, size }))
    }

    /// Takes the bind group of a dispatch out, to be given back by [`Workspace::keep_group`].
    pub(crate) fn take_group(&mut self, dispatch: &Dispatch) -> BindGroupSlot {
        let at = self.groups.iter().position(|(key, _)| *key == (dispatch.kernel, dispatch.params));
        at.map(|at| self.groups.swap_remove(at).1).unwrap_or_default()
    }

    pub(crate) fn keep_group(&mut self, dispatch: &Dispatch, group: BindGroupSlot) {
        self.groups.push(((dispatch.kernel, dispatch.params), group));
    }

    /// Returns the binding of a shader variable in a dispatch.
    pub(crate) fn binding<'a>(
        &'a self,
        buffers: &'a SearchBuffers<R>,
        dispatch: &Dispatch,
        variable: &str,
    ) -> Result<wgpu::BindingResource<'a>> {
        let regions = &self.regions;
        Ok(match variable {
            "params" => {
                let from = dispatch.params as u64 * ALIGNMENT;
                self.input_from(from, Some(size_of::<Params>() as u64))?
            }
            "rois" => self.input_from(regions.rois, None)?,
            "row_rois" => self.input_from(regions.row_rois, None)?,
            "packed" => self.input_from(regions.spacepoints, None)?,
            "cuts" => buffers.cuts.binding()?,
            "neighbours" => buffers.neighbours.binding()?,
            "cells" => self.cells.binding()?,
            "points" => self.points.binding()?,
            "beside" => self.beside.binding()?,
            "histograms" => self.histograms.binding()?,
            "rows" if dispatch.params == GROUPS => self.partials.binding()?,
            "rows" => self.histograms.binding()?,
            "summed" if dispatch.params == ROWS_IN_GROUPS => self.partials.binding()?,
            "summed" | "totals" => self.totals.binding()?,
            "windows" => self.windows.binding()?,
            "sums" => self.sums.binding()?,
            "status" => self.status.binding()?,
            "peaks" if self.direct => self.results.binding()?,
            "peaks" => self.peaks.binding()?,
            _ => {
                let (kernel, message) =
                    (dispatch.kernel.stage().to_owned(), format!("there is no buffer for `{variable}`"));
                return Err(GpuError::Binding { kernel, message }.into());
            }
        })
    }
}
