// Brings groups of 16 bytes into an order.
// in:   size (at SIZE_AT: how many), order, before
// out:  after
// grid: a thread a group, in rows

override THREADS: u32 = 256u;
override SIZE_AT: u32 = 0u;

@group(0) @binding(0) var<storage, read> size: array<u32>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> before: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> after: array<vec4<u32>>;

@compute @workgroup_size(THREADS)
fn gather(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * THREADS + thread;
    if at < min(size[SIZE_AT], min(arrayLength(&order), arrayLength(&after))) {
        after[at] = before[order[at]];
    }
}
