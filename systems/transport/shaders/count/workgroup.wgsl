// Each element is added to its class in workgroup memory, and their sums at the end: for more
// classes than a thread can keep.
// Needs: of the kernel CLASSES, THREADS, counts.

var<workgroup> wg_counts: array<atomic<u32>, CLASSES>;

fn begin(thread: u32) {
    for (var i = thread; i < CLASSES; i += THREADS) {
        atomicStore(&wg_counts[i], 0u);
    }
    workgroupBarrier();
}

fn take(class_: u32) {
    atomicAdd(&wg_counts[class_], 1u);
}

fn settle() {}

fn finish(thread: u32, of_workgroup: u32) {
    workgroupBarrier();
    for (var i = thread; i < CLASSES; i += THREADS) {
        let sum = atomicLoad(&wg_counts[i]);
        if sum != 0u {
            atomicAdd(&counts[i], sum);
        }
    }
}
