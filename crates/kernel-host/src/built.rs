//! Kernels that a device has built, so that what asks for one again need not wait for the compilers.

use std::sync::Mutex;

use crate::kernel::{Checks, Kernel, KernelDescriptor};
use crate::source::Source;
use crate::status::lock;

/// A device that has more than so many forgets the oldest: who asks for ever new ones must not fill the memory.
const MOST: usize = 256;

/// The kernels of a device.
#[derive(Debug, Default)]
pub(crate) struct BuiltKernels(Mutex<Vec<(Key, Kernel)>>);

/// All that a compiled kernel depends on, constants by their bits.
#[derive(Debug, PartialEq)]
struct Key {
    source: Source,
    entry_points: Vec<String>,
    constants: Vec<(String, u64)>,
    checks: Checks,
}

impl Key {
    fn new(descriptor: &KernelDescriptor<'_>) -> Self {
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
