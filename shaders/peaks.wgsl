// The highest windows of three bins, one after the other, of a histogram that all threads of a workgroup see.
// workgroup memory: 12 WORKGROUP_SIZE + 4 bytes
// Needs: types; of the kernel (find_peaks, walk) params, peaks, bin_n, bin_z, take_bin, give_up, WORKGROUP_SIZE.

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

// Writes the peaks of an RoI; those that there are not, as one NO_PEAK. Begins and ends with a barrier.
fn take_peaks(index: u32, bins: u32, half: u32, thread: u32) {
    var none_left = false;
    var k = 0u;
    for (; k < params.peaks; k++) {
        storageBarrier();
        workgroupBarrier();
        var highest = 0u;
        var distance = 0xffffffffu;
        var left = 0xffffffffu;
        var i = thread;
        for (; i + 2u < bins; i += WORKGROUP_SIZE) {
            let sum = bin_n(i) + bin_n(i + 1u) + bin_n(i + 2u);
            let from_centre = select(half - i - 1u, i + 1u - half, i + 1u >= half);
            let away = select(0u, from_centre, params.prefer_central != 0u);
            if before(sum, away, i, highest, distance, left) {
                highest = sum;
                distance = away;
                left = i;
            }
        }
        if i + 2u < bins {
            give_up(STATUS_UNFINISHED);
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
        let peak = index * params.peaks + k;
        if found == 0u {
            if thread == 0u {
                peaks[peak].bin = NO_PEAK;
            }
            none_left = true;
            break;
        }
        let at = wg_left[0];
        if thread < 3u {
            peaks[peak].n[thread] = bin_n(at + thread);
            peaks[peak].z[thread] = bin_z(at + thread);
            take_bin(at + thread);
        }
        if thread == 0u {
            peaks[peak].bin = at + 1u;
        }
    }
    if k < params.peaks && !none_left {
        give_up(STATUS_UNFINISHED);
    }
    storageBarrier();
    workgroupBarrier();
}
