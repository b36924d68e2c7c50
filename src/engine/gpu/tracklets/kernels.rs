//! The kernels of the search for tracklets, in the order of their dispatches.

use kernel_host::{Checks, Gpu, Kernel, KernelDescriptor, KernelSource};

use crate::engine::gpu::shaders::{self, Rounding};
use crate::error::Result;

/// Files of `shaders/tracklets`, each a kernel.
const NAMES: [&str; 5] = ["sort_hits", "find_doublets", "find_triplets", "build_chains", "choose_chains"];

/// Threads that choose among the chains of an event: as many as a device has, up to this many.
const MOST_CHOOSING: u32 = 1024;

/// The kernels.
pub(super) struct Kernels {
    pub(super) sort_hits: Kernel,
    pub(super) find_doublets: Kernel,
    pub(super) find_triplets: Kernel,
    pub(super) build_chains: Kernel,
    pub(super) choose_chains: Kernel,
}

/// The WGSL of each kernel.
pub(crate) fn sources() -> [KernelSource; NAMES.len()] {
    NAMES.map(shaders::tracklets)
}

impl Kernels {
    pub(super) fn build(gpu: &Gpu, rounding: Rounding, checks: Checks) -> Result<Self> {
        let sources = sources();
        let rounding = [rounding.constant()];
        let limits = gpu.limits();
        let choosing =
            limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x).min(MOST_CHOOSING);
        let choosing = [("CHOOSING", f64::from(choosing))];
        let descriptor = |(source, name)| {
            let constants = if name == "choose_chains" { &choosing } else { &rounding };
            KernelDescriptor { source, entry_points: &[], constants, checks }
        };
        let descriptors: Vec<KernelDescriptor<'_>> = sources.iter().zip(NAMES).map(descriptor).collect();
        let mut built = Kernel::build_all(gpu, &descriptors)?.into_iter();
        let mut next = || built.next().expect("one for each source");
        Ok(Self {
            sort_hits: next(),
            find_doublets: next(),
            find_triplets: next(),
            build_chains: next(),
            choose_chains: next(),
        })
    }
}
