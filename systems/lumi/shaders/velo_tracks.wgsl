// Counts Velo tracks of lumi events that were reconstructed.
// in:   params, events (indices or listed), headers, offsets, tracks (x, y, z, tx, ty, backward)
// out:  counters
// grid: a workgroup an event
// Needs: types, events, decisions, subjects/velo_tracks.
// CPU twin: velo_track_counters in src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 64;

const COUNTERS: u32 = 11u; // the last one of tracks in no bin

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> headers: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> element_offsets: array<u32>;
@group(0) @binding(4) var<storage, read> tracks: array<Track>;
@group(0) @binding(5) var<storage, read_write> counters: array<u32>;

var<workgroup> wg_counters: array<atomic<u32>, COUNTERS>;

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
    for (var counter = thread; counter < COUNTERS; counter += WORKGROUP_SIZE) {
        atomicStore(&wg_counters[counter], 0u);
    }
    workgroupBarrier();
    var fiducial = 0u;
    let first = element_offsets[event.x];
    let end = element_offsets[event.x + 1u];
    for (var i = first + thread; i < end; i += WORKGROUP_SIZE) {
        let track = tracks[i];
        if abs(track.z) < 300.0 && is_close(track.x, track.y, track.tx, track.ty) {
            fiducial += 1u;
        }
        let bin = min(eta_bin(track.tx, track.ty, track.backward != 0u), COUNTERS - 3u);
        atomicAdd(&wg_counters[2u + bin], 1u);
    }
    if fiducial != 0u {
        atomicAdd(&wg_counters[1], fiducial);
    }
    workgroupBarrier();
    for (var counter = thread; counter < COUNTERS - 1u; counter += WORKGROUP_SIZE) {
        counters[event.y * WORDS + VELO_TRACKS_AT + counter] =
            select(atomicLoad(&wg_counters[counter]), end - first, counter == 0u);
    }
}
