//! Binds `shaders/find_peaks.wgsl`.

use kernel_host::{BindGroupSlot, Gpu, Kernel, wgpu};

use crate::config::Weighting;
use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::shaders::Variant;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;
use crate::pt_weight::PtWeight;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["find_peaks"];

/// Overrides of `shaders/ranks/*.wgsl`.
pub(crate) fn constants(variant: Variant) -> Vec<(&'static str, f64)> {
    match variant.weighting {
        Weighting::Count => Vec::new(),
        Weighting::Pt => vec![("SCALE", PtWeight::SCALE)],
    }
}

pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    slot: &mut BindGroupSlot,
    pass: &mut wgpu::ComputePass<'_>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let mut bindings = vec![
        ("params", workspace.params(0)?),
        ("rois", workspace.rois()?),
        ("totals", workspace.totals.binding()?),
        ("peaks", workspace.answers()?),
        ("status", workspace.status.binding()?),
    ];
    if layout.several {
        bindings.extend([("windows", workspace.windows.binding()?), ("sums", workspace.sums.binding()?)]);
    }
    let group = kernel.bind_group_in(gpu, slot, &bindings)?;
    kernel.dispatch(pass, "find_peaks", group, [layout.rois.len() as u32, 1, 1])?;
    Ok(())
}
