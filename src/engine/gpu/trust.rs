//! The promise that the kernels of this crate need no bounds checks.

use kernel_host::Checks;

/// Kernels of this crate without bounds checks.
// SAFETY: the kernels are those of `shaders`. The planner checks layers, offsets and sizes before a
// dispatch, so that indices lie within the buffers, and loops run over counts that the planner
// bounds. Tests run the kernels with `Checks::CHECKED`, too, and compare the results of all stages.
#[expect(unsafe_code, reason = "the crate vouches for its shaders, and nothing else can")]
pub(super) const TRUSTED: Checks = unsafe { Checks::trusted() };
