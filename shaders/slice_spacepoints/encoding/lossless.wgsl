// A spacepoint as uploaded: all that the arithmetic's number type holds. 16 bytes in f32, 32 in
// f64.

#import shared::real

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

// [mm]
fn packed_rho(packed: Packed) -> real {
    return packed.rho;
}

// [mm]
fn packed_z(packed: Packed) -> real {
    return packed.z;
}

// From the lower edge of the window [rad].
fn packed_phi(packed: Packed) -> real {
    return packed.phi;
}
