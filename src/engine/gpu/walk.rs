//! Binds `shaders/walk.wgsl`, and says which RoIs it can take.

use kernel_host::{BindGroupSlot, Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::{Layout, Shape};
use crate::engine::gpu::workspace::{Constants, Workspace};
use crate::engine::gpu::{find_z, slice_spacepoints};
use crate::engine::plan::RoiPlan;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["walk"];

/// What there is room for in a workgroup that walks an RoI alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) threads: u32,
    pub(crate) spacepoints: u32,
    /// Of cells, two a word.
    cell_words: u32,
    bins: u32,
}

impl Room {
    const THREADS: u32 = 256;
    /// Spacepoints that a thread holds: `AT_ONCE` in `shaders/counting_sort.wgsl`.
    const AT_ONCE: u32 = 4;
    /// Spacepoints, and words of cells: fewer are not worth a kernel.
    const LEAST: u32 = 128;
    /// Spacepoints that have room before cells have.
    const ENOUGH: u32 = 512;
    const MOST: u32 = 1024;
    const MOST_BYTES: u32 = 48 << 10;

    /// None where the device's workgroups have too little memory.
    pub(crate) fn new<R: Real>(gpu: &Gpu, shape: &Shape, bins: u32) -> Option<Self> {
        let (limits, variant) = (gpu.limits(), shape.variants[0]);
        let threads = limits.max_compute_invocations_per_workgroup.min(Self::THREADS);
        if bins > find_z::MOST_BINS {
            return None;
        }
        let bins = bins.next_multiple_of(64);
        // As the shaders' headers count it, and a little for alignment.
        let of_bins = (if variant.counts_pairs() { 12 } else { 8 }) * bins;
        let tables = of_bins + 16 * threads + 4 * shape.teams.queued + 4 * crate::MAX_LAYERS as u32 + 256;
        let each = (2 * size_of::<R>() + variant.beside_bytes::<R>()) as u32;
        let offered = limits.max_compute_workgroup_storage_size.min(Self::MOST_BYTES).checked_sub(tables)?;
        // Cells of a usual RoI, or of as many slices as spacepoints leave room for.
        let usual = variant.cells_of(shape.layers, slice_spacepoints::Room::SLICES).div_ceil(2);
        let cell_words = usual.min(offered.saturating_sub(Self::ENOUGH * each).max(4 * Self::LEAST) / 4);
        let spacepoints = offered.checked_sub(4 * cell_words)? / each;
        let spacepoints = spacepoints.min(Self::MOST).min(Self::AT_ONCE * threads) / 64 * 64;
        (spacepoints >= Self::LEAST).then_some(Self { threads, spacepoints, cell_words, bins })
    }

    /// Whether an RoI fits.
    pub(crate) fn holds(&self, plan: &RoiPlan, shape: &Shape) -> bool {
        let cells = shape.variants[0].cells_of(shape.layers, plan.slices);
        plan.spacepoints <= self.spacepoints as usize && cells <= 2 * self.cell_words && plan.bins.bins <= self.bins
    }

    /// Overrides of `shaders/walk.wgsl` and of what is assembled with it.
    pub(crate) fn constants(&self, shape: &Shape) -> Vec<(&'static str, f64)> {
        let own = [
            ("TILE_BINS", f64::from(self.bins)),
            ("WORKGROUP_SIZE", f64::from(self.threads)),
            ("POINTS", f64::from(self.spacepoints)),
            ("TILE_WORDS", f64::from(self.cell_words)),
            ("PAIR_BINS", f64::from(if shape.variants[0].counts_pairs() { self.bins } else { 1 })),
        ];
        find_z::pair_constants(shape).into_iter().chain(own).collect()
    }
}

pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    slot: &mut BindGroupSlot,
    pass: &mut wgpu::ComputePass<'_>,
    constants: &Constants<R>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let group = kernel.bind_group_in(
        gpu,
        slot,
        &[
            ("params", workspace.params(0)?),
            ("cuts", constants.cuts.binding()?),
            ("neighbours", constants.neighbours.binding()?),
            ("rois", workspace.rois()?),
            ("packed", workspace.packed()?),
            ("peaks", workspace.answers()?),
        ],
    )?;
    kernel.dispatch(pass, "walk", group, [layout.rois.len() as u32, 1, 1])?;
    Ok(())
}
