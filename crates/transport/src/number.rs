//! Number types of the computation.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use bytemuck::Pod;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A number type of the computation: `f32`, which GPUs have, or `f64`.
pub trait Number:
    Pod
    + Into<f64>
    + PartialOrd
    + Default
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + sealed::Sealed
{
    /// `f32` or `f64`.
    const NAME: &'static str;

    /// Rounded.
    #[must_use]
    fn of(value: f64) -> Self;

    /// The square root.
    #[must_use]
    fn root(self) -> Self;

    /// e to the power of it.
    #[must_use]
    fn exp(self) -> Self;

    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;

    /// Its absolute value.
    #[must_use]
    fn magnitude(self) -> Self;

    /// To a power.
    #[must_use]
    fn power(self, exponent: Self) -> Self;

    /// The next whole number below.
    #[must_use]
    fn down(self) -> Self;

    /// The lesser of two; the other one if it is no number.
    #[must_use]
    fn least(self, other: Self) -> Self;

    /// The greater of two; the other one if it is no number.
    #[must_use]
    fn most(self, other: Self) -> Self;

    /// Whether it is neither infinite nor no number.
    #[must_use]
    fn is_a_number(self) -> bool;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            const NAME: &'static str = stringify!($type);

            fn of(value: f64) -> Self {
                value as Self
            }

            fn root(self) -> Self {
                self.sqrt()
            }

            fn exp(self) -> Self {
                self.exp()
            }

            fn ln(self) -> Self {
                self.ln()
            }

            fn magnitude(self) -> Self {
                self.abs()
            }

            fn power(self, exponent: Self) -> Self {
                self.powf(exponent)
            }

            fn down(self) -> Self {
                self.floor()
            }

            fn least(self, other: Self) -> Self {
                self.min(other)
            }

            fn most(self, other: Self) -> Self {
                self.max(other)
            }

            fn is_a_number(self) -> bool {
                self.is_finite()
            }
        }
    };
}

number!(f32);
number!(f64);

/// Three coordinates, or the components of a vector.
pub type Vector<T> = [T; 3];

pub(crate) fn plus<T: Number>(a: Vector<T>, b: Vector<T>) -> Vector<T> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(crate) fn minus<T: Number>(a: Vector<T>, b: Vector<T>) -> Vector<T> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(crate) fn times<T: Number>(factor: T, a: Vector<T>) -> Vector<T> {
    [factor * a[0], factor * a[1], factor * a[2]]
}

pub(crate) fn dot<T: Number>(a: Vector<T>, b: Vector<T>) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross<T: Number>(a: Vector<T>, b: Vector<T>) -> Vector<T> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
