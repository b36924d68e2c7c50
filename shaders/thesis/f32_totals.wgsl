// Adds to a word of an RoI's own histogram: f32 sums of z, by compare and retry. Swapped with
// find_z/total_sums/fixed_point.wgsl.

#import kernel::{totals}

fn add_z(word: u32, steps: u32, weight: u32, z: f32) {
    let term = f32(weight) * z;
    var old = atomicLoad(&totals[word]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(old) + term);
        let result = atomicCompareExchangeWeak(&totals[word], old, sum);
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}
