//! The stages on the CPU.

pub(crate) mod count;
pub(crate) mod sort;
