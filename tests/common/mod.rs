//! What several test programs share.

pub(crate) mod command;
pub(crate) mod engines;
pub(crate) mod on_adapters;
pub(crate) mod shared;
pub(crate) mod toy;
