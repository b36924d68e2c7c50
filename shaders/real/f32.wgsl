// The number type of the arithmetic: 32 bits. Swapped with real/f64.wgsl.

alias real = f32;
const TURN: real = 6.283185307179586;

// To the nearest whole number, halves to even.
fn nearest(x: real) -> real {
    return round(x);
}
