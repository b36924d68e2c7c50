// Counts Velo tracks of lumi events that were reconstructed, as it was done before: a thread an
// event, in f32.
// in:   params, indices, headers, offsets, tracks (x, y, z, tx, ty, backward)
// out:  counters
// grid: a few workgroups, whose threads step through the events
// Needs: types, events/all, decisions/float, subjects/velo_tracks.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> headers: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> element_offsets: array<u32>;
@group(0) @binding(4) var<storage, read> tracks: array<Track>;
@group(0) @binding(5) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var place = id.x; place < params.events; place += groups.x * WORKGROUP_SIZE) {
        let event = event_of(place);
        if event.x == NONE || (headers[event.x].x & RECONSTRUCTED) == 0u {
            continue;
        }
        var own = array<u32, 11>(); // the last one of tracks in no bin
        let first = element_offsets[event.x];
        let end = element_offsets[event.x + 1u];
        own[0] = end - first;
        for (var i = first; i < end; i++) {
            let track = tracks[i];
            if abs(track.z) < 300.0 && is_close(track.x, track.y, track.tx, track.ty) {
                own[1] += 1u;
            }
            own[2u + min(eta_bin(track.tx, track.ty, track.backward != 0u), 8u)] += 1u;
        }
        for (var counter = 0u; counter < 10u; counter++) {
            counters[event.y * WORDS + VELO_TRACKS_AT + counter] = own[counter];
        }
    }
}
