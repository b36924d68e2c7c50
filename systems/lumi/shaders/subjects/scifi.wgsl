// Hits of the fibre tracker. CPU twin: scifi_counters in src/engine/cpu.rs.
// Needs: types.

const COUNTERS: u32 = 39u; // the last one of what is skipped
const AT: u32 = SCIFI_AT;
const SKIPPED: u32 = SKIPPED_AT + 1u;

fn counter_of(hit: u32) -> u32 {
    let station = (hit >> 18u) & 3u;
    let quarter = (hit >> 14u) & 3u;
    let own_module = (hit >> 11u) & 7u;
    let there = station != 0u && own_module < select(5u, 6u, station == 3u);
    return select(COUNTERS - 1u, 6u + 10u * (station - 1u) + 2u * own_module + (quarter & 1u), there);
}

// Counters that a counter is the sum of: first, end.
fn summands(counter: u32) -> vec2<u32> {
    if counter >= 6u {
        return vec2<u32>(counter, counter + 1u);
    }
    let station = counter % 3u;
    let first = 6u + 10u * station;
    return select(vec2<u32>(first + 2u, first + 8u), vec2<u32>(first + 8u, first + select(10u, 12u, station == 2u)), counter >= 3u);
}

const STEP: u32 = 1u;
