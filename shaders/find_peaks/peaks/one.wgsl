// The highest windows of three bins, one after the other, of a histogram that all threads of a
// workgroup see.

#import shared::types
#import find_peaks::ranking
#import find_peaks::z_estimate
#import find_peaks::windows
#import kernel::{params, peaks, bin_n, bin_z, bin_pairs, take_bin, give_up, WORKGROUP_SIZE}

var<workgroup> wg_found: u32;
// Of windows: a sum's two words, and how many.
var<workgroup> wg_sum: array<atomic<u32>, 2>;
var<workgroup> wg_windows: atomic<u32>;

// More than a window's sum has bits: three times MAX_COUNT.
const HIGHEST_BIT: u32 = 1u << 24u;

fn window_sum(left: u32) -> u32 {
    return bin_n(left) + bin_n(left + 1u) + bin_n(left + 2u);
}

// The highest number below which there are fewer windows than `lowest`: bit by bit. Of bins that
// are all there.
fn threshold_of(bins: u32, lowest: u32, thread: u32) -> u32 {
    var cut_short = false;
    var threshold = 0u;
    for (var bit = HIGHEST_BIT; bit != 0u; bit >>= 1u) {
        if thread == 0u {
            atomicStore(&wg_windows, 0u);
        }
        workgroupBarrier();
        var below = 0u;
        var i = thread;
        for (; i + 2u < bins; i += WORKGROUP_SIZE) {
            below += select(0u, 1u, window_sum(i) < threshold + bit);
        }
        cut_short = cut_short || i + 2u < bins;
        if below != 0u {
            atomicAdd(&wg_windows, below);
        }
        workgroupBarrier();
        if atomicLoad(&wg_windows) < lowest {
            threshold += bit;
        }
        workgroupBarrier();
    }
    if cut_short {
        give_up(STATUS_UNFINISHED);
    }
    return threshold;
}

// Writes the peaks of an RoI, and NO_PEAK after the last one. The first peak carries the
// background: the sum of the `lowest` lowest windows. Begins and ends with a barrier.
fn take_peaks(index: u32, bins: u32, half: u32, lowest: u32, thread: u32) {
    storageBarrier();
    workgroupBarrier();
    // The background is all windows, the lowest windows, or not requested.
    var threshold = select(0xffffffffu, 0u, lowest == 0u);
    if lowest != 0u && lowest < bins - 2u {
        threshold = threshold_of(bins, lowest, thread);
    }
    var none_left = false;
    var k = 0u;
    for (; k < params.peaks; k++) {
        if thread == 0u {
            atomicStore(&wg_sum[0], 0u);
            atomicStore(&wg_sum[1], 0u);
            atomicStore(&wg_windows, 0u);
        }
        storageBarrier();
        workgroupBarrier();
        var highest = no_window();
        var low = 0u;
        var high = 0u;
        var windows = 0u;
        var i = thread;
        for (; i + 2u < bins; i += WORKGROUP_SIZE) {
            let sum = window_sum(i);
            if sum < threshold {
                low += sum;
                high += select(0u, 1u, low < sum);
                windows += 1u;
            }
            let window = Window(rank(sum, i), distance_of(i, half), i);
            if before(window, highest) {
                highest = window;
            }
        }
        if i + 2u < bins {
            give_up(STATUS_UNFINISHED);
        }
        keep(thread, highest);
        if windows != 0u {
            let before_low = atomicAdd(&wg_sum[0], low);
            atomicAdd(&wg_sum[1], high + select(0u, 1u, before_low + low < low));
            atomicAdd(&wg_windows, windows);
        }
        find_highest(thread);
        if thread == 0u {
            wg_found = select(0u, 1u, wg_rank[0] >= params.least_weight);
        }
        let found = workgroupUniformLoad(&wg_found);
        let peak = index * params.peaks + k;
        if found == 0u {
            if thread == 0u {
                peaks[peak].bin = NO_PEAK;
            }
            none_left = true;
            break;
        }
        let at = wg_left[0];
        let rank_found = wg_rank[0];
        let cluster = find_cluster(at + 1u, bins, thread);
        if thread == 0u {
            peaks[peak].bin = at + 1u;
            peaks[peak].rank = rank_found;
            peaks[peak].cluster = cluster;
            let sum = vec2<u32>(atomicLoad(&wg_sum[0]), atomicLoad(&wg_sum[1]));
            peaks[peak].background = Background(sum.x, sum.y, atomicLoad(&wg_windows), threshold);
        }
        if thread < 3u {
            peaks[peak].n[thread] = bin_n(at + thread);
            peaks[peak].z[thread] = bin_z(at + thread);
            peaks[peak].pairs[thread] = bin_pairs(at + thread);
            take_bin(at + thread);
        }
        // Only the first peak has one.
        threshold = 0u;
    }
    if (k < params.peaks && !none_left) || loops_are_cut(params.layers) {
        give_up(STATUS_UNFINISHED);
    }
    storageBarrier();
    workgroupBarrier();
}
