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

    /// The first eight numbers of a slice.
    #[inline(always)]
    pub(super) fn load(from: &[f64]) -> Self {
        let from = &from[..Self::LANES];
        Self(array::from_fn(|lane| from[lane]))
    }

    #[inline(always)]
    pub(super) fn store(self, to: &mut [f64]) {
        to[..Self::LANES].copy_from_slice(&self.0);
    }

    /// Computes each lane from its bits.
    #[inline(always)]
    pub(super) fn map_bits(self, compute: impl Fn(u64) -> u64) -> Self {
        self.map(|number| f64::from_bits(compute(number.to_bits())))
    }

    /// The numbers with their signs changed where the whole number in the low bits of `turns`, plus
    /// `more`, is 2 or 3 modulo 4.
    #[inline(always)]
    pub(super) fn flip_sign(self, turns: Self, more: u64) -> Self {
        let flip = |number: f64, turns: f64| {
            let sign = (turns.to_bits().wrapping_add(more) & 2) << 62;
            f64::from_bits(number.to_bits() ^ sign)
        };
        self.zip(turns, flip)
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

    /// One of two numbers in each lane: the first where this one is at least `low`.
    #[inline(always)]
    pub(super) fn select_at_least(self, low: f64, one: Self, other: Self) -> Self {
        Self(array::from_fn(|lane| if self.0[lane] >= low { one.0[lane] } else { other.0[lane] }))
    }

    /// The sum of all lanes: halves, quarters, eighths.
    #[inline(always)]
    pub(super) fn sum(self) -> f64 {
        self.fold(|a, b| a + b)
    }

    #[inline(always)]
    pub(super) fn product(self) -> f64 {
        self.fold(|a, b| a * b)
    }

    #[inline(always)]
    pub(super) fn least(self) -> f64 {
        self.fold(|a, b| if b < a { b } else { a })
    }

    #[inline(always)]
    pub(super) fn most(self) -> f64 {
        self.fold(|a, b| if b > a { b } else { a })
    }

    #[inline(always)]
    fn fold(self, join: impl Fn(f64, f64) -> f64) -> f64 {
        let half: [f64; 4] = array::from_fn(|i| join(self.0[i], self.0[i + 4]));
        join(join(half[0], half[2]), join(half[1], half[3]))
    }

    #[inline(always)]
    pub(super) fn larger(self, other: Self) -> Self {
        self.zip(other, |a, b| if b > a { b } else { a })
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
