// Takes each RoI's highest windows of three bins, one after the other.
// in:   params, rois, totals (a row an RoI; peaks' bins are zero afterwards), status
// out:  peaks (params.peaks an RoI; after the last one found, NO_PEAK), and with them the status' flags, which are zero
//       afterwards
// grid: x = RoI
// workgroup memory: 12 WORKGROUP_SIZE + 4 bytes
// Needs: real, types. CPU twin: src/engine/cpu/find_peaks.rs

override WORKGROUP_SIZE: u32 = 128;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read_write> totals: array<u32>;
@group(0) @binding(3) var<storage, read_write> peaks: array<Peak>;
@group(0) @binding(4) var<storage, read_write> status: array<RoiStatus>;

var<workgroup> wg_highest: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_distance: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_left: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_found: u32;

// Whether window 1 comes before window 2: higher, else nearer to the centre (if asked for), else further left.
fn before(highest1: u32, distance1: u32, left1: u32, highest2: u32, distance2: u32, left2: u32) -> bool {
    if highest1 != highest2 {
        return highest1 > highest2;
    }
    if distance1 != distance2 {
        return distance1 < distance2;
    }
    return left1 < left2;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_peaks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let bins = rois[group.x].bins;
    let half = rois[group.x].half;
    let row_n = group.x * 2u * params.row_bins;
    let row_z = row_n + params.row_bins;
    var none_left = false;
    var k = 0u;
    for (; k < params.peaks; k++) {
        var highest = 0u;
        var distance = 0xffffffffu;
        var left = 0xffffffffu;
        var i = thread;
        for (; i + 2u < bins; i += WORKGROUP_SIZE) {
            let sum = totals[row_n + i] + totals[row_n + i + 1u] + totals[row_n + i + 2u];
            let from_centre = select(half - i - 1u, i + 1u - half, i + 1u >= half);
            let away = select(0u, from_centre, params.prefer_central != 0u);
            if before(sum, away, i, highest, distance, left) {
                highest = sum;
                distance = away;
                left = i;
            }
        }
        if i + 2u < bins {
            atomicOr(&status[group.x].flags, STATUS_UNFINISHED);
        }
        wg_highest[thread] = highest;
        wg_distance[thread] = distance;
        wg_left[thread] = left;
        workgroupBarrier();
        for (var stride = WORKGROUP_SIZE >> 1u; stride > 0u; stride >>= 1u) {
            if thread < stride {
                let other = thread + stride;
                if before(wg_highest[other], wg_distance[other], wg_left[other],
                          wg_highest[thread], wg_distance[thread], wg_left[thread]) {
                    wg_highest[thread] = wg_highest[other];
                    wg_distance[thread] = wg_distance[other];
                    wg_left[thread] = wg_left[other];
                }
            }
            workgroupBarrier();
        }
        if thread == 0u {
            wg_found = select(0u, 1u, wg_highest[0] >= params.least_weight);
        }
        let found = workgroupUniformLoad(&wg_found);
        let peak = group.x * params.peaks + k;
        if found == 0u {
            if thread == 0u {
                peaks[peak].bin = NO_PEAK;
            }
            none_left = true;
            break;
        }
        let at = wg_left[0];
        if thread < 3u {
            peaks[peak].n[thread] = totals[row_n + at + thread];
            peaks[peak].z[thread] = totals[row_z + at + thread];
            totals[row_n + at + thread] = 0u;
            totals[row_z + at + thread] = 0u;
        }
        if thread == 0u {
            peaks[peak].bin = at + 1u;
        }
        storageBarrier();
        workgroupBarrier();
    }
    if k < params.peaks && !none_left {
        atomicOr(&status[group.x].flags, STATUS_UNFINISHED);
    }
    storageBarrier();
    workgroupBarrier();
    if thread == 0u {
        peaks[group.x * params.peaks].flags = atomicExchange(&status[group.x].flags, 0u);
    }
}
