// Adds to a node's number by compare and retry, as the report does where the device has no more. Of
// 32 bits.
// Needs: real.

@group(0) @binding(5) var<storage, read_write> out: array<atomic<u32>>;

fn store(node: u32, value: real) {
    atomicStore(&out[node], bitcast<u32>(value));
}

fn add(node: u32, value: real) {
    var old = atomicLoad(&out[node]);
    loop {
        let tried = atomicCompareExchangeWeak(&out[node], old, bitcast<u32>(bitcast<real>(old) + value));
        if tried.exchanged {
            break;
        }
        old = tried.old_value;
    }
}
