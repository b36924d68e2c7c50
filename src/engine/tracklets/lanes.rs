//! Eight numbers at once. Loops over lanes become vectors where they are compiled for a machine
//! that has them; the bits are those of one number after the other.

use std::array;
use std::ops::{Add, Div, Mul, Sub};

/// Numbers that are computed together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Eight(pub(super) [f64; Self::LANES]);

impl Eight {
    pub(super) const LANES: usize = 8;

    #[inline(always)]
    pub(super) fn all(number: f64) -> Self {
        Self([number; Self::LANES])
    }

    #[inline(always)]
    fn map(self, compute: impl Fn(f64) -> f64) -> Self {
        Self(array::from_fn(|lane| compute(self.0[lane])))
    }

    #[inline(always)]
    fn zip(self, other: Self, compute: impl Fn(f64, f64) -> f64) -> Self {
        Self(array::from_fn(|lane| compute(self.0[lane], other.0[lane])))
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        self.map(f64::abs)
    }

    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }

    #[inline(always)]
    pub(super) fn at_least(self, low: f64) -> Self {
        self.map(|number| if number < low { low } else { number })
    }

    #[inline(always)]
    pub(super) fn at_most(self, high: f64) -> Self {
        self.map(|number| if number > high { high } else { number })
    }

    /// An azimuth, the shorter way round.
    #[inline(always)]
    pub(super) fn shorter(self) -> Self {
        use std::f64::consts::{PI, TAU};
        self.map(|phi| {
            let below = if phi > PI { phi - TAU } else { phi };
            if phi < -PI { phi + TAU } else { below }
        })
    }

    /// One of two numbers in each lane: the first where `choice` is 1, the second where it is 0.
    #[inline(always)]
    pub(super) fn choose(choice: Self, one: Self, zero: Self) -> Self {
        Self(array::from_fn(|lane| if choice.0[lane] > 0.5 { one.0[lane] } else { zero.0[lane] }))
    }
}

macro_rules! operators {
    ($($Operator:ident, $operator:ident, $compute:expr;)*) => {$(
        impl $Operator for Eight {
            type Output = Self;

            #[inline(always)]
            fn $operator(self, other: Self) -> Self {
                self.zip(other, $compute)
            }
        }
    )*};
}

operators! {
    Add, add, |a, b| a + b;
    Sub, sub, |a, b| a - b;
    Mul, mul, |a, b| a * b;
    Div, div, |a, b| a / b;
}
