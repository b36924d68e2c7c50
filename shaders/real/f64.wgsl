// The number type of the arithmetic: 64 bits, where the adapter has SHADER_F64. Swapped with real/f32.wgsl.

alias real = f64;
const TURN: real = 6.283185307179586lf;

// A number and a word that are stored together.
struct Stored {
    x: real,
    word: u32,
}

fn stored(x: real, word: u32) -> Stored {
    return Stored(x, word);
}

fn stored_real(stored: Stored) -> real {
    return stored.x;
}

fn stored_word(stored: Stored) -> u32 {
    return stored.word;
}

// The whole number below scale * x + offset, which lies from 0 to 2^22; anything else, NaN too, becomes 2^22 at least.
fn whole_steps(x: real, scale: real, offset: real) -> u32 {
    let steps = floor(x * scale + offset);
    if steps >= 0.0lf && steps < 4194304.0lf {
        return u32(steps);
    }
    return 4194304u;
}
