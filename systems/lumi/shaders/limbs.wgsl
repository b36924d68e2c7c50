// Whole numbers of two words, low and high, and floats as whole numbers. CPU twin: src/fixed.rs.
// Needs: types.

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < b.x));
}

fn sub64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn less64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn signed64(value: i32) -> vec2<u32> {
    return vec2<u32>(bitcast<u32>(value), bitcast<u32>(value >> 31u));
}

// value * 2^shift, shift from 1 to 31.
fn shift64(value: vec2<u32>, shift: u32) -> vec2<u32> {
    return vec2<u32>(value.x << shift, (value.y << shift) | (value.x >> (32u - shift)));
}

fn product64(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return vec2<u32>((other << 16u) | (low & 0xffffu), (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u));
}

// |value| in units of 2^-bits, cut off.
fn scaled(value: f32, bits: i32) -> vec2<u32> {
    let word = bitcast<u32>(value) & 0x7fffffffu;
    let exponent = i32(word >> 23u);
    let shift = exponent - 150 + bits;
    let fraction = (word & 0x7fffffu) | 0x800000u;
    if exponent == 0 || shift <= -24 {
        return vec2<u32>();
    }
    if shift > 40 {
        return vec2<u32>(NONE);
    }
    if shift <= 0 {
        return vec2<u32>(fraction >> u32(-shift), 0u);
    }
    if shift >= 32 {
        return vec2<u32>(0u, fraction << u32(shift - 32));
    }
    return shift64(vec2<u32>(fraction, 0u), u32(shift));
}

// The same, 2^31 at most.
fn magnitude(value: f32, bits: i32) -> u32 {
    let all = scaled(value, bits);
    return select(min(all.x, 0x80000000u), 0x80000000u, all.y != 0u);
}
