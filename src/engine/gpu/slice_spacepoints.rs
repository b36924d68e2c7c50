//! Binds `shaders/slice_spacepoints.wgsl`.

use kernel_host::{Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 3] = ["count_cells", "scan_cells", "scatter_spacepoints"];

/// The cells must be zero.
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
            ("rois", workspace.rois.binding()?),
            ("packed", workspace.packed.binding()?),
            ("cells", workspace.cells.binding()?),
            ("spacepoints", workspace.spacepoints.binding()?),
        ],
    )?;
    let rois = layout.rois.len() as u32;
    let blocks = layout.most_spacepoints.div_ceil(kernel.workgroup_size("count_cells")[0]);
    kernel.dispatch(pass, "count_cells", &group, [blocks, rois, 1])?;
    kernel.dispatch(pass, "scan_cells", &group, [rois, 1, 1])?;
    kernel.dispatch(pass, "scatter_spacepoints", &group, [blocks, rois, 1])?;
    Ok(())
}
