//! The promise that the kernels of this crate need no bounds checks.

use kernel_host::Checks;

/// Kernels of this crate without bounds checks.
// SAFETY: the kernels are those of `shaders`. All indices come from the layout of the batch, whose
// buffers are allocated from the same numbers, and loops run over its layers.
#[expect(unsafe_code, reason = "the crate vouches for its shaders, and nothing else can")]
pub(crate) const TRUSTED: Checks = unsafe { Checks::trusted() };
