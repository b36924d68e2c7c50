//! The number of slots for tracks.

/// The limit on the number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// Slots are added as needed. A GPU begins with a number that depends on the energy.
    AsNeeded,
    /// Slots are added as needed. A GPU begins with this number.
    AtFirst(usize),
    /// This number of slots.
    Fixed(usize),
}

/// Tracks are packed when at least so many slots are in use, and at most one slot in so many has a
/// track: kernels look at all slots in use.
const MANY_SLOTS: usize = 256;
const FEW_TRACKS: usize = 4;

/// Returns whether tracks are packed.
pub(crate) fn is_sparse(used: usize, live: usize) -> bool {
    used >= MANY_SLOTS && live <= used / FEW_TRACKS
}
