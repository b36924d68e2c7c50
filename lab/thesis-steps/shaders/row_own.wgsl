// Histograms of a thread's own slice, in storage. Swapped with row_storage.wgsl and
// row_workgroup.wgsl.
// Needs: of the kernel params, WORKGROUP_SIZE.

@group(0) @binding(5) var<storage, read_write> histograms: array<u32>;

var<private> row_first: u32;

// A thread has a row of its own.
fn threads() -> u32 {
    return 1u;
}

fn row_of(group: u32, local: u32) -> u32 {
    return group * WORKGROUP_SIZE + local;
}

fn begin_row(row: u32, thread: u32) {
    row_first = row * 2u * params.row_words;
    for (var word = 0u; word < 2u * params.row_words; word++) {
        histograms[row_first + word] = 0u;
    }
}

fn accumulate(bin: u32, z: f32) {
    let at = row_first + bin;
    histograms[at] += 1u;
    let z_at = at + params.row_words;
    histograms[z_at] = bitcast<u32>(bitcast<f32>(histograms[z_at]) + z);
}

fn end_row(row: u32, thread: u32) {}
