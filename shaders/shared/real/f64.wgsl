// The number type of the arithmetic: 64 bits, where the adapter has SHADER_F64.

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

// A product that is rounded by itself: a compiler may fuse a plain one with a sum that follows, but
// not what is selected. Held against a bound above, for of a square a compiler knows that it lies
// above any negative one.
fn product(a: real, b: real) -> real {
    let exact = a * b;
    return select(exact, real(1.7e308lf), exact > 1.7e308lf);
}

// The whole number below scale * x + offset, less `first`, which lies from 0 to 2^22; anything
// else, NaN too, becomes 2^22 at least.
fn whole_steps(x: real, scale: real, offset: real, first: u32) -> u32 {
    let steps = floor(product(x, scale) + offset) - real(first);
    if steps >= 0.0lf && steps < 4194304.0lf {
        return u32(steps);
    }
    return 4194304u;
}

// sin x for 0 <= x <= pi / 2. A device's own sine promises too little accuracy. The operations are
// those of `sine_squared` in src/engine/cpu/lanes.rs, so that both round alike.
fn sine(x: real) -> real {
    let y = product(x, x);
    var sum = real(-1.0lf / 25852016738884976640000.0lf);
    sum = product(sum, y) + real(1.0lf / 51090942171709440000.0lf);
    sum = product(sum, y) + real(-1.0lf / 121645100408832000.0lf);
    sum = product(sum, y) + real(1.0lf / 355687428096000.0lf);
    sum = product(sum, y) + real(-1.0lf / 1307674368000.0lf);
    sum = product(sum, y) + real(1.0lf / 6227020800.0lf);
    sum = product(sum, y) + real(-1.0lf / 39916800.0lf);
    sum = product(sum, y) + real(1.0lf / 362880.0lf);
    sum = product(sum, y) + real(-1.0lf / 5040.0lf);
    sum = product(sum, y) + real(1.0lf / 120.0lf);
    sum = product(sum, y) + real(-1.0lf / 6.0lf);
    sum = product(sum, y) + real(1.0);
    return product(x, sum);
}
