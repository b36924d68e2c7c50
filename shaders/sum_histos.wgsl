// Sums rows of histograms: first each RoI's rows in about sqrt(rows) groups, then the groups (thesis, sumHistos).
// in:   params (stage), rois, rows, status
// out:  sums (a row a group, n and then z; of the last stage, a row an RoI, which holds what find_z's rows could not)
// grid: x = groups, y = blocks of bins, four a thread, z = RoI
// workgroup memory: none
// Needs: real, types, histogram, sums. CPU twin: src/engine/cpu/sum_histos.rs

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> status: array<RoiStatus>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_histos(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var first = rois[group.z].histogram_first;
    var count = min(rois[group.z].histogram_count, status[group.z].rows);
    var groups = rois[group.z].partial_count;
    if params.stage == 1u {
        first = rois[group.z].partial_first;
        count = groups;
        groups = 1u;
    }
    let block = group.y * WORKGROUP_SIZE + thread;
    let row_blocks = params.row_bins / 4u;
    if group.x >= groups || 4u * block >= rois[group.z].bins {
        return;
    }
    let out = select(rois[group.z].partial_first + group.x, group.z, params.stage == 1u) * 2u * row_blocks + block;
    var sum = Sum(vec4<u32>(), vec4<u32>());
    if params.stage == 1u {
        sum = Sum(sums[out], sums[out + row_blocks]);
    }
    let rows_each = (count + groups - 1u) / groups;
    let end = first + min((group.x + 1u) * rows_each, count);
    var overflow = false;
    var row = first + group.x * rows_each;
    for (; row < end; row++) {
        if params.stage == 1u {
            let at = row * 2u * row_blocks + block;
            overflow = add(&sum, rows[at], rows[at + row_blocks]) || overflow;
        } else {
            overflow = add_row(&sum, row * ROW_PARTS * row_blocks + block, row_blocks) || overflow;
        }
    }
    if row < end {
        atomicOr(&status[group.z].flags, STATUS_UNFINISHED);
    }
    if overflow || any(sum.n > vec4<u32>(MAX_COUNT)) {
        atomicOr(&status[group.z].flags, STATUS_COUNTS);
    }
    sums[out] = sum.n;
    sums[out + row_blocks] = sum.z;
}
