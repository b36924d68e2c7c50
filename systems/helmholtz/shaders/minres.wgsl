// MINRES, preconditioned by a positive diagonal: everything but the products with the matrix. The
// matrix may be indefinite. Once `state[DONE]` is set, nothing changes any more.
// in:   params, scales (1 over the preconditioner), r (the right-hand side, for `begin`), q (the
//       product of the matrix with p), partials, state
// out:  u, r, p (the normalized Lanczos vector), lanczos, partials, state
// grid: WORKGROUPS workgroups, each of which takes nodes in strides; of `sum_...`, one
// Needs: types, real, diagonal, sums_of_fields. CPU twin: src/minres.rs. Swapped with
// conjugate_gradients.wgsl.

// Places in `state`.
const ALPHA: u32 = 0u;
const BETA: u32 = 1u;
const OVER_OLD: u32 = 2u; // beta over the beta before
const ROUNDING: u32 = 6u; // the relative error of a rounded number
const COSINE: u32 = 8u;
const SINE: u32 = 9u;
const DBAR: u32 = 10u;
const EPSILON: u32 = 11u;
const PHIBAR: u32 = 12u;
// Coefficients of the updates of the directions, of u and of r.
const ONE: u32 = 13u;
const TWO: u32 = 14u;
const OVER_GAMMA: u32 = 15u;
const PHI: u32 = 16u;
const SHRINK: u32 = 17u;
const REMOVE: u32 = 18u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> scales: array<real>;
@group(0) @binding(2) var<storage, read_write> u: array<real>;
@group(0) @binding(3) var<storage, read_write> r: array<real>;
@group(0) @binding(4) var<storage, read_write> p: array<real>;
@group(0) @binding(5) var<storage, read> q: array<real>;
@group(0) @binding(6) var<storage, read_write> partials: array<vec2<real>>;
@group(0) @binding(7) var<storage, read_write> state: array<real>;
// The last two Lanczos vectors before their normalization, and the last two directions.
@group(0) @binding(8) var<storage, read_write> lanczos: array<vec4<real>>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn begin(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        let b = r[node];
        u[node] = real();
        lanczos[node] = vec4<real>(real(), b, real(), real());
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
        state[BETA] = sqrt(sum.y);
        state[OVER_OLD] = real();
        state[COSINE] = -real(1);
        state[SINE] = real();
        state[DBAR] = real();
        state[EPSILON] = real();
        state[PHIBAR] = sqrt(sum.y);
        state[ITERATIONS] = real();
        state[DONE] = select(real(1), real(), sum.y > real());
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn turn(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    if state[DONE] != real() {
        return;
    }
    let over_beta = real(1) / state[BETA];
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        p[node] = scale_of(node) * lanczos[node].y * over_beta;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn curvature(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let over_old = state[OVER_OLD];
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        own.x += p[node] * (q[node] - over_old * lanczos[node].x);
    }
    let sum = sum_of_workgroup(own, thread);
    if thread == 0u {
        partials[group.x] = sum;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_curvature(@builtin(local_invocation_index) thread: u32) {
    let sum = sum_of_partials(thread);
    if (thread == 0u) & (state[DONE] == real()) {
        state[ALPHA] = sum.x;
        if state[ITERATIONS] >= state[MOST] {
            state[DONE] = real(1);
        }
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn advance(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    if state[DONE] != real() {
        return;
    }
    let over_old = state[OVER_OLD];
    let over_beta = state[ALPHA] / state[BETA];
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        let old = lanczos[node];
        let next = q[node] - over_old * old.x - over_beta * old.y;
        lanczos[node] = vec4<real>(old.y, next, old.zw);
        own.x += next * scale_of(node) * next;
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
        let alpha = state[ALPHA];
        let next = sqrt(sum.x);
        let cosine = state[COSINE];
        let sine = state[SINE];
        let dbar = state[DBAR];
        let gbar = sine * dbar - cosine * alpha;
        let gamma = sqrt(gbar * gbar + next * next);
        // Otherwise no field reduces the residual, or a number is not finite.
        if gamma > real() {
            let c = gbar / gamma;
            let s = next / gamma;
            let phibar = s * state[PHIBAR];
            state[ONE] = state[EPSILON];
            state[TWO] = cosine * dbar + sine * alpha;
            state[OVER_GAMMA] = real(1) / gamma;
            state[PHI] = c * state[PHIBAR];
            state[SHRINK] = s * s;
            state[REMOVE] = real();
            if next > real() {
                state[REMOVE] = c * phibar / next;
            }
            state[EPSILON] = sine * next;
            state[DBAR] = -cosine * next;
            state[COSINE] = c;
            state[SINE] = s;
            state[PHIBAR] = phibar;
            state[OVER_OLD] = next / state[BETA];
            state[BETA] = next;
        } else {
            state[DONE] = real(1);
        }
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn correct(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    if state[DONE] != real() {
        return;
    }
    let one = state[ONE];
    let two = state[TWO];
    let over_gamma = state[OVER_GAMMA];
    let phi = state[PHI];
    let shrink = state[SHRINK];
    let remove = state[REMOVE];
    var own = vec2<real>();
    for (var node = group.x * WORKGROUP_SIZE + thread; node < params.nodes; node += WORKGROUPS * WORKGROUP_SIZE) {
        let old = lanczos[node];
        let direction = (p[node] - one * old.z - two * old.w) * over_gamma;
        lanczos[node] = vec4<real>(old.xy, old.w, direction);
        let here = u[node] + phi * direction;
        u[node] = here;
        let rest = shrink * r[node] - remove * old.y;
        r[node] = rest;
        let scale = scale_of(node);
        own += vec2<real>(rest * rest, select(real(), here * here / scale, scale > real()));
    }
    let sum = sum_of_workgroup(own, thread);
    if thread == 0u {
        partials[group.x] = sum;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_correct(@builtin(local_invocation_index) thread: u32) {
    let sum = sum_of_partials(thread);
    if (thread == 0u) & (state[DONE] == real()) {
        let iterations = state[ITERATIONS] + real(1);
        state[ITERATIONS] = iterations;
        state[HISTORY + u32(iterations)] = sum.x;
        if sum.x <= state[LIMIT] {
            state[DONE] = real(2);
        } else if (state[ROUNDING] * sqrt(sum.y) >= state[PHIBAR]) | !(state[BETA] > real()) {
            // The rounding of u changes A u by more than the residual.
            state[DONE] = real(1);
        }
    }
}
