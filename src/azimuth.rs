//! The azimuth of a point, column by column: libm's `atan2` takes one point at a time and more time
//! than all the rest of a reader.
//!
//! The angle between the point and the nearer axis is at most pi/4; where it is above pi/8, the
//! angle to the diagonal is taken instead, so that the tangent q is at most tan(pi/8) = 0.414.
//! There atan(q) is its odd polynomial to degree 23, which a whole multiple of pi/4 is added to.
//! Nothing branches, and products and sums are rounded one by one, so that every instruction set
//! gives the same bits, one point or a column of them.

use std::f64::consts::FRAC_PI_4;

use pulp::{Arch, NullaryFnOnce};

const TAN_PI_8: f64 = 0.414_213_562_373_095_03;

/// pi/4 - [`FRAC_PI_4`].
const FRAC_PI_4_REST: f64 = 3.061_616_997_868_383e-17;

/// (atan(q) / q - 1) / q^2 as a polynomial in q^2, interpolated at the 11 Chebyshev nodes of
/// `0..=tan(pi/8)^2`: atan is right to 7e-18 of itself, before rounding.
const ATAN: [f64; 11] = [
    -0.333_333_333_333_333_3,
    0.199_999_999_999_955_2,
    -0.142_857_142_846_665_42,
    0.111_111_110_152_563_61,
    -0.090_909_045_781_239_03,
    0.076_921_831_908_260_87,
    -0.066_645_114_473_819_48,
    0.058_581_489_128_022_1,
    -0.050_854_497_379_402_6,
    0.039_231_658_295_587_19,
    -0.019_176_887_119_062_26,
];

/// Distance from the z axis and azimuth in (-pi, pi]; NaN where both are zero or infinite.
#[inline(always)]
fn polar(x: f64, y: f64) -> (f64, f64) {
    let steep = y.abs() > x.abs();
    let (short, long) = if steep { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    let diagonal = short > TAN_PI_8 * long;
    let (opposite, adjacent) = if diagonal { (short - long, short + long) } else { (short, long) };
    let q = opposite / adjacent;
    let s = q * q;
    let mut sum = ATAN[10];
    for &coefficient in ATAN[..10].iter().rev() {
        sum = sum * s + coefficient;
    }
    let atan = q + q * (s * sum);

    // Each choice hangs on one comparison of numbers: this the compiler does without a branch.
    let forward = if x < 0.0 { -1.0 } else { 1.0 };
    let turn = if steep { -forward } else { forward };
    let axis = if steep { 2.0 } else { 2.0 - 2.0 * forward };
    let eighths = axis + if diagonal { turn } else { 0.0 };
    let phi = eighths * FRAC_PI_4 + (turn * atan + eighths * FRAC_PI_4_REST);
    ((x * x + y * y).sqrt(), phi.copysign(y))
}

/// Returns the distance from the z axis and the azimuth in [-pi, pi]. The azimuth is `y.atan2(x)`
/// except for its last bits.
#[inline]
pub(crate) fn rho_phi(x: f64, y: f64) -> (f64, f64) {
    let (rho, phi) = polar(x, y);
    if phi.is_nan() { (rho, y.atan2(x)) } else { (rho, phi) }
}

/// Turns columns of x and y \[mm\] into rho \[mm\] and phi \[rad\] in place, with the bits of
/// [`Spacepoint::from_xyz`](crate::Spacepoint::from_xyz). phi is NaN where rho is zero, infinite or
/// NaN. Of columns of different lengths, the elements that have no partner stay.
///
/// ```
/// let (mut x, mut y) = ([3.0, 0.0], [4.0, -2.0]);
/// zfinder::columns::rho_phi_columns(&mut x, &mut y);
/// assert_eq!((x, y[1]), ([5.0, 2.0], -std::f64::consts::FRAC_PI_2));
/// ```
pub fn rho_phi_columns(x: &mut [f64], y: &mut [f64]) {
    Arch::new().dispatch(RhoPhiColumns(x, y));
}

struct RhoPhiColumns<'a>(&'a mut [f64], &'a mut [f64]);

impl NullaryFnOnce for RhoPhiColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (x, y) in self.0.iter_mut().zip(self.1) {
            (*x, *y) = polar(*x, *y);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn check(x: f64, y: f64) {
        let (rho, phi) = rho_phi(x, y);
        let wanted = y.atan2(x);
        assert_eq!(rho.to_bits(), (x * x + y * y).sqrt().to_bits(), "({x}, {y})");
        assert!((phi - wanted).abs() <= 4e-16 * wanted.abs(), "({x}, {y}): {phi}, {wanted}");
        assert_eq!(phi.is_sign_negative(), wanted.is_sign_negative(), "({x}, {y})");
        assert!(phi.abs() <= PI, "({x}, {y}): {phi}");
    }

    #[test]
    fn it_is_atan2_all_around() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..1_000_000 {
            let size = 10f64.powf(random.f64() * 12.0 - 6.0);
            check(size * (random.f64() - 0.5), size * (random.f64() - 0.5));
        }
        // Around the axes, the diagonals and the bounds of the reduction, to the last bit.
        for eighth in 0..32 {
            let (sin, cos) = (f64::from(eighth) * PI / 16.0).sin_cos();
            for step in -50i64..=50 {
                let near = |value: f64| f64::from_bits(value.to_bits().saturating_add_signed(step));
                check(near(cos), sin);
                check(cos, near(sin));
            }
        }
    }

    #[test]
    fn edges_are_as_in_atan2() {
        let values = [0.0, -0.0, 1e-310, -1e-310, 1e-30, 1.0, -1.0, 1e30, -1e30, f64::INFINITY, f64::NEG_INFINITY];
        for x in values {
            for y in values {
                let (phi, wanted) = (rho_phi(x, y).1, y.atan2(x));
                assert!((phi - wanted).abs() <= 4e-16 * wanted.abs(), "({x}, {y}): {phi}, {wanted}");
                assert_eq!(phi.is_sign_negative(), wanted.is_sign_negative(), "({x}, {y})");
            }
        }
        assert!(rho_phi(f64::NAN, 1.0).1.is_nan());
        assert!(rho_phi(1.0, f64::NAN).1.is_nan());
    }

    #[test]
    fn columns_have_the_bits_of_single_points() {
        let mut random = fastrand::Rng::with_seed(12);
        for length in [0, 1, 3, 7, 1000, 1001] {
            let mut column = || -> Vec<f64> { (0..length).map(|_| 2e3 * (random.f64() - 0.5)).collect() };
            let (mut x, mut y) = (column(), column());
            let wanted: Vec<(u64, u64)> = x
                .iter()
                .zip(&y)
                .map(|(&x, &y)| rho_phi(x, y))
                .map(|(rho, phi)| (rho.to_bits(), phi.to_bits()))
                .collect();
            rho_phi_columns(&mut x, &mut y);
            let found: Vec<_> = x.iter().zip(&y).map(|(rho, phi)| (rho.to_bits(), phi.to_bits())).collect();
            assert_eq!(found, wanted);
        }
    }
}
