// Adds to a node's number at once, where the device has SHADER_FLOAT32_ATOMIC.
// Needs: real.

@group(0) @binding(5) var<storage, read_write> out: array<atomic<f32>>;

fn set_zero(node: u32) {
    atomicStore(&out[node], 0.0);
}

fn add(node: u32, value: real) {
    atomicAdd(&out[node], value);
}
