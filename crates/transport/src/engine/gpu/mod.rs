//! The stages on a GPU.

pub(crate) mod field;
pub(crate) mod probe;
