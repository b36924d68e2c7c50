// Of an RoI's several histograms, the highest window of three bins of each, and the sum of the
// lowest windows of all. How high those are is found digit by digit, from the highest: count_sums
// counts windows by a digit of their sums.
// in:   params (stage: count_sums's pass), rois, totals
// out:  windows (a histogram each), sums (an RoI each; zero before), status
// grid: x = RoI, y = groups of HISTOGRAMS histograms
// CPU twin: src/engine/twin/find_peaks.rs

#import shared::histograms
#import shared::types
#import find_peaks::ranking
#import find_peaks::windows

override WORKGROUP_SIZE: u32 = 64;
override HISTOGRAMS: u32 = 8;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> totals: array<u32>;
@group(0) @binding(3) var<storage, read_write> windows: array<Window>;
@group(0) @binding(4) var<storage, read_write> sums: array<SharedSums>;
@group(0) @binding(5) var<storage, read_write> status: array<RoiStatus>;

// As Sums, and of each pass the windows by digit.
struct SharedSums {
    low: atomic<u32>,
    high: atomic<u32>,
    windows: atomic<u32>,
    threshold: u32,
    digits: array<atomic<u32>, 256>,
}

const DIGIT_BITS: u32 = 6u;
const PASSES: u32 = 4u;

// Windows by digit, of this workgroup.
var<workgroup> wg_digits: array<atomic<u32>, 64>;
var<workgroup> wg_sum: array<atomic<u32>, 2>;
var<workgroup> wg_windows: atomic<u32>;
var<workgroup> wg_threshold: u32;

fn window_sum(row: u32, left: u32) -> u32 {
    let word = total_word(row, 0u, left);
    return totals[word] + totals[word + 1u] + totals[word + 2u];
}

// The highest digits of the sum of the window that is `lowest` from below, of the passes so far.
fn digits_so_far(index: u32, lowest: u32, passes: u32) -> u32 {
    var found = 0u;
    var rest = lowest;
    for (var pass_ = 0u; pass_ < passes; pass_++) {
        var digit = 0u;
        for (; digit < 63u; digit++) {
            let count = atomicLoad(&sums[index].digits[64u * pass_ + digit]);
            if rest <= count {
                break;
            }
            rest -= count;
        }
        found = (found << DIGIT_BITS) | digit;
    }
    return found;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn count_sums(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let roi_index = group.x;
    let bins = rois[roi_index].bins;
    let lowest = rois[roi_index].background_windows;
    let first = group.y * HISTOGRAMS;
    let end = min(first + HISTOGRAMS, rois[roi_index].totals);
    for (var digit = thread; digit < 64u; digit += WORKGROUP_SIZE) {
        atomicStore(&wg_digits[digit], 0u);
    }
    if thread == 0u {
        wg_threshold = digits_so_far(roi_index, lowest, params.stage);
    }
    workgroupBarrier();
    let shift = DIGIT_BITS * (PASSES - 1u - params.stage);
    var unfinished = false;
    for (var h = first; h < end; h++) {
        var left = thread;
        for (; left + 2u < bins; left += WORKGROUP_SIZE) {
            let sum = window_sum(rois[roi_index].total_first + h, left);
            if (sum >> shift) >> DIGIT_BITS == wg_threshold {
                atomicAdd(&wg_digits[(sum >> shift) & 63u], 1u);
            }
        }
        unfinished = unfinished || left + 2u < bins;
    }
    if unfinished {
        atomicOr(&status[roi_index].flags, STATUS_UNFINISHED);
    }
    workgroupBarrier();
    for (var digit = thread; digit < 64u; digit += WORKGROUP_SIZE) {
        let count = atomicLoad(&wg_digits[digit]);
        if count != 0u {
            atomicAdd(&sums[roi_index].digits[64u * params.stage + digit], count);
        }
    }
    if loops_are_cut(params.layers) {
        atomicOr(&status[roi_index].flags, STATUS_UNFINISHED);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn highest_windows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let roi_index = group.x;
    let bins = rois[roi_index].bins;
    let half = rois[roi_index].half;
    let histograms = rois[roi_index].totals;
    let lowest = rois[roi_index].background_windows;
    let first = group.y * HISTOGRAMS;
    let end = min(first + HISTOGRAMS, histograms);
    if thread == 0u {
        atomicStore(&wg_sum[0], 0u);
        atomicStore(&wg_sum[1], 0u);
        atomicStore(&wg_windows, 0u);
        // The background is all windows, the lowest windows, or not requested.
        var threshold = select(0xffffffffu, 0u, lowest == 0u);
        if lowest != 0u && lowest < histograms * (bins - 2u) {
            threshold = digits_so_far(roi_index, lowest, PASSES);
        }
        wg_threshold = threshold;
    }
    workgroupBarrier();
    let threshold = wg_threshold;
    var low = 0u;
    var high = 0u;
    var below = 0u;
    for (var h = first; h < end; h++) {
        let row = rois[roi_index].total_first + h;
        var highest = no_window();
        var left = thread;
        for (; left + 2u < bins; left += WORKGROUP_SIZE) {
            let sum = window_sum(row, left);
            if sum < threshold {
                low += sum;
                high += select(0u, 1u, low < sum);
                below += 1u;
            }
            let window = Window(rank(sum, left), distance_of(left, half), left);
            if before(window, highest) {
                highest = window;
            }
        }
        if left + 2u < bins {
            atomicOr(&status[roi_index].flags, STATUS_UNFINISHED);
        }
        keep(thread, highest);
        find_highest(thread);
        if thread == 0u {
            windows[row] = kept(0u);
        }
        workgroupBarrier();
    }
    if below != 0u {
        let before_low = atomicAdd(&wg_sum[0], low);
        atomicAdd(&wg_sum[1], high + select(0u, 1u, before_low + low < low));
        atomicAdd(&wg_windows, below);
    }
    workgroupBarrier();
    if thread == 0u {
        let all = atomicLoad(&wg_sum[0]);
        let before_low = atomicAdd(&sums[roi_index].low, all);
        atomicAdd(&sums[roi_index].high, atomicLoad(&wg_sum[1]) + select(0u, 1u, before_low + all < all));
        atomicAdd(&sums[roi_index].windows, atomicLoad(&wg_windows));
        if group.y == 0u {
            sums[roi_index].threshold = threshold;
        }
    }
    if loops_are_cut(params.layers) {
        atomicOr(&status[roi_index].flags, STATUS_UNFINISHED);
    }
}
