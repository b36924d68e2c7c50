// The counting sort of slice_spacepoints and walk: a tile of cells in workgroup memory is counted
// and scanned; a thread loads four spacepoints at once.

#import shared::real
#import shared::types
#import slice_spacepoints::encoding
#import kernel::{packed, WORKGROUP_SIZE}

// Two cells a word, or one where an RoI has spacepoints beyond what half a word counts.
override TILE_WORDS: u32 = 1024;

var<workgroup> wg_cells: array<atomic<u32>, TILE_WORDS>;
var<workgroup> wg_scan: array<u32, WORKGROUP_SIZE>;

// Spacepoints that a thread loads at once, so that memory has something to do meanwhile. Written
// out, not in a loop: arrays that are indexed in one lie in slow memory.
struct Four {
    a: Packed,
    b: Packed,
    c: Packed,
    d: Packed,
}

const AT_ONCE: u32 = 4u;

// Loads four spacepoints, from `first` in steps of the workgroup's size. Places after `last` repeat
// the spacepoint at `last`.
fn four(first: u32, last: u32) -> Four {
    return Four(
        packed[min(first, last)],
        packed[min(first + WORKGROUP_SIZE, last)],
        packed[min(first + 2u * WORKGROUP_SIZE, last)],
        packed[min(first + 3u * WORKGROUP_SIZE, last)],
    );
}

// (1 / rho, z / rho): types.
fn sorted_point(spacepoint: Packed) -> vec2<real> {
    let inverse_rho = quotient(real(1.0), packed_rho(spacepoint));
    return vec2<real>(inverse_rho, packed_z(spacepoint) * inverse_rho);
}

// Counts a spacepoint in its cell, 1 << shift of which share a word. Returns what was there before.
fn add_to(cell: u32, shift: u32) -> u32 {
    let old = atomicAdd(&wg_cells[cell >> shift], 1u << ((cell & shift) << 4u));
    return cell_of_word(old, cell, shift);
}

// Counts in so many words become beginnings: each thread sums a run of words, then the threads'
// sums are scanned. Returns where the thread's run ends; for the last thread, all that were
// counted. Begins and ends with a barrier.
fn scan_cells(words: u32, shift: u32, thread: u32) -> u32 {
    workgroupBarrier();
    let run = (words + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    let run_first = min(thread * run, words);
    let run_end = min(run_first + run, words);
    var total = 0u;
    for (var word = run_first; word < run_end; word++) {
        let counts = atomicLoad(&wg_cells[word]);
        total += select(counts, (counts & MOST_HALF) + (counts >> 16u), shift != 0u);
    }
    wg_scan[thread] = total;
    workgroupBarrier();
    for (var stride = 1u; stride < WORKGROUP_SIZE; stride <<= 1u) {
        var below = 0u;
        if thread >= stride {
            below = wg_scan[thread - stride];
        }
        workgroupBarrier();
        wg_scan[thread] += below;
        workgroupBarrier();
    }
    var start = wg_scan[thread] - total;
    for (var word = run_first; word < run_end; word++) {
        let counts = atomicLoad(&wg_cells[word]);
        if shift != 0u {
            let second = start + (counts & MOST_HALF);
            atomicStore(&wg_cells[word], start | (second << 16u));
            start = second + (counts >> 16u);
        } else {
            atomicStore(&wg_cells[word], start);
            start += counts;
        }
    }
    workgroupBarrier();
    return start;
}
