//! Functions of eight numbers at once, with the same bits on every machine.

use std::f64::consts::{FRAC_2_PI, LOG2_E};

use crate::engine::tracklets::lanes::Eight;

/// Added to a number, rounds it to a whole number, which the low bits of the sum are.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// exp(x) for x from -700 to 0, to 1e-9. Other numbers have unspecified results.
#[inline(always)]
pub(super) fn exp_below_0(x: Eight) -> Eight {
    // x = k ln 2 + rest.
    let sum = x * Eight::all(LOG2_E) + Eight::all(WHOLE);
    let k = sum - Eight::all(WHOLE);
    let rest = (x - k * Eight::all(0.693_147_180_369_123_8)) - k * Eight::all(1.908_214_929_270_587_7e-10);
    let square = rest * rest;
    let even = series(square, [40_320.0, 720.0, 24.0, 2.0, 1.0]);
    let odd = series(square, [5_040.0, 120.0, 6.0, 1.0]);
    let power = sum.map_bits(|bits| (bits << 52).wrapping_add(1023 << 52));
    (even + rest * odd) * power
}

/// Sine and cosine of azimuths from -100 to 100, to 1e-11.
#[inline(always)]
pub(super) fn sin_cos(phi: Eight) -> [Eight; 2] {
    // phi = k quarter turns + rest.
    let sum = phi * Eight::all(FRAC_2_PI) + Eight::all(WHOLE);
    let k = sum - Eight::all(WHOLE);
    let rest = (phi - k * Eight::all(1.570_796_326_734_125_6)) - k * Eight::all(6.077_100_506_506_192e-11);
    let square = rest * rest;
    let sine = rest * series(square, [-39_916_800.0, 362_880.0, -5_040.0, 120.0, -6.0, 1.0]);
    let cosine = series(square, [479_001_600.0, -3_628_800.0, 40_320.0, -720.0, 24.0, -2.0, 1.0]);
    // Quarter turns exchange the two and change their signs.
    let is_odd = sum.map_bits(|bits| (bits & 1) * 1f64.to_bits());
    let flip = |of: Eight, by: u64| of.flip_sign(sum, by);
    [flip(Eight::choose(is_odd, cosine, sine), 0), flip(Eight::choose(is_odd, sine, cosine), 1)]
}

/// The sum of the powers of x, each divided by its number: the highest power first.
#[inline(always)]
fn series<const TERMS: usize>(x: Eight, divisors: [f64; TERMS]) -> Eight {
    let mut sum = Eight::all(1.0 / divisors[0]);
    for divisor in &divisors[1..] {
        sum = sum * x + Eight::all(1.0 / divisor);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        for i in 0..70_000 {
            let x = (-0.01 * f64::from(i) + 0.001).min(0.0);
            let found = exp_below_0(Eight::all(x)).0[i as usize % Eight::LANES];
            assert!((found / x.exp() - 1.0).abs() < 1e-9, "{x}: {found} of {}", x.exp());
        }
        assert_eq!(exp_below_0(Eight::all(0.0)), Eight::all(1.0));
    }

    #[test]
    fn they_are_sine_and_cosine() {
        for i in -10_000..10_000 {
            let phi = 0.01 * f64::from(i);
            let [sin, cos] = sin_cos(Eight::all(phi)).map(|lanes| lanes.0[0]);
            assert!((sin - phi.sin()).abs() < 1e-11 && (cos - phi.cos()).abs() < 1e-11, "{phi}: {sin}, {cos}");
        }
    }
}
