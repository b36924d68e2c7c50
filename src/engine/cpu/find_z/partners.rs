//! The spacepoints that an outer or middle spacepoint may pair with, tested in vectors.

use std::ops::Range;

use pulp::Simd;

use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::slice_index::IndexColumns;
use crate::engine::cpu::slice_spacepoints::OuterSpacepoint;

/// The spacepoints in the window of an outer or middle spacepoint, as vectors, and the numbers of
/// that spacepoint in every lane.
pub(crate) struct Partners<'a, R: Lanes, S: Simd> {
    pub(crate) slices: &'a [R::Vector<S>],
    reaches: &'a [R::Vector<S>],
    pub(crate) inverse_rho: &'a [R::Vector<S>],
    z_by_rho: &'a [R::Vector<S>],
    /// Empty unless the extrapolation is accurate.
    phi: &'a [R::Vector<S>],
    slice: R::Vector<S>,
    pub(crate) b: [R::Vector<S>; 3],
    z_min: R::Vector<S>,
    z_max: R::Vector<S>,
}

impl<'a, R: Lanes, S: Simd> Partners<'a, R, S> {
    /// `slice` is the slice of `b`, a quarter of a slice off: see
    /// [`Reaches::put`](super::Reaches::put).
    #[inline(always)]
    pub(crate) fn new<const ACCURATE: bool>(
        simd: S,
        columns: &IndexColumns<'a, R>,
        stretch: &Range<usize>,
        b: &OuterSpacepoint<R>,
        slice: R,
        [z_min, z_max]: [R; 2],
    ) -> Self {
        Self {
            slices: IndexColumns::vectors(simd, columns.slice, stretch),
            reaches: IndexColumns::vectors(simd, columns.reach, stretch),
            inverse_rho: IndexColumns::vectors(simd, columns.inverse_rho, stretch),
            z_by_rho: IndexColumns::vectors(simd, columns.z_by_rho, stretch),
            phi: if ACCURATE { IndexColumns::vectors(simd, columns.phi, stretch) } else { &[] },
            slice: R::splat(simd, slice),
            b: [R::splat(simd, b.inverse_rho), R::splat(simd, b.z_by_rho), R::splat(simd, b.phi)],
            z_min: R::splat(simd, z_min),
            z_max: R::splat(simd, z_max),
        }
    }

    /// Returns the number of vectors.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.slices.len()
    }

    /// The lanes of a vector that are within reach.
    #[inline(always)]
    fn near(&self, simd: S, i: usize) -> R::Mask<S> {
        let apart = R::absolute(simd, R::minus(simd, self.slices[i], self.slice));
        R::at_most(simd, apart, self.reaches[i])
    }

    /// The lanes of a vector that may make pairs with z in the range, and a few with z just outside
    /// it. Without a quotient, the slowest operation of all.
    #[inline(always)]
    pub(crate) fn may_be_pairs<const ACCURATE: bool>(&self, simd: S, i: usize) -> u32 {
        if ACCURATE {
            return self.pairs::<ACCURATE>(simd, i).0;
        }
        let half = R::splat(simd, R::from_f64(0.5));
        let middle = R::times(simd, half, R::plus(simd, self.z_min, self.z_max));
        let half_width = R::times(simd, half, R::minus(simd, self.z_max, self.z_min));
        let [v, tb, _] = self.b;
        let below = R::minus(simd, v, self.inverse_rho[i]);
        let above = R::minus(simd, R::minus(simd, tb, self.z_by_rho[i]), R::times(simd, middle, below));
        let most = R::times(simd, half_width, R::absolute(simd, below));
        let within = R::at_most(simd, R::absolute(simd, above), most);
        R::bits(simd, R::both(simd, self.near(simd, i), within))
    }

    /// The lanes of a vector that make pairs with z in the range, and z of all lanes: where the
    /// line meets the beam, or is nearest to it.
    #[inline(always)]
    pub(crate) fn pairs<const ACCURATE: bool>(&self, simd: S, i: usize) -> (u32, R::Vector<S>) {
        let near = self.near(simd, i);
        let phi = if ACCURATE { self.phi[i] } else { self.b[2] };
        let z = extrapolate::<R, S>(simd, ACCURATE, self.b, [self.inverse_rho[i], self.z_by_rho[i], phi]);
        let above = R::and_less(simd, near, self.z_min, z);
        (R::bits(simd, R::and_less(simd, above, z, self.z_max)), z)
    }
}

/// z where the line through two spacepoints, given as 1 / rho, z / rho and phi, meets the beam or
/// is nearest to it: `shaders/tracks.wgsl`. The order of the two spacepoints does not matter.
#[inline(always)]
pub(crate) fn extrapolate<R: Lanes, S: Simd>(
    simd: S,
    accurate: bool,
    [v, tb, phi_b]: [R::Vector<S>; 3],
    [u, ta, phi_a]: [R::Vector<S>; 3],
) -> R::Vector<S> {
    if !accurate {
        return R::over(simd, R::minus(simd, tb, ta), R::minus(simd, v, u));
    }
    let half = R::splat(simd, R::from_f64(0.5));
    let one = R::splat(simd, R::from_f64(1.0));
    let ss = R::sine_squared(simd, R::times(simd, half, R::minus(simd, phi_b, phi_a)));
    let four_ss = R::times(simd, R::splat(simd, R::from_f64(4.0)), ss);
    let apart = R::minus(simd, u, v);
    let below = R::plus(simd, R::times(simd, apart, apart), R::times(simd, four_ss, R::times(simd, u, v)));
    // The square of the line's distance from the beam, d0.
    let square = R::over(simd, R::times(simd, four_ss, R::minus(simd, one, ss)), below);
    // sqrt(rho^2 - d0^2) = rho w
    let wa = R::root(simd, R::minus(simd, one, R::times(simd, R::times(simd, square, u), u)));
    let wb = R::root(simd, R::minus(simd, one, R::times(simd, R::times(simd, square, v), v)));
    R::over(
        simd,
        R::minus(simd, R::times(simd, tb, wa), R::times(simd, ta, wb)),
        R::minus(simd, R::times(simd, v, wa), R::times(simd, u, wb)),
    )
}
