// The number type of the arithmetic: 32 bits. Swapped with real/f64.wgsl.

alias real = f32;
const TURN: real = 6.283185307179586;

// A bin, and how far from its middle [bins].
struct Binned {
    bin: u32,
    offset: f32,
}

// The bin nearest to a place from 0 to 2^22, halves to even. Adding 2^23 rounds and leaves the bin in the low bits, which
// spares the slow conversions; going back through the bits keeps compilers from cancelling the two additions.
fn binned(place: real) -> Binned {
    let bin = bitcast<u32>(place + 8388608.0) & 0x7fffffu;
    return Binned(bin, place - (bitcast<f32>(bin | 0x4b000000u) - 8388608.0));
}
