//! The promise that the kernels of this crate need no bounds checks.

use kernel_host::Checks;

/// Kernels of this crate without bounds checks.
// SAFETY: the kernels are those of `shaders`. `EventBatch::push` checks offsets, digits, hits and
// tracks of a batch. The indices come from them and from the calorimeter, whose cells
// `Calorimeter::new` counts, and loops run over counts of the batch.
#[expect(unsafe_code, reason = "the crate vouches for its shaders, and nothing else can")]
pub(crate) const TRUSTED: Checks = unsafe { Checks::trusted() };
