// Sums in registers: a thread sums one bin of a group of rows. Swapped with sums_words.wgsl.
// out:   summed (groups_out rows an RoI)
// Needs: of the kernel WORKGROUP_SIZE, params, histograms.

@group(0) @binding(3) var<storage, read_write> summed: array<u32>;

fn sum_rows(begin: u32, end: u32, number: u32, group: u32, block: u32, thread: u32) {
    let bin = block * WORKGROUP_SIZE + thread;
    if bin >= params.row_words {
        return;
    }
    var n = 0u;
    var z = 0.0f;
    for (var row = begin; row < end; row++) {
        let at = row * 2u * params.row_words + bin;
        n += histograms[at];
        z += bitcast<f32>(histograms[at + params.row_words]);
    }
    let out = (number * params.groups_out + group) * 2u * params.row_words + bin;
    summed[out] = n;
    summed[out + params.row_words] = bitcast<u32>(z);
}
