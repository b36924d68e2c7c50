// Sums in the device's memory. Swapped with sums_workgroup.wgsl.
// Needs: sums_words.

fn begin_sums(thread: u32) {}

fn add_sum(number: u32, bin: u32, n: u32, z: f32) {
    add_summed(number, bin, n, z);
}

fn end_sums(number: u32, thread: u32) {}
