// The number type of the arithmetic: 64 bits, where the adapter has SHADER_F64. Swapped with real/f32.wgsl.

alias real = f64;
const TURN: real = 6.283185307179586lf;
