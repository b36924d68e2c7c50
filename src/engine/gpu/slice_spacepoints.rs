//! Binds `shaders/slice_spacepoints.wgsl`, and chooses how many cells a workgroup makes.

use kernel_host::{BindGroupSlot, Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::shaders::{Pairing, Variant};
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["slice_spacepoints"];

/// How much workgroup memory a workgroup takes, in words, and its threads: a device holds the more workgroups, the less
/// they take (measured on an H200: docs/performance.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Of cells, two a word: all of a usual RoI's, where there is room for them and it has many spacepoints to go through.
    pub(crate) tile: u32,
    /// Of spacepoints in order, two a word.
    pub(crate) order: u32,
    pub(crate) threads: u32,
}

impl Room {
    /// For RoIs of at most [`Room::FEW`] spacepoints, and for any.
    pub(crate) fn few_and_many(gpu: &Gpu, few: Variant) -> [Self; 2] {
        let limits = gpu.limits();
        let bytes = limits.max_compute_workgroup_storage_size.min(48 << 10);
        // As the shader's header counts it, but for tile and order.
        let words = |threads: u32| (bytes / 4).saturating_sub(threads + 16).max(2 * Self::LEAST);
        let few = {
            let threads = limits.max_compute_invocations_per_workgroup.min(128);
            let order = (Self::FEW / 4).min(words(threads) / 2);
            let tile = if few.pairing == Pairing::MixedLayers { Self::SLICES_TILE } else { Self::SHORT_TILE };
            Self { tile: tile.min(words(threads) - order), order, threads }
        };
        let many = {
            let threads = limits.max_compute_invocations_per_workgroup.min(512);
            let words = words(threads);
            let tile = (Self::CELLS / 2).min((words / 2).max(words.saturating_sub(Self::MANY / 2)));
            Self { tile, order: words - tile, threads }
        };
        [few, many]
    }

    /// Spacepoints.
    pub(crate) const FEW: u32 = 1024;
    /// Spacepoints that are sorted in workgroup memory, where there is room for them.
    const MANY: u32 = 11_000;
    /// Slices of a usual RoI, and cells of as many slices of 19 layers.
    pub(crate) const SLICES: u32 = 565;
    const CELLS: u32 = 10_752;
    /// Words of cells where few spacepoints have to be gone through again for every tile.
    const SHORT_TILE: u32 = 1728;
    /// The same where cells are slices: all of a usual RoI's.
    const SLICES_TILE: u32 = 512;
    const LEAST: u32 = 128;

    /// Overrides of `shaders/slice_spacepoints.wgsl`.
    pub(crate) fn constants(self) -> Vec<(&'static str, f64)> {
        vec![
            ("WORKGROUP_SIZE", f64::from(self.threads)),
            ("TILE_WORDS", f64::from(self.tile)),
            ("ORDER_WORDS", f64::from(self.order)),
        ]
    }
}

/// The status must be zero.
pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    slot: &mut BindGroupSlot,
    pass: &mut wgpu::ComputePass<'_>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let group = kernel.bind_group_in(
        gpu,
        slot,
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
    kernel.dispatch(pass, "slice_spacepoints", group, [layout.rois.len() as u32, tiles, 1])?;
    Ok(())
}
