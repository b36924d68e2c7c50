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
