// The number type of the arithmetic: 64 bits, where the adapter has SHADER_F64. Swapped with
// real/f32.wgsl.

alias real = f64;

fn is_finite(x: real) -> bool {
    return abs(x) < 1.0e300lf;
}

// Whether low < x < high, both above 0.
fn is_between(x: real, low: real, high: real) -> bool {
    return (x > low) & (x < high);
}

const LEAST: real = 1e-300lf;
const MOST: real = 1e300lf;

fn inverse_root(x: real) -> real {
    return 1.0lf / sqrt(x);
}

// Sine and cosine to some 16 digits, by their series.
fn sine_cosine(x: real) -> vec2<real> {
    let turns = floor(x * 0.6366197723675814lf + 0.5lf);
    let r = (x - turns * 1.5707963267948966lf) - turns * 6.123233995736766e-17lf;
    let q = r * r;
    var sine = 1.0lf - q / 272.0lf;
    sine = 1.0lf - q / 210.0lf * sine;
    sine = 1.0lf - q / 156.0lf * sine;
    sine = 1.0lf - q / 110.0lf * sine;
    sine = 1.0lf - q / 72.0lf * sine;
    sine = 1.0lf - q / 42.0lf * sine;
    sine = 1.0lf - q / 20.0lf * sine;
    sine = r * (1.0lf - q / 6.0lf * sine);
    var cosine = 1.0lf - q / 306.0lf;
    cosine = 1.0lf - q / 240.0lf * cosine;
    cosine = 1.0lf - q / 182.0lf * cosine;
    cosine = 1.0lf - q / 132.0lf * cosine;
    cosine = 1.0lf - q / 90.0lf * cosine;
    cosine = 1.0lf - q / 56.0lf * cosine;
    cosine = 1.0lf - q / 30.0lf * cosine;
    cosine = 1.0lf - q / 12.0lf * cosine;
    cosine = 1.0lf - q / 2.0lf * cosine;
    let quarter = i32(turns) & 3;
    let both = select(vec2<real>(sine, cosine), vec2<real>(cosine, sine), (quarter & 1) == 1);
    return vec2<real>(select(both.x, -both.x, quarter > 1), select(both.y, -both.y, (quarter == 1) | (quarter == 2)));
}

// atan(x) / x to some 16 digits. The angle is halved three times; the series then has 13 terms.
fn arctangent_ratio(x: real) -> real {
    var part = x;
    var divisor = 1.0lf;
    for (var halving = 0u; halving < 3u; halving++) {
        let more = 1.0lf + sqrt(1.0lf + part * part);
        part /= more;
        divisor *= more;
    }
    let q = part * part;
    var series = 0.0lf;
    for (var term = 13u; term > 0u; term--) {
        series = 1.0lf / f64(2u * term - 1u) - q * series;
    }
    return 8.0lf / divisor * series;
}
