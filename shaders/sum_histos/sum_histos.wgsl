// Sums rows of histograms: first each RoI's rows in about sqrt(rows) groups, then the groups; few
// rows at once.
// in:   params (stage), rois, rows, status
// out:  summed (a row a group, n and then z; of the last stage, a row an RoI, which holds what
//       find_z's rows could not)
// grid: x = groups, y = blocks of bins, four a thread, z = RoI
// CPU twin: src/engine/twin/sum_histos.rs

#import shared::histograms
#import shared::types

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> summed: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> status: array<RoiStatus>;

// Sums of the threads that share a block's rows, n and z.
var<workgroup> wg_n: array<vec4<u32>, WORKGROUP_SIZE>;
var<workgroup> wg_z: array<vec4<u32>, WORKGROUP_SIZE>;

struct Sum {
    n: vec4<u32>,
    z: vec4<u32>,
}

fn add(sum: ptr<function, Sum>, n: vec4<u32>, z: vec4<u32>) -> bool {
    (*sum).n += n;
    for (var i = 0u; i < 4u; i++) {
        (*sum).z[i] = sum_z((*sum).z[i], z[i]);
    }
    return any((*sum).n < n);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_histos(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var first = rois[group.z].histogram_first;
    var count = min(rois[group.z].histogram_count, status[group.z].rows);
    var groups = select(1u, rois[group.z].partial_count, params.stage == 0u);
    if params.stage == 1u {
        first = rois[group.z].partial_first;
        count = rois[group.z].partial_count;
    }
    // Threads of a lane lie side by side, as their bins do.
    let lanes = 1u << params.row_lanes_shift;
    let blocks = WORKGROUP_SIZE >> params.row_lanes_shift;
    let lane = thread / blocks;
    let block = group.y * blocks + thread % blocks;
    let row_blocks = params.row_bins / 4u;
    let has_bins = 4u * block < rois[group.z].bins;
    if group.x >= groups {
        return;
    }
    let group_row = 2u * (rois[group.z].partial_first + group.x);
    let out = select(group_row, rois[group.z].total_first * params.total_parts, params.stage != 0u) * row_blocks + block;
    var sum = Sum(vec4<u32>(), vec4<u32>());
    if params.stage != 0u && lane == 0u && has_bins {
        sum = Sum(summed[out], summed[out + row_blocks]);
    }
    let rows_each = (count + groups - 1u) / groups;
    let end = first + min((group.x + 1u) * rows_each, count);
    var overflow = false;
    var row = first + group.x * rows_each + lane;
    for (; has_bins && row < end; row += lanes) {
        if params.stage == 1u {
            let at = row * 2u * row_blocks + block;
            overflow = add(&sum, rows[at], rows[at + row_blocks]) || overflow;
            continue;
        }
        let at = row * ROW_PARTS * row_blocks + block;
        let n = rows[at];
        let z = rows[at + (ROW_PARTS - 1u) * row_blocks];
        let entries = array(unpacked(vec2(n.x, z.x)), unpacked(vec2(n.y, z.y)), unpacked(vec2(n.z, z.z)), unpacked(vec2(n.w, z.w)));
        overflow = add(
            &sum,
            vec4<u32>(entries[0].x, entries[1].x, entries[2].x, entries[3].x),
            vec4<u32>(entries[0].y, entries[1].y, entries[2].y, entries[3].y),
        ) || overflow;
    }
    if has_bins && row < end {
        atomicOr(&status[group.z].flags, STATUS_UNFINISHED);
    }
    if lanes > 1u {
        wg_n[thread] = sum.n;
        wg_z[thread] = sum.z;
        workgroupBarrier();
        for (var other = 1u; lane == 0u && other < lanes; other++) {
            let at = thread + other * blocks;
            overflow = add(&sum, wg_n[at], wg_z[at]) || overflow;
        }
    }
    if overflow || any(sum.n > vec4<u32>(MAX_COUNT)) {
        atomicOr(&status[group.z].flags, STATUS_COUNTS);
    }
    if lane == 0u && has_bins {
        summed[out] = sum.n;
        summed[out + row_blocks] = sum.z;
    }
    if loops_are_cut(params.layers) {
        atomicOr(&status[group.z].flags, STATUS_UNFINISHED);
    }
}
