// Conjugate gradients, preconditioned by the diagonal: everything but the products with the matrix.
// Workgroups sum in a fixed order, and a last workgroup sums their sums. Results go to `state`.
// Once `state[DONE]` is set, nothing changes any more.
// in:   params, rhs, scales (1 over the diagonal), q (the product of the matrix with p), partials,
//       state
// out:  u, r, p, partials, state
// grid: WORKGROUPS workgroups, each of which takes nodes in strides; of `sum_...`, one
// Needs: types, real, diagonal. CPU twin: src/solve.rs.

override WORKGROUP_SIZE: u32 = 256;
override WORKGROUPS: u32 = 512;

// Places in `state`; the squares of residuals follow from HISTORY on, that of the right-hand side
// first.
const RZ: u32 = 0u;
const ALPHA: u32 = 1u;
const BETA: u32 = 2u;
const LIMIT: u32 = 3u; // the square of the tolerance
const DONE: u32 = 4u; // not zero once the iteration has ended
const ITERATIONS: u32 = 5u;
const MOST: u32 = 7u; // iterations
const HISTORY: u32 = 8u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rhs: array<real>;
@group(0) @binding(2) var<storage, read> scales: array<real>;
@group(0) @binding(3) var<storage, read_write> u: array<real>;
@group(0) @binding(4) var<storage, read_write> r: array<real>;
@group(0) @binding(5) var<storage, read_write> p: array<real>;
@group(0) @binding(6) var<storage, read> q: array<real>;
@group(0) @binding(7) var<storage, read_write> partials: array<vec2<real>>;
@group(0) @binding(8) var<storage, read_write> state: array<real>;

var<workgroup> wg_sums: array<vec2<real>, WORKGROUP_SIZE>;

// Returns the sum over a workgroup, to the first thread.
fn sum_of_workgroup(own: vec2<real>, thread: u32) -> vec2<real> {
    wg_sums[thread] = own;
    for (var half = WORKGROUP_SIZE / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half {
            wg_sums[thread] += wg_sums[thread + half];
        }
    }
    return wg_sums[0];
}

fn sum_of_partials(thread: u32) -> vec2<real> {
    var own = vec2<real>();
    for (var i = thread; i < WORKGROUPS; i += WORKGROUP_SIZE) {
        own += partials[i];
    }
    return sum_of_workgroup(own, thread);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn begin(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        let b = rhs[node];
        u[node] = real();
        r[node] = b;
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
