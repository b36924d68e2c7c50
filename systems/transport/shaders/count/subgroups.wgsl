// Sums of subgroups, whatever their sizes, and these in workgroup memory.
// The device has SUBGROUP.

var<workgroup> wg_sums: array<atomic<u32>, 8>;

fn begin_sum(thread: u32) {
    if thread < 8u {
        atomicStore(&wg_sums[thread], 0u);
    }
    workgroupBarrier();
}

// Each of the first eight threads gets what the workgroup has of its class: `pairs` are as `many`.
fn sum_of(thread: u32, pairs: vec4<u32>, of_workgroup: u32) -> u32 {
    let low = subgroupAdd(pairs & vec4<u32>(0xffffu));
    let high = subgroupAdd(pairs >> vec4<u32>(16u));
    // The first of a subgroup: naga has no subgroupElect.
    if subgroupExclusiveAdd(1u) == 0u {
        for (var k = 0u; k < 4u; k++) {
            atomicAdd(&wg_sums[k], low[k]);
            atomicAdd(&wg_sums[k + 4u], high[k]);
        }
    }
    workgroupBarrier();
    return atomicLoad(&wg_sums[thread & 7u]);
}
