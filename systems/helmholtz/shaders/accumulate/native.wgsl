// Adds to a node's number at once, where the device has SHADER_FLOAT32_ATOMIC.
// Needs: real.

@group(0) @binding(5) var<storage, read_write> out: array<atomic<f32>>;

fn store(node: u32, value: real) {
    atomicStore(&out[node], value);
}

fn add(node: u32, value: real) {
    atomicAdd(&out[node], value);
}
