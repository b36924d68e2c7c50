//! Kernels, and those that a device has built. A second request does not compile them again.

use std::sync::Mutex;

use crate::reflect::{Binding, EntryPoint};
use crate::source::KernelSource;
use crate::status::lock;

/// Guards of a shader against its own faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    pub(crate) is_trusted: bool,
}

impl Checks {
    /// naga adds bounds checks to every access and a bound to every loop.
    pub const CHECKED: Self = Self { is_trusted: false };

    /// Returns the value without bounds checks and without bounds of loops, which is a large gain
    /// in tight loops.
    ///
    /// A crate calls this once, in a constant beside its shaders, and says there why they are
    /// sound.
    ///
    /// # Safety
    /// Every kernel that is built with the returned value stays within its buffers, and its loops
    /// end, for every content of its buffers and every value of its constants. An access out of
    /// bounds is undefined behaviour on the device.
    #[expect(unsafe_code, reason = "the caller vouches for shaders")]
    #[must_use]
    pub const unsafe fn trusted() -> Self {
        Self { is_trusted: true }
    }
}

/// Description of a [`Kernel`].
#[derive(Clone, Copy, Debug)]
pub struct KernelDescriptor<'a> {
    /// The WGSL source.
    pub source: &'a KernelSource,
    /// The entry points to build; an empty list means all.
    pub entry_points: &'a [&'a str],
    /// Values of `override`s, for all entry points.
    pub constants: &'a [(&'a str, f64)],
    /// Guards in the shader.
    pub checks: Checks,
}

/// A built kernel: one pipeline for each entry point, and one bind group layout for them all.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) adapter: String,
    pub(crate) max_workgroups: u32,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) entries: Vec<(EntryPoint, wgpu::ComputePipeline)>,
}

/// Most kernels that a device keeps. The oldest is dropped first, which bounds the memory.
const MOST: usize = 256;

/// The kernels of a device.
#[derive(Debug, Default)]
pub(crate) struct BuiltKernels(Mutex<Vec<(Key, Kernel)>>);

/// Everything that a compiled kernel depends on, constants by their bits.
#[derive(Debug, PartialEq)]
pub(crate) struct Key {
    source: KernelSource,
    entry_points: Vec<String>,
    constants: Vec<(String, u64)>,
    checks: Checks,
}

impl Key {
    pub(crate) fn new(descriptor: &KernelDescriptor<'_>) -> Self {
        Self {
            source: descriptor.source.clone(),
            entry_points: descriptor.entry_points.iter().map(|&name| name.to_owned()).collect(),
            constants: descriptor.constants.iter().map(|&(name, value)| (name.to_owned(), value.to_bits())).collect(),
            checks: descriptor.checks,
        }
    }

    fn is_of(&self, descriptor: &KernelDescriptor<'_>) -> bool {
        let constants = descriptor.constants.iter().map(|&(name, value)| (name, value.to_bits()));
        self.checks == descriptor.checks
            && self.entry_points == descriptor.entry_points
            && self.constants.iter().map(|(name, bits)| (name.as_str(), *bits)).eq(constants)
            && self.source == *descriptor.source
    }
}

impl BuiltKernels {
    pub(crate) fn get(&self, descriptor: &KernelDescriptor<'_>) -> Option<Kernel> {
        let built = lock(&self.0);
        built.iter().find(|(key, _)| key.is_of(descriptor)).map(|(_, kernel)| kernel.clone())
    }

    pub(crate) fn add(&self, descriptor: &KernelDescriptor<'_>, kernel: &Kernel) {
        let mut built = lock(&self.0);
        if built.len() == MOST {
            built.remove(0);
        }
        built.push((Key::new(descriptor), kernel.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Gpu;

    // SAFETY: `data` has a word, and the noop backend executes nothing.
    #[expect(unsafe_code, reason = "the kernel below is trusted")]
    const TRUSTED: Checks = unsafe { Checks::trusted() };

    const DOUBLE: &str = "
        override FACTOR: u32 = 2;
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @compute @workgroup_size(1) fn double() { data[0] *= FACTOR; }";

    #[test]
    fn a_kernel_is_kept_with_all_that_it_depends_on() {
        let gpu = Gpu::noop().expect("the noop backend is always there");
        let source = KernelSource::new("double").piece("double.wgsl", DOUBLE);
        let renamed = KernelSource::new("triple").piece("double.wgsl", DOUBLE);
        let wanted = KernelDescriptor {
            source: &source,
            entry_points: &["double"],
            constants: &[("FACTOR", 3.0)],
            checks: Checks::CHECKED,
        };
        assert!(gpu.built_kernels().get(&wanted).is_none());
        let both = Kernel::build_all(&gpu, &[wanted, KernelDescriptor { source: &renamed, ..wanted }]).expect("built");
        assert_eq!(both.iter().map(Kernel::name).collect::<Vec<_>>(), ["double", "triple"]);
        assert!(gpu.built_kernels().get(&wanted).is_some());
        for other in [
            KernelDescriptor { constants: &[("FACTOR", 4.0)], ..wanted },
            KernelDescriptor { constants: &[], ..wanted },
            KernelDescriptor { entry_points: &[], ..wanted },
            KernelDescriptor { checks: TRUSTED, ..wanted },
        ] {
            assert!(gpu.built_kernels().get(&other).is_none(), "{other:?}");
        }
        // Some kernels exist and some do not: the order is that of the descriptors.
        let added = KernelDescriptor { constants: &[("FACTOR", 4.0)], source: &renamed, ..wanted };
        let mixed = Kernel::build_all(&gpu, &[added, wanted, added]).expect("built");
        assert_eq!(mixed.iter().map(Kernel::name).collect::<Vec<_>>(), ["triple", "double", "triple"]);
        // A kernel that was requested twice was built once.
        assert_eq!(lock(&gpu.built_kernels().0).len(), 3);
    }

    #[test]
    fn no_more_are_kept_than_there_is_room_for() {
        let gpu = Gpu::noop().expect("the noop backend is always there");
        let source = KernelSource::new("double").piece("double.wgsl", DOUBLE);
        let first = KernelDescriptor { source: &source, entry_points: &[], constants: &[], checks: Checks::CHECKED };
        let kernel = Kernel::build(&gpu, &first).expect("built");
        for number in 0..MOST {
            let constants = [("FACTOR", number as f64)];
            gpu.built_kernels().add(&KernelDescriptor { constants: &constants, ..first }, &kernel);
        }
        assert!(gpu.built_kernels().get(&first).is_none(), "the oldest");
        let second = KernelDescriptor { constants: &[("FACTOR", 0.0)], ..first };
        assert!(gpu.built_kernels().get(&second).is_some());
    }
}
