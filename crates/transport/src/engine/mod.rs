//! The stages of a step, on the CPU and on a GPU.

pub(crate) mod capacity;
pub(crate) mod cpu;
pub(crate) mod ended;
pub(crate) mod gpu;
pub(crate) mod reference;
