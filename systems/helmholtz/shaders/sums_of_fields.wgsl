// Sums along fields, and the part of the solver's state that the host reads. Workgroups sum in a
// fixed order, and a last workgroup sums their sums.
// Needs: real; of the kernel partials.

override WORKGROUP_SIZE: u32 = 256;
override WORKGROUPS: u32 = 512;

// Places in `state`; the squares of residuals follow from HISTORY on, that of the right-hand side
// first.
const LIMIT: u32 = 3u; // the square of the tolerance
const DONE: u32 = 4u; // not zero once the iteration has ended
const ITERATIONS: u32 = 5u;
const MOST: u32 = 7u; // iterations
const HISTORY: u32 = 20u;

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
