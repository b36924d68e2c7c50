//! The stages of a step, on the CPU and on a GPU.

pub(crate) mod capacity;
pub(crate) mod cpu;
pub(crate) mod ended;
pub(crate) mod gpu;
pub(crate) mod reference;

/// The grouping of the stages of a step into kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// One kernel for step lengths, then counting and sorting by process, then one kernel for
    /// interactions: neighbouring threads do the same work.
    #[default]
    Split,
    /// One kernel for the whole step.
    Monolithic,
}
