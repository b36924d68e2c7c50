//! Arithmetic on as many numbers at once as a vector of this machine holds, in f32 or f64; columns
//! of numbers; vector capabilities of the machine.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::any::Any;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::_CMP_LT_OQ;
use std::slice;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use bytemuck::cast;
use bytemuck::{cast_slice, cast_slice_mut};
use pulp::Simd;

use crate::engine::histogram::OFFSET_STEPS;
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
    /// [`Real::whole_steps`] shifted by [`ENTRY_SHIFT`], in
    /// the low bits of each lane, of numbers less than 2^22 steps from 0.
    fn entries_of<S: Simd>(simd: S, z: Self::Vector<S>, steps: [Self::Vector<S>; 2]) -> Self::Vector<S>;
    fn low_bits(self) -> u32;
    /// Numbers in pieces of 16 bits.
    fn halves(numbers: &[Self]) -> &[u16];
    /// The square of the sine, for |x| <= pi.
    fn sine_squared<S: Simd>(simd: S, x: Self::Vector<S>) -> Self::Vector<S>;
}

/// The sum of x^i c_i by Horner's method.
macro_rules! horner {
    ($simd:ident, $x:expr, $real:ident, [$first:expr $(, $next:expr)*]) => {{
        let mut sum = $real::splat($simd, $first);
        $(sum = $real::plus($simd, $real::times($simd, sum, $x), $real::splat($simd, $next));)*
        sum
    }};
}

macro_rules! lanes {
    (
        $real:ident, $vector:ident, $mask:ident, $lanes:ident, $slices:ident, $slices_mut:ident,
        $splat:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $min:ident, $max:ident, $smallest:ident, $largest:ident, $abs:ident, $sqrt:ident, $less:ident,
        $at_most:ident, $both:ident, $either:ident, $select:ident, $table:ident, $movemask:ident, $compress:ident,
        $lane_bits:ident, $v4_mask:ident, $mask_less:ident, $permute:ident, $whole:literal, $word:expr, $neon_bits:expr, $neon_lane:ident, $sine:tt, $steps:item, $entries_of:item, $low_bits:tt
    ) => {
        impl Lanes for $real {
            type Vector<S: Simd> = S::$vector;
            type Mask<S: Simd> = S::$mask;

            #[inline(always)]
            fn of_slice(slice: u32) -> Self {
                slice as i32 as Self
            }
            #[inline(always)]
            fn count<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S> {
                simd.$splat(value)
            }
            #[inline(always)]
            fn vectors<S: Simd>(_: S, from: &[Self]) -> &[Self::Vector<S>] {
                S::$slices(from).0
            }
            #[inline(always)]
            fn store<S: Simd>(_: S, to: &mut [Self], vector: Self::Vector<S>) {
                S::$slices_mut(&mut to[..S::$lanes]).0[0] = vector;
            }
            #[inline(always)]
            fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn minus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.$sub(a, b)
            }
            #[inline(always)]
            fn times<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn over<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.$div(a, b)
            }
            #[inline(always)]
            fn smaller<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.$min(a, b)
            }
            #[inline(always)]
            fn larger<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.$max(a, b)
            }
            #[inline(always)]
            fn smallest<S: Simd>(simd: S, a: Self::Vector<S>) -> Self {
                simd.$smallest(a)
            }
            #[inline(always)]
            fn largest<S: Simd>(simd: S, a: Self::Vector<S>) -> Self {
                simd.$largest(a)
            }
            #[inline(always)]
            fn absolute<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S> {
                simd.$abs(a)
            }
            #[inline(always)]
            fn root<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S> {
                simd.$sqrt(a)
            }
            #[inline(always)]
            fn less<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S> {
                simd.$less(a, b)
            }
            #[inline(always)]
            fn at_most<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S> {
                simd.$at_most(a, b)
            }
            #[inline(always)]
            fn both<S: Simd>(simd: S, a: Self::Mask<S>, b: Self::Mask<S>) -> Self::Mask<S> {
                simd.$both(a, b)
            }
            #[inline(always)]
            fn and_less<S: Simd>(
                simd: S,
                mask: Self::Mask<S>,
                a: Self::Vector<S>,
                b: Self::Vector<S>,
            ) -> Self::Mask<S> {
                #[cfg(target_arch = "x86_64")]
                if let (Some(v4), Some(pulp::$v4_mask(mask))) = (known::<S, pulp::x86::V4>(simd), known(mask)) {
                    // One instruction instead of the compiler's two.
                    let (a, b): ([u32; 16], [u32; 16]) = (cast(a), cast(b));
                    let less = v4.avx512f.$mask_less::<_CMP_LT_OQ>(mask, pulp::cast(a), pulp::cast(b));
                    if let Some(less) = known(pulp::$v4_mask(less)) {
                        return less;
                    }
                }
                Self::both(simd, mask, Self::less(simd, a, b))
            }
            #[inline(always)]
            fn either<S: Simd>(simd: S, a: Self::Mask<S>, b: Self::Mask<S>) -> Self::Mask<S> {
                simd.$either(a, b)
            }
            #[inline(always)]
            fn select<S: Simd>(
                simd: S,
                mask: Self::Mask<S>,
                if_true: Self::Vector<S>,
                if_false: Self::Vector<S>,
            ) -> Self::Vector<S> {
                simd.$select(mask, if_true, if_false)
            }

            #[inline(always)]
            fn bits<S: Simd>(simd: S, mask: Self::Mask<S>) -> u32 {
                #[cfg(target_arch = "x86_64")]
                {
                    if let Some(v3) = known::<S, pulp::x86::V3>(simd) {
                        let words: [u32; 8] = cast(mask);
                        return v3.avx.$movemask(pulp::cast(words)) as u32;
                    }
                    if known::<S, pulp::x86::V4>(simd).is_some() {
                        return u32::from(cast::<_, $lane_bits>(mask));
                    }
                }
                #[cfg(target_arch = "aarch64")]
                if let Some(pulp::aarch64::Neon { neon, .. }) = known(simd) {
                    let words: [u32; 4] = cast(mask);
                    let bits: [u32; 4] = $neon_bits;
                    return neon.vaddvq_u32(pulp::cast(std::array::from_fn::<_, 4, _>(|word| words[word] & bits[word])));
                }
                let numbers = Self::select(simd, mask, Self::splat(simd, 1.0), Self::splat(simd, 0.0));
                let numbers: &[Self] = cast_slice(slice::from_ref(&numbers));
                (0..S::$lanes).fold(0, |bits, lane| bits | u32::from(numbers[lane] != 0.0) << lane)
            }

            #[inline(always)]
            fn pack<S: Simd>(simd: S, bits: u32, vector: Self::Vector<S>, to: &mut [Self]) {
                #[cfg(target_arch = "x86_64")]
                {
                    if let Some(v3) = known::<S, pulp::x86::V3>(simd) {
                        let words: [u32; 8] = cast(vector);
                        // One byte a lane, so that the tables take little of the first cache.
                        let lanes = [$table[bits as usize % $table.len()], 0];
                        let lanes = v3.avx2._mm256_cvtepu8_epi32(pulp::cast(lanes));
                        let packed: [u32; 8] = pulp::cast(v3.avx2._mm256_permutevar8x32_ps(pulp::cast(words), lanes));
                        Self::store(simd, to, cast(packed));
                        return;
                    }
                    if let Some(v4) = known::<S, pulp::x86::V4>(simd) {
                        let words: [u32; 16] = cast(vector);
                        let packed: [u32; 16] = pulp::cast(v4.avx512f.$compress(bits as $lane_bits, pulp::cast(words)));
                        Self::store(simd, to, cast(packed));
                        return;
                    }
                }
                #[cfg(target_arch = "aarch64")]
                if let Some(pulp::aarch64::Neon { neon, .. }) = known(simd) {
                    const BYTES: [[u8; 16]; 1 << (16 / size_of::<$real>())] = bytes_of(size_of::<$real>());
                    let (words, bytes): ([u32; 4], _) = (cast(vector), BYTES[bits as usize % BYTES.len()]);
                    let packed: [u32; 4] = pulp::cast(neon.vqtbl1q_u8(pulp::cast(words), pulp::cast(bytes)));
                    Self::store(simd, to, cast(packed));
                    return;
                }
                let _ = simd;
                let numbers: &[Self] = cast_slice(slice::from_ref(&vector));
                let mut next = 0;
                for lane in 0..S::$lanes {
                    to[next] = numbers[lane];
                    next += (bits >> lane & 1) as usize;
                }
            }

            #[inline(always)]
            fn look_up<S: Simd>(simd: S, of: Self::Vector<S>, numbers: Self::Vector<S>) -> Self::Vector<S> {
                #[cfg(target_arch = "x86_64")]
                if let Some(v4) = known::<S, pulp::x86::V4>(simd) {
                    // The last bits of a number so high are those of the whole number added to it.
                    let whole = Self::plus(simd, numbers, Self::splat(simd, $whole));
                    let (words, whole): ([u32; 16], [u32; 16]) = (cast(of), cast(whole));
                    let found: [u32; 16] = pulp::cast(v4.avx512f.$permute(pulp::cast(whole), pulp::cast(words)));
                    return cast(found);
                }
                #[cfg(target_arch = "x86_64")]
                if let Some(v3) = known::<S, pulp::x86::V3>(simd) {
                    // Numbers of words.
                    let whole: [u32; 8] = cast(Self::plus(simd, numbers, Self::splat(simd, $whole)));
                    let lanes = std::array::from_fn(|word| $word(whole, word));
                    let words: [u32; 8] = cast(of);
                    let found = v3.avx2._mm256_permutevar8x32_ps(pulp::cast(words), pulp::cast::<[u32; 8], _>(lanes));
                    return cast(pulp::cast::<_, [u32; 8]>(found));
                }
                #[cfg(target_arch = "aarch64")]
                if let Some(pulp::aarch64::Neon { neon, .. }) = known(simd) {
                    const LANES: usize = 16 / size_of::<$real>();
                    // The first byte of a lane, repeated, and the distance of each byte from it.
                    const FIRST: $neon_lane = (0x0101_0101_0101_0101_u64 * size_of::<$real>() as u64) as $neon_lane;
                    const BEYOND: $neon_lane = 0x0706_0504_0302_0100_u64 as $neon_lane;
                    let whole: [$neon_lane; LANES] = cast(Self::plus(simd, numbers, Self::splat(simd, $whole)));
                    let bytes = whole.map(|lane| (lane % LANES as $neon_lane) * FIRST + BEYOND);
                    let words: [u32; 4] = cast(of);
                    let found = neon.vqtbl1q_u8(pulp::cast(words), pulp::cast(bytes));
                    return cast(pulp::cast::<_, [u32; 4]>(found));
                }
                let _ = simd;
                let (words, lanes): (&[Self], &[Self]) = (cast_slice(slice::from_ref(&of)), cast_slice(slice::from_ref(&numbers)));
                let mut found = of;
                let to: &mut [Self] = cast_slice_mut(slice::from_mut(&mut found));
                for lane in 0..S::$lanes {
                    to[lane] = words[lanes[lane] as usize % S::$lanes];
                }
                found
            }

            #[inline(always)]
            fn sine_squared<S: Simd>(simd: S, x: Self::Vector<S>) -> Self::Vector<S> {
                // sin(x) = sin(pi - x)
                let x = Self::absolute(simd, x);
                let x = Self::smaller(simd, x, Self::minus(simd, Self::splat(simd, std::$real::consts::PI), x));
                let square = Self::times(simd, x, x);
                let sine = Self::times(simd, x, horner!(simd, square, $real, $sine));
                Self::times(simd, sine, sine)
            }

            #[inline(always)]
            $steps

            #[inline(always)]
            $entries_of

            #[inline(always)]
            fn low_bits(self) -> u32 {
                $low_bits(self)
            }

            #[inline(always)]
            fn halves(numbers: &[Self]) -> &[u16] {
                cast_slice(numbers)
            }
        }
    };
}

/// 1.5 * 2^23: a number of less than 22 bits, added to it, leaves its nearest whole number in the
/// low bits.
const NEAREST: f32 = 12_582_912.0;

/// (-1)^i / (2 i + 1)!
const fn sine(i: u32) -> f64 {
    let mut factorial = 1.0;
    let mut n = 2;
    while n <= 2 * i + 1 {
        factorial *= n as f64;
        n += 1;
    }
    (if i & 1 == 0 { 1.0 } else { -1.0 }) / factorial
}

lanes!(
    f32,
    f32s,
    m32s,
    F32_LANES,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    add_f32s,
    sub_f32s,
    mul_f32s,
    div_f32s,
    min_f32s,
    max_f32s,
    reduce_min_f32s,
    reduce_max_f32s,
    abs_f32s,
    sqrt_f32s,
    less_than_f32s,
    less_than_or_equal_f32s,
    and_m32s,
    or_m32s,
    select_f32s,
    WORDS,
    _mm256_movemask_ps,
    _mm512_maskz_compress_ps,
    u16,
    b16,
    _mm512_mask_cmp_ps_mask,
    _mm512_permutexvar_ps,
    8_388_608.0,
    (|numbers: [u32; 8], word: usize| numbers[word]),
    [1, 2, 4, 8],
    u32,
    [sine(6) as f32, sine(5) as f32, sine(4) as f32, sine(3) as f32, sine(2) as f32, sine(1) as f32, 1.0],
    fn steps<S: Simd>(simd: S, scale: f32, offset: f32) -> [S::f32s; 2] {
        let offset = (offset as i32 as u32).wrapping_sub(NEAREST.to_bits());
        [simd.splat_f32s(scale), simd.transmute_f32s_u32s(simd.splat_u32s(offset))]
    },
    fn entries_of<S: Simd>(simd: S, z: S::f32s, [scale, offset]: [S::f32s; 2]) -> S::f32s {
        let below = if fuses(simd) {
            // Rounded once, like the product in f64.
            simd.mul_add_f32s(z, scale, simd.splat_f32s(-0.5))
        } else {
            let mut below = z;
            let numbers: &mut [f32] = cast_slice_mut(slice::from_mut(&mut below));
            let scale: &[f32] = cast_slice(slice::from_ref(&scale));
            for (z, &scale) in numbers.iter_mut().zip(scale) {
                *z = (f64::from(*z) * f64::from(scale) - 0.5) as f32;
            }
            below
        };
        let nearest = simd.transmute_u32s_f32s(simd.add_f32s(below, simd.splat_f32s(NEAREST)));
        let steps = simd.add_u32s(nearest, simd.transmute_u32s_f32s(offset));
        simd.transmute_f32s_u32s(simd.wrapping_dyn_shl_u32s(steps, simd.splat_u32s(ENTRY_SHIFT)))
    },
    (f32::to_bits)
);

lanes!(
    f64,
    f64s,
    m64s,
    F64_LANES,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    add_f64s,
    sub_f64s,
    mul_f64s,
    div_f64s,
    min_f64s,
    max_f64s,
    reduce_min_f64s,
    reduce_max_f64s,
    abs_f64s,
    sqrt_f64s,
    less_than_f64s,
    less_than_or_equal_f64s,
    and_m64s,
    or_m64s,
    select_f64s,
    PAIRS,
    _mm256_movemask_pd,
    _mm512_maskz_compress_pd,
    u8,
    b8,
    _mm512_mask_cmp_pd_mask,
    _mm512_permutexvar_pd,
    4_503_599_627_370_496.0,
    (|numbers: [u32; 8], word: usize| numbers[word & !1] << 1 | (word & 1) as u32),
    [1, 0, 2, 0],
    u64,
    [sine(11), sine(10), sine(9), sine(8), sine(7), sine(6), sine(5), sine(4), sine(3), sine(2), sine(1), 1.0],
    fn steps<S: Simd>(simd: S, scale: f64, offset: f64) -> [S::f64s; 2] {
        [simd.splat_f64s(scale), simd.splat_f64s(offset)]
    },
    fn entries_of<S: Simd>(simd: S, z: S::f64s, [scale, offset]: [S::f64s; 2]) -> S::f64s {
        // 2^52: a number from 0 to this, added to it, leaves its nearest whole number in the low
        // bits.
        let whole = simd.splat_f64s(4_503_599_627_370_496.0);
        let above = simd.add_f64s(simd.mul_f64s(z, scale), offset);
        let nearest = simd.sub_f64s(simd.add_f64s(above, whole), whole);
        let one_below = simd.sub_f64s(nearest, simd.splat_f64s(1.0));
        let below = simd.select_f64s(simd.less_than_f64s(above, nearest), one_below, nearest);
        simd.add_f64s(simd.mul_f64s(below, simd.splat_f64s(f64::from(1 << ENTRY_SHIFT))), whole)
    },
    (|number: f64| number.to_bits() as u32)
);

/// Which words go where, a byte each: for each set of four lanes of two words, the lanes in it one
/// after the other, and for each of eight of one word.
#[cfg(target_arch = "x86_64")]
pub(crate) const PAIRS: [u64; 16] = packings(2);
pub(crate) const WORDS: [u64; 256] = packings(1);

const fn packings<const SETS: usize>(words: u32) -> [u64; SETS] {
    let mut table = [0; SETS];
    let mut bits = 0;
    while bits < SETS {
        let (mut word, mut to) = (0, 0);
        while word < 8 {
            if bits >> (word / words) & 1 == 1 {
                table[bits] |= (word as u64) << (8 * to);
                to += 1;
            }
            word += 1;
        }
        bits += 1;
    }
    table
}

/// Which bytes of 16 go where, of lanes of so many: for each set of lanes, those in it one after
/// the other.
#[cfg(target_arch = "aarch64")]
pub(crate) const fn bytes_of<const SETS: usize>(bytes_a_lane: usize) -> [[u8; 16]; SETS] {
    let mut table = [[0; 16]; SETS];
    let mut bits = 0;
    while bits < SETS {
        let (mut byte, mut to) = (0, 0);
        while byte < 16 {
            if bits >> (byte / bytes_a_lane) & 1 == 1 {
                table[bits][to] = byte as u8;
                to += 1;
            }
            byte += 1;
        }
        bits += 1;
    }
    table
}

/// Writes where the lanes are whose bits are set, of a vector whose first lane is `first`, and
/// leavings behind them.
#[inline(always)]
pub(crate) fn pack_places<S: Simd>(simd: S, bits: u32, first: u32, to: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(v4) = known::<S, pulp::x86::V4>(simd) {
        // In one go: whether there are any beyond the eighth lane is a branch that nothing
        // foretells.
        const LANES: [i32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        let avx512 = v4.avx512f;
        let places = avx512._mm512_add_epi32(avx512._mm512_set1_epi32(first as i32), pulp::cast(LANES));
        let packed = avx512._mm512_maskz_compress_epi32(bits as u16, places);
        to[..16].copy_from_slice(&pulp::cast::<_, [u32; 16]>(packed));
        return bits.count_ones() as usize;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = known::<S, pulp::x86::V3>(simd) {
        let avx2 = v3.avx2;
        let lanes = avx2._mm256_cvtepu8_epi32(pulp::cast([WORDS[bits as usize % 256], 0]));
        let places = avx2._mm256_add_epi32(v3.avx._mm256_set1_epi32(first as i32), lanes);
        to[..8].copy_from_slice(&pulp::cast::<_, [u32; 8]>(places));
        return bits.count_ones() as usize;
    }
    let _ = simd;
    // Vectors of no more than eight lanes. All places are made before one is written, so that the
    // compiler makes a vector of them.
    let places = WORDS[bits as usize % 256].to_le_bytes().map(|place| u32::from(place) + first);
    to[..8].copy_from_slice(&places);
    bits.count_ones() as usize
}

/// Whether a machine's vectors are those of AVX-512.
#[inline(always)]
pub(crate) fn avx512<S: Simd>(simd: S) -> bool {
    #[cfg(target_arch = "x86_64")]
    return known::<S, pulp::x86::V4>(simd).is_some();
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = simd;
        false
    }
}

/// Whether vectors have a product and a sum that are rounded once.
#[inline(always)]
pub(crate) fn fuses<S: Simd>(simd: S) -> bool {
    #[cfg(target_arch = "x86_64")]
    return known::<S, pulp::x86::V3>(simd).is_some() || known::<S, pulp::x86::V4>(simd).is_some();
    #[cfg(target_arch = "aarch64")]
    return known::<S, pulp::aarch64::Neon>(simd).is_some();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = simd;
        false
    }
}

/// This machine's vectors, or what they are made of, where they are these.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn known<S: Any, V: Any + Copy>(simd: S) -> Option<V> {
    (&simd as &dyn Any).downcast_ref().copied()
}

/// Shift of steps, in entries and words.
pub(crate) const ENTRY_SHIFT: u32 = u16::BITS - OFFSET_STEPS.ilog2();

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
