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

// Returns the cluster of the peak with this middle bin, to thread 0. Has a barrier.
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
    workgroupBarrier();
    if thread != 0u {
        return Cluster();
    }
    var densest = 0u;
    var most = vec2<u32>();
    var nearest = 0u;
    for (var part = 0u; part < CLUSTER_PARTS; part++) {
        let near = cluster_in(part, NEAR).weight;
        let far = cluster_in(part, FAR).weight;
        let distance = max(2u * part + 1u, CLUSTER_PARTS) - min(2u * part + 1u, CLUSTER_PARTS);
        let same = near == most.x && far == most.y;
        if near > most.x || (near == most.x && far > most.y) || (same && distance < nearest) {
            densest = part;
            most = vec2<u32>(near, far);
            nearest = distance;
        }
    }
    let about_mean = cluster_in(mean_part(cluster_in(densest, NEAR)), FAR);
    let middle_part = mean_part(about_mean);
    var found = cluster_in(middle_part, FAR);
    let last_part = min(middle_part + FAR, CLUSTER_PARTS - 1u);
    var mask = 0u;
    for (var bin = found.first / PAIR_PARTS; bin <= last_part / PAIR_PARTS; bin++) {
        mask |= wg_sectors[bin];
    }
    found.directions = countOneBits(mask);
    for (var part = 0u; part < CLUSTER_PARTS; part++) {
        found.around += wg_parts[part];
    }
    return found;
}
