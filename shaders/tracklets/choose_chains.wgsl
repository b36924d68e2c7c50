// Chooses among the chains of an event that share hits. A chain is kept if the kept chains that are
// better have at most one of its hits, or none if it has three hits. In each round, the chains that
// are the best undecided ones on all of their hits are decided, which is the same as one after the
// other. A round has four steps. All threads of a device take them in the first rounds; then a
// workgroup for each event takes the chains that are left.
// in:   events, numbers, chains, counts; state must be zero
// out:  kept (in any order), counts
// grid: drop_chains, bid_for_hits, own_hits and keep_chains: x = chains, y = events;
//       choose_rest: x = events
// CPU twin: Chains::fill in src/engine/cpu/tracklets/chains.rs

#import shared::types
#import tracklets::types

override WORKGROUP_SIZE: u32 = 64;
// Threads that take an event's last chains.
override CHOOSING: u32 = 256;

@group(0) @binding(0) var<storage, read> events: array<Event>;
@group(0) @binding(1) var<storage, read> numbers: array<u32>;
@group(0) @binding(2) var<storage, read_write> chains: array<Chain>;
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

const NO_CHAIN: u32 = 0xffffffffu;

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

// A chain that is decided bids nothing.
fn is_undecided(i: u32) -> bool {
    return chains[i].bid != 0u;
}

// Decides against a chain of which kept chains have too many hits, and else takes back the bids for
// its hits of the last round.
fn drop_or_reset(i: u32) {
    var used = 0u;
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT {
            used += atomicLoad(&state[WORDS * hit + USED]);
        }
    }
    if used > select(0u, 1u, chains[i].hits[3] != NO_HIT) {
        chains[i].bid = 0u;
        return;
    }
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT {
            atomicStore(&state[WORDS * hit + BID], 0u);
            atomicStore(&state[WORDS * hit + OWNER], 0u);
        }
    }
}

fn bid(i: u32) {
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT {
            atomicMax(&state[WORDS * hit + BID], chains[i].bid);
        }
    }
}

// Makes a chain the owner of the hits that nobody bids more for, unless a better chain bids as
// much.
fn own(i: u32) {
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

// Keeps a chain that owns all of its hits.
fn keep_owner(event: u32, i: u32) {
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT && atomicLoad(&state[WORDS * hit + OWNER]) != i + 1u {
            return;
        }
    }
    let place = atomicAdd(&counts[event].kept, 1u);
    let has_room = place < events[event].kept_capacity;
    for (var k = 0u; k < 6u; k++) {
        let hit = chains[i].hits[k];
        if hit != NO_HIT {
            atomicStore(&state[WORDS * hit + USED], 1u);
        }
        if has_room {
            let number = numbers[min(hit, arrayLength(&numbers) - 1u)];
            kept[events[event].kept_first + place][k] = select(NO_HIT, number, hit != NO_HIT);
        }
    }
    if has_room {
        kept[events[event].kept_first + place][6] = bitcast<u32>(chains[i].chi2);
        kept[events[event].kept_first + place][7] = 0u;
    }
    chains[i].bid = 0u;
}

// Chains of an event; none if there is no room for them.
fn chain_count(event: u32) -> u32 {
    let found = atomicLoad(&counts[event].triplets);
    return select(0u, found, found <= events[event].triplet_capacity);
}

// The chain of a thread; NO_CHAIN: it is decided, or beyond the last one.
fn chain_of(id: vec3<u32>) -> u32 {
    let i = events[id.y].triplet_first + id.x;
    if id.x >= chain_count(id.y) || !is_undecided(i) {
        return NO_CHAIN;
    }
    return i;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn drop_chains(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = chain_of(id);
    if i != NO_CHAIN {
        drop_or_reset(i);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn bid_for_hits(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = chain_of(id);
    if i != NO_CHAIN {
        bid(i);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn own_hits(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = chain_of(id);
    if i != NO_CHAIN {
        own(i);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn keep_chains(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = chain_of(id);
    if i != NO_CHAIN {
        keep_owner(id.y, i);
    }
}

// Ends a step of all threads.
fn end_step() {
    storageBarrier();
    workgroupBarrier();
}

// Ends a list that all threads have appended to: returns its length, and begins the next one.
fn end_list(thread: u32) -> u32 {
    end_step();
    if thread == 0u {
        wg_count = atomicExchange(&wg_listed, 0u);
    }
    return workgroupUniformLoad(&wg_count);
}

@compute @workgroup_size(CHOOSING)
fn choose_rest(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let thread = local.x;
    let event = group.x;
    let first = events[event].triplet_first;
    // Two lists, of which one is read while the other is written.
    let second = arrayLength(&undecided) / 2u + first;
    if thread == 0u {
        atomicStore(&wg_listed, 0u);
        wg_count = chain_count(event);
    }
    let found = workgroupUniformLoad(&wg_count);
    for (var k = thread; k < found; k += CHOOSING) {
        if is_undecided(first + k) {
            undecided[second + atomicAdd(&wg_listed, 1u)] = first + k;
        }
    }
    var left = end_list(thread);
    var round = 0u;
    while left > 0u && round < MOST_ROUNDS {
        for (var k = thread; k < left; k += CHOOSING) {
            let i = undecided[second + k];
            drop_or_reset(i);
            if is_undecided(i) {
                undecided[first + atomicAdd(&wg_listed, 1u)] = i;
            }
        }
        let bidders = end_list(thread);
        for (var k = thread; k < bidders; k += CHOOSING) {
            bid(undecided[first + k]);
        }
        end_step();
        for (var k = thread; k < bidders; k += CHOOSING) {
            own(undecided[first + k]);
        }
        end_step();
        for (var k = thread; k < bidders; k += CHOOSING) {
            let i = undecided[first + k];
            keep_owner(event, i);
            if is_undecided(i) {
                undecided[second + atomicAdd(&wg_listed, 1u)] = i;
            }
        }
        left = end_list(thread);
        round++;
    }
    if thread == 0u {
        counts[event].rounds = round;
    }
    if left > 0u || loops_are_cut(arrayLength(&events) + 1u) {
        atomicOr(&counts[event].flags, STATUS_UNFINISHED);
    }
}
