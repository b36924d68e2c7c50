// A spacepoint as uploaded, in 64 bits: from the lowest, z, rho, phi within the slice, slice; from
// the highest, layer. The numbers of bits and the steps are chosen when the engine is built
// (src/engine/encoding.rs).

#import shared::real
#import shared::types

override Z_BITS: u32 = 22;
override RHO_BITS: u32 = 19;
override PHI_BITS: u32 = 7;
override SLICE_BITS: u32 = 11;
override LAYER_BITS: u32 = 5;
// Of z and rho [mm], and of phi [rad].
override STEP: f32 = 0.001953125;
override PHI_STEP: f32 = 2.727e-5;

alias Packed = vec2<u32>;

// `count` bits from bit `at` on of 64.
fn bits(packed: Packed, at: u32, count: u32) -> u32 {
    var word = packed.y >> (at & 31u);
    if at < 32u {
        word = packed.x >> at;
        if at + count > 32u {
            word |= packed.y << ((32u - at) & 31u);
        }
    }
    return word & ((1u << count) - 1u);
}

// slice << 8 | layer; DROPPED: takes no part.
fn packed_slice_layer(packed: Packed) -> u32 {
    let layer = packed.y >> (32u - LAYER_BITS);
    let slice = bits(packed, Z_BITS + RHO_BITS + PHI_BITS, SLICE_BITS);
    return select((slice << 8u) | layer, DROPPED, layer == (1u << LAYER_BITS) - 1u);
}

// [mm]
fn packed_rho(packed: Packed) -> real {
    return real(bits(packed, Z_BITS, RHO_BITS)) * real(STEP);
}

// [mm]
fn packed_z(packed: Packed) -> real {
    return real(i32(bits(packed, 0u, Z_BITS)) - i32(1u << (Z_BITS - 1u))) * real(STEP);
}

// From the lower edge of the window [rad]: the middle of what the bits leave open.
fn packed_phi(packed: Packed) -> real {
    let steps = bits(packed, Z_BITS + RHO_BITS, PHI_BITS + SLICE_BITS);
    return (real(steps) + real(0.5)) * real(PHI_STEP);
}
