// Histograms of a slice that one thread fills, in storage. Swapped with row_storage.wgsl and
// row_workgroup.wgsl.
// Needs: init_*; of the kernel params.

@group(0) @binding(5) var<storage, read_write> histograms: array<u32>;

var<private> row_first: u32;

fn begin_row(row: u32, thread: u32) {
    row_first = row * 2u * params.row_words;
    let words = init_words(thread, 2u * params.row_words);
    for (var word = words.x; word < words.y; word += words.z) {
        histograms[row_first + word] = 0u;
    }
    storageBarrier();
}

fn accumulate(bin: u32, z: f32) {
    let at = row_first + bin;
    histograms[at] += 1u;
    let z_at = at + params.row_words;
    histograms[z_at] = bitcast<u32>(bitcast<f32>(histograms[z_at]) + z);
}

fn end_row(row: u32, thread: u32) {}
