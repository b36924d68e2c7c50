// Random numbers by counter: Philox4x32-10. CPU twin: src/philox.rs, whose bits these are.
// Needs: products/halves or products/wide.

const CONSTANT_DRAW: f32 = 0.123456;
const PHILOX_MULTIPLIERS: vec2<u32> = vec2<u32>(0xd2511f53u, 0xcd9e8d57u);
const PHILOX_KEY_STEPS: vec2<u32> = vec2<u32>(0x9e3779b9u, 0xbb67ae85u);

// The numbers of a step of a track, one after the other.
struct Draws {
    track: vec2<u32>, // low and high word
    step: u32,
    drawn: u32,
    words: vec4<u32>, // the next one first
}

fn philox4x32(counter_of_draw: vec4<u32>, key_of_seed: vec2<u32>) -> vec4<u32> {
    var counter = counter_of_draw;
    var key = key_of_seed;
    for (var i = 0u; i < 10u; i++) {
        let even = counter.xz;
        let high = high_products(PHILOX_MULTIPLIERS, even);
        let low = PHILOX_MULTIPLIERS * even;
        counter = vec4<u32>(high.y ^ counter.y ^ key.x, low.y, high.x ^ counter.w ^ key.y, low.x);
        key += PHILOX_KEY_STEPS;
    }
    return counter;
}

fn draws_of(track: vec2<u32>, step_number: u32) -> Draws {
    return Draws(track, step_number, 0u, vec4<u32>());
}

// The next number, above 0 and below 1. (`uniform` alone is a name of WGSL.)
fn draw_uniform(draws: ptr<function, Draws>, seed: vec2<u32>, is_constant: bool) -> f32 {
    if is_constant {
        return CONSTANT_DRAW;
    }
    let drawn = (*draws).drawn;
    if (drawn & 3u) == 0u {
        (*draws).words = philox4x32(vec4<u32>(drawn / 4u, (*draws).step, (*draws).track), seed);
    }
    (*draws).drawn = drawn + 1u;
    // Turned, so that none is looked up by a number that is not known before.
    let words = (*draws).words;
    (*draws).words = words.yzwx;
    return (f32(words.x >> 9u) + 0.5) * (1.0 / 8388608.0);
}
