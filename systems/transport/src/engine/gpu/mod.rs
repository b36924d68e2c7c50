//! The stages on a GPU.

pub(crate) mod count;
pub(crate) mod field;
pub(crate) mod kernels;
pub(crate) mod layouts;
pub(crate) mod params;
pub(crate) mod probe;
pub(crate) mod run;
mod shaders;
pub(crate) mod sort;
pub(crate) mod sorter;
pub(crate) mod time;
pub(crate) mod trust;
mod workspace;
