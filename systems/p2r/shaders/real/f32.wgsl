// The number type of the arithmetic: 32 bits. Swapped with real/f64.wgsl. Compilers may assume that
// numbers are numbers: whether they are is asked of their bits.

alias real = f32;
const INFINITE: u32 = 0x7f800000u; // the bits of no finite number, without the sign

fn is_finite(x: real) -> bool {
    return (bitcast<u32>(x) & INFINITE) != INFINITE;
}

// Whether low < x < high, both above 0.
fn is_between(x: real, low: real, high: real) -> bool {
    let bits = bitcast<u32>(x);
    return (bits > bitcast<u32>(low)) & (bits < bitcast<u32>(high));
}

const LEAST: real = 1e-37;
const MOST: real = 3e38;

fn inverse_root(x: real) -> real {
    return inverseSqrt(x);
}

// Sine and cosine that are accurate and the same on every device. A device's own functions promise
// neither. CPU twin: `sine_cosine`.
fn sine_cosine(x: real) -> vec2<real> {
    let turns = round(x * 0.636619772);
    let r = (x - turns * 1.57079637) + turns * 4.37113900e-8;
    let q = r * r;
    let sine = r + r * q * (-0.166666667 + q * (0.00833333333 + q * (-0.000198412698 + q * 2.75573192e-6)));
    let cosine = 1.0 + q * (-0.5 + q * (0.0416666667 + q * (-0.00138888889 + q * 2.48015873e-5)));
    let quarter = i32(turns) & 3;
    let both = select(vec2<real>(sine, cosine), vec2<real>(cosine, sine), (quarter & 1) == 1);
    return vec2<real>(select(both.x, -both.x, quarter > 1), select(both.y, -both.y, (quarter == 1) | (quarter == 2)));
}

// atan(x) / x. The angle is halved twice; four terms of the series then suffice. CPU twin:
// `arctangent_ratio`.
fn arctangent_ratio(x: real) -> real {
    let first = 1.0 + sqrt(1.0 + x * x);
    let half = x / first;
    let second = 1.0 + sqrt(1.0 + half * half);
    let quarter = half / second;
    let q = quarter * quarter;
    let series = 1.0 + q * (-0.333329491539 + q * (0.199777106478 + q * (-0.138776856032 + q * 0.0805374449538)));
    return 4.0 / (first * second) * series;
}
