// Adds to a node's number that no other thread of the dispatch adds to. Swapped with
// accumulate/compare_exchange.wgsl and accumulate/native.wgsl.
// Needs: real.

@group(0) @binding(5) var<storage, read_write> out: array<real>;

fn store(node: u32, value: real) {
    out[node] = value;
}

fn add(node: u32, value: real) {
    out[node] += value;
}
