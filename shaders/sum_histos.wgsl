// Sums rows of histograms: first each RoI's rows in about sqrt(rows) groups, then the groups.
// in:   params (stage), rois, rows
// out:  sums (a row a group; of the second stage, a row an RoI), status
// grid: x = groups, y = blocks of bins, z = RoI
// workgroup memory: none
// Needs: real, types, accumulate. CPU twin: src/engine/cpu/sum_histos.rs

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read_write> sums: array<u32>;
@group(0) @binding(4) var<storage, read_write> status: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_histos(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var first = rois[group.z].histogram_first;
    var count = rois[group.z].histogram_count;
    var groups = rois[group.z].partial_count;
    var out_row = rois[group.z].partial_first + group.x;
    if params.stage == 1u {
        first = rois[group.z].partial_first;
        count = rois[group.z].partial_count;
        groups = 1u;
        out_row = group.z;
    }
    let bin = group.y * WORKGROUP_SIZE + thread;
    if group.x >= groups || bin >= rois[group.z].bins {
        return;
    }
    let rows_each = (count + groups - 1u) / groups;
    let end = first + min((group.x + 1u) * rows_each, count);
    var n = 0u;
    var z = 0u;
    var overflow = false;
    var row = first + group.x * rows_each;
    for (; row < end; row++) {
        let word = row * 2u * params.row_bins + bin;
        n += rows[word];
        overflow = overflow || n < rows[word];
        z = sum_z(z, rows[word + params.row_bins]);
    }
    if overflow || n > MAX_COUNT {
        atomicOr(&status[group.z], STATUS_COUNTS);
    }
    if row < end {
        atomicOr(&status[group.z], STATUS_UNFINISHED);
    }
    let word = out_row * 2u * params.row_bins + bin;
    sums[word] = n;
    sums[word + params.row_bins] = z;
}
