// A workgroup for each event, most of which have nothing to do: of an event by place, and its place
// among lumi events.
// Needs: types; of the kernel params.

@group(0) @binding(1) var<storage, read> indices: array<u32>;

fn place_of(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// NONE if there is no such event, or it is no lumi event.
fn event_of(place: u32) -> vec2<u32> {
    if place >= params.events {
        return vec2<u32>(NONE);
    }
    let index = indices[place];
    return select(vec2<u32>(place, index), vec2<u32>(NONE), index == indices[place + 1u]);
}
