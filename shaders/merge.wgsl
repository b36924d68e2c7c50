// Sums an RoI's rows of histograms and takes its highest windows: sum_histos and find_peaks in one workgroup, for few rows of
// few bins.
// in:   params, rois, rows, totals (zero, or what rows could not hold, and then zero afterwards), status
// out:  peaks (params.peaks an RoI; after the last one found, NO_PEAK), and with them the status' flags, which are zero
//       afterwards
// grid: x = RoI
// workgroup memory: 32 MOST_BLOCKS + 8 bytes, and what peaks takes
// Needs: real, types, histogram, sums, peaks. CPU twins: src/engine/cpu/sum_histos.rs, src/engine/cpu/find_peaks.rs

override WORKGROUP_SIZE: u32 = 256;
// Of four bins.
override MOST_BLOCKS: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> totals: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> status: array<RoiStatus>;
@group(0) @binding(5) var<storage, read_write> peaks: array<Peak>;

var<workgroup> wg_n: array<vec4<u32>, MOST_BLOCKS>;
var<workgroup> wg_z: array<vec4<u32>, MOST_BLOCKS>;
var<workgroup> wg_flags: atomic<u32>;
var<workgroup> wg_rows: u32;

fn bin_n(bin: u32) -> u32 {
    return wg_n[bin >> 2u][bin & 3u];
}

fn bin_z(bin: u32) -> u32 {
    return wg_z[bin >> 2u][bin & 3u];
}

fn take_bin(bin: u32) {
    wg_n[bin >> 2u][bin & 3u] = 0u;
    wg_z[bin >> 2u][bin & 3u] = 0u;
}

fn give_up(flag: u32) {
    atomicOr(&wg_flags, flag);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let index = group.x;
    let first = rois[index].histogram_first;
    let bins = rois[index].bins;
    let blocks = (bins + 3u) >> 2u;
    let row_blocks = params.row_bins >> 2u;
    if thread == 0u {
        atomicStore(&wg_flags, atomicExchange(&status[index].flags, 0u));
        wg_rows = min(rois[index].histogram_count, status[index].rows);
    }
    let count = workgroupUniformLoad(&wg_rows);
    let end = first + count;
    let beyond = (atomicLoad(&wg_flags) & STATUS_BEYOND) != 0u;
    // Threads of a lane lie side by side, as their bins do; lanes share the rows.
    let width = min(blocks, WORKGROUP_SIZE);
    let lanes = clamp(count, 1u, WORKGROUP_SIZE / width);
    let lane = thread / width;
    var overflow = false;
    for (var base = 0u; base < blocks; base += width) {
        let block = base + thread % width;
        let has_bins = lane < lanes && block < blocks;
        var sum = Sum(vec4<u32>(), vec4<u32>());
        if has_bins && lane == 0u && beyond {
            let at = 2u * index * row_blocks + block;
            sum = Sum(totals[at], totals[at + row_blocks]);
            totals[at] = vec4<u32>();
            totals[at + row_blocks] = vec4<u32>();
        }
        var row = first + lane;
        for (; has_bins && row < end; row += lanes) {
            overflow = add_row(&sum, row * ROW_PARTS * row_blocks + block, row_blocks) || overflow;
        }
        if has_bins && row < end {
            give_up(STATUS_UNFINISHED);
        }
        for (var turn = 0u; turn < lanes; turn++) {
            if has_bins && turn == lane {
                if turn != 0u {
                    overflow = add(&sum, wg_n[block], wg_z[block]) || overflow;
                }
                wg_n[block] = sum.n;
                wg_z[block] = sum.z;
                if turn + 1u == lanes && any(sum.n > vec4<u32>(MAX_COUNT)) {
                    overflow = true;
                }
            }
            workgroupBarrier();
        }
    }
    if overflow {
        give_up(STATUS_COUNTS);
    }
    take_peaks(index, bins, rois[index].half, thread);
    if thread == 0u {
        peaks[index * params.peaks].flags = atomicLoad(&wg_flags) & ~STATUS_BEYOND;
    }
}
