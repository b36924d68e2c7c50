//! The stages of a step, on the CPU and on a GPU.

pub(crate) mod cpu;
pub(crate) mod gpu;
