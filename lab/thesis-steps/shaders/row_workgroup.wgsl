// Histograms that the threads of a slice share, in workgroup memory; f32 sums by compare and retry.
// Swapped with row_own.wgsl and row_storage.wgsl.
// Needs: init_*; of the kernel params, WORKGROUP_SIZE.

// Most bins of an RoI.
override BINS: u32 = 1001;

@group(0) @binding(5) var<storage, read_write> histograms: array<u32>;

var<workgroup> wg_n: array<atomic<u32>, BINS>;
// Bits of f32.
var<workgroup> wg_z: array<atomic<u32>, BINS>;

fn begin_row(row: u32, thread: u32) {
    let bins = init_words(thread, BINS);
    for (var bin = bins.x; bin < bins.y; bin += bins.z) {
        atomicStore(&wg_n[bin], 0u);
        atomicStore(&wg_z[bin], 0u);
    }
    workgroupBarrier();
}

fn accumulate(bin: u32, z: f32) {
    atomicAdd(&wg_n[bin], 1u);
    var old = atomicLoad(&wg_z[bin]);
    loop {
        let result = atomicCompareExchangeWeak(&wg_z[bin], old, bitcast<u32>(bitcast<f32>(old) + z));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn end_row(row: u32, thread: u32) {
    workgroupBarrier();
    let row_first = row * 2u * params.row_words;
    for (var bin = thread; bin < BINS; bin += WORKGROUP_SIZE) {
        histograms[row_first + bin] = atomicLoad(&wg_n[bin]);
        histograms[row_first + params.row_words + bin] = atomicLoad(&wg_z[bin]);
    }
}
