//! Slots.

/// How many slots there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// As many as are needed; on a GPU at first as the energy says.
    AsNeeded,
    /// As many as are needed; on a GPU so many at first.
    AtFirst(usize),
    /// So many, and no more.
    Fixed(usize),
}

/// Slots are brought together when so many are in use, and at most one in so many has a track: stages look at all.
const MANY_SLOTS: usize = 256;
const FEW_TRACKS: usize = 4;

/// Whether they are.
pub(crate) fn is_sparse(used: usize, live: usize) -> bool {
    used >= MANY_SLOTS && live <= used / FEW_TRACKS
}
