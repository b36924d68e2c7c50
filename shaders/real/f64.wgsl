// The number type of the arithmetic: 64 bits, where the adapter has SHADER_F64. Swapped with real/f32.wgsl.

alias real = f64;
const TURN: real = 6.283185307179586lf;

// To the nearest whole number, halves to even. By hand: llvmpipe (Mesa 22.3.6) rounds 1007.5 to 1007 in f64.
fn nearest(x: real) -> real {
    let below = floor(x);
    let part = x - below;
    let odd = floor(below * 0.5lf) * 2.0lf != below;
    return select(below, below + 1.0lf, part > 0.5lf || (part == 0.5lf && odd));
}
