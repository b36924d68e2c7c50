//! The kernels of an engine, built together.

use kernel_host::{Checks, Gpu, Kernel, KernelDescriptor, Source};

use crate::engine::encoding::Compact;
use crate::engine::gpu::batch::Shape;
use crate::engine::gpu::{find_peaks, find_z, highest_windows, slice_spacepoints, sum_histos, walk};
use crate::error::Result;
use crate::options::Encoding;

pub(crate) struct Kernels {
    lossless: Readers,
    compact: Option<Readers>,
    /// For few spacepoints an RoI, and for many.
    pub(crate) find_z: [Kernel; 2],
    pub(crate) sum_histos: Option<Kernel>,
    pub(crate) find_peaks: Kernel,
    pub(crate) highest_windows: Option<Kernel>,
}

/// What reads spacepoints as they are uploaded.
pub(crate) struct Readers {
    /// For few spacepoints an RoI, and for many.
    pub(crate) slice_spacepoints: [Kernel; 2],
    pub(crate) walk: Option<Kernel>,
}

/// A kernel to be built: its WGSL, its entry points and its overrides.
type Order = (Source, &'static [&'static str], Vec<(&'static str, f64)>);

impl Kernels {
    pub(crate) fn build(gpu: &Gpu, shape: &Shape, compact: Option<&Compact>, checks: Checks) -> Result<Self> {
        let [few, many] = shape.variants;
        let find_z = |variant: super::shaders::Variant| -> Order {
            (variant.find_z(), &find_z::ENTRY_POINTS, find_z::constants(shape))
        };
        let mut orders: Vec<Order> =
            vec![(many.find_peaks(), &find_peaks::ENTRY_POINTS, find_peaks::constants(many)), find_z(many)];
        if many.several {
            orders.push((many.highest_windows(), &highest_windows::ENTRY_POINTS, Vec::new()));
        } else if !many.fills_totals() {
            orders.push((many.sum_histos(), &sum_histos::ENTRY_POINTS, Vec::new()));
        }
        if few != many {
            orders.push(find_z(few));
        }
        let compacts = compact.map(|compact| (Encoding::Compact, compact.constants().to_vec()));
        for (encoding, packed) in [(Encoding::Lossless, Vec::new())].into_iter().chain(compacts) {
            for (variant, room) in shape.variants.iter().zip(shape.rooms) {
                let constants = [room.constants(), packed.clone()].concat();
                orders.push((variant.slice_spacepoints(encoding), &slice_spacepoints::ENTRY_POINTS, constants));
            }
            if let Some(room) = shape.walk {
                let constants = [room.constants(shape), packed].concat();
                orders.push((few.walk(encoding), &walk::ENTRY_POINTS, constants));
            }
        }
        let descriptors: Vec<KernelDescriptor<'_>> = orders
            .iter()
            .map(|(source, entry_points, constants)| KernelDescriptor { source, entry_points, constants, checks })
            .collect();
        let mut kernels = Kernel::build_all(gpu, &descriptors)?.into_iter();
        let mut next = || kernels.next().expect("build_all gives a kernel for each descriptor");
        let (find_peaks, find_z_many) = (next(), next());
        let highest_windows = many.several.then(&mut next);
        let sum_histos = (!many.fills_totals()).then(&mut next);
        let find_z_few = if few == many { find_z_many.clone() } else { next() };
        let mut readers =
            || Readers { slice_spacepoints: [next(), next()], walk: shape.walk.is_some().then(&mut next) };
        Ok(Self {
            lossless: readers(),
            compact: compact.is_some().then(&mut readers),
            find_z: [find_z_few, find_z_many],
            sum_histos,
            find_peaks,
            highest_windows,
        })
    }

    pub(crate) fn readers(&self, encoding: Encoding) -> &Readers {
        match encoding {
            Encoding::Compact => self.compact.as_ref().unwrap_or(&self.lossless),
            Encoding::Lossless => &self.lossless,
        }
    }
}
