// Conjugate gradients, preconditioned by the diagonal: everything but the products with the matrix.
// Once `state[DONE]` is set, nothing changes any more.
// in:   params, scales (1 over the diagonal), r (the right-hand side, for `begin`), q (the product
//       of the matrix with p), partials, state
// out:  u, r, p, partials, state
// grid: WORKGROUPS workgroups, each of which takes nodes in strides; of `sum_...`, one
// Needs: types, real, diagonal, sums_of_fields. CPU twin: src/solve.rs. Swapped with minres.wgsl.

// Places in `state`.
const RZ: u32 = 0u;
const ALPHA: u32 = 1u;
const BETA: u32 = 2u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> scales: array<real>;
@group(0) @binding(2) var<storage, read_write> u: array<real>;
@group(0) @binding(3) var<storage, read_write> r: array<real>;
@group(0) @binding(4) var<storage, read_write> p: array<real>;
@group(0) @binding(5) var<storage, read> q: array<real>;
@group(0) @binding(6) var<storage, read_write> partials: array<vec2<real>>;
@group(0) @binding(7) var<storage, read_write> state: array<real>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn begin(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        let b = r[node];
        u[node] = real();
        p[node] = real();
        own += vec2<real>(b * b, b * scale_of(node) * b);
    }
    let sum = sum_of_workgroup(own, thread);
    if thread == 0u {
        partials[group.x] = sum;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_begin(@builtin(local_invocation_index) thread: u32) {
    let sum = sum_of_partials(thread);
    if thread == 0u {
        state[HISTORY] = sum.x;
        state[LIMIT] = state[LIMIT] * sum.x;
        state[RZ] = sum.y;
        state[BETA] = real();
        state[ITERATIONS] = real();
        state[DONE] = real();
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn turn(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let beta = state[BETA];
    if state[DONE] != real() {
        return;
    }
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        p[node] = scale_of(node) * r[node] + beta * p[node];
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn curvature(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        own.x += p[node] * q[node];
    }
    let sum = sum_of_workgroup(own, thread);
    if thread == 0u {
        partials[group.x] = sum;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_curvature(@builtin(local_invocation_index) thread: u32) {
    let sum = sum_of_partials(thread);
    if thread == 0u {
        // The curvature vanishes when the residual is below the resolution of the number type.
        let is_left = (sum.x > real()) & (state[ITERATIONS] < state[MOST]) & (state[DONE] == real());
        if is_left {
            state[ALPHA] = state[RZ] / sum.x;
        } else {
            state[ALPHA] = real();
            state[DONE] = real(1);
        }
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn advance(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    if state[DONE] != real() {
        return;
    }
    let alpha = state[ALPHA];
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        u[node] += alpha * p[node];
        let rest = r[node] - alpha * q[node];
        r[node] = rest;
        own += vec2<real>(rest * rest, rest * scale_of(node) * rest);
    }
    let sum = sum_of_workgroup(own, thread);
    if thread == 0u {
        partials[group.x] = sum;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_advance(@builtin(local_invocation_index) thread: u32) {
    let sum = sum_of_partials(thread);
    if (thread == 0u) & (state[DONE] == real()) {
        let iterations = state[ITERATIONS] + real(1);
        state[ITERATIONS] = iterations;
        state[HISTORY + u32(iterations)] = sum.x;
        state[BETA] = sum.y / state[RZ];
        state[RZ] = sum.y;
        if sum.x <= state[LIMIT] {
            state[DONE] = real(2);
        }
    }
}
