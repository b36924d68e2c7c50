// The number type of the arithmetic: 64 bits, where the adapter has SHADER_F64. Swapped with
// real/f32.wgsl.

alias real = f64;
const HALF: real = 0.5lf;

// cos(2 pi x), x in turns. CPU twin: `cos_turns`.
fn cos_turns(x: real) -> real {
    var a = abs(x - floor(x + 0.5lf));
    let is_negative = a > 0.25lf;
    a = select(a, 0.5lf - a, is_negative);
    let b = 0.25lf - a;
    let p = b * b;
    let q = a * a;
    var sine = -0.7181223017785006lf + p * 0.10422916220813984lf;
    sine = -15.09464257682299lf + p * (3.819952584848282lf + p * sine);
    sine = -76.70585975306139lf + p * (42.058693944897655lf + p * sine);
    sine = -41.34170224039976lf + p * (81.60524927607506lf + p * sine);
    sine = b * (6.283185307179586lf + p * sine);
    var cosine = -1.714390711088672lf + q * 0.28200596845579123lf;
    cosine = -26.4262567833744lf + q * (7.903536371318469lf + q * cosine);
    cosine = -85.45681720669373lf + q * (60.24464137187666lf + q * cosine);
    cosine = -19.739208802178716lf + q * (64.9393940226683lf + q * cosine);
    cosine = 1.0lf + q * cosine;
    let value = select(cosine, sine, a > 0.125lf);
    return select(value, -value, is_negative);
}
