//! What counts: the CPU, which is also what the GPU is held against, and the GPU.

pub(crate) mod cpu;
pub(crate) mod gpu;
