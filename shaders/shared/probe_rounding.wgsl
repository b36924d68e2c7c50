// Quotients and square roots by themselves, to learn how a device rounds.
// in:   operands
// out:  rounded (a / b, square root of |b|)
// grid: x = operands
// CPU twin: src/engine/gpu/rounding.rs

#import shared::real
#import shared::types

@group(0) @binding(0) var<storage, read> operands: array<vec2<real>>;
@group(0) @binding(1) var<storage, read_write> rounded: array<vec2<real>>;

@compute @workgroup_size(64)
fn probe_rounding(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&rounded) {
        let a = operands[id.x].x;
        let b = operands[id.x].y;
        rounded[id.x] = vec2<real>(quotient(a, b), root(abs(b)));
    }
}
