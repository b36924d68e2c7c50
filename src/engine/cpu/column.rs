//! Columns of a fixed length, which fit into the first cache.

/// Lanes of the longest vector of any machine.
pub(crate) const MOST_LANES: usize = 16;
/// Numbers of a column: few enough for the first cache, enough to make a loop worth its overhead.
pub(crate) const ROOM: usize = 1024;
/// Memory of a length that the compiler knows, so that it omits bounds checks, with room for one
/// vector more.
pub(crate) type Column<T, const LENGTH: usize = { ROOM + MOST_LANES }> = Box<[T; LENGTH]>;

/// Returns an empty column.
pub(crate) fn column<T: Copy + Default, const LENGTH: usize>() -> Column<T, LENGTH> {
    Box::new([T::default(); LENGTH])
}
