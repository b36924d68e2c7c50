//! Numbers in the lanes of a vector of this machine, with operators. Each lane is computed by
//! itself, so its bits do not depend on the number of lanes.

use std::ops::{Add, Div, Mul, Sub};

use pulp::Simd;

/// As many numbers as a vector of this machine holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<S: Simd> {
    simd: S,
    lanes: S::f64s,
}

impl<S: Simd> Vector<S> {
    #[inline(always)]
    pub(super) fn all(simd: S, number: f64) -> Self {
        Self { simd, lanes: simd.splat_f64s(number) }
    }

    /// The first numbers of a slice.
    #[inline(always)]
    pub(super) fn load(simd: S, from: &[f64]) -> Self {
        Self { simd, lanes: S::as_simd_f64s(&from[..S::F64_LANES]).0[0] }
    }

    #[inline(always)]
    pub(super) fn store(self, to: &mut [f64]) {
        S::as_mut_simd_f64s(&mut to[..S::F64_LANES]).0[0] = self.lanes;
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        Self { lanes: self.simd.abs_f64s(self.lanes), ..self }
    }

    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        Self { lanes: self.simd.sqrt_f64s(self.lanes), ..self }
    }

    #[inline(always)]
    pub(super) fn at_least(self, low: f64) -> Self {
        let low = Self::all(self.simd, low);
        self.below(low, low, self)
    }

    #[inline(always)]
    pub(super) fn at_most(self, high: f64) -> Self {
        let high = Self::all(self.simd, high);
        high.below(self, high, self)
    }

    /// One of two numbers in each lane: the first where this one is less than `limit`.
    #[inline(always)]
    pub(super) fn below(self, limit: Self, one: Self, other: Self) -> Self {
        let is_below = self.simd.less_than_f64s(self.lanes, limit.lanes);
        Self { lanes: self.simd.select_f64s(is_below, one.lanes, other.lanes), ..self }
    }
}

macro_rules! operators {
    ($($Operator:ident, $operator:ident, $compute:ident;)*) => {$(
        impl<S: Simd> $Operator for Vector<S> {
            type Output = Self;

            #[inline(always)]
            fn $operator(self, other: Self) -> Self {
                Self { lanes: self.simd.$compute(self.lanes, other.lanes), ..self }
            }
        }
    )*};
}

operators! {
    Add, add, add_f64s;
    Sub, sub, sub_f64s;
    Mul, mul, mul_f64s;
    Div, div, div_f64s;
}
