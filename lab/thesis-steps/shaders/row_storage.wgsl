// Histograms that the threads of a slice share, in storage; f32 sums by compare and retry. Swapped
// with row_own.wgsl and row_workgroup.wgsl.
// Needs: init_*; of the kernel params.

@group(0) @binding(5) var<storage, read_write> histograms: array<atomic<u32>>;

var<private> row_first: u32;

fn begin_row(row: u32, thread: u32) {
    row_first = row * 2u * params.row_words;
    let words = init_words(thread, 2u * params.row_words);
    for (var word = words.x; word < words.y; word += words.z) {
        atomicStore(&histograms[row_first + word], 0u);
    }
    storageBarrier();
}

fn accumulate(bin: u32, z: f32) {
    let at = row_first + bin;
    atomicAdd(&histograms[at], 1u);
    let z_at = at + params.row_words;
    var old = atomicLoad(&histograms[z_at]);
    loop {
        let result = atomicCompareExchangeWeak(&histograms[z_at], old, bitcast<u32>(bitcast<f32>(old) + z));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn end_row(row: u32, thread: u32) {}
