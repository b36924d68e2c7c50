// Adds to a word of an RoI's own histogram: fixed-point offsets within the bin.

#import shared::types
#import kernel::{totals}

fn add_z(word: u32, steps: u32, weight: u32, z: f32) {
    atomicAdd(&totals[word], weight * (steps & (OFFSET_STEPS - 1u)));
}
