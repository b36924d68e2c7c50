//! Binds `shaders/find_z.wgsl`, and chooses how many bins a workgroup takes.

use kernel_host::{Error as GpuError, Gpu, Kernel, wgpu};

use crate::config::Triplets;
use crate::engine::gpu::batch::{Layout, Pairs};
use crate::engine::gpu::workspace::{Constants, Workspace};
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["find_z"];

/// Threads of a workgroup: as many as every adapter has. Fewer fill less of a GPU beside this much workgroup memory
/// (measured on an H200: docs/performance.md).
pub(crate) const WORKGROUP_SIZE: u32 = 256;

/// Pairs that wait for a third spacepoint.
pub(crate) fn queue(triplets: Triplets) -> u32 {
    if triplets == Triplets::Off { 1 } else { 4 * WORKGROUP_SIZE }
}

/// Bins that a workgroup's memory holds, at most `bins`: all of them where they fit, else even tiles of them. A bin
/// takes `parts` words.
pub(crate) fn tile_bins(gpu: &Gpu, pairs: Pairs, triplets: Triplets, parts: u32, bins: u32) -> Result<u32> {
    // As the shaders' headers count it, and a little for alignment.
    let tables = 40 + 4 * crate::MAX_LAYERS as u32 + 64;
    let tables = tables
        + match pairs {
            Pairs::Numbered { .. } => 24 * WORKGROUP_SIZE + 20,
            Pairs::Streamed { .. } => 8 * queue(triplets) + 32,
        };
    let offered = gpu.limits().max_compute_workgroup_storage_size;
    let most = offered.saturating_sub(tables) / (4 * parts) / 64 * 64;
    if most == 0 {
        return Err(GpuError::Limit {
            adapter: gpu.name().to_owned(),
            limit: "max_compute_workgroup_storage_size",
            wanted: u64::from(tables + 4 * parts * 64),
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
    constants: &Constants<R>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let group = kernel.bind_group(
        gpu,
        &[
            ("params", workspace.params(0)?),
            ("cuts", constants.cuts.binding()?),
            ("neighbours", constants.neighbours.binding()?),
            ("rois", workspace.rois()?),
            ("row_rois", workspace.row_rois()?),
            ("rho_z", workspace.rho_z.binding()?),
            ("phi_slice", workspace.phi_slice.binding()?),
            ("cells", workspace.cells.binding()?),
            ("histograms", workspace.histograms.binding()?),
            ("totals", workspace.totals.binding()?),
            ("status", workspace.status.binding()?),
        ],
    )?;
    let most = gpu.limits().max_compute_workgroups_per_dimension;
    kernel.dispatch(pass, "find_z", &group, layout.row_grid(most))?;
    Ok(())
}
