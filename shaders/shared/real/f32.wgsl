// The number type of the arithmetic: 32 bits.

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

// A product that is rounded by itself: a compiler may fuse a plain one with a sum that follows, but
// not what is selected. Held against a bound above, for of a square a compiler knows that it lies
// above any negative one.
fn product(a: real, b: real) -> real {
    let exact = a * b;
    return select(exact, real(3.4e38), exact > 3.4e38);
}

// The whole number below scale * x + offset - first, which lies from 0 to 2^22; anything else, NaN
// too, becomes 2^22 at least. `offset` is a multiple of 512 of at most 2^31, and `first` one of
// 1024. Adding 1.5 * 2^23 rounds and leaves the number in the low bits, which spares the slow
// conversions. The maxima, of bounds below every place along z, keep compilers from fusing the
// product with a sum, and from adding the constants first: NVIDIA's does both.
fn whole_steps(x: real, scale: real, offset: real, first: u32) -> u32 {
    let below = max(max(x * scale, -1e30) - 0.5, -4e9);
    return bitcast<u32>(below + (offset - real(first) + 12582912.0)) - 0x4b400000u;
}

// sin x for 0 <= x <= pi / 2. A device's own sine promises too little accuracy. The operations are
// those of `sine_squared` in src/engine/cpu/lanes.rs, so that both round alike.
fn sine(x: real) -> real {
    let y = product(x, x);
    var sum = real(1.0 / 6227020800.0);
    sum = product(sum, y) + real(-1.0 / 39916800.0);
    sum = product(sum, y) + real(1.0 / 362880.0);
    sum = product(sum, y) + real(-1.0 / 5040.0);
    sum = product(sum, y) + real(1.0 / 120.0);
    sum = product(sum, y) + real(-1.0 / 6.0);
    sum = product(sum, y) + real(1.0);
    return product(x, sum);
}
