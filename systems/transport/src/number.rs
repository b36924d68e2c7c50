//! Number types of the computation.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use bytemuck::Pod;
use kernel_host::Precision;

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
    /// The [`Precision`] that names this type.
    const PRECISION: Precision;

    /// Converts from f64, rounded to the nearest number.
    #[must_use]
    fn of(value: f64) -> Self;

    /// Returns the square root.
    #[must_use]
    fn root(self) -> Self;

    /// Returns e to the power of this number.
    #[must_use]
    fn exp(self) -> Self;

    /// Returns the natural logarithm.
    #[must_use]
    fn ln(self) -> Self;

    /// Returns the absolute value.
    #[must_use]
    fn magnitude(self) -> Self;

    /// Returns this number to a power.
    #[must_use]
    fn power(self, exponent: Self) -> Self;

    /// Rounds down to an integer.
    #[must_use]
    fn down(self) -> Self;

    /// Returns the lesser of two numbers, or the other one if one is NaN.
    #[must_use]
    fn least(self, other: Self) -> Self;

    /// Returns the greater of two numbers, or the other one if one is NaN.
    #[must_use]
    fn most(self, other: Self) -> Self;

    /// Returns whether the number is finite.
    #[must_use]
    fn is_a_number(self) -> bool;
}

macro_rules! number {
    ($type:ty, $precision:expr) => {
        impl Number for $type {
            const PRECISION: Precision = $precision;

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

number!(f32, Precision::F32);
number!(f64, Precision::F64);

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
