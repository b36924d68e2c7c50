//! The promise that the kernels of this crate need no bounds checks.

use kernel_host::Checks;

/// Kernels of this crate without bounds checks.
// SAFETY: the kernels are those of `shaders`. All indices come from triangles and levels of a mesh,
// which `Mesh::new` checks, and loops run over counts of the mesh.
#[expect(unsafe_code, reason = "the crate vouches for its shaders, and nothing else can")]
pub(crate) const TRUSTED: Checks = unsafe { Checks::trusted() };
