// Adds to a node's number by compare and retry. Of 64 bits, where the device has
// SHADER_INT64_ATOMIC_ALL_OPS.
// Needs: real.

@group(0) @binding(5) var<storage, read_write> out: array<atomic<u64>>;

fn store(node: u32, value: real) {
    atomicStore(&out[node], bitcast<u64>(value));
}

fn add(node: u32, value: real) {
    var old = atomicLoad(&out[node]);
    loop {
        let tried = atomicCompareExchangeWeak(&out[node], old, bitcast<u64>(bitcast<real>(old) + value));
        if tried.exchanged {
            break;
        }
        old = tried.old_value;
    }
}
