// The number type of the arithmetic: 32 bits. Swapped with real/f64.wgsl.

alias real = f32;
const HALF: real = 0.5;

// cos(2 pi x), x in turns. CPU twin: `cos_turns_f32`.
fn cos_turns(x: real) -> real {
    var a = abs(x - round(x));
    let is_negative = a > 0.25;
    a = select(a, 0.5 - a, is_negative);
    let b = 0.25 - a;
    let p = b * b;
    let q = a * a;
    let sine = b * (6.2831855 + p * (-41.3417 + p * (81.60525 + p * (-76.70586 + p * 42.058693))));
    let cosine = 1.0 + q * (-19.739208 + q * (64.93939 + q * (-85.45682 + q * (60.24464 + q * -26.426256))));
    let value = select(cosine, sine, a > 0.125);
    return select(value, -value, is_negative);
}
