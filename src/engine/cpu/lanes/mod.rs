//! Arithmetic on as many numbers at once as a vector of this machine holds, in f32 or f64.

mod vectors;

use pulp::Simd;

use crate::engine::real::Real;

/// f32 or f64 in the lanes of a vector.
///
/// Everything here is `inline(always)`: only what is inlined into the function that was chosen for
/// this machine is compiled for its vectors.
pub(crate) trait Lanes: Real {
    type Vector<S: Simd>: Copy;
    type Mask<S: Simd>: Copy;

    /// Returns the number of a slice, which is always exact.
    fn of_slice(slice: u32) -> Self;
    /// Returns the number of lanes of a vector.
    fn count<S: Simd>() -> usize;
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// A slice as whole vectors, without the numbers left at its end.
    fn vectors<S: Simd>(simd: S, from: &[Self]) -> &[Self::Vector<S>];
    /// Writes a vector to the beginning of a slice.
    fn store<S: Simd>(simd: S, to: &mut [Self], vector: Self::Vector<S>);
    fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn minus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn times<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn over<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn smaller<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn larger<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// The smallest lane. No lane is NaN.
    fn smallest<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
    /// The largest lane. No lane is NaN.
    fn largest<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
    fn absolute<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    fn root<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    fn less<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S>;
    fn at_most<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S>;
    fn both<S: Simd>(simd: S, a: Self::Mask<S>, b: Self::Mask<S>) -> Self::Mask<S>;
    /// The lanes of `mask` in which a < b.
    fn and_less<S: Simd>(simd: S, mask: Self::Mask<S>, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S>;
    fn either<S: Simd>(simd: S, a: Self::Mask<S>, b: Self::Mask<S>) -> Self::Mask<S>;
    fn select<S: Simd>(
        simd: S,
        mask: Self::Mask<S>,
        if_true: Self::Vector<S>,
        if_false: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// A bit a lane, the first lane's the lowest.
    fn bits<S: Simd>(simd: S, mask: Self::Mask<S>) -> u32;
    /// Writes the numbers of the lanes whose bits are set, side by side, and any numbers behind
    /// them: `to` has room for a whole vector.
    fn pack<S: Simd>(simd: S, bits: u32, vector: Self::Vector<S>, to: &mut [Self]);
    /// The lanes of a vector with these numbers, which are whole, modulo the number of lanes; any
    /// lane for a number below 0.
    fn look_up<S: Simd>(simd: S, of: Self::Vector<S>, numbers: Self::Vector<S>) -> Self::Vector<S>;

    /// Scale and offset of steps in the form of [`Lanes::entries_of`].
    fn steps<S: Simd>(simd: S, scale: Self, offset: Self) -> [Self::Vector<S>; 2];
    /// [`Real::whole_steps`] shifted by [`ENTRY_SHIFT`](super::packed_histogram::ENTRY_SHIFT), in
    /// the low bits of each lane, of numbers less than 2^22 steps from 0.
    fn entries_of<S: Simd>(simd: S, z: Self::Vector<S>, steps: [Self::Vector<S>; 2]) -> Self::Vector<S>;
    fn low_bits(self) -> u32;
    /// Numbers in pieces of 16 bits.
    fn halves(numbers: &[Self]) -> &[u16];
    /// The square of the sine, for |x| <= pi.
    fn sine_squared<S: Simd>(simd: S, x: Self::Vector<S>) -> Self::Vector<S>;
}
