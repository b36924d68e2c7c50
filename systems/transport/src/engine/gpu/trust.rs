//! The promise that the kernels of this crate need no bounds checks.

use kernel_host::Checks;

/// Kernels of this crate without bounds checks.
// SAFETY: the kernels are those of `shaders`. Slots, classes and counts are bounded by the capacity
// that the buffers are allocated for, indices of maps and bins are clamped, and loops have a limit
// of steps.
#[expect(unsafe_code, reason = "the crate vouches for its shaders, and nothing else can")]
pub(crate) const TRUSTED: Checks = unsafe { Checks::trusted() };
