// The number type of the arithmetic: 32 bits. Swapped with real/f64.wgsl.

alias real = f32;
const TURN: real = 6.283185307179586;

// A pair of numbers that is stored in one go.
alias Stored = vec2<u32>;

fn stored(x: real, word: u32) -> Stored {
    return vec2<u32>(bitcast<u32>(x), word);
}

fn stored_real(stored: Stored) -> real {
    return bitcast<real>(stored.x);
}

fn stored_word(stored: Stored) -> u32 {
    return stored.y;
}

// The whole number below scale * x + offset, which lies from 0 to 2^22; anything else, NaN too, becomes 2^22 at least.
// `offset` is whole. Adding 2^23 rounds and leaves the number in the low bits, which spares the slow conversions.
fn whole_steps(x: real, scale: real, offset: real) -> u32 {
    return bitcast<u32>((x * scale - 0.5) + (offset + 8388608.0)) - 0x4b000000u;
}
