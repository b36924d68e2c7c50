//! As many f32 as a vector of this machine holds, with operators.
//!
//! Everything is `inline(always)`: only what is inlined into the function that was chosen for this
//! machine is compiled for its vectors.

use std::ops::{Add, Mul, Neg, Sub};

use pulp::Simd;

/// A vector of f32.
pub(super) struct Lanes<S: Simd>(S, S::f32s);

impl<S: Simd> Clone for Lanes<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd> Copy for Lanes<S> {}

macro_rules! operator {
    ($name:ident, $function:ident, $of_lanes:ident) => {
        impl<S: Simd> $name for Lanes<S> {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                Self(self.0, self.0.$of_lanes(self.1, other.1))
            }
        }
    };
}

operator!(Add, add, add_f32s);
operator!(Sub, sub, sub_f32s);
operator!(Mul, mul, mul_f32s);

impl<S: Simd> Neg for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0, self.0.neg_f32s(self.1))
    }
}

impl<S: Simd> Lanes<S> {
    pub(super) const COUNT: usize = S::F32_LANES;

    #[inline(always)]
    pub(super) fn splat(simd: S, value: f32) -> Self {
        Self(simd, simd.splat_f32s(value))
    }

    /// The first [`Lanes::COUNT`] of a slice.
    #[inline(always)]
    pub(super) fn load(simd: S, from: &[f32]) -> Self {
        Self(simd, S::as_simd_f32s(&from[..Self::COUNT]).0[0])
    }

    #[inline(always)]
    pub(super) fn store(self, to: &mut [f32]) {
        S::as_mut_simd_f32s(&mut to[..Self::COUNT]).0[0] = self.1;
    }

    /// The same in all lanes.
    #[inline(always)]
    pub(super) fn all(self, value: f32) -> Self {
        Self::splat(self.0, value)
    }

    /// self * factor + term, rounded once where the machine does that.
    #[inline(always)]
    pub(super) fn times_plus(self, factor: Self, term: Self) -> Self {
        Self(self.0, self.0.mul_add_e_f32s(self.1, factor.1, term.1))
    }

    /// Returns term - self * factor, rounded once where the machine does that.
    #[inline(always)]
    pub(super) fn times_from(self, factor: Self, term: Self) -> Self {
        (-self).times_plus(factor, term)
    }

    #[inline(always)]
    pub(super) fn over(self, divisor: Self) -> Self {
        Self(self.0, self.0.div_f32s(self.1, divisor.1))
    }

    #[inline(always)]
    pub(super) fn root(self) -> Self {
        Self(self.0, self.0.sqrt_f32s(self.1))
    }

    #[inline(always)]
    pub(super) fn absolute(self) -> Self {
        Self(self.0, self.0.abs_f32s(self.1))
    }

    #[inline(always)]
    pub(super) fn below(self, other: Self) -> Mask<S> {
        Mask(self.0, self.0.less_than_f32s(self.1, other.1))
    }

    #[inline(always)]
    pub(super) fn at_most(self, other: Self) -> Mask<S> {
        Mask(self.0, self.0.less_than_or_equal_f32s(self.1, other.1))
    }

    /// Sine and cosine: the same series as in shaders/real/f32.wgsl.
    #[inline(always)]
    pub(super) fn sine_cosine(self) -> (Self, Self) {
        let n = |value: f32| self.all(value);
        // Rounded to a whole number, which then is in the lowest bits.
        let shifted = self.times_plus(n(std::f32::consts::FRAC_2_PI), n(12_582_912.0));
        let turns = shifted - n(12_582_912.0);
        let r = turns.times_plus(n(4.371_139e-8), turns.times_from(n(std::f32::consts::FRAC_PI_2), self));
        let q = r * r;
        let sine = q
            .times_plus(n(2.755_731_9e-6), n(-1.984_127e-4))
            .times_plus(q, n(8.333_333e-3))
            .times_plus(q, n(-0.166_666_67));
        let sine = sine.times_plus(r * q, r);
        let cosine = q
            .times_plus(n(2.480_158_7e-5), n(-1.388_888_9e-3))
            .times_plus(q, n(0.041_666_668))
            .times_plus(q, n(-0.5))
            .times_plus(q, n(1.0));
        let simd = self.0;
        let word = |value: u32| simd.splat_u32s(value);
        let quarter = simd.transmute_u32s_f32s(shifted.1);
        let odd = Mask(simd, simd.less_than_u32s(word(0), simd.and_u32s(quarter, word(1))));
        let sign = |of: S::u32s| simd.wrapping_dyn_shl_u32s(simd.and_u32s(of, word(2)), word(30));
        let signed = |value: Self, sign: S::u32s| {
            Self(simd, simd.transmute_f32s_u32s(simd.xor_u32s(simd.transmute_u32s_f32s(value.1), sign)))
        };
        let sine_sign = sign(quarter);
        let cosine_sign = sign(simd.add_u32s(quarter, word(1)));
        (signed(odd.choose(cosine, sine), sine_sign), signed(odd.choose(sine, cosine), cosine_sign))
    }

    /// Returns atan(x) / x: the same series as in shaders/real/f32.wgsl.
    #[inline(always)]
    pub(super) fn arctangent_ratio(self) -> Self {
        let n = |value: f32| self.all(value);
        let one = n(1.0);
        let first = one + self.times_plus(self, one).root();
        let half = self.over(first);
        let second = one + half.times_plus(half, one).root();
        let quarter = half.over(second);
        let q = quarter * quarter;
        let series = q
            .times_plus(n(0.080_537_446), n(-0.138_776_85))
            .times_plus(q, n(0.199_777_11))
            .times_plus(q, n(-0.333_329_5))
            .times_plus(q, one);
        n(4.0).over(first * second) * series
    }
}

/// Of products.
#[inline(always)]
pub(super) fn dot<S: Simd, const N: usize>(a: [Lanes<S>; N], b: [Lanes<S>; N]) -> Lanes<S> {
    let mut sum = a[0] * b[0];
    for i in 1..N {
        sum = a[i].times_plus(b[i], sum);
    }
    sum
}

/// A choice for each lane.
pub(super) struct Mask<S: Simd>(S, S::m32s);

impl<S: Simd> Clone for Mask<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd> Copy for Mask<S> {}

impl<S: Simd> Mask<S> {
    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0, self.0.and_m32s(self.1, other.1))
    }

    #[inline(always)]
    pub(super) fn choose(self, if_true: Lanes<S>, if_false: Lanes<S>) -> Lanes<S> {
        Lanes(self.0, self.0.select_f32s(self.1, if_true.1, if_false.1))
    }

    /// The choice of one mask where this holds, and of another elsewhere.
    #[inline(always)]
    pub(super) fn either(self, if_true: Self, if_false: Self) -> Self {
        let zero = Lanes::splat(self.0, 0.0);
        let one = zero.all(1.0);
        zero.below(self.choose(if_true.choose(one, zero), if_false.choose(one, zero)))
    }

    /// In every lane.
    #[inline(always)]
    pub(super) fn everywhere(self) -> bool {
        let zero = Lanes::splat(self.0, 0.0);
        self.0.reduce_max_f32s(self.choose(zero, zero.all(1.0)).1) == 0.0
    }

    /// In some lane.
    #[inline(always)]
    pub(super) fn anywhere(self) -> bool {
        let zero = Lanes::splat(self.0, 0.0);
        self.0.reduce_max_f32s(self.choose(zero.all(1.0), zero).1) != 0.0
    }

    /// Sets a bit of the lanes where this does not hold.
    #[inline(always)]
    pub(super) fn tell_others(self, bit: u32, to: &mut [u32]) {
        let bits = self.0.select_u32s(self.1, self.0.splat_u32s(0), self.0.splat_u32s(bit));
        for (word, bit) in to.iter_mut().zip(bytemuck::cast_slice::<S::u32s, u32>(std::slice::from_ref(&bits))) {
            *word |= bit;
        }
    }
}
