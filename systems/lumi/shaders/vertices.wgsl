// Cleans up close vertices, orders the others by z, and counts them.
// in:   params, events (indices or listed), headers, offsets, vertices (x, y, z, variance of z,
//       tracks)
// out:  counters
// grid: a workgroup an event
// Needs: types, events, decisions/exact.
// CPU twin: vertex_counters in src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 64;
// Vertices of an event, as the host allows.
override MOST: u32 = 256;

struct Vertex {
    x: f32,
    y: f32,
    z: f32,
    z_variance: f32,
    tracks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> headers: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> element_offsets: array<u32>;
@group(0) @binding(4) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(5) var<storage, read_write> counters: array<u32>;

var<workgroup> wg_kept: array<u32, MOST>;
var<workgroup> wg_count: atomic<u32>;
var<workgroup> wg_fiducial: atomic<u32>;

fn is_dropped(vertex: Vertex, first: u32, end: u32) -> bool {
    for (var j = first; j < end; j++) {
        let other = vertices[j];
        let distance = vertex.z - other.z;
        if vertex.tracks < other.tracks
            && distance * distance < params.least_chi2 * (vertex.z_variance + other.z_variance) {
            return true;
        }
    }
    return false;
}

// Whole numbers in the order of the floats.
fn in_order(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return select(~bits, bits | 0x80000000u, (bits >> 31u) == 0u);
}

// Whether one comes before another, in whatever order they were found; where all is alike it does
// not matter which.
fn is_before(a: Vertex, at: u32, b: Vertex, other: u32) -> bool {
    let keys = vec3<u32>(in_order(a.z), in_order(a.x), in_order(a.y));
    let others = vec3<u32>(in_order(b.z), in_order(b.x), in_order(b.y));
    if keys.x != others.x {
        return keys.x < others.x;
    }
    if keys.y != others.y {
        return keys.y < others.y;
    }
    if keys.z != others.z {
        return keys.z < others.z;
    }
    return at < other;
}

// A number of two words modulo a small one.
fn remainder(low: u32, high: u32, divisor: u32) -> u32 {
    let word = (0xffffffffu % divisor + 1u) % divisor;
    return ((high % divisor) * word + low % divisor) % divisor;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let event = event_of(place_of(group, groups));
    if event.x == NONE || (headers[event.x].x & RECONSTRUCTED) == 0u {
        return;
    }
    if thread == 0u {
        atomicStore(&wg_count, 0u);
        atomicStore(&wg_fiducial, 0u);
    }
    workgroupBarrier();
    let first = element_offsets[event.x];
    let end = min(element_offsets[event.x + 1u], first + MOST);
    for (var i = first + thread; i < end; i += WORKGROUP_SIZE) {
        let vertex = vertices[i];
        let kept = !is_dropped(vertex, first, end);
        wg_kept[i - first] = u32(kept);
        if kept {
            atomicAdd(&wg_count, 1u);
            if abs(vertex.z) < 300.0 && is_near(vertex.x, vertex.y) {
                atomicAdd(&wg_fiducial, 1u);
            }
        }
    }
    let at = event.y * WORDS + VERTICES_AT;
    workgroupBarrier();
    let kept = atomicLoad(&wg_count);
    let named = select(0u, remainder(headers[event.x].y, headers[event.x].z, max(kept, 1u)), kept != 0u);
    // Words without a vertex are zero.
    for (var word = thread; word < 15u; word += WORKGROUP_SIZE) {
        if word == 0u {
            counters[at] = kept;
        } else if word == 1u {
            counters[at + 1u] = atomicLoad(&wg_fiducial);
        } else if select(kept == 0u, word - 5u >= kept, word >= 5u) {
            counters[at + word] = 0u;
        }
    }
    for (var i = first + thread; i < end; i += WORKGROUP_SIZE) {
        if wg_kept[i - first] == 0u {
            continue;
        }
        let vertex = vertices[i];
        var rank = 0u;
        for (var j = first; j < end; j++) {
            if wg_kept[j - first] != 0u && is_before(vertices[j], j, vertex, i) {
                rank += 1u;
            }
        }
        if rank == named {
            counters[at + 2u] = bitcast<u32>(vertex.x);
            counters[at + 3u] = bitcast<u32>(vertex.y);
            counters[at + 4u] = bitcast<u32>(vertex.z);
        }
        if rank < 10u {
            counters[at + 5u + rank] = bitcast<u32>(vertex.z);
        }
    }
}
