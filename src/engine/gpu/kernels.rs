//! The kernels of an engine by name, built together.

use kernel_host::{Checks, Gpu, Kernel, KernelDescriptor, Source};

use crate::engine::encoding::Compact;
use crate::engine::gpu::shaders::{Constants, Variant};
use crate::engine::gpu::shape::{Occupancy, Shape};
use crate::error::Result;
use crate::options::Encoding;

/// A kernel that an engine may dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelName {
    SliceSpacepoints(Encoding, Occupancy),
    FindZ(Occupancy),
    SumHistos,
    /// In its place, where RoIs have several histograms.
    HighestWindows,
    FindPeaks,
    Walk(Encoding),
}

impl KernelName {
    /// Its name among figures.
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
        let variant = shape.variant(Occupancy::High);
        let mut names = vec![Self::FindPeaks];
        names.extend(Occupancy::ALL.map(Self::FindZ));
        if variant.several {
            names.push(Self::HighestWindows);
        } else if !variant.fills_totals() {
            names.push(Self::SumHistos);
        }
        for encoding in [Encoding::Lossless].into_iter().chain(compact.map(|_| Encoding::Compact)) {
            names.extend(Occupancy::ALL.map(|occupancy| Self::SliceSpacepoints(encoding, occupancy)));
            names.extend(shape.walk.map(|_| Self::Walk(encoding)));
        }
        names
    }

    fn source(self, shape: &Shape) -> Source {
        let variant = |occupancy| -> Variant { shape.variant(occupancy) };
        match self {
            Self::SliceSpacepoints(encoding, occupancy) => variant(occupancy).slice_spacepoints(encoding),
            Self::FindZ(occupancy) => variant(occupancy).find_z(),
            Self::SumHistos => variant(Occupancy::High).sum_histos(),
            Self::HighestWindows => variant(Occupancy::High).highest_windows(),
            Self::FindPeaks => variant(Occupancy::High).find_peaks(),
            Self::Walk(encoding) => variant(Occupancy::Low).walk(encoding),
        }
    }

    fn constants(self, shape: &Shape, compact: Option<&Compact>) -> Constants {
        let encoded = |encoding| match (encoding, compact) {
            (Encoding::Compact, Some(compact)) => compact.constants().to_vec(),
            _ => Vec::new(),
        };
        match self {
            Self::SliceSpacepoints(encoding, occupancy) => {
                let (variant, tile) = (shape.variant(occupancy), shape.cell_tile(occupancy));
                [variant.cell_constants(), tile.constants(), encoded(encoding)].concat()
            }
            Self::FindZ(occupancy) => {
                let variant = shape.variant(occupancy);
                let mut constants = [variant.find_z_constants(), shape.find_z.constants()].concat();
                if variant.several {
                    constants.push(("CHARGE_AWARE", f64::from(shape.charge_aware)));
                    constants.push(("PER_SLICE", f64::from(shape.per_slice)));
                }
                constants
            }
            Self::SumHistos | Self::HighestWindows => Vec::new(),
            Self::FindPeaks => shape.variant(Occupancy::High).find_peaks_constants(),
            Self::Walk(encoding) => {
                let size = shape.walk.map(|size| size.constants()).unwrap_or_default();
                [shape.variant(Occupancy::Low).find_z_constants(), size, encoded(encoding)].concat()
            }
        }
    }
}

pub(crate) struct KernelSet(Vec<(KernelName, Kernel)>);

impl KernelSet {
    pub(crate) fn build(gpu: &Gpu, shape: &Shape, compact: Option<&Compact>, checks: Checks) -> Result<Self> {
        let names = KernelName::all(shape, compact);
        let wanted: Vec<(Source, Constants)> =
            names.iter().map(|name| (name.source(shape), name.constants(shape, compact))).collect();
        // No entry point by name: all that a kernel has.
        let descriptor = |(source, constants)| KernelDescriptor { source, entry_points: &[], constants, checks };
        let descriptors: Vec<KernelDescriptor<'_>> =
            wanted.iter().map(|(source, constants)| descriptor((source, constants.as_slice()))).collect();
        Ok(Self(names.into_iter().zip(Kernel::build_all(gpu, &descriptors)?).collect()))
    }

    pub(crate) fn get(&self, name: KernelName) -> &Kernel {
        let (_, kernel) =
            self.0.iter().find(|(own, _)| *own == name).expect("built for all that the shape may dispatch");
        kernel
    }
}
