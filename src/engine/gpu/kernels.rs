//! The kernels of an engine by name, built together, and which of them a part dispatches.

use std::sync::OnceLock;

use kernel_host::{Checks, Gpu, Kernel, KernelDescriptor, KernelSource};

use crate::engine::encoding::Compact;
use crate::engine::gpu::layout::{Layout, STAGES};
use crate::engine::gpu::shaders::Density;
use crate::engine::gpu::shaders::Overrides;
use crate::engine::gpu::shape::{SearchMethod, Shape};
use crate::engine::real::Real;
use crate::error::Result;
use crate::options::Encoding;

/// A kernel that an engine may dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelName {
    SliceSpacepoints(Encoding, Density),
    FindZ(Density),
    SumHistos,
    /// Replaces [`KernelName::SumHistos`] where an RoI has several histograms.
    HighestWindows,
    FindPeaks,
    Walk(Encoding),
}

impl KernelName {
    /// The name under which its time is reported.
    pub(crate) fn stage(self) -> &'static str {
        match self {
            Self::SliceSpacepoints(..) => "slice_spacepoints",
            Self::FindZ(_) => "find_z",
            Self::SumHistos => "sum_histos",
            Self::HighestWindows => "highest_windows",
            Self::FindPeaks => "find_peaks",
            Self::Walk(_) => "walk",
        }
    }

    /// All that an engine of this shape may dispatch.
    fn all(shape: &Shape, compact: Option<&Compact>) -> Vec<Self> {
        let variant = shape.variant(Density::High);
        let mut names = vec![Self::FindPeaks];
        names.extend(Density::ALL.map(Self::FindZ));
        if variant.several {
            names.push(Self::HighestWindows);
        } else if !variant.fills_totals() {
            names.push(Self::SumHistos);
        }
        for encoding in [Encoding::Lossless].into_iter().chain(compact.map(|_| Encoding::Compact)) {
            names.extend(Density::ALL.map(|density| Self::SliceSpacepoints(encoding, density)));
            names.extend(shape.walk.map(|_| Self::Walk(encoding)));
        }
        names
    }

    fn source(self, shape: &Shape) -> KernelSource {
        let variant = |density| shape.variant(density);
        match self {
            Self::SliceSpacepoints(encoding, density) => variant(density).slice_spacepoints(encoding),
            Self::FindZ(density) => variant(density).find_z(),
            Self::SumHistos => variant(Density::High).sum_histos(),
            Self::HighestWindows => variant(Density::High).highest_windows(),
            Self::FindPeaks => variant(Density::High).find_peaks(),
            Self::Walk(encoding) => variant(Density::Low).walk(encoding),
        }
    }

    fn constants(self, shape: &Shape, compact: Option<&Compact>) -> Overrides {
        let encoded = |encoding| match (encoding, compact) {
            (Encoding::Compact, Some(compact)) => compact.constants().to_vec(),
            _ => Vec::new(),
        };
        match self {
            Self::SliceSpacepoints(encoding, density) => {
                let (variant, tile) = (shape.variant(density), shape.cell_tile(density));
                [variant.cell_constants(), tile.constants(), encoded(encoding)].concat()
            }
            Self::FindZ(density) => {
                let variant = shape.variant(density);
                let mut constants = [variant.find_z_constants(), shape.find_z(density).constants()].concat();
                if variant.several {
                    constants.push(("CHARGE_AWARE", f64::from(shape.charge_aware)));
                    constants.push(("PER_SLICE", f64::from(shape.per_slice)));
                }
                constants
            }
            Self::SumHistos => shape.variant(Density::High).sum_histos_constants(),
            Self::HighestWindows => Vec::new(),
            Self::FindPeaks => shape.variant(Density::High).find_peaks_constants(),
            Self::Walk(encoding) => {
                let size = shape.walk.map(|size| size.constants()).unwrap_or_default();
                [shape.variant(Density::Low).find_z_constants(), size, encoded(encoding)].concat()
            }
        }
    }
}

pub(crate) struct KernelSet {
    kernels: Vec<(KernelName, OnceLock<Kernel>)>,
    shape: Shape,
    compact: Option<Compact>,
    checks: Checks,
}

/// A browser compiles in the background, for seconds, and a search waits for all that was begun
/// before: there a kernel is built when it is first dispatched.
const ALL_AT_ONCE: bool = !cfg!(target_arch = "wasm32");

impl KernelSet {
    pub(crate) fn build(gpu: &Gpu, shape: &Shape, compact: Option<&Compact>, checks: Checks) -> Result<Self> {
        let names = KernelName::all(shape, compact);
        let set = |built: Vec<OnceLock<Kernel>>| Self {
            kernels: names.iter().copied().zip(built).collect(),
            shape: *shape,
            compact: compact.copied(),
            checks,
        };
        if !ALL_AT_ONCE {
            return Ok(set(names.iter().map(|_| OnceLock::new()).collect()));
        }
        let wanted: Vec<(KernelSource, Overrides)> =
            names.iter().map(|name| (name.source(shape), name.constants(shape, compact))).collect();
        let descriptors: Vec<KernelDescriptor<'_>> =
            wanted.iter().map(|(source, constants)| descriptor(source, constants, checks)).collect();
        Ok(set(Kernel::build_all(gpu, &descriptors)?.into_iter().map(OnceLock::from).collect()))
    }

    /// # Errors
    /// As [`Kernel::build`], where not all were built at once.
    pub(crate) fn get(&self, gpu: &Gpu, name: KernelName) -> Result<&Kernel> {
        let (_, kernel) =
            self.kernels.iter().find(|(own, _)| *own == name).expect("one for all that the shape may dispatch");
        if let Some(kernel) = kernel.get() {
            return Ok(kernel);
        }
        let (source, constants) = (name.source(&self.shape), name.constants(&self.shape, self.compact.as_ref()));
        let built = Kernel::build(gpu, &descriptor(&source, &constants, self.checks))?;
        Ok(kernel.get_or_init(|| built))
    }
}

/// No entry point by name: all that a kernel has.
fn descriptor<'a>(source: &'a KernelSource, constants: &'a [(&'a str, f64)], checks: Checks) -> KernelDescriptor<'a> {
    KernelDescriptor { source, entry_points: &[], constants, checks }
}

/// One dispatch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub(crate) kernel: KernelName,
    pub(crate) entry_point: &'static str,
    /// The stage whose params it takes; of find_z's n-th dispatch where it has several, [`STAGES`]
    /// + n.
    pub(crate) params: usize,
    pub(crate) grid: [u32; 3],
}

/// Stages of `shaders/sum_histos.wgsl`.
pub(crate) const ROWS_IN_GROUPS: usize = 0;
pub(crate) const GROUPS: usize = 1;
const ROWS_AT_ONCE: usize = 2;

/// Histograms of a workgroup: `HISTOGRAMS` in `shaders/highest_windows.wgsl`.
const HISTOGRAMS: u32 = 8;

/// All dispatches of a part whose spacepoints come in this encoding.
pub(crate) fn dispatches<R: Real>(
    layout: &Layout<R>,
    encoding: Encoding,
    kernels: &KernelSet,
    gpu: &Gpu,
) -> Result<Vec<Dispatch>> {
    let rois = layout.rois.len() as u32;
    let each = |kernel: KernelName| Dispatch { kernel, entry_point: kernel.stage(), params: 0, grid: [rois, 1, 1] };
    let SearchMethod::Stages(density) = layout.method else { return Ok(vec![each(KernelName::Walk(encoding))]) };
    let mut all =
        vec![Dispatch { grid: [rois, layout.cell_tiles, 1], ..each(KernelName::SliceSpacepoints(encoding, density)) }];
    all.extend(find_z(layout, each(KernelName::FindZ(density)), gpu));
    if layout.variant.several {
        all.extend(highest_windows(layout, each(KernelName::HighestWindows)));
    } else if !layout.variant.fills_totals() {
        let threads = kernels.get(gpu, KernelName::SumHistos)?.workgroup_size("sum_histos")[0];
        all.extend(sum_histos(layout, each(KernelName::SumHistos), threads));
    }
    all.push(each(KernelName::FindPeaks));
    Ok(all)
}

/// A workgroup a row and tile of bins.
fn find_z<R: Real>(layout: &Layout<R>, one: Dispatch, gpu: &Gpu) -> impl Iterator<Item = Dispatch> {
    let most = gpu.limits().max_compute_workgroups_per_dimension;
    (0..layout.dispatches).map(move |dispatch| {
        let [first, end] = layout.rows_of(dispatch);
        let width = (end - first).min(most);
        let grid = [width, (end - first).div_ceil(width.max(1)), layout.bin_tiles];
        let params = if layout.dispatches == 1 { 0 } else { STAGES + dispatch as usize };
        Dispatch { params, grid, ..one }
    })
}

/// In its two stages, or in both at once; four bins a thread.
fn sum_histos<R: Real>(layout: &Layout<R>, one: Dispatch, threads: u32) -> Vec<Dispatch> {
    let blocks = (layout.params.row_bins / 4).div_ceil(threads >> layout.params.row_lanes_shift);
    let stage = |params, groups| Dispatch { params, grid: [groups, blocks, one.grid[0]], ..one };
    if layout.sums_in_two_stages() {
        vec![stage(ROWS_IN_GROUPS, layout.most_groups()), stage(GROUPS, 1)]
    } else {
        vec![stage(ROWS_AT_ONCE, 1)]
    }
}

/// Every pass of count_sums knows a digit more of the sums of windows.
fn highest_windows<R: Real>(layout: &Layout<R>, one: Dispatch) -> Vec<Dispatch> {
    let one = Dispatch { grid: [one.grid[0], layout.most_totals().div_ceil(HISTOGRAMS), 1], ..one };
    let passes = if layout.counts_sums { STAGES } else { 0 };
    let count = |params| Dispatch { entry_point: "count_sums", params, ..one };
    (0..passes).map(count).chain([Dispatch { params: STAGES - 1, ..one }]).collect()
}
