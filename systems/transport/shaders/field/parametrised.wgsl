// The parametrisation of the CMS solenoid. Swapped with field/uniform.wgsl and field/map.wgsl. CPU
// twin: src/field.rs, whose lines these are.

// Field [T], lengths and positions [m]. The compiler computes derived constants.
const COIL_P0 = 4.24326;
const COIL_P1 = 15.0201;
const COIL_P2 = 3.81492;
const COIL_P3 = 0.0178712;
const COIL_P4 = 0.000656527;
const COIL_P5 = 2.45818;
const COIL_P6 = 0.00778695;
const COIL_P7 = 2.12500;
const COIL_P8 = 1.77436;
const COIL_RATIO = 2.0 * COIL_P0 / COIL_P1;
const COIL_H = 0.5 * COIL_P2 * sqrt(1.0 + COIL_RATIO * COIL_RATIO);
const COIL_L = 1.0 / COIL_RATIO;
const COIL_A = 2.0 * COIL_L / COIL_P1;

// u / sqrt(1 + u^2) and its derivatives.
fn derivatives(u: f32) -> vec4<f32> {
    let root = inverseSqrt(1.0 + u * u);
    let inverse = root * root;
    let f1 = inverse * root;
    let f2 = -(3.0 * u * f1 * inverse);
    let f3 = -(3.0 * f1 * inverse * inverse) * (1.0 - 4.0 * u * u);
    return vec4<f32>(u * root, f1, f2, f3);
}

fn end_of_coil(z: f32) -> f32 {
    let distance = (z - COIL_P7) * (1.0 / COIL_P8);
    return exp(-(distance * distance));
}

// At a place [mm], the field [T].
fn field_at(place: vec3<f32>) -> vec3<f32> {
    let x = 1e-3 * place.x;
    let y = 1e-3 * place.y;
    let z = 1e-3 * place.z - COIL_P3;
    let r_square = x * x + y * y;
    let f_u = derivatives(COIL_L - z * COIL_A);
    let f_v = derivatives(COIL_L + z * COIL_A);
    let square = (0.25 * COIL_A * COIL_A) * r_square;
    let from_bend = (abs(z) - COIL_P5) * (abs(z) - COIL_P5);
    // Br over r: nothing is divided by r, which may be 0.
    let br = (COIL_H * 0.5 * COIL_A) * (f_u.y - f_v.y - 0.5 * (f_u.w - f_v.w) * square) + COIL_P4 * z * from_bend;
    let bz = COIL_H * (f_u.x + f_v.x - (f_u.z + f_v.z) * square) - COIL_P6 * (end_of_coil(z) + end_of_coil(-z));
    return vec3<f32>(br * x, br * y, bz);
}
