//! Binds `shaders/slice_spacepoints.wgsl`, and chooses how many cells a workgroup makes.

use kernel_host::{Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["slice_spacepoints"];

/// Threads of a workgroup.
fn workgroup_size(gpu: &Gpu) -> u32 {
    gpu.limits().max_compute_invocations_per_workgroup.min(512)
}

/// How much workgroup memory a workgroup takes, in words: a device holds the more of them, the less they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Of cells, two a word: all of a usual RoI's, where there is room for them.
    pub(crate) tile: u32,
    /// Of spacepoints in order, two a word.
    pub(crate) order: u32,
}

impl Room {
    /// For RoIs of at most [`Room::FEW`] spacepoints, and for any.
    pub(crate) fn few_and_many(gpu: &Gpu) -> [Self; 2] {
        let bytes = gpu.limits().max_compute_workgroup_storage_size.min(48 << 10);
        let words = bytes / 4 - workgroup_size(gpu) - 16;
        let few = Self::FEW.div_ceil(2);
        let tile = Self::CELLS.div_ceil(2);
        let most_tile = (words / 2).max(words.saturating_sub(Self::MANY.div_ceil(2)));
        let many = tile.min(most_tile);
        [Self { tile: tile.min(words - few), order: few }, Self { tile: many, order: words - many }]
    }

    /// Spacepoints.
    pub(crate) const FEW: u32 = 1024;
    /// Spacepoints that are sorted in workgroup memory, where there is room for them.
    const MANY: u32 = 11_000;
    /// Cells of 565 slices of 19 layers.
    const CELLS: u32 = 10_752;

    /// Overrides of `shaders/slice_spacepoints.wgsl`.
    pub(crate) fn constants(self, gpu: &Gpu) -> Vec<(&'static str, f64)> {
        vec![
            ("WORKGROUP_SIZE", f64::from(workgroup_size(gpu))),
            ("TILE_WORDS", f64::from(self.tile)),
            ("ORDER_WORDS", f64::from(self.order)),
        ]
    }
}

/// The status must be zero.
pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    pass: &mut wgpu::ComputePass<'_>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let group = kernel.bind_group(
        gpu,
        &[
            ("params", workspace.params(0)?),
            ("rois", workspace.rois()?),
            ("packed", workspace.packed()?),
            ("cells", workspace.cells.binding()?),
            ("points", workspace.points.binding()?),
            ("beside", workspace.beside.binding()?),
            ("totals", workspace.totals.binding()?),
            ("status", workspace.status.binding()?),
        ],
    )?;
    let tiles = layout.most_cell_words.div_ceil(layout.tile_words);
    kernel.dispatch(pass, "slice_spacepoints", &group, [layout.rois.len() as u32, tiles, 1])?;
    Ok(())
}
