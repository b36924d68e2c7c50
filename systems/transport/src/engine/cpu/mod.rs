//! The stages on the CPU.

pub(crate) mod count;
pub(crate) mod engine;
pub(crate) mod histories;
pub(crate) mod interact;
pub(crate) mod sort;
pub(crate) mod step_length;
