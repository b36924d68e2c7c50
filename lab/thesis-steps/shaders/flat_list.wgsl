// The spacepoints of a slice and of its neighbours as one list grouped by layer, and where each
// layer begins in the list: an exclusive scan over the layers. The partners of an inner spacepoint
// are then the rest of the list.
// Needs: of the kernel WORKGROUP_SIZE, params, outer.

// Most spacepoints of a slice and its neighbours.
override LISTED: u32 = 256;

const MOST_LAYERS: u32 = 64u;

var<workgroup> wg_count: array<u32, MOST_LAYERS>;
var<workgroup> wg_first: array<u32, MOST_LAYERS + 1u>;
var<workgroup> wg_list: array<u32, LISTED>;

// Begins without a barrier and ends with one.
fn make_list(thread: u32) {
    for (var layer = thread; layer < params.layers; layer += WORKGROUP_SIZE) {
        let range = outer(layer);
        wg_count[layer] = range.y - range.x;
    }
    workgroupBarrier();
    for (var layer = thread; layer <= params.layers; layer += WORKGROUP_SIZE) {
        var first = 0u;
        for (var before = 0u; before < layer; before++) {
            first += wg_count[before];
        }
        wg_first[layer] = first;
    }
    workgroupBarrier();
    for (var layer = 0u; layer < params.layers; layer++) {
        let range = outer(layer);
        for (var i = thread; i < wg_count[layer]; i += WORKGROUP_SIZE) {
            wg_list[min(wg_first[layer] + i, LISTED - 1u)] = range.x + i;
        }
    }
    workgroupBarrier();
}

// The partner at a place of the list.
fn listed(place: u32) -> u32 {
    return wg_list[min(place, LISTED - 1u)];
}
