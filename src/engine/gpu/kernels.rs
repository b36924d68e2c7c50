//! The kernels of an engine by name, built together.

use std::sync::OnceLock;

use kernel_host::{Checks, Gpu, Kernel, KernelDescriptor, KernelSource};

use crate::engine::encoding::Compact;
use crate::engine::gpu::shaders::{Density, Overrides};
use crate::engine::gpu::shape::Shape;
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
