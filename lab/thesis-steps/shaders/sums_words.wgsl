// Sums by atomics: the words of a group of rows are numbered, and a thread takes every
// WORKGROUP_SIZE-th one, whatever its bin. Swapped with sums_registers.wgsl.
// out:   summed (a row an RoI; begins with zeros)
// Needs: index_*, sums_global or sums_workgroup; of the kernel WORKGROUP_SIZE, params, histograms.

@group(0) @binding(3) var<storage, read_write> summed: array<atomic<u32>>;

// Adds to the sums of an RoI in the device's memory.
fn add_summed(number: u32, bin: u32, n: u32, z: f32) {
    let at = number * 2u * params.row_words + bin;
    atomicAdd(&summed[at], n);
    let z_at = at + params.row_words;
    var old = atomicLoad(&summed[z_at]);
    loop {
        let result = atomicCompareExchangeWeak(&summed[z_at], old, bitcast<u32>(bitcast<f32>(old) + z));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn sum_rows(begin: u32, end: u32, number: u32, group: u32, block: u32, thread: u32) {
    begin_sums(thread);
    var place = advanced(vec2(begin, 0u), thread);
    while place.x < end {
        let at = place.x * 2u * params.row_words + place.y;
        add_sum(number, place.y, histograms[at], bitcast<f32>(histograms[at + params.row_words]));
        place = advanced(place, WORKGROUP_SIZE);
    }
    end_sums(number, thread);
}
