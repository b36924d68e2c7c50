//! The side of the middle spacepoint on which a third spacepoint lies.

/// The pairs that a third spacepoint may confirm, by its slice: the bending of a track keeps its
/// sign.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Side {
    /// Outer spacepoints of pairs whose inner spacepoint lies above.
    Below,
    /// Next to it: all.
    SameOrNext,
    /// Outer spacepoints of pairs whose inner spacepoint lies below.
    Above,
    /// Above and, around a ring, below: the inner spacepoint lies in another slice.
    AboveAndBelow,
    /// Out of reach both ways: none.
    #[default]
    Nowhere,
}

impl Side {
    /// Whether the spacepoint may confirm a pair whose slices rise or fall from the beam outwards.
    pub(super) fn may_confirm(self, rises: bool, falls: bool) -> bool {
        match self {
            Side::Below => falls,
            Side::SameOrNext => true,
            Side::Above => rises,
            Side::AboveAndBelow => rises || falls,
            Side::Nowhere => false,
        }
    }
}

/// Returns the side of a spacepoint `step` slices away on a ring of `slices`, where its layer is
/// searched `reach` slices far.
pub(super) fn side_on_ring(step: i32, reach: u32, slices: u32) -> Side {
    let above = step.rem_euclid(slices as i32) as u32;
    let below = (slices - above) % slices;
    let reaches = |most_below: u32, most_above: u32| {
        most_below.saturating_add(most_above) >= slices || above <= most_above || below <= most_below
    };
    match (reaches(1, 1), reaches(1, reach), reaches(reach, 1)) {
        (true, ..) => Side::SameOrNext,
        (_, true, true) => Side::AboveAndBelow,
        (_, true, false) => Side::Above,
        (_, false, true) => Side::Below,
        _ => Side::Nowhere,
    }
}
