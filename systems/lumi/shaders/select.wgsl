// Selects lumi events: where each one's summary and counters go, a list of them, and the workgroups
// that it needs.
// in:   params, headers (flags, event number)
// out:  offsets and indices (exclusive sums of words and of lumi events, one more than events),
//       listed (their number, then events), dispatches (workgroups with an event each, and those of
//       calo_exact)
// grid: sum_blocks and place_events: x = blocks of WORKGROUP_SIZE events, in rows; scan_blocks: one
//       workgroup
// Needs: types. CPU twin: Header::is_lumi, Schemata::basic_words, Schemata::full_words.

override WORKGROUP_SIZE: u32 = 256;
// Of calo_exact: events that a workgroup takes at once, the most workgroups.
override CALO_EVENTS: u32 = 4;
override CALO_GROUPS: u32 = 528;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> headers: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> blocks: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> indices: array<u32>;
@group(0) @binding(5) var<storage, read_write> listed: array<u32>;
@group(0) @binding(6) var<storage, read_write> dispatches: array<u32>;

var<workgroup> wg_sums: array<vec2<u32>, WORKGROUP_SIZE>;
var<workgroup> wg_others: array<vec2<u32>, WORKGROUP_SIZE>;

// Words of a summary, and whether there is one.
fn sizes(event: u32) -> vec2<u32> {
    if event >= params.events {
        return vec2<u32>();
    }
    let flags = headers[event].x;
    if (flags & FULL) != 0u {
        return vec2<u32>(params.full_words, 1u);
    }
    return select(vec2<u32>(), vec2<u32>(params.basic_words, 1u), (flags & BASIC) != 0u);
}

// The sum of the values of this thread and those before it.
fn sum_so_far(value: vec2<u32>, thread: u32) -> vec2<u32> {
    wg_sums[thread] = value;
    workgroupBarrier();
    var sum = value;
    for (var step = 1u; step < WORKGROUP_SIZE; step <<= 1u) {
        if thread >= step {
            sum += wg_sums[thread - step];
        }
        wg_others[thread] = sum;
        workgroupBarrier();
        wg_sums[thread] = wg_others[thread];
        workgroupBarrier();
    }
    return sum;
}

fn block_of(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_blocks(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = block_of(group, groups);
    let sum = sum_so_far(sizes(block * WORKGROUP_SIZE + thread), thread);
    if thread == WORKGROUP_SIZE - 1u && block * WORKGROUP_SIZE <= params.events {
        blocks[block] = sum;
    }
}

// Sums of all blocks before each.
@compute @workgroup_size(WORKGROUP_SIZE)
fn scan_blocks(@builtin(local_invocation_index) thread: u32) {
    let all = params.events / WORKGROUP_SIZE + 1u;
    let each = (all + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    let end = min((thread + 1u) * each, all);
    var sum = vec2<u32>();
    for (var block = thread * each; block < end; block++) {
        sum += blocks[block];
    }
    var before = sum_so_far(sum, thread) - sum;
    for (var block = thread * each; block < end; block++) {
        let own = blocks[block];
        blocks[block] = before;
        before += own;
    }
}

fn write_dispatch(at: u32, workgroups: u32) {
    dispatches[at] = min(workgroups, ROW);
    dispatches[at + 1u] = (workgroups + ROW - 1u) / ROW;
    dispatches[at + 2u] = 1u;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn place_events(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = block_of(group, groups);
    let event = block * WORKGROUP_SIZE + thread;
    let own = sizes(event);
    let before = sum_so_far(own, thread) - own;
    if event > params.events {
        return;
    }
    let at = blocks[block] + before;
    offsets[event] = at.x;
    indices[event] = at.y;
    if own.y != 0u {
        listed[1u + at.y] = event;
    }
    if event == params.events {
        listed[0] = at.y;
        write_dispatch(0u, at.y);
        write_dispatch(3u, min((at.y + CALO_EVENTS - 1u) / CALO_EVENTS, CALO_GROUPS));
    }
}
