// Pairs of a share of an RoI's spacepoints: a thread takes one and goes through its partners. Pairs that need a third
// spacepoint are queued, so that every thread has one to look at. Swapped with pairs/numbered.wgsl.
// workgroup memory: 8 QUEUE + 24 bytes
// Needs: find_z, order, confirmations.

// Pairs that wait for a third spacepoint; with triplets, 4 WORKGROUP_SIZE at least.
override QUEUE: u32 = 1;

// First and last of the spacepoints walked, ranges of partners, the longest range.
var<workgroup> wg_walked: vec2<u32>;
var<workgroup> wg_ranges: u32;
var<workgroup> wg_longest: atomic<u32>;
var<workgroup> wg_steps: u32;
var<workgroup> wg_queued: atomic<u32>;
var<workgroup> wg_waiting: u32;
// Inner and outer spacepoint.
var<workgroup> wg_queue: array<vec2<u32>, QUEUE>;

// Histograms the pairs of this workgroup's share. False if there is none.
fn add_pairs(group: u32, tile: u32, thread: u32) -> bool {
    begin_order(thread);
    if thread == 0u {
        let all = walked();
        wg_walked = all;
        wg_ranges = partner_ranges();
        if group == 0u && tile == 0u {
            status[roi_index].rows = (all.y - all.x + params.share - 1u) / params.share;
        }
        atomicStore(&wg_queued, 0u);
        atomicStore(&wg_longest, 0u);
    }
    let all = workgroupUniformLoad(&wg_walked);
    let ranges = workgroupUniformLoad(&wg_ranges);
    let first = all.x + group * params.share;
    if first >= all.y {
        return false;
    }
    let end = min(first + params.share, all.y);
    let lanes = 1u << params.lanes_shift;
    let lane = thread & (lanes - 1u);
    for (var base = first; base < end; base += WORKGROUP_SIZE >> params.lanes_shift) {
        let a = base + (thread >> params.lanes_shift);
        let slice_layer = phi_slice[min(a, end - 1u)].slice_layer;
        let point = rho_z[min(a, end - 1u)];
        for (var part = 0u; part < ranges; part++) {
            var range = partners(slice_layer & 0xffu, slice_layer >> 8u, part);
            if a >= end {
                range = no_range();
            }
            if TRIPLETS == 0u {
                var i = range.first + lane;
                for (; i < range.end; i += lanes) {
                    let z12 = pair_z(range, i, point, rho_z[place_in(range, i)]);
                    if is_searched(z12) {
                        add_entry(z12, 1u);
                    }
                }
                unfinished = unfinished || i < range.end;
            } else {
                queue_pairs(range, a, point, lane, lanes, thread);
            }
        }
    }
    if TRIPLETS != 0u {
        workgroupBarrier();
        empty_queue(thread);
    }
    return true;
}

const NOWHERE: real = real(3e38);

// z12 of a spacepoint and the i-th partner of its range; NOWHERE if they have none.
fn pair_z(range: Range, i: u32, point: vec2<real>, partner: vec2<real>) -> real {
    if partner.x == point.x {
        return NOWHERE;
    }
    let inner = i >= range.inner_from && i < range.jump_at;
    return track_z(select(point, partner, inner), track_slope(point, partner));
}

// Queues the pairs of a range, two steps of all threads at a time, and looks at those queued when they are many.
fn queue_pairs(range: Range, a: u32, point: vec2<real>, lane: u32, lanes: u32, thread: u32) {
    let count = range.end - range.first;
    if count != 0u {
        atomicMax(&wg_longest, (count + lanes - 1u) / lanes);
    }
    workgroupBarrier();
    if thread == 0u {
        wg_steps = atomicExchange(&wg_longest, 0u);
    }
    let steps = workgroupUniformLoad(&wg_steps);
    var step = 0u;
    for (; step < steps; step += 2u) {
        for (var half = 0u; half < 2u; half++) {
            let i = range.first + lane + (step + half) * lanes;
            if i < range.end {
                let b = place_in(range, i);
                let z12 = pair_z(range, i, point, rho_z[b]);
                if is_searched(z12) {
                    let inner = i >= range.inner_from && i < range.jump_at;
                    wg_queue[atomicAdd(&wg_queued, 1u)] = select(vec2<u32>(a, b), vec2<u32>(b, a), inner);
                }
            }
        }
        workgroupBarrier();
        if thread == 0u {
            wg_waiting = atomicLoad(&wg_queued);
        }
        if workgroupUniformLoad(&wg_waiting) > QUEUE - 2u * WORKGROUP_SIZE {
            empty_queue(thread);
        }
    }
    unfinished = unfinished || step < steps;
}

// Looks for third spacepoints of the pairs queued: a thread a pair. Begins after a barrier and ends with one.
fn empty_queue(thread: u32) {
    let queued = atomicLoad(&wg_queued);
    var entry = thread;
    for (; entry < queued; entry += WORKGROUP_SIZE) {
        let pair = wg_queue[entry];
        let a = rho_z[pair.x];
        let z12 = track_z(a, track_slope(a, rho_z[pair.y]));
        let weight = confirmations(pair.x, pair.y, z12);
        if weight != 0u {
            add_entry(z12, weight);
        }
    }
    unfinished = unfinished || entry < queued;
    workgroupBarrier();
    if thread == 0u {
        atomicStore(&wg_queued, 0u);
    }
    workgroupBarrier();
}
