//! Binds `shaders/find_z.wgsl`, and chooses how many bins a workgroup takes.

use kernel_host::{BindGroupSlot, Error as GpuError, Gpu, Kernel, wgpu};

use crate::config::{Triplets, Weighting};
use crate::engine::gpu::batch::{Layout, Pairs, STAGES, Shape};
use crate::engine::gpu::shaders::Pairing;
use crate::engine::gpu::workspace::{Constants, Workspace};
use crate::engine::real::Real;
use crate::error::Result;
use crate::pt_weight::PtWeight;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["find_z"];

/// Threads of a workgroup: as many as every adapter has, and more where partners are many (measured on an H200:
/// docs/performance.md).
pub(crate) fn workgroup_size(gpu: &Gpu, pairing: Pairing, triplets: Triplets) -> u32 {
    let wanted = if triplets == Triplets::Off && pairing == Pairing::ByLayer { 512 } else { 256 };
    gpu.limits().max_compute_invocations_per_workgroup.min(wanted)
}

/// Words of marks that a thread brings into its team: `shaders/pairs/by_pt.wgsl`.
const MARK_WORDS: u32 = 4;

/// How `pairs/confirmed.wgsl` and `pairs/by_pt.wgsl` share out their work. Little memory lets many workgroups run side by side
/// (measured on an H100: docs/lab/2026-11-25-triplets-by-lists.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Teams {
    /// Pairs that may wait for a search of their third spacepoints.
    pub(crate) queued: u32,
    /// Words of workgroup memory for each of the two tables of marks of `pairs/by_pt.wgsl`.
    pub(crate) mark_words: u32,
    /// Partners of a spacepoint that are worth another thread, and most threads that they are worth.
    pub(crate) partners_a_lane: u32,
    pub(crate) most_lanes: u32,
}

impl Teams {
    /// A thread a spacepoint, and no queue.
    pub(crate) const NONE: Self = Self { queued: 0, mark_words: 0, partners_a_lane: u32::MAX, most_lanes: 1 };

    pub(crate) fn new(pairing: Pairing, triplets: Triplets, weighting: Weighting, workgroup_size: u32) -> Self {
        match (pairing, triplets, weighting) {
            (Pairing::Numbered, ..) | (_, Triplets::Off, _) => Self::NONE,
            (_, _, Weighting::Count) => Self { queued: 512, ..Self::NONE },
            // Two threads a spacepoint only for many partners, which then have finer places: each thread works out the ranges of
            // partners for itself.
            (_, _, Weighting::Pt) => {
                Self { queued: 256, mark_words: MARK_WORDS * workgroup_size, partners_a_lane: 100, most_lanes: 2 }
            }
        }
    }

    /// Bytes of the queue and of the marks.
    fn bytes(&self) -> u32 {
        let pair_bytes = if self.mark_words == 0 { 4 } else { 8 };
        pair_bytes * self.queued + 8 * self.mark_words
    }
}

/// Overrides of `shaders/find_z.wgsl` and of what is assembled with it.
pub(crate) fn constants(shape: &Shape) -> Vec<(&'static str, f64)> {
    let own = [("TILE_BINS", f64::from(shape.tile_bins)), ("WORKGROUP_SIZE", f64::from(shape.workgroup_size))];
    pair_constants(shape).into_iter().chain(own).collect()
}

/// Overrides of `shaders/pairs/*.wgsl`.
pub(crate) fn pair_constants(shape: &Shape) -> Vec<(&'static str, f64)> {
    let mode = match shape.variants[1].triplets {
        Triplets::Off => 0.0,
        Triplets::Any => 1.0,
        Triplets::Count => 2.0,
    };
    let mut constants = vec![("TRIPLETS", mode)];
    if shape.teams.queued != 0 {
        constants.push(("QUEUED", f64::from(shape.teams.queued)));
    }
    if shape.teams.mark_words != 0 {
        constants.push(("MARK_WORDS", f64::from(shape.teams.mark_words)));
    }
    if shape.variants[1].weighting == Weighting::Pt {
        constants.extend([
            ("SOFT_GEV", PtWeight::GEV[0][0]),
            ("WEIGHED_GEV", PtWeight::GEV[0][1]),
            ("HARD_GEV", PtWeight::GEV[0][2]),
            ("SOFT_DISK_GEV", PtWeight::GEV[1][0]),
            ("WEIGHED_DISK_GEV", PtWeight::GEV[1][1]),
            ("HARD_DISK_GEV", PtWeight::GEV[1][2]),
            ("CAP_GEV", PtWeight::CAP_GEV),
            ("SOFT_LAYERS", f64::from(PtWeight::LAYERS[0][0])),
            ("WEIGHED_LAYERS", f64::from(PtWeight::LAYERS[0][1])),
            ("HARD_LAYERS", f64::from(PtWeight::LAYERS[0][2])),
            ("SOFT_DISK_LAYERS", f64::from(PtWeight::LAYERS[1][0])),
            ("WEIGHED_DISK_LAYERS", f64::from(PtWeight::LAYERS[1][1])),
            ("HARD_DISK_LAYERS", f64::from(PtWeight::LAYERS[1][2])),
        ]);
    }
    if shape.variants[1].several {
        constants.push(("CHARGE_AWARE", f64::from(shape.charge_aware)));
        constants.push(("PER_SLICE", f64::from(shape.per_slice)));
    }
    constants
}

/// Steps of so many bins can be told apart in f32: `whole_steps` in `shaders/real/f32.wgsl`.
pub(crate) const MOST_BINS: u32 = 4096;

/// Bins that a workgroup's memory holds, at most `bins`: all of them where they fit, else even tiles of them. A bin
/// takes `parts` words.
pub(crate) fn tile_bins(
    gpu: &Gpu,
    pairs: Pairs,
    teams: Teams,
    workgroup_size: u32,
    parts: u32,
    bins: u32,
) -> Result<u32> {
    // As the shaders' headers count it, and a little for alignment.
    let tables = 40 + 4 * crate::MAX_LAYERS as u32 + 64;
    let tables = tables
        + match pairs {
            Pairs::Numbered { .. } => 24 * workgroup_size + 20,
            Pairs::Streamed { .. } => teams.bytes() + 32,
        };
    let offered = gpu.limits().max_compute_workgroup_storage_size;
    // A bin that takes none is limited by its number alone.
    let most = (offered.saturating_sub(tables)).checked_div(4 * parts).unwrap_or(MOST_BINS) / 64 * 64;
    if most == 0 {
        return Err(GpuError::Limit {
            adapter: gpu.name().to_owned(),
            limit: "max_compute_workgroup_storage_size",
            wanted: u64::from(tables + 4 * parts * 64),
            offered: u64::from(offered),
        }
        .into());
    }
    let most = most.min(MOST_BINS);
    Ok(bins.div_ceil(bins.div_ceil(most)).next_multiple_of(64).min(most))
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
    let bindings = |params| -> Result<_> {
        Ok([
            ("params", workspace.params(params)?),
            ("cuts", constants.cuts.binding()?),
            ("neighbours", constants.neighbours.binding()?),
            ("rois", workspace.rois()?),
            ("row_rois", workspace.row_rois()?),
            ("points", workspace.points.binding()?),
            ("beside", workspace.beside.binding()?),
            ("cells", workspace.cells.binding()?),
            ("histograms", workspace.histograms.binding()?),
            ("totals", workspace.totals.binding()?),
            ("status", workspace.status.binding()?),
        ])
    };
    let most = gpu.limits().max_compute_workgroups_per_dimension;
    if layout.dispatches == 1 {
        let group = kernel.bind_group_in(gpu, slot, &bindings(0)?)?;
        kernel.dispatch(pass, "find_z", group, layout.row_grid(layout.params.rows, most))?;
        return Ok(());
    }
    for dispatch in 0..layout.dispatches {
        let group = kernel.bind_group(gpu, &bindings(STAGES + dispatch as usize)?)?;
        let [first, end] = layout.rows_of(dispatch);
        kernel.dispatch(pass, "find_z", &group, layout.row_grid(end - first, most))?;
    }
    Ok(())
}
