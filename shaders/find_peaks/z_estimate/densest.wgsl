// z of a peak is the mean of the pairs where they are densest (Cluster in src/engine/records.rs).

#import shared::histograms
#import shared::types
#import kernel::{WORKGROUP_SIZE, total, totals}

// Bins on either side of a peak's middle one in which the cluster is sought, and all parts of these
// bins.
const CLUSTER_BINS: u32 = 2u;
const CLUSTER_PARTS: u32 = (2u * CLUSTER_BINS + 1u) * PAIR_PARTS;
// Parts on either side of a window's middle one: of the densest window, and of those about its
// mean.
const NEAR: u32 = 2u;
const FAR: u32 = 6u;

// Precisions in each part, and sectors with soft tracks in each bin.
var<workgroup> wg_parts: array<u32, CLUSTER_PARTS>;
var<workgroup> wg_sectors: array<u32, 2u * CLUSTER_BINS + 1u>;
// The pairs near each part, and far about it.
var<workgroup> wg_near: array<Cluster, CLUSTER_PARTS>;
var<workgroup> wg_far: array<Cluster, CLUSTER_PARTS>;
// Parts, of which the densest is found: a power of two of them, no fewer than CLUSTER_PARTS.
const CANDIDATES: u32 = 64u;
var<workgroup> wg_densest: array<u32, CANDIDATES>;
var<workgroup> wg_around: atomic<u32>;

// The pairs of a window.
fn cluster_in(middle: u32, half: u32) -> Cluster {
    let first = middle - min(middle, half);
    let end = min(middle + half + 1u, CLUSTER_PARTS);
    var found = Cluster(first, 0u, 0u, 0u, 0u, 0u);
    for (var part = first; part < end; part++) {
        let weight = wg_parts[part];
        let i = part - first;
        found.weight += weight;
        found.sum += i * weight;
        found.squares += i * i * weight;
    }
    return found;
}

// The part of a window's mean, rounded half up.
fn mean_part(window: Cluster) -> u32 {
    return window.first + (2u * window.sum + window.weight) / max(2u * window.weight, 1u);
}

// Twice the distance of a part from the middle of all.
fn from_middle(part: u32) -> u32 {
    return max(2u * part + 1u, CLUSTER_PARTS) - min(2u * part + 1u, CLUSTER_PARTS);
}

// Whether one part is denser than another: with more precision near it, else far about it, else
// nearer to the middle, else further left.
fn is_denser(one: u32, other: u32) -> bool {
    if wg_near[one].weight != wg_near[other].weight {
        return wg_near[one].weight > wg_near[other].weight;
    }
    if wg_far[one].weight != wg_far[other].weight {
        return wg_far[one].weight > wg_far[other].weight;
    }
    if from_middle(one) != from_middle(other) {
        return from_middle(one) < from_middle(other);
    }
    return one < other;
}

// Returns the cluster of the peak with this middle bin. Has barriers.
fn find_cluster(middle: u32, bins: u32, thread: u32) -> Cluster {
    for (var part = thread; part < CLUSTER_PARTS; part += WORKGROUP_SIZE) {
        // CLUSTER_BINS is subtracted last: bins below 0 wrap, and `is_there` excludes them.
        let beyond = middle + part / PAIR_PARTS;
        let bin = beyond - CLUSTER_BINS;
        let is_there = beyond >= CLUSTER_BINS && bin < bins;
        var weight = 0u;
        if is_there {
            // So that sums of squares fit into a word.
            weight = min(totals[total(PRECISION_PART + part % PAIR_PARTS, bin)], MAX_COUNT);
        }
        wg_parts[part] = weight;
        if part % PAIR_PARTS == 0u {
            var mask = 0u;
            if is_there {
                mask = totals[total(SOFT_PART, bin)];
            }
            wg_sectors[part / PAIR_PARTS] = mask;
        }
    }
    if thread == 0u {
        atomicStore(&wg_around, 0u);
    }
    workgroupBarrier();
    for (var part = thread; part < CLUSTER_PARTS; part += WORKGROUP_SIZE) {
        wg_near[part] = cluster_in(part, NEAR);
        wg_far[part] = cluster_in(part, FAR);
        atomicAdd(&wg_around, wg_parts[part]);
    }
    for (var part = thread; part < CANDIDATES; part += WORKGROUP_SIZE) {
        wg_densest[part] = min(part, CLUSTER_PARTS - 1u);
    }
    for (var stride = CANDIDATES >> 1u; stride > 0u; stride >>= 1u) {
        workgroupBarrier();
        for (var part = thread; part < stride; part += WORKGROUP_SIZE) {
            if is_denser(wg_densest[part + stride], wg_densest[part]) {
                wg_densest[part] = wg_densest[part + stride];
            }
        }
    }
    workgroupBarrier();
    let about_mean = wg_far[mean_part(wg_near[wg_densest[0]])];
    let middle_part = mean_part(about_mean);
    var found = wg_far[middle_part];
    let last_part = min(middle_part + FAR, CLUSTER_PARTS - 1u);
    var mask = 0u;
    for (var bin = found.first / PAIR_PARTS; bin <= last_part / PAIR_PARTS; bin++) {
        mask |= wg_sectors[bin];
    }
    found.directions = countOneBits(mask);
    found.around = atomicLoad(&wg_around);
    return found;
}
