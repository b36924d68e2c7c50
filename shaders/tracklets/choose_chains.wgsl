// Chooses among the chains of an event that share hits. A chain is kept if the kept chains that are
// better have at most one of its hits, or none if it has three hits. In each round, the chains that
// are the best undecided ones on all of their hits are decided, which is the same as one after the
// other. A workgroup takes an event.
// in:   events, numbers, chains, counts
// out:  kept (in any order), counts; state must be zero
// grid: x = events
// CPU twin: Chains::fill in src/engine/cpu/tracklets/chains.rs

#import shared::types
#import tracklets::types

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<storage, read> events: array<Event>;
@group(0) @binding(1) var<storage, read> numbers: array<u32>;
@group(0) @binding(2) var<storage, read> chains: array<Chain>;
// Of each hit: the best bid for it, one more than the number of the chain that is the best one, and
// whether a kept chain has it.
@group(0) @binding(3) var<storage, read_write> state: array<atomic<u32>>;
// Undecided chains: two lists for each event.
@group(0) @binding(4) var<storage, read_write> undecided: array<u32>;
@group(0) @binding(5) var<storage, read_write> kept: array<array<u32, 8>>;
@group(0) @binding(6) var<storage, read_write> counts: array<Counts>;

const BID: u32 = 0u;
const OWNER: u32 = 1u;
const USED: u32 = 2u;
const WORDS: u32 = 3u;

// Each round decides the best undecided chain at least; so many are never needed in practice.
const MOST_ROUNDS: u32 = 256u;

var<workgroup> wg_listed: atomic<u32>;
var<workgroup> wg_count: u32;

// Whether chain i is better than chain j, which has the same bid: the same number of hits.
fn is_better(i: u32, j: u32) -> bool {
    if chains[i].chi2 != chains[j].chi2 {
        return chains[i].chi2 < chains[j].chi2;
    }
    for (var k = 0u; k < 3u; k++) {
        let a = numbers[chains[i].hits[k]];
        let b = numbers[chains[j].hits[k]];
        if a != b {
            return a < b;
        }
    }
    return false;
}

// Whether kept chains leave a chain enough of its hits.
fn may_be_kept(i: u32) -> bool {
    var used = 0u;
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT {
            used += atomicLoad(&state[WORDS * hit + USED]);
        }
    }
    return used <= select(0u, 1u, chains[i].hits[3] != NO_HIT);
}

fn bid_for_hits(i: u32) {
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT {
            atomicMax(&state[WORDS * hit + BID], chains[i].bid);
        }
    }
}

// Makes a chain the owner of the hits that nobody bids more for, unless a better chain bids as
// much.
fn own_hits(i: u32) {
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit == NO_HIT || atomicLoad(&state[WORDS * hit + BID]) != chains[i].bid {
            continue;
        }
        var owner = atomicLoad(&state[WORDS * hit + OWNER]);
        while owner == 0u || is_better(i, owner - 1u) {
            let exchanged = atomicCompareExchangeWeak(&state[WORDS * hit + OWNER], owner, i + 1u);
            if exchanged.exchanged {
                break;
            }
            owner = exchanged.old_value;
        }
    }
}

fn owns_all_hits(i: u32) -> bool {
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT && atomicLoad(&state[WORDS * hit + OWNER]) != i + 1u {
            return false;
        }
    }
    return true;
}

fn keep(event: u32, i: u32) {
    let place = atomicAdd(&counts[event].kept, 1u);
    let has_room = place < events[event].kept_capacity;
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT {
            atomicStore(&state[WORDS * hit + USED], 1u);
        }
        if has_room {
            kept[events[event].kept_first + place][k] = select(NO_HIT, numbers[min(hit, arrayLength(&numbers) - 1u)],
                hit != NO_HIT);
        }
    }
    if has_room {
        kept[events[event].kept_first + place][6] = bitcast<u32>(chains[i].chi2);
        kept[events[event].kept_first + place][7] = 0u;
    }
}

// Ends a list that all threads have appended to: returns its length, and begins the next one.
fn end_list(thread: u32) -> u32 {
    storageBarrier();
    workgroupBarrier();
    if thread == 0u {
        wg_count = atomicExchange(&wg_listed, 0u);
    }
    return workgroupUniformLoad(&wg_count);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn choose_chains(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let thread = local.x;
    let event = group.x;
    let first = events[event].triplet_first;
    let bidding = first;
    let losing = arrayLength(&undecided) / 2u + first;
    if thread == 0u {
        atomicStore(&wg_listed, 0u);
        let found = atomicLoad(&counts[event].triplets);
        wg_count = select(0u, found, found <= events[event].triplet_capacity);
    }
    var left = workgroupUniformLoad(&wg_count);
    var round = 0u;
    while left > 0u && round < MOST_ROUNDS {
        for (var k = thread; k < left; k += WORKGROUP_SIZE) {
            let i = select(undecided[losing + k], first + k, round == 0u);
            if may_be_kept(i) {
                undecided[bidding + atomicAdd(&wg_listed, 1u)] = i;
                bid_for_hits(i);
            }
        }
        let bidders = end_list(thread);
        for (var k = thread; k < bidders; k += WORKGROUP_SIZE) {
            own_hits(undecided[bidding + k]);
        }
        storageBarrier();
        workgroupBarrier();
        for (var k = thread; k < bidders; k += WORKGROUP_SIZE) {
            let i = undecided[bidding + k];
            if owns_all_hits(i) {
                keep(event, i);
            } else {
                undecided[losing + atomicAdd(&wg_listed, 1u)] = i;
            }
        }
        left = end_list(thread);
        for (var k = thread; k < bidders; k += WORKGROUP_SIZE) {
            let i = undecided[bidding + k];
            for (var n = 0u; n < 6u; n++) {
                let hit = chains[i].hits[n];
                if hit != NO_HIT {
                    atomicStore(&state[WORDS * hit + BID], 0u);
                    atomicStore(&state[WORDS * hit + OWNER], 0u);
                }
            }
        }
        storageBarrier();
        workgroupBarrier();
        round++;
    }
    if thread == 0u {
        counts[event].rounds = round;
    }
    if left > 0u || loops_are_cut(arrayLength(&events) + 1u) {
        atomicOr(&counts[event].flags, STATUS_UNFINISHED);
    }
}
