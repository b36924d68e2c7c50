// Clusters of the vertex locator. CPU twin: velo_cluster_counters in src/engine/cpu.rs.
// Needs: types.

const COUNTERS: u32 = 61u; // the last one of what is skipped
const AT: u32 = VELO_CLUSTERS_AT;
const SKIPPED: u32 = SKIPPED_AT + 2u;

fn counter_of(cluster: u32) -> u32 {
    let sensor = (cluster >> 16u) & 0xffu;
    return select(COUNTERS - 1u, 2u * (sensor >> 3u) + (sensor & 1u), sensor < 208u);
}

// Counters that a counter is the sum of, each second one: first, end.
fn summands(counter: u32) -> vec2<u32> {
    if counter < 52u {
        return vec2<u32>(counter, counter + 1u);
    }
    let bin = (counter - 52u) >> 1u;
    let firsts = vec4<u32>(0u, 4u, 14u, 20u);
    let ends = vec4<u32>(4u, 14u, 20u, 26u);
    return vec2<u32>(2u * firsts[bin] + (counter & 1u), 2u * ends[bin]);
}

const STEP: u32 = 2u;
