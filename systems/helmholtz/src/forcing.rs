//! The problem of the helmholtz report: -div grad u + u = f, solved by u = cos(2 pi x) cos(2 pi y)
//! cos(2 pi z).

use std::f64::consts::{PI, TAU};

use crate::mesh::{Mesh, Number};

/// The ratio of the forcing to the solution: 1 + 12 pi^2.
pub const AMPLITUDE: f64 = 1.0 + 12.0 * PI * PI;

/// Coefficients of the series of cos(2 pi a) in a squared: (-1)^k (2 pi)^2k / (2k)!.
const COSINE: [f64; 9] = [
    1.0,
    -19.739208802178716,
    64.9393940226683,
    -85.45681720669373,
    60.24464137187666,
    -26.4262567833744,
    7.903536371318469,
    -1.714390711088672,
    0.28200596845579123,
];
/// Of sin(2 pi a) / a: (-1)^k (2 pi)^(2k + 1) / (2k + 1)!.
const SINE: [f64; 9] = [
    TAU,
    -41.34170224039976,
    81.60524927607506,
    -76.70585975306139,
    42.058693944897655,
    -15.09464257682299,
    3.819952584848282,
    -0.7181223017785006,
    0.10422916220813984,
];

const COSINE_F32: [f32; 6] = [1.0, -19.739_208, 64.939_39, -85.456_82, 60.244_64, -26.426_256];
const SINE_F32: [f32; 5] = [TAU as f32, -41.341_7, 81.605_25, -76.705_86, 42.058_693];

/// Returns cos(2 pi x) with an error of at most 2 units in the last place.
///
/// The distances to the nearest integer and then to the nearest quarter are exact. The remaining
/// eighth of a turn uses the series of the cosine or of the sine. All operations are rounded sums
/// and products, so the bits are the same on every machine.
#[must_use]
#[inline(always)]
pub fn cos_turns(x: f64) -> f64 {
    let mut a = (x - x.round_ties_even()).abs();
    let is_negative = a > 0.25;
    if is_negative {
        a = 0.5 - a;
    }
    let value = if a > 0.125 {
        let b = 0.25 - a;
        b * horner(b * b, SINE)
    } else {
        horner(a * a, COSINE)
    };
    if is_negative { -value } else { value }
}

/// Returns cos(2 pi x) in f32; see [`cos_turns`].
#[must_use]
#[inline(always)]
pub fn cos_turns_f32(x: f32) -> f32 {
    let mut a = (x - x.round_ties_even()).abs();
    let is_negative = a > 0.25;
    if is_negative {
        a = 0.5 - a;
    }
    let value = if a > 0.125 {
        let b = 0.25 - a;
        b * horner(b * b, SINE_F32)
    } else {
        horner(a * a, COSINE_F32)
    };
    if is_negative { -value } else { value }
}

#[inline(always)]
fn horner<T: Number, const N: usize>(q: T, coefficients: [T; N]) -> T {
    let mut value = coefficients[N - 1];
    for k in (0..N - 1).rev() {
        value = value * q + coefficients[k];
    }
    value
}

/// Returns cos(2 pi x) cos(2 pi y) of each vertex. The solution at a node is the product of this
/// and the factor of its level ([`level_factors`]).
#[must_use]
pub fn vertex_factors<T: Number>(mesh: &Mesh) -> Vec<T> {
    mesh.vertices().iter().map(|&[x, y]| T::from_f64(cos_turns(x) * cos_turns(y))).collect()
}

/// Returns `amplitude` times cos(2 pi z) of each level. The amplitude is [`AMPLITUDE`] for the
/// forcing and 1 for the solution.
#[must_use]
pub fn level_factors<T: Number>(mesh: &Mesh, amplitude: f64) -> Vec<T> {
    (0..mesh.levels()).map(|level| T::from_f64(amplitude * cos_turns(mesh.z(level)))).collect()
}

/// Returns u at every node. It solves the problem on a box with sides at multiples of half a unit,
/// where its normal derivative is zero.
#[must_use]
pub fn exact_solution<T: Number>(mesh: &Mesh) -> Vec<T> {
    let levels: Vec<T> = level_factors(mesh, 1.0);
    let vertices: Vec<T> = vertex_factors(mesh);
    vertices.iter().flat_map(|&vertex| levels.iter().map(move |&level| vertex * level)).collect()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_1_SQRT_2;

    use super::*;

    /// From a computation with 60 digits, rounded.
    const KNOWN: [(f64, f64); 22] = [
        (0.0, 1.0),
        (0.03125, 0.9807852804032304),
        (0.1, 0.8090169943749475),
        (0.12, 0.7289686274214116),
        (0.125, FRAC_1_SQRT_2),
        (0.13, 0.6845471059286886),
        (0.2, 0.30901699437494734),
        (0.24, 0.06279051952931343),
        (0.24999999999, 6.28318582705267e-11),
        (0.2500001, -6.28318530735985e-07),
        (0.26, -0.06279051952931343),
        (0.375, -FRAC_1_SQRT_2),
        (0.4, -0.8090169943749475),
        (0.49, -0.9980267284282716),
        (0.5, -1.0),
        (0.6, -0.8090169943749475),
        (0.9, 0.8090169943749475),
        (-0.3, -0.30901699437494734),
        (1.1, 0.8090169943749471),
        (9.95, 0.9510565162951522),
        (-123.456, -0.9620276715860911),
        (1e15 + 0.125, FRAC_1_SQRT_2),
    ];

    fn ulp(value: f64) -> f64 {
        value.abs().next_up() - value.abs()
    }

    #[test]
    fn cosines_are_good_to_two_units() {
        for (x, wanted) in KNOWN {
            let found = cos_turns(x);
            assert!((found - wanted).abs() <= 2.0 * ulp(wanted), "{x}: {found}, not {wanted}");
        }
        assert_eq!((cos_turns(0.25), cos_turns(-0.75), cos_turns(1e300)), (0.0, 0.0, 1.0));
        assert!(cos_turns(f64::NAN).is_nan() && cos_turns(f64::INFINITY).is_nan());
    }

    #[test]
    fn cosines_in_f32_are_good_to_two_units() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let x = (rng.f32() - 0.5) * 64.0;
            let (found, wanted) = (f64::from(cos_turns_f32(x)), cos_turns(f64::from(x)));
            let unit = f64::from((wanted.abs() as f32).next_up() - wanted.abs() as f32);
            assert!((found - wanted).abs() <= 2.0 * unit, "{x}: {found}, not {wanted}");
        }
        assert_eq!((cos_turns_f32(0.25), cos_turns_f32(0.5), cos_turns_f32(1e30)), (0.0, -1.0, 1.0));
    }
}
