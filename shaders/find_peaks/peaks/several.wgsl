// The highest windows of three bins, one after the other, of an RoI's several histograms.
// highest_windows finds the highest window of each histogram; it is searched again in the histogram
// from which a peak was taken.

#import shared::histograms
#import shared::types
#import find_peaks::ranking
#import find_peaks::windows
#import kernel::{params, rois, peaks, totals, give_up, WORKGROUP_SIZE}

// The highest window of each histogram, and what find_peaks needs of an RoI's background.
@group(0) @binding(5) var<storage, read_write> windows: array<Window>;
@group(0) @binding(6) var<storage, read> sums: array<Sums>;

var<workgroup> wg_found: u32;

fn bin_of(row: u32, part: u32, bin: u32) -> u32 {
    return totals[total_word(row, part, bin)];
}

// Writes the peaks of an RoI, and NO_PEAK after the last one. The first peak carries the
// background: the sum of the `lowest` lowest windows.
fn take_peaks(index: u32, bins: u32, half: u32, lowest: u32, thread: u32) {
    let first = rois[index].total_first;
    let histograms = rois[index].totals;
    var none_left = false;
    var k = 0u;
    for (; k < params.peaks; k++) {
        var highest = no_window();
        var h = thread;
        for (; h < histograms; h += WORKGROUP_SIZE) {
            let window = Window(windows[first + h].rank, windows[first + h].distance, h);
            if before(window, highest) {
                highest = window;
            }
        }
        if h < histograms {
            give_up(STATUS_UNFINISHED);
        }
        keep(thread, highest);
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
        let row = first + wg_left[0];
        let at = windows[row].left;
        let rank_found = wg_rank[0];
        if thread == 0u {
            peaks[peak].bin = at + 1u;
            peaks[peak].rank = rank_found;
            peaks[peak].cluster = Cluster();
            if k == 0u {
                peaks[peak].background =
                    Background(sums[index].low, sums[index].high, sums[index].windows, sums[index].threshold);
            }
        }
        if thread < 3u {
            peaks[peak].n[thread] = bin_of(row, 0u, at + thread);
            peaks[peak].z[thread] = bin_of(row, 1u, at + thread);
            peaks[peak].pairs[thread] = bin_of(row, pairs_part(), at + thread);
            for (var part = 0u; part < params.total_parts; part++) {
                totals[total_word(row, part, at + thread)] = 0u;
            }
        }
        storageBarrier();
        workgroupBarrier();
        highest = no_window();
        var left = thread;
        for (; left + 2u < bins; left += WORKGROUP_SIZE) {
            let sum = bin_of(row, 0u, left) + bin_of(row, 0u, left + 1u) + bin_of(row, 0u, left + 2u);
            let window = Window(rank(sum, left), distance_of(left, half), left);
            if before(window, highest) {
                highest = window;
            }
        }
        if left + 2u < bins {
            give_up(STATUS_UNFINISHED);
        }
        keep(thread, highest);
        find_highest(thread);
        if thread == 0u {
            windows[row] = kept(0u);
        }
        storageBarrier();
        workgroupBarrier();
    }
    if (k < params.peaks && !none_left) || loops_are_cut(params.layers) {
        give_up(STATUS_UNFINISHED);
    }
    storageBarrier();
    workgroupBarrier();
}
