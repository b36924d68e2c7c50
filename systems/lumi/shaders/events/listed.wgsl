// Workgroups for lumi events only: of an event by place in their list, and its place among lumi
// events.
// Needs: types.

@group(0) @binding(1) var<storage, read> listed: array<u32>;

fn place_of(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// NONE if there is no such event.
fn event_of(place: u32) -> vec2<u32> {
    if place >= listed[0] {
        return vec2<u32>(NONE);
    }
    return vec2<u32>(listed[1u + place], place);
}
