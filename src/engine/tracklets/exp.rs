//! The exponential function, with the same bits on every machine.

/// exp(x) for x <= 0, to 1e-11. 0 below -700.
#[inline(always)]
pub(crate) fn exp_below_0(x: f64) -> f64 {
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let x = if x < -700.0 { -700.0 } else { x };
    // x = k ln 2 + rest.
    let sum = x * std::f64::consts::LOG2_E + WHOLE;
    let k = sum - WHOLE;
    let rest = (x - k * 0.693_147_180_369_123_8) - k * 1.908_214_929_270_587_7e-10;
    let mut series = 1.0 / 3_628_800.0;
    for term in [362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        series = series * rest + 1.0 / term;
    }
    let power = f64::from_bits(((sum.to_bits() << 52).wrapping_add(1023 << 52)) & (0x7ff << 52));
    if x <= -700.0 { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        for i in 0..70_000 {
            let x = -0.01 * f64::from(i) + 0.001;
            let x = x.min(0.0);
            assert!((exp_below_0(x) / x.exp() - 1.0).abs() < 1e-11, "{x}: {} of {}", exp_below_0(x), x.exp());
        }
        assert_eq!((exp_below_0(0.0), exp_below_0(-1e9), exp_below_0(f64::NEG_INFINITY)), (1.0, 0.0, 0.0));
    }
}
