//! Figures of fields.

use helmholtz::{Number, Precision};
use rayon::prelude::*;

/// Numbers that are summed one after the other: rounding grows with their length.
const BLOCK: usize = 1 << 12;

/// The sum of what is made of each number and its fellow of another field.
pub(super) fn sum<A: Number, B: Number>(a: &[A], b: &[B], of: impl Fn(f64, f64) -> f64 + Sync) -> f64 {
    let block = |(a, b): (&[A], &[B])| -> f64 { a.iter().zip(b).map(|(&a, &b)| of(a.into(), b.into())).sum() };
    let sums: Vec<f64> = a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK)).map(block).collect();
    sums.iter().sum()
}

/// Returns the largest number. NaN is ignored here, because every sum shows it.
pub(super) fn largest<A: Number, B: Number>(a: &[A], b: &[B], of: impl Fn(f64, f64) -> f64 + Sync) -> f64 {
    a.par_iter().zip(b).map(|(&a, &b)| of(a.into(), b.into())).reduce(|| 0.0, f64::max)
}

/// How far a field is from the one that it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Distance {
    /// The largest difference, of the largest number.
    pub(super) largest: f64,
    /// The norm of the difference, of the norm.
    pub(super) norm: f64,
}

impl Distance {
    pub(super) fn of<T: Number>(found: &[T], wanted: &[f64]) -> Self {
        let difference = |found: f64, wanted: f64| found - wanted;
        let square = |number: f64| number * number;
        Self {
            largest: largest(found, wanted, |a, b| difference(a, b).abs()) / largest(wanted, wanted, |a, _| a.abs()),
            norm: (sum(found, wanted, |a, b| square(difference(a, b))) / sum(wanted, wanted, |a, _| square(a))).sqrt(),
        }
    }

    /// Whether it is no more than `most`: of the largest number in f32, of the norm in f64.
    pub(super) fn is_within<T: Number>(self, most: f64) -> bool {
        match T::PRECISION {
            Precision::F32 => self.largest <= most && self.norm.is_finite(),
            Precision::F64 => self.norm <= most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_of_the_largest_number_and_of_the_norm() {
        let wanted = [1.0, -2.0, 2.0];
        let of = |found: [f64; 3]| Distance::of(&found, &wanted);
        assert_eq!(of(wanted), Distance::default());
        let far = of([1.0, -2.0, 2.3]);
        assert!((far.largest - 0.15).abs() < 1e-12 && (far.norm - 0.1).abs() < 1e-12, "{far:?}");
        assert!(far.is_within::<f32>(0.16) && !far.is_within::<f32>(0.14));
        assert!(far.is_within::<f64>(0.11) && !far.is_within::<f64>(0.09));
        let none = of([f64::NAN, -2.0, 2.0]);
        assert!(!none.is_within::<f32>(1.0) && !none.is_within::<f64>(1.0));
    }

    #[test]
    fn sums_are_of_all() {
        let field: Vec<f32> = (0..10_000).map(|i| i as f32).collect();
        assert_eq!(sum(&field, &field, |a, _| a), 49_995_000.0);
        assert_eq!(largest(&field, &field, |a, b| a + b), 19_998.0);
    }
}
