// The number type of the arithmetic: 64 bits, where the adapter has SHADER_F64. Swapped with real/f32.wgsl.

alias real = f64;
const TURN: real = 6.283185307179586lf;

// A bin, and how far from its middle [bins].
struct Binned {
    bin: u32,
    offset: f32,
}

// The bin nearest to a place from 0 on, halves to even. By hand: llvmpipe (Mesa 22.3.6) rounds 1007.5 to 1007 in f64.
fn binned(place: real) -> Binned {
    let below = floor(place);
    let part = place - below;
    let odd = floor(below * 0.5lf) * 2.0lf != below;
    let nearest = select(below, below + 1.0lf, part > 0.5lf || (part == 0.5lf && odd));
    return Binned(u32(nearest), f32(place - nearest));
}
