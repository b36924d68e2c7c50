//! The engines. Each is the same four stages; only the finder knows which one runs.

pub(crate) mod candidates;
pub(crate) mod cpu;
pub(crate) mod encoding;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
#[cfg(feature = "gpu")]
pub(crate) mod gpus;
pub(crate) mod histogram;
pub(crate) mod plan;
pub(crate) mod ranking;
pub(crate) mod real;
pub(crate) mod records;
#[cfg_attr(not(feature = "internals"), allow(dead_code, unreachable_pub, reason = "public in `internals`"))]
pub(crate) mod reference;
#[cfg(feature = "gpu")]
mod threads;
pub(crate) mod tracklets;
#[cfg(test)]
pub(crate) mod twin;
pub(crate) mod vertices;
pub(crate) mod z_estimate;

#[cfg(test)]
#[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the GPU's tests use more of it"))]
pub(crate) mod test_cases;
#[cfg(test)]
#[path = "../../crates/zfinder-testing/src/toy.rs"]
pub(crate) mod toy;
