// A spacepoint as uploaded: all that the arithmetic's number type holds. 16 bytes in f32, 32 in f64. Swapped with
// encoding/compact.wgsl.
// Needs: real.

struct Packed {
    rho: real,
    phi: real,
    z: real,
    slice_layer: u32,
}

// slice << 8 | layer; DROPPED: takes no part.
fn packed_slice_layer(packed: Packed) -> u32 {
    return packed.slice_layer;
}

fn packed_rho_z(packed: Packed) -> vec2<real> {
    return vec2<real>(packed.rho, packed.z);
}

// From the lower edge of the window [rad].
fn packed_phi(packed: Packed) -> real {
    return packed.phi;
}
