// Sums of a workgroup's rows in workgroup memory, which are then added in the device's memory.
// Swapped with sums_global.wgsl.
// Needs: sums_words; of the kernel WORKGROUP_SIZE.

// Words of a row.
override BINS: u32 = 1001;

var<workgroup> wg_n: array<atomic<u32>, BINS>;
// Bits of f32.
var<workgroup> wg_z: array<atomic<u32>, BINS>;

fn begin_sums(thread: u32) {
    for (var bin = thread; bin < BINS; bin += WORKGROUP_SIZE) {
        atomicStore(&wg_n[bin], 0u);
        atomicStore(&wg_z[bin], 0u);
    }
    workgroupBarrier();
}

fn add_sum(number: u32, bin: u32, n: u32, z: f32) {
    atomicAdd(&wg_n[bin], n);
    var old = atomicLoad(&wg_z[bin]);
    loop {
        let result = atomicCompareExchangeWeak(&wg_z[bin], old, bitcast<u32>(bitcast<f32>(old) + z));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn end_sums(number: u32, thread: u32) {
    workgroupBarrier();
    for (var bin = thread; bin < BINS; bin += WORKGROUP_SIZE) {
        add_summed(number, bin, atomicLoad(&wg_n[bin]), bitcast<f32>(atomicLoad(&wg_z[bin])));
    }
}
