// Sums of threads by halves.
// THREADS is a power of two.
// Needs: of the kernel THREADS.

var<workgroup> wg_low: array<vec4<u32>, THREADS>;
var<workgroup> wg_high: array<vec4<u32>, THREADS>;

fn begin_sum(thread: u32) {}

// Each of the first eight threads gets what the workgroup has of its class: `pairs` are as `many`,
// and sixteen bits may do for a whole workgroup too, which is sooner.
fn sum_of(thread: u32, pairs: vec4<u32>, of_workgroup: u32) -> u32 {
    let is_narrow = of_workgroup < 65536u;
    wg_low[thread] = select(pairs & vec4<u32>(0xffffu), pairs, is_narrow);
    wg_high[thread] = pairs >> vec4<u32>(16u);
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            wg_low[thread] += wg_low[thread + half];
            if !is_narrow {
                wg_high[thread] += wg_high[thread + half];
            }
        }
        workgroupBarrier();
    }
    let low = wg_low[0][thread & 3u];
    if is_narrow {
        return (low >> (4u * (thread & 4u))) & 0xffffu;
    }
    return select(low, wg_high[0][thread & 3u], thread >= 4u);
}
