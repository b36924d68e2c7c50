//! The engines. Each is the same four stages; only the finder knows which one runs.

pub(crate) mod cpu;
pub(crate) mod encoding;
pub(crate) mod gpu;
pub(crate) mod gpus;
pub(crate) mod plan;
pub(crate) mod real;
pub(crate) mod reference;
mod threads;
pub(crate) mod vertices;
