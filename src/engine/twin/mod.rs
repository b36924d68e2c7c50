//! The twin: the four stages in plain scalar code, with the functions of the shaders under the same
//! names and in the same order. Tests hold the kernels and the vectorised CPU engine to it, buffer
//! by buffer.
//!
//! It decides and rounds as the kernels do, and leaves out everything that only makes them fast:
//! tiles, shares of threads, packed words, marks and queues.

pub(crate) mod find_peaks;
pub(crate) mod find_z;
mod pair_weight;
pub(crate) mod slice_spacepoints;
pub(crate) mod sum_histos;
