// Windows of three bins: which of them comes first, and the first of those that the threads of a
// workgroup know.

#import kernel::{params, WORKGROUP_SIZE}

// Three neighbouring bins from `left` on, or an RoI's histogram `left` with its highest window.
struct Window {
    rank: u32, // higher for a higher peak
    distance: u32,
    left: u32,
}

// The highest window of each thread.
var<workgroup> wg_rank: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_distance: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_left: array<u32, WORKGROUP_SIZE>;

fn keep(thread: u32, window: Window) {
    wg_rank[thread] = window.rank;
    wg_distance[thread] = window.distance;
    wg_left[thread] = window.left;
}

fn kept(thread: u32) -> Window {
    return Window(wg_rank[thread], wg_distance[thread], wg_left[thread]);
}

fn no_window() -> Window {
    return Window(0u, 0xffffffffu, 0xffffffffu);
}

// How far a window is from the middle bin, if that counts.
fn distance_of(left: u32, half: u32) -> u32 {
    let from_centre = select(half - left - 1u, left + 1u - half, left + 1u >= half);
    return select(0u, from_centre, params.prefer_central != 0u);
}

// Whether one comes before another: higher, else nearer to the centre (if asked for), else further
// left.
fn before(one: Window, other: Window) -> bool {
    if one.rank != other.rank {
        return one.rank > other.rank;
    }
    if one.distance != other.distance {
        return one.distance < other.distance;
    }
    return one.left < other.left;
}

// Leaves the first of all threads' windows as thread 0's. Begins and ends with a barrier.
fn find_highest(thread: u32) {
    workgroupBarrier();
    for (var stride = WORKGROUP_SIZE >> 1u; stride > 0u; stride >>= 1u) {
        if thread < stride && before(kept(thread + stride), kept(thread)) {
            keep(thread, kept(thread + stride));
        }
        workgroupBarrier();
    }
}
