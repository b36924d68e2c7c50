//! Binds `shaders/slice_spacepoints.wgsl`, and chooses how many cells a workgroup makes.

use kernel_host::{Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["slice_spacepoints"];

/// Threads of a workgroup.
pub(crate) fn workgroup_size(gpu: &Gpu) -> u32 {
    gpu.limits().max_compute_invocations_per_workgroup.min(512)
}

/// Cells that a workgroup's memory holds: those of a usual RoI where it is large.
pub(crate) fn tile_cells(gpu: &Gpu) -> u32 {
    let bytes = gpu.limits().max_compute_workgroup_storage_size.min(48 << 10);
    (bytes / 4).saturating_sub(workgroup_size(gpu) + 64) / 256 * 256
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
            ("rho_z", workspace.rho_z.binding()?),
            ("phi_slice", workspace.phi_slice.binding()?),
            ("totals", workspace.totals.binding()?),
            ("status", workspace.status.binding()?),
        ],
    )?;
    let tiles = layout.most_cells.div_ceil(layout.tile_cells);
    kernel.dispatch(pass, "slice_spacepoints", &group, [layout.rois.len() as u32, tiles, 1])?;
    Ok(())
}
