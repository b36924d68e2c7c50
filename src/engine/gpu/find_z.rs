//! Binds `shaders/find_z.wgsl`, and chooses how many bins a workgroup takes.

use kernel_host::{Error as GpuError, Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["find_z"];

/// Threads of a workgroup: as many as every adapter has. Fewer fill less of a GPU beside this much workgroup memory
/// (measured on an H200: docs/performance.md).
pub(crate) const WORKGROUP_SIZE: u32 = 256;

/// Bins that a workgroup's memory holds, at most `bins`: all of them where they fit, else even tiles of them.
pub(crate) fn tile_bins(gpu: &Gpu, bins: u32) -> Result<u32> {
    // As the shader's header counts it, and a little for alignment.
    let tables = 24 * WORKGROUP_SIZE + 276 + 64;
    let offered = gpu.limits().max_compute_workgroup_storage_size;
    let most = offered.saturating_sub(tables) / 8 / 64 * 64;
    if most == 0 {
        return Err(GpuError::Limit {
            adapter: gpu.name().to_owned(),
            limit: "max_compute_workgroup_storage_size",
            wanted: u64::from(tables + 8 * 64),
            offered: u64::from(offered),
        }
        .into());
    }
    Ok(bins.div_ceil(bins.div_ceil(most)).next_multiple_of(64).min(most))
}

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
            ("params", workspace.params[0].binding()?),
            ("cuts", workspace.cuts.binding()?),
            ("rois", workspace.rois.binding()?),
            ("spacepoints", workspace.spacepoints.binding()?),
            ("cells", workspace.cells.binding()?),
            ("neighbours", workspace.neighbours.binding()?),
            ("histograms", workspace.histograms.binding()?),
            ("status", workspace.status.binding()?),
        ],
    )?;
    let workgroups = [layout.most_histograms, layout.rois.len() as u32, layout.tiles];
    kernel.dispatch(pass, "find_z", &group, workgroups)?;
    Ok(())
}
