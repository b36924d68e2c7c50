//! The stages on a GPU.
