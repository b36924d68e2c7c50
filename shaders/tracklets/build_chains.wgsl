// Continues each triplet (a, b, c) with the triplet (b, c, d) of the lowest cost, and so on. Of
// equal costs, the lower number of d wins.
// in:   events, numbers, lists, doublets, triplets, counts
// out:  chains
// grid: x = triplets, y = events
// CPU twin: chain in src/engine/cpu/tracklets/chains.rs

#import shared::real
#import shared::types
#import tracklets::types

override WORKGROUP_SIZE: u32 = 64;

@group(0) @binding(0) var<storage, read> events: array<Event>;
@group(0) @binding(1) var<storage, read> numbers: array<u32>;
@group(0) @binding(2) var<storage, read> lists: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> doublets: array<Doublet>;
@group(0) @binding(4) var<storage, read> triplets: array<Triplet>;
@group(0) @binding(5) var<storage, read_write> chains: array<Chain>;
@group(0) @binding(6) var<storage, read_write> counts: array<Counts>;

// The largest cost of adding a hit to a chain: src/engine/tracklets/search.rs.
const MAX_STEP_COST: real = 20.0;

@compute @workgroup_size(WORKGROUP_SIZE)
fn build_chains(@builtin(global_invocation_id) id: vec3<u32>) {
    let event = id.y;
    let found = atomicLoad(&counts[event].triplets);
    if id.x >= found || found > events[event].triplet_capacity {
        return;
    }
    let place = events[event].triplet_first + id.x;
    let first = triplets[place];
    var chain_hits = array<u32, 6>(doublets[first.doublet].inner, doublets[first.doublet].middle, first.outer,
        NO_HIT, NO_HIT, NO_HIT);
    var chi2 = first.chi2;
    let width = product(real(0.15), abs(first.kappa)) + real(2e-5);
    var inner = chain_hits[1];
    var middle = chain_hits[2];
    var length = 3u;
    for (; length < 6u; length++) {
        let list = lists[middle];
        var doublet = list.x;
        for (; doublet < list.x + list.y; doublet++) {
            if doublets[doublet].inner == inner {
                break;
            }
        }
        if doublet == list.x + list.y {
            break;
        }
        var least = real(1e30);
        var best = NO_HIT;
        let next_first = doublets[doublet].triplet_first;
        for (var k = next_first; k < next_first + doublets[doublet].triplets; k++) {
            let next = triplets[k];
            let apart = quotient(next.kappa - first.kappa, width);
            let cost = next.chi2 + square(apart);
            if cost < least || cost == least && best != NO_HIT && numbers[next.outer] < numbers[best] {
                least = cost;
                best = next.outer;
            }
        }
        if best == NO_HIT || !(least <= MAX_STEP_COST) {
            break;
        }
        chain_hits[length] = best;
        chi2 += least;
        inner = middle;
        middle = best;
    }
    // Bits of numbers that are not negative are in the order of the numbers.
    let bid = ~(((6u - length) << 30u) | (bitcast<u32>(chi2) >> 1u));
    chains[place] = Chain(chain_hits, chi2, bid);
    if loops_are_cut(length) {
        atomicOr(&counts[event].flags, STATUS_UNFINISHED);
    }
}
