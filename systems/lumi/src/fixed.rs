//! Numbers as whole ones, and the decisions that are exact with them. Shaders do the same with two
//! words: shaders/limbs.wgsl.

use std::sync::LazyLock;

/// Of a slope: units of 2^-30, beyond 2 as 2.
pub(crate) const SLOPE_BITS: i32 = 30;
/// Of a place: units of 2^-16 mm, beyond 2^15 mm as that.
pub(crate) const PLACE_BITS: i32 = 16;

/// |value| in units of 2^-`bits`, cut off, and 2^31 at most; for a finite number.
pub(crate) fn magnitude(value: f32, bits: i32) -> u32 {
    scaled(value, bits).min(1 << 31) as u32
}

/// |value| in units of 2^-`bits`, cut off, and 2^64 - 1 at most; for a finite number.
pub(crate) fn scaled(value: f32, bits: i32) -> u64 {
    let word = value.to_bits() & 0x7fff_ffff;
    let exponent = (word >> 23) as i32;
    if exponent == 0 {
        // So small a number is 0 in fixed point.
        return 0;
    }
    let fraction = u64::from(word & 0x7f_ffff | 0x80_0000);
    match exponent - 150 + bits {
        41.. => u64::MAX,
        shift @ 0..=40 => fraction << shift,
        shift if shift > -24 => fraction >> -shift,
        _ => 0,
    }
}

fn signed(value: f32, bits: i32) -> i64 {
    let magnitude = i64::from(magnitude(value, bits));
    if value < 0.0 { -magnitude } else { magnitude }
}

/// Whether a track is less than 3 mm from the beam line: x, y where it is closest to it, and its
/// slopes.
/// |ty x - tx y| < 3 sqrt(tx^2 + ty^2), squared.
pub(crate) fn is_close(x: f32, y: f32, tx: f32, ty: f32) -> bool {
    let [x, y] = [x, y].map(|value| signed(value, PLACE_BITS));
    let [tx, ty] = [tx, ty].map(|value| signed(value, SLOPE_BITS));
    let across = (ty * x).abs_diff(tx * y);
    if across >= 1 << 50 {
        return false;
    }
    u128::from(across) * u128::from(across) < (9 * u128::from(slope_squared(tx, ty))) << (2 * PLACE_BITS)
}

/// sqrt(x^2 + y^2) < 3, squared.
pub(crate) fn is_near(x: f32, y: f32) -> bool {
    let [x, y] = [x, y].map(|value| u64::from(magnitude(value, PLACE_BITS)));
    x * x + y * y < 9 << (2 * PLACE_BITS)
}

fn slope_squared(tx: i64, ty: i64) -> u64 {
    tx.unsigned_abs().pow(2) + ty.unsigned_abs().pow(2)
}

/// tx^2 + ty^2 in units of 2^-60.
pub(crate) fn slopes_squared(tx: f32, ty: f32) -> u64 {
    slope_squared(signed(tx, SLOPE_BITS), signed(ty, SLOPE_BITS))
}

/// Pseudorapidities that bound bins, without their sign.
pub(crate) const ETAS: [f32; 4] = [2.0, 3.0, 4.0, 5.0];

/// |eta| = asinh(1 / sqrt(tx^2 + ty^2)), rounded to f32, is below the i-th of [`ETAS`] if the squared slopes are above
/// `below[i]`, and above it if they are below `above[i]`; between these it is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EtaBounds {
    pub(crate) below: [u64; 4],
    pub(crate) above: [u64; 4],
}

pub(crate) static ETA_BOUNDS: LazyLock<EtaBounds> = LazyLock::new(|| {
    let slopes = |eta: f64| (2.0 * f64::from(SLOPE_BITS)).exp2() / eta.sinh().powi(2);
    // Halfway to the next f32 rounds to the bound itself, whose last bit is even.
    let halfway = |eta: f32, next: f32| 0.5 * (f64::from(eta) + f64::from(next));
    EtaBounds {
        below: ETAS.map(|eta| slopes(halfway(eta, eta.next_down())).floor() as u64),
        above: ETAS.map(|eta| slopes(halfway(eta, eta.next_up())).ceil() as u64),
    }
});

/// The bin of a track's pseudorapidity: below -4, -3, -2, 2, 3, 4, 5, above 5. At exactly 5 it is
/// in none.
pub(crate) fn eta_bin(tx: f32, ty: f32, backward: bool) -> Option<usize> {
    let squared = slopes_squared(tx, ty);
    let EtaBounds { below, above } = *ETA_BOUNDS;
    if backward {
        return Some(if squared < above[2] {
            0
        } else if squared < above[1] {
            1
        } else if squared < above[0] {
            2
        } else {
            3
        });
    }
    (0..4).find(|&i| squared > below[i]).map(|i| 3 + i).or_else(|| (squared < above[3]).then_some(7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_off() {
        let cases = [(0.0, 30, 0), (1.0, 30, 1 << 30), (-1.5, 1, 3), (0.75, 1, 1), (1e-30, 30, 0), (3.9, 0, 3)];
        for (value, bits, wanted) in cases {
            assert_eq!(scaled(value, bits), wanted, "{value} {bits}");
        }
        assert_eq!(scaled(f32::MAX, 0), u64::MAX);
        assert_eq!(scaled(1e13, 0), 9_999_999_827_968);
        assert_eq!((magnitude(2.0, 30), magnitude(7.0, 30), magnitude(-1.0, 30)), (1 << 31, 1 << 31, 1 << 30));
        let rng = &mut fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let value = rng.f32() * f32::from(rng.u16(..));
            assert_eq!(scaled(value, 16), (f64::from(value) * 65_536.0) as u64, "{value}");
        }
    }

    #[test]
    fn decisions_are_those_of_f64() {
        let rng = &mut fastrand::Rng::with_seed(2);
        let mut close = 0;
        for _ in 0..200_000 {
            let mut between = |bound: f32| (rng.f32() * 2.0 - 1.0) * bound;
            let (x, y, tx, ty) = (between(6.0), between(6.0), between(0.3), between(0.3));
            let [a, b, c, d] = [x, y, tx, ty].map(f64::from);
            let doca = (d * a - c * b).abs() / c.hypot(d);
            if (doca - 3.0).abs() > 1e-3 {
                assert_eq!(is_close(x, y, tx, ty), doca < 3.0, "{x} {y} {tx} {ty}");
            }
            if (a.hypot(b) - 3.0).abs() > 1e-4 {
                assert_eq!(is_near(x, y), a.hypot(b) < 3.0);
            }
            close += u32::from(is_close(x, y, tx, ty));
            let eta = (1.0 / c.hypot(d)).asinh();
            for backward in [false, true] {
                let eta = if backward { -eta } else { eta };
                let edges = [-4.0, -3.0, -2.0, 2.0, 3.0, 4.0, 5.0];
                if edges.iter().all(|edge: &f64| (edge - eta).abs() > 1e-5) {
                    let wanted = edges.iter().position(|&edge| eta < edge).unwrap_or(7);
                    assert_eq!(eta_bin(tx, ty, backward), Some(wanted), "{eta}");
                }
            }
        }
        assert!(close > 20_000, "{close}");
        // Exactly three away is not less; nothing is too far or too steep.
        assert!(!is_close(3.0, 0.0, 0.0, 0.1) && is_close(2.9999, 0.0, 0.0, 0.1) && !is_near(0.0, -3.0));
        assert!(!is_close(f32::MAX, f32::MIN, f32::MAX, f32::MAX) && !is_close(0.0, 0.0, 0.0, 0.0));
    }

    #[test]
    fn five_is_in_no_bin() {
        let slope = (1.0 / 5.0_f64.sinh()) as f32;
        assert_eq!(eta_bin(slope, 0.0, false), None);
        assert_eq!(eta_bin(slope * 1.000_002, 0.0, false), Some(6));
        assert_eq!(eta_bin(slope * 0.999_998, 0.0, false), Some(7));
        assert_eq!(
            (eta_bin(slope, 0.0, true), eta_bin(0.0, 0.0, true), eta_bin(0.0, 0.0, false)),
            (Some(0), Some(0), Some(7))
        );
        // At exactly -4 it is not below.
        let slope = (1.0 / 4.0_f64.sinh()) as f32;
        assert_eq!((eta_bin(0.0, slope, true), eta_bin(0.0, slope, false)), (Some(1), Some(6)));
    }
}
