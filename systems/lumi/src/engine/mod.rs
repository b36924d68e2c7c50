//! The engines: the CPU engine, which is also the reference, and the GPU engine.

pub(crate) mod cpu;
pub(crate) mod gpu;
